"""`mtplx generate` prints one answer, as text or as one object."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.cli.main import main
from mtplx_engine.config import ChatMessage
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import DepthReason
from tests.support import tiny_folder
from tests.support.command_line import Command
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


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
