"""What the library of the hub does of its own accord, it does not do with us; and what its users set up is used."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from huggingface_hub import constants, get_token
from huggingface_hub.errors import OfflineModeIsEnabled
from huggingface_hub.utils import get_session

from mtplx_engine.errors import EngineError
from mtplx_engine.hub import api, repository, settings
from mtplx_engine.hub.errors import HubError
from mtplx_engine.hub.http import HUB, HubConnection
from mtplx_engine.hub.settings import HubSettings
from tests.support.fake_hub import FakeHub, FakeRepo, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.fake_hub import Handler


REPO = "makers/model"
FILES = {"config.json": b"{}", "model.safetensors": b"weights"}
TOKEN = "hf_token_of_ada"
LOGGED_IN = f"[login]\nhf_token = {TOKEN}\nrefresh_token = r\nexpires_at = 1\n"

ASK_ALL = """
import sys
from mtplx_engine.hub import api, repository, search
from mtplx_engine.hub.settings import HubSettings
settings = HubSettings()
connection = settings.connection(api.login(settings.endpoint))
search.search(connection, "model")
repository.read_repo(connection, "makers/model")
with api.Api(connection) as asking:
    print(asking.account())
stack = {"mlx", "mlx_lm", "numpy", "transformers", "tokenizers", "torch"}
assert not stack & set(sys.modules), stack & set(sys.modules)
"""


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with running(FakeHub({REPO: FakeRepo(FILES)}, accounts={TOKEN: "ada"})) as hub:
        yield hub


def below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_what_is_asked_for_is_sent_and_nothing_is_written(hub: FakeHub, tmp_path: Path) -> None:
    """Of a login whose token is old the library would fetch another one, and of agents their names."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "token").write_text(f"{TOKEN}\n")
    before = below(home)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-c", ASK_ALL],
        env=environment | {"HF_HOME": str(home), "HF_ENDPOINT": f"{hub.endpoint}/"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("ada\n", "")
    assert [path.partition("?")[0] for path in hub.paths] == [
        "/api/models",
        f"/api/models/{REPO}/revision/main",
        f"/api/models/{REPO}/tree/{'c' * 40}",
        "/api/whoami-v2",
    ]
    assert below(home) == before


def test_an_old_login_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "stored_tokens").write_text(LOGGED_IN)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(tmp_path / "stored_tokens"))
    assert api.login(constants.ENDPOINT) == TOKEN
    assert (tmp_path / "stored_tokens").read_text() == LOGGED_IN


def no_file(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    "write",
    [
        no_file,
        lambda path: path.write_bytes(b"\xff\xfe\xfa"),
        lambda path: path.write_text("two words"),
        lambda path: path.write_text("ключ-ключ-ключ"),
        lambda path: path.write_text(""),
        lambda _path: None,
    ],
)
def test_what_is_no_login_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], object]
) -> None:
    write(tmp_path / "token")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    assert api.login(constants.ENDPOINT) is None


def test_a_login_is_given_to_its_own_hub_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "ENDPOINT", "https://mirror.example")
    assert get_token() == TOKEN
    assert api.login("https://mirror.example") == TOKEN
    assert api.login("https://other.example") is None
    assert api.login(HUB) is None


def test_a_wish_for_a_login_of_a_build_machine_fails_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_OIDC_RESOURCE", "models/a/b")
    assert api.login(constants.ENDPOINT) is None


def test_without_a_question_the_library_reaches_nothing() -> None:
    with pytest.raises(OfflineModeIsEnabled):
        get_session().get(f"{constants.ENDPOINT}/api/models")


def test_the_hub_of_the_environment_is_the_one_where_none_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.write_settings(tmp_path, HubSettings())
    monkeypatch.setattr(constants, "ENDPOINT", "https://mirror.example")
    assert settings.read_settings(tmp_path) == HubSettings("https://mirror.example")


@pytest.mark.parametrize("chosen", [HUB, "https://other.example"])
def test_a_chosen_hub_stands_above_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "https://mirror.example")
    settings.write_settings(tmp_path, HubSettings(chosen))
    assert settings.read_settings(tmp_path).endpoint == chosen


@pytest.mark.parametrize("address", ["nonsense", "http://in-the-clear.example", "ftp://x.example", "https://"])
def test_an_unusable_hub_of_the_environment_is_named_and_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", address)
    with pytest.raises(EngineError, match="HF_ENDPOINT"):
        HubSettings().connection(None)


def test_more_bytes_than_any_answer_has_are_not_read(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "_MOST_BYTES", 100)

    def long(handler: Handler) -> None:
        handler.reply(200, b'{"a": "' + b"x" * 200 + b'"}', {"Content-Type": "application/json"})

    hub.api_fault = long
    with pytest.raises(Exception, match="no description of a model"):
        repository.read_repo(HubConnection(hub.endpoint), REPO)


def test_pages_without_an_end_are_not_followed_for_ever(hub: FakeHub) -> None:
    def paged(handler: Handler) -> None:
        link = {"Link": f'<{hub.endpoint}/api/models?page={len(hub.paths)}>; rel="next"'}
        handler.reply(200, b"[]", {"Content-Type": "application/json", **link})

    hub.api_fault = paged
    with api.Api(HubConnection(hub.endpoint)) as asking:
        assert list(asking.entries("/api/models", {})) == []
    assert len(hub.paths) == 20


@pytest.mark.parametrize("link", ["/é>x", "http://[", "http://h:x/", "//", "\x80"])
def test_an_address_of_a_next_page_may_be_anything(hub: FakeHub, link: str) -> None:
    def paged(handler: Handler) -> None:
        headers = {"Link": f'<{link}>; rel="next"'} if len(hub.paths) == 1 else {}
        handler.reply(200, b"[]", {"Content-Type": "application/json", **headers})

    hub.api_fault = paged
    with api.Api(HubConnection(hub.endpoint)) as asking, contextlib.suppress(HubError):
        assert list(asking.entries("/api/models", {})) == []


def test_a_page_of_a_file_has_the_address_that_the_library_gives(hub: FakeHub) -> None:
    connection = HubConnection(hub.endpoint)
    found = repository.read_repo(connection, REPO)
    source = found.source(connection, found.files[0])
    assert source.url == f"{hub.endpoint}/{REPO}/resolve/{'c' * 40}/config.json"
