"""With --json every command about models says on stdout what a program can read, whether it can be done or not."""

from __future__ import annotations

import json
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.cli import hub as hub_commands
from mtplx_engine.cli.main import FAILED, INTERRUPTED, WRONG_USE, main
from mtplx_engine.engine import Engine
from mtplx_engine.errors import ErrorKind
from mtplx_engine.hub import catalogue
from tests.support import model_folder, toy_pair
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


REPO, NAME = "makers/tiny", "makers--tiny"


class Setup:
    """A hub and a data folder with one model installed and one begun."""

    def __init__(self, hub: FakeHub, root: Path) -> None:
        self.hub = hub
        self.words = {
            "HUB": hub.endpoint,
            "DATA": str(root / "data"),
            "OWN": str(root / "own"),
            "HOME": str(root / "home"),
            "TARGET": str(root / "toys/toy"),
            "HEAD": str(root / "toys/toy-MTP"),
        }

    def run(self, line: str) -> int:
        """Run a command line, with words in capitals replaced."""
        arguments = [self.words.get(word, word) for word in line.split()]
        return main([*arguments, "--json", "--data-dir", self.words["DATA"]], Engine)


@pytest.fixture
def setup(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Setup]:
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "own/tiny").iterdir()}
    (tmp_path / "home").mkdir()
    repos = {REPO: FakeRepo(dict(files)), "makers/half": FakeRepo(files | {"LICENSE": b"x"})}
    with running(FakeHub(repos)) as hub:
        found = Setup(hub, tmp_path)
        assert found.run(f"pull {REPO} --endpoint HUB") == 0
        hub.faults.append(Fault(lambda handler, *_: handler.reply(403), "LICENSE"))
        assert found.run("pull makers/half --endpoint HUB") == FAILED
        hub.faults.clear()
        capfd.readouterr()
        yield found


def values(text: str) -> list[dict[str, Any]]:
    """Return what stdout says: one value, or one a line."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


SUCCESSES = {
    "search": {"models"},
    "search tiny --endpoint HUB": {"models"},
    "search tiny --max-gb 1 --endpoint HUB": {"models"},
    "search nothing --endpoint HUB": {"models"},
    "pull makers/tiny --endpoint HUB": {"event", "already", "path", "revision"},
    "pull makers/half --endpoint HUB": {"event", "already", "path", "revision"},
    "pull makers/half --discard": {"event", "name", "freed"},
    "inspect makers--tiny": {"tier", "fit", "notes", "reason"},
    "inspect makers/tiny --hub --endpoint HUB": {"tier", "fit", "notes", "reason", "licence"},
    "verify makers--tiny": {"name", "files", "wrong"},
    "models": {"models", "downloads", "folder"},
    "models add OWN": {"models"},
    "models folder": {"folder", "there"},
    "models folder HOME": {"folder", "there"},
    "models default makers--tiny": {"name", "path"},
    "models default starter": {"name", "path"},
    "remove makers--tiny": {"name", "path", "freed"},
    "remove makers--half": {"name", "path", "freed"},
}
FAILURES = {
    "search tiny --endpoint ftp://x": (ErrorKind.BAD_REQUEST, WRONG_USE),
    "search tiny --endpoint http://127.0.0.1:9": (ErrorKind.DOWNLOAD, FAILED),
    "pull makers/other --endpoint HUB": (ErrorKind.DOWNLOAD, FAILED),
    "pull nothing --endpoint HUB": (ErrorKind.DOWNLOAD, FAILED),
    "pull makers/tiny --revision v9 --endpoint HUB": (ErrorKind.DOWNLOAD, FAILED),
    "pull makers/tiny --head makers/half --endpoint HUB": (ErrorKind.DOWNLOAD, FAILED),
    "pull makers/other --discard": (ErrorKind.NOT_FOUND, FAILED),
    "inspect other": (ErrorKind.NOT_FOUND, FAILED),
    "inspect makers/other --hub --endpoint HUB": (ErrorKind.DOWNLOAD, FAILED),
    "verify other": (ErrorKind.NOT_FOUND, FAILED),
    "verify OWN": (ErrorKind.UNSUPPORTED, FAILED),
    "models add /nowhere": (ErrorKind.NOT_FOUND, FAILED),
    "models forget OWN": (ErrorKind.NOT_FOUND, FAILED),
    "models folder /nowhere": (ErrorKind.NOT_FOUND, FAILED),
    "models default other": (ErrorKind.NOT_FOUND, FAILED),
    "models split makers--tiny": (ErrorKind.BAD_REQUEST, WRONG_USE),
    "models join makers--tiny OWN": (ErrorKind.UNSUPPORTED, FAILED),
    "remove other": (ErrorKind.NOT_FOUND, FAILED),
    "remove makers/tiny": (ErrorKind.BAD_REQUEST, WRONG_USE),
}


@pytest.mark.parametrize("line", SUCCESSES)
def test_what_was_done(setup: Setup, capfd: pytest.CaptureFixture[str], line: str) -> None:
    assert setup.run(line) == 0
    *events, last = values(capfd.readouterr().out)
    assert last.keys() >= SUCCESSES[line]
    assert all(event["event"] in ("progress", "waiting") for event in events)


@pytest.mark.parametrize("line", FAILURES)
def test_why_it_was_not(setup: Setup, capfd: pytest.CaptureFixture[str], line: str) -> None:
    kind, code = FAILURES[line]
    found = setup.run(line)
    (failure,) = values(capfd.readouterr().out)
    assert failure.keys() == {"event", "kind", "message"}
    assert failure["event"] == "failed"
    assert failure["message"].endswith((".", "?"))
    assert len(failure["message"].splitlines()) == 1
    assert (failure["kind"], found) == (kind, code)


def test_a_pair(setup: Setup, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    toy_pair.write(tmp_path / "toys")
    for line in (
        "models join TARGET HEAD --name pair",
        "models split pair",
        "models add OWN",
        "models forget OWN",
    ):
        assert setup.run(line) == 0
        (found,) = values(capfd.readouterr().out)
        assert "event" not in found


def test_every_command_about_models_is_in_both_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """A new one, or a new action of `mtplx models`, is to be added."""
    with pytest.raises(SystemExit):
        main(["models", "--help"])
    listed = capsys.readouterr().out.partition("ACTION")[2].partition("options:")[0]
    actions = {line.split()[0] for line in listed.splitlines() if line.startswith("    ") and line[4:5].isalpha()}
    assert actions >= {"join", "add"}
    wanted = {f"models {action}" for action in actions} | {"search", "pull", "inspect", "verify", "remove"}
    in_pair = {"models join", "models split", "models forget"}
    for table, elsewhere in ((SUCCESSES, in_pair), (FAILURES, set())):
        lines = (line.split() for line in table)
        there = {" ".join(words[: 1 + (words[0] == "models")]) for words in lines}
        assert wanted <= there | elsewhere


def test_json_may_be_said_before_and_after(setup: Setup, capfd: pytest.CaptureFixture[str]) -> None:
    data = setup.words["DATA"]
    for line in (["models", "--json", "folder"], ["models", "folder", "--json"]):
        assert main([*line, "--data-dir", data]) == 0
        assert json.loads(capfd.readouterr().out)["there"] is True


def test_a_pause_is_an_event(setup: Setup, capfd: pytest.CaptureFixture[str]) -> None:
    go_on = threading.Event()

    def stall(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        go_on.wait(30)

    setup.hub.faults.append(Fault(stall, "LICENSE"))
    try:
        assert setup.run("pull makers/half --endpoint HUB") == INTERRUPTED
    finally:
        go_on.set()
    *_, last = values(capfd.readouterr().out)
    assert (last["event"], last["name"]) == ("paused", "makers--half")
    assert 0 <= last["done"] < last["total"]


def test_a_stop_before_is_one_too(setup: Setup, capfd: pytest.CaptureFixture[str]) -> None:
    go_on = threading.Event()

    def stall(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        go_on.wait(30)

    setup.hub.faults.append(Fault(stall, "config.json"))
    try:
        assert setup.run("pull makers/half --endpoint HUB") == INTERRUPTED
    finally:
        go_on.set()
    (last,) = values(capfd.readouterr().out)
    assert (last["event"], last["kind"]) == ("failed", "interrupted")


def test_a_model_has_the_same_keys_wherever_it_is_found(setup: Setup, capfd: pytest.CaptureFixture[str]) -> None:
    entry = next(entry for entry in catalogue.entries() if entry.head)
    setup.hub.repos[entry.target] = FakeRepo({})
    lines = (
        "search",
        f"search {entry.target.partition('/')[2]} --endpoint HUB",
        "search tiny --max-gb 1 --endpoint HUB",
    )
    found = {}
    for line in lines:
        assert setup.run(line) == 0
        for model in values(capfd.readouterr().out)[0]["models"]:
            assert model.keys() == hub_commands._UNKNOWN.keys()
            found[line, model["id"]] = model
    recommended, hit = (found[line, entry.target] for line in lines[:2])
    assert recommended["head"] == hit["head"] == entry.head
    assert recommended["title"] == hit["title"] == entry.title
    assert recommended["downloads"] is None
    assert found[lines[2], REPO]["size"] > 0


@pytest.mark.parametrize("command", ["search tiny", f"pull {REPO}", f"inspect {REPO} --hub"])
def test_no_token_is_no_fault(
    setup: Setup, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """As Ctrl-D at the question for it, or a pipe that ends."""

    def end(_prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(hub_commands.getpass, "getpass", end)
    assert setup.run(f"{command} --ask-token --endpoint HUB") == WRONG_USE
    out, err = capfd.readouterr()
    assert "No access token was entered" in err
    assert "fault in the program" not in err
    assert values(out)[0]["kind"] == ErrorKind.BAD_REQUEST


def test_a_context_beyond_the_window_is_told(setup: Setup, capfd: pytest.CaptureFixture[str]) -> None:
    assert setup.run(f"inspect {NAME} --context 99999999") == 0
    (found,) = values(capfd.readouterr().out)
    window = found["fit"]["context"]
    assert window < 99999999
    assert any(f"window has {window} tokens" in note and "99999999" in note for note in found["notes"])
    assert setup.run(f"inspect {NAME} --context {window}") == 0
    assert not [note for note in values(capfd.readouterr().out)[0]["notes"] if "window" in note]


def test_what_was_not_installed_has_a_name(setup: Setup, capfd: pytest.CaptureFixture[str]) -> None:
    for folder in ("/", setup.words["OWN"]):
        assert setup.run(f"verify {folder}") == FAILED
        message = values(capfd.readouterr().out)[0]["message"]
        assert not message.startswith(" ")
        assert "was not installed by MTPLX" in message
