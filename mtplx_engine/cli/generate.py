"""`mtplx generate PROMPT`: one answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options
from mtplx_engine.cli.options import AnswerOptions
from mtplx_engine.cli.output import Console, stats_text
from mtplx_engine.cli.session import open_session
from mtplx_engine.config import ChatMessage
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.stats import FinishReason

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.cli.session import NewEngine, TerminalAnswer


SUMMARY = "answer one prompt"
EXAMPLES = """\
examples:
  mtplx generate "What is the capital of France?"
  git diff | mtplx generate --temp 0 --system "Describe this change." -
  mtplx generate --json --seed 7 --max-tokens 64 "Tell me a story."
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("prompt", metavar="PROMPT", help='what to answer; "-" reads it from stdin')
    options.add_model(parser)
    options.add_draft_model(parser)
    options.add_anyway(parser, "load a model that will not fit into memory")
    options.add_json(parser)
    options.add_answer(parser)


def run(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    """Answer the prompt; returns the exit code."""
    wanted = AnswerOptions.of(arguments)
    prompt = _prompt(arguments.prompt)
    data = paths.data_dir(arguments.data_dir)
    session = open_session(arguments.model, arguments.draft_model, data, new_engine, anyway=arguments.anyway)
    output, notes = Console(sys.stdout), Console(sys.stderr)
    answer = session.answer(
        [*wanted.opening(), ChatMessage("user", prompt)],
        wanted.sampler(session.info.recommended),
        _ignore if arguments.json else output.write,
        max_tokens=wanted.max_tokens,
        stop=wanted.stop,
    )
    stats = answer.finished.stats
    if arguments.json:
        output.event(**as_json(answer))
    else:
        output.line()
    if session.info.drafter_note and wanted.drafts and not stats.drafted:
        notes.dim(session.info.drafter_note)
    if notes.terminal and not arguments.json:
        notes.dim(stats_text(stats, answer.finished.reason))
    return 130 if answer.finished.reason is FinishReason.CANCELLED else 0


def as_json(answer: TerminalAnswer) -> dict[str, Any]:
    """Return an answer as plain data, rates in tokens per second and times in seconds, null when not measured.

    "depth_reason" says why it was drafted as deep as it was, or not at all: a value of `DepthReason`.
    """
    stats = answer.finished.stats
    return {
        "text": answer.text,
        "tokens": answer.tokens,
        "finish_reason": answer.finished.reason,
        "stats": {
            "prompt_tokens": stats.prompt_tokens,
            "cached_tokens": stats.cached_tokens,
            "emitted": stats.emitted,
            "verify_steps": stats.verify_steps,
            "drafted": stats.drafted,
            "accepted": stats.accepted,
            "accepted_at": stats.accepted_at,
            "ttft_s": stats.ttft_s,
            "prefill_tps": stats.prefill_tps,
            "decode_tps": stats.decode_tps,
            "seed": stats.seed,
            "depth": stats.depth,
            "depth_reason": answer.reason,
        },
    }


def _prompt(given: str) -> str:
    prompt = sys.stdin.read() if given == "-" else given
    if not prompt.strip():
        raise EngineError(ErrorKind.BAD_REQUEST, "The prompt is empty; give some text to answer.")
    return prompt


def _ignore(_text: str) -> None:
    """Drop the pieces of an answer that is printed as a whole."""
