"""`mtplx chat` holds a conversation, at a terminal and in a pipe; `mtplx generate` prints one answer."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from mtplx_engine.cli.main import main
from mtplx_engine.config import ChatMessage
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import DepthReason
from tests.support import tiny_folder
from tests.support.command_line import Command
from tests.support.fake_script import Script

Capture = pytest.CaptureFixture[str]


ECHO = Script(answer="You said: {question} ({turns})", cycle_s=0)


def chat(command: Command, monkeypatch: pytest.MonkeyPatch, lines: str, *options: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    return command.run("chat", *options)


def test_turns_build_on_each_other(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(ECHO)
    assert chat(command, monkeypatch, "one\n\ntwo\n", "--system", "Be brief.") == 0
    out = capsys.readouterr().out
    assert "You said: one (2)\n" in out
    assert "You said: two (4)\n" in out
    assert command.requests[1].messages == (
        ChatMessage("system", "Be brief."),
        ChatMessage("user", "one"),
        ChatMessage("assistant", "You said: one (2)"),
        ChatMessage("user", "two"),
    )
    assert [request.generation for request in command.requests] == [1, 2]


def test_figures_come_after_each_answer(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(Script(answer="a b c d e f", cycle_s=0.001))
    chat(command, monkeypatch, "hi\n", "--depth", "3")
    assert capsys.readouterr().out.splitlines()[-1].endswith("tok/s · 2.5 per step · 50 % of drafts kept · 6 tokens")


def test_new_forgets_and_quit_leaves(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(ECHO)
    assert chat(command, monkeypatch, "one\n/new\ntwo\n/quit\nthree\n", "--system", "S") == 0
    assert [len(request.messages) for request in command.requests] == [2, 2]
    assert "three" not in capsys.readouterr().out


def test_help_and_unknown_commands(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(ECHO)
    chat(command, monkeypatch, "/help\n/nope\n/etc/hosts is what?\n/quit now\n/new chat\n")
    out = capsys.readouterr().out
    assert "/new    forget this chat" in out
    assert "There is no command /nope; /help lists them." in out
    assert "/quit stands alone on its line; nothing was done." in out
    assert "A new chat." not in out
    assert [request.messages[-1].content for request in command.requests] == ["/etc/hosts is what?"]


def test_ctrl_c_stops_the_answer_and_keeps_it(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(Script(answer="a b c d", cycle_s=0), ctrl_c_after=2)
    assert chat(command, monkeypatch, "one\ntwo\n", "--depth", "0") == 0
    assert "2 tokens · stopped" in capsys.readouterr().out
    assert command.requests[1].messages[1] == ChatMessage("assistant", "a b")


def test_an_answer_cut_at_the_limit_says_so(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    chat(Command(ECHO), monkeypatch, "one\n", "--max-tokens", "1")
    assert capsys.readouterr().out.endswith("1 token · cut off at the limit\n")


def test_a_failed_answer_leaves_the_chat_as_it_was(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(Script(answer="a b c", cycle_s=0, answer_error="It broke; try again."))
    assert chat(command, monkeypatch, "one\ntwo\n") == 0
    assert capsys.readouterr().out.count("It broke; try again.") == 2
    assert command.requests[1].messages == (ChatMessage("user", "two"),)


TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from tests.support.command_line import Command
from tests.support.fake_host import Script
script = Script(answer="You \\x1b]0;evil\\x07said: {question} " + "and more " * 2000, cycle_s=0.01)
sys.exit(Command(script).run("chat", "--depth", "0"))
"""


class Terminal:
    """The chat behind a pseudo terminal."""

    def __init__(self) -> None:
        self._master, slave = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", TERMINAL],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            cwd=Path(__file__).parents[3],
            env={**os.environ, "TERM": "xterm"},
        )
        os.close(slave)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str, start: int = 0) -> int:
        """Read until `text` has come after position `start`; returns the position behind it."""
        while text not in self.seen[start:]:
            assert select.select([self._master], [], [], 30)[0], self.seen
            self.seen += os.read(self._master, 4096).decode()
        return self.seen.index(text, start) + len(text)

    def press_ctrl_c(self, text: str, start: int) -> int:
        """Press Ctrl-C until `text` shows, since readline misses a signal right before it waits."""
        for _ in range(20):
            self.type("\x03")
            if select.select([self._master], [], [], 1)[0]:
                break
        return self.wait_for(text, start)

    def leave(self, key: str) -> int:
        """Press a key that leaves; again if need be, since readline misses a signal right before it waits.

        Not again while the process may be ending, which a signal would end another way.
        """
        if key == "\x03":
            self.press_ctrl_c("Press Ctrl-C again", len(self.seen))
        for _ in range(4):
            self.type(key)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(5)
        raise AssertionError(self.seen)

    def end(self) -> int:
        os.close(self._master)
        return self.process.wait(10)


@pytest.mark.parametrize(("key", "code"), [("\x04", 0), ("\x03", 130)])
def test_at_a_terminal(key: str, code: int) -> None:
    terminal = Terminal()
    try:
        at = terminal.wait_for("> ")
        assert "(0%)" in terminal.seen  # the loading line ...
        assert "\r\x1b[K" in terminal.seen  # ... which was taken away again
        assert "\x1b[2m" in terminal.seen
        terminal.type("hello\r")
        at = terminal.wait_for("said: hello and", at)
        assert "\x1b]0;" not in terminal.seen  # what a model writes cannot steer the terminal
        terminal.type("\x03")
        at = terminal.wait_for("stopped", at)
        terminal.wait_for("> ", at)
        assert terminal.leave(key) == code
    finally:
        terminal.process.kill()
        terminal.end()


def test_the_first_ctrl_c_at_the_prompt_only_clears_the_line() -> None:
    terminal = Terminal()
    try:
        at = terminal.wait_for("> ")
        for _ in range(2):  # what is said between takes the first press back
            terminal.type("half a")
            at = terminal.wait_for("half a", at)
            at = terminal.press_ctrl_c("Press Ctrl-C again or /quit to leave.", at)
            at = terminal.wait_for("> ", at)
            terminal.type("/nope\r")
            at = terminal.wait_for("no command /nope;", at)
            at = terminal.wait_for("> ", at)
        terminal.type("\x04")
        assert terminal.process.wait(10) == 0
    finally:
        terminal.process.kill()
        terminal.end()


def test_pasted_lines_are_one_message() -> None:
    readline = pytest.importorskip("readline")
    if "libedit" in (readline.__doc__ or ""):
        pytest.skip("libedit knows no bracketed paste")
    terminal = Terminal()
    try:
        at = terminal.wait_for("> ")
        terminal.type("\x1b[200~one\ntwo\x1b[201~\r")
        terminal.wait_for("said: one\r\ntwo and", at)
    finally:
        terminal.process.kill()
        terminal.end()


@pytest.mark.starter
def test_the_starter_chats(starter_dir: Path) -> None:
    command = [
        sys.executable,
        "-I",
        "-m",
        "mtplx_engine.cli.main",
        "chat",
        "--temp",
        "0",
        "--max-tokens",
        "12",
    ]
    lines = "What is the capital of France?\nAnd of Italy?\n"
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    assert "SmolLM2 135M Instruct · CPU" in done.stdout
    assert "The capital of France is Paris.\n" in done.stdout
    assert done.stdout.count("tok/s") == 2


def test_the_answer_is_written_and_nothing_else(capsys: Capture) -> None:
    assert Command().run("generate", "What now?") == 0
    assert capsys.readouterr() == ("You said: What now?\n", "")


def test_the_request_holds_what_was_asked_for() -> None:
    command = Command()
    options = "--temp 0.2 --depth 3 --seed 5 --max-tokens 9 --stop END --stop FIN --system Brief. --top-k 4 --top-p 0.9"
    assert command.run("generate", "Hi", *options.split()) == 0
    (request,) = command.requests
    assert request.messages == (ChatMessage("system", "Brief."), ChatMessage("user", "Hi"))
    sampler = request.sampler
    assert (sampler.temperature, sampler.speculative_depth, sampler.seed) == (0.2, 3, 5)
    assert (sampler.top_k, sampler.top_p, sampler.repetition_penalty) == (4, 0.9, 1.0)
    assert (request.max_tokens, request.stop) == (9, ("END", "FIN"))


@pytest.mark.parametrize("options", [[], ["--anyway"]])
def test_what_will_not_fit_can_be_loaded_anyway(options: list[str]) -> None:
    command = Command()
    assert command.run("generate", "hi", *options) == 0
    assert command.anyway == bool(options)


@pytest.mark.parametrize(
    ("options", "draft_model", "core"),
    [
        ("", "", "stock"),
        ("--drafter prompt_lookup", "", "prompt_lookup"),
        ("--draft-model small", "small", "draft_model"),
        ("--draft-model small --drafter mtp+prompt_lookup", "small", "mtp+prompt_lookup"),
    ],
)
def test_who_drafts_can_be_chosen(options: str, draft_model: str, core: str) -> None:
    command = Command()
    assert command.run("generate", "Hi", *options.split()) == 0
    assert (command.draft_model, command.requests[0].sampler.draft_core) == (draft_model, core)


def test_json_is_one_object_with_text_tokens_and_figures(capsys: Capture) -> None:
    command = Command(Script(answer="one two three four five six", cycle_s=0.001))
    assert command.run("generate", "--json", "--depth", "3", "Count") == 0
    out, error = capsys.readouterr()
    body = json.loads(out)
    assert error == ""
    assert body.keys() == {"text", "tokens", "finish_reason", "stats"}
    assert (body["text"], body["tokens"], body["finish_reason"]) == (
        command.script.answer,
        [*range(6)],
        "end",
    )
    stats = body["stats"]
    assert (stats["emitted"], stats["verify_steps"], stats["drafted"], stats["depth"]) == (6, 2, 6, "3")
    assert sum(stats["accepted_at"]) == stats["accepted"] == 3
    assert stats["decode_tps"] > 0
    assert stats.keys() >= {"prompt_tokens", "cached_tokens", "ttft_s", "prefill_tps", "seed", "depth_reason"}


def test_json_says_why_nothing_drafts(tmp_path: Path, capsys: Capture) -> None:
    tiny_folder.write(tmp_path, head=False)
    arguments = ["generate", "--json", "--model", str(tmp_path), "--data-dir", str(tmp_path), "Hi"]
    assert main([*arguments, "--max-tokens", "2"], Engine) == 0
    assert json.loads(capsys.readouterr().out)["stats"]["depth_reason"] == DepthReason.NO_DRAFTER


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--depth", "3"], True),
        (["--drafter", "prompt_lookup"], True),
        (["--draft-model", "small"], True),
        (["--json", "--depth", "3"], True),
        (["--depth", "0"], False),
        (["--depth", "0", "--drafter", "mtp"], False),
        (["--depth", "3", "--drafter", "off"], False),
        ([], False),
    ],
)
def test_drafting_that_cannot_be_is_told_to_who_asked_for_it(
    capsys: Capture, options: list[str], *, told: bool
) -> None:
    command = Command(Script(answer="plain", cycle_s=0, note="This model has no drafting head."))
    assert command.run("generate", "Hi", *options) == 0
    output, notes = capsys.readouterr()
    assert notes == ("This model has no drafting head.\n" if told else "")
    assert "plain" in output


def test_the_prompt_can_come_from_stdin(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("from\na pipe"))
    assert Command().run("generate", "-") == 0
    assert capsys.readouterr().out == "You said: from\na pipe\n"


def test_an_empty_prompt_is_wrong_use(capsys: Capture) -> None:
    assert Command().run("generate", "  ") == 2
    assert "The prompt is empty" in capsys.readouterr().err


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_ctrl_c_keeps_what_was_written(capsys: Capture, json_option: list[str]) -> None:
    command = Command(Script(answer="a b c d", cycle_s=0), ctrl_c_after=2)
    assert command.run("generate", "--depth", "0", "Hi", *json_option) == 130
    out = capsys.readouterr().out
    body = json.loads(out) if json_option else {"text": out.rstrip("\n"), "finish_reason": "cancelled"}
    assert (body["text"], body["finish_reason"]) == ("a b", "cancelled")


def test_an_engine_error_is_one_sentence(capsys: Capture) -> None:
    command = Command(Script(answer="a b c", answer_error="It broke; try again."))
    assert command.run("generate", "Hi", "--json") == 1
    out, err = capsys.readouterr()
    assert err == "It broke; try again.\n"
    assert json.loads(out) == {"event": "failed", "kind": "non_finite", "message": "It broke; try again."}


@pytest.mark.starter
def test_the_starter_answers(starter_dir: Path) -> None:
    command = [sys.executable, "-I", "-m", "mtplx_engine.cli.main", "generate", "--json", "--temp", "0"]
    command += ["--depth", "2", "--max-tokens", "16", "What is the capital of France?"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    body = json.loads(done.stdout)
    assert body["text"] == "The capital of France is Paris."
    assert (body["finish_reason"], body["stats"]["emitted"]) == ("end", len(body["tokens"]))
    assert body["stats"]["verify_steps"] > 0
    assert done.stderr == ""
