"""How a command is declared, and the options that several commands share."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from mtplx_engine.config import MAX_DEPTH, ChatMessage, DraftCore, SamplerConfig
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.host import EngineProtocol
from mtplx_engine.models import library, starter
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.models.memory_fit import CONTEXT

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.config import Depth
    from mtplx_engine.util.formatting import Report


NewEngine = Callable[[], EngineProtocol]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `mtplx`; `main` builds its parser and runs it.

    Attributes:
        summary: A line for the list of commands, and the description in its own help.
        examples: Text below the options in its help.
        add_arguments: Declares its options.
        run: Runs it and returns the exit code; engines are made by the callable, which only some commands need.
    """

    name: str
    summary: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, NewEngine], int]


# SamplerConfig's field -> type, metavar, help
_SAMPLING: dict[str, tuple[type[int | float], str, str]] = {
    "temperature": (float, "T", "0 always takes the most probable token"),
    "top_p": (float, "P", "keep the most probable tokens that reach this share"),
    "top_k": (int, "K", "keep the K most probable tokens"),
    "min_p": (float, "P", "drop tokens below this share of the most probable one"),
    "repetition_penalty": (float, "X", "above 1: avoid tokens that came before"),
    "presence_penalty": (float, "X", "subtracted once from tokens that the answer holds"),
    "frequency_penalty": (float, "X", "subtracted for each time the answer holds a token"),
    "seed": (int, "S", "repeat an answer: same seed, same text; fixes what --depth auto means"),
}
_SHORT = {"temperature": "--temp"}


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How `chat` and `generate` are to answer.

    Attributes:
        sampling: The fields of SamplerConfig that were given.
        max_tokens: Limit of the answer, None for the context window.
        system: The system message, None for the model's own.
    """

    sampling: dict[str, Any]
    max_tokens: int | None
    stop: tuple[str, ...]
    system: str | None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> AnswerOptions:
        """Return what parsed arguments say; raise EngineError (BAD_REQUEST) when a number is out of its range."""
        names = (*_SAMPLING, "speculative_depth", "draft_core")
        given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
        if arguments.draft_model:
            given.setdefault("draft_core", "draft_model")
        SamplerConfig(**given)  # complains before a model is loaded
        return cls(given, arguments.max_tokens, tuple(arguments.stop), arguments.system)

    @property
    def drafts(self) -> bool:
        """Whether drafting was asked for, by depth or drafter, and not only left to the engine."""
        depth, drafter = self.sampling.get("speculative_depth"), self.sampling.get("draft_core", "stock")
        return depth != 0 and drafter != "off" and (depth not in (None, "auto") or drafter != "stock")

    def sampler(self, recommended: SamplerConfig) -> SamplerConfig:
        """Return the model's recommendation with the options that were given in place of its values."""
        return dataclasses.replace(recommended, **self.sampling)

    def opening(self) -> list[ChatMessage]:
        return [] if self.system is None else [ChatMessage("system", self.system)]


def add_data_dir(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Declare --data-dir; `again` for an action of a command that has it too, so that either may take it."""
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        type=_not_empty,
        default=argparse.SUPPRESS if again else None,
        help="use this folder for models and settings",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Declare --model and --data-dir."""
    parser.add_argument(
        "--model",
        metavar="NAME|PATH",
        help="an installed model or a model folder (default: what `mtplx models default` chose, else the starter)",
    )
    add_data_dir(parser)


def add_draft_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--draft-model",
        metavar="NAME|PATH",
        default="",
        help="a smaller model with the same tokenizer that drafts instead of the model's own head",
    )


def add_context(parser: argparse.ArgumentParser) -> None:
    text = f"judge whether it fits with so many tokens of context (default: {CONTEXT})"
    add_number(parser, "--context", CONTEXT, text)


def add_anyway(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--anyway", action="store_true", help=text)


def add_number(parser: argparse.ArgumentParser, name: str, default: int, text: str) -> None:
    """Declare an option that takes a whole number above 0."""
    parser.add_argument(name, metavar="N", type=positive, default=default, help=text)


def add_depths(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument(
        "--depths", metavar="N", type=int, choices=range(1, MAX_DEPTH + 1), nargs="+", default=[], help=text
    )


def add_json(
    parser: argparse.ArgumentParser,
    text: str = "print one JSON object instead of text",
    *,
    again: bool = False,
) -> None:
    """Declare --json; `again` for an action of a command that has it too, so that either may take it."""
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS if again else False, help=text)


def add_answer(parser: argparse.ArgumentParser) -> None:
    """Declare drafting, sampling, and the limits of an answer."""
    group = parser.add_argument_group("answers", "What is not given is as the model's makers recommend.")
    group.add_argument(
        "--depth",
        dest="speculative_depth",
        metavar="N|auto",
        type=_depth,
        help=f"draft tokens per step, 0 to {MAX_DEPTH}; auto measures what is fastest (default)",
    )
    group.add_argument(
        "--drafter",
        dest="draft_core",
        choices=get_args(DraftCore),
        help="who drafts (default: stock, the model's own head or else the draft model)",
    )
    for name, (kind, metavar, text) in _SAMPLING.items():
        option = _SHORT.get(name, "--" + name.replace("_", "-"))
        group.add_argument(option, dest=name, metavar=metavar, type=kind, help=text)
    group.add_argument("--max-tokens", metavar="N", type=positive, help="end the answer after N tokens")
    group.add_argument(
        "--stop",
        metavar="TEXT",
        action="append",
        default=[],
        type=_not_empty,
        help="end the answer before this text; repeatable",
    )
    group.add_argument("--system", metavar="TEXT", help="the system message")


def _depth(text: str) -> Depth:
    if text == "auto":
        return "auto"
    if text.isdecimal() and int(text) <= MAX_DEPTH:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a whole number from 0 to {MAX_DEPTH}")


def positive(text: str) -> int:
    """Parse a whole number above 0, else raise ArgumentTypeError."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")


def above_0(text: str) -> float:
    """Parse a number above 0, else raise ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if 0 < number < math.inf:
        return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")


def _not_empty(text: str) -> str:
    if text:  # an empty one is most likely a shell variable that is not set
        return text
    raise argparse.ArgumentTypeError("it is empty")


def find_model(model: str | None, data: Path, report: Report) -> Path:
    """Return the folder that --model names, by default the user's default model, else the starter, set up if missing.

    Raises:
        EngineError: There is no such model, or the starter could not be set up.
    """
    default = ModelPreferences(data).default() if model is None else None
    if default is not None:
        if not default.is_dir():
            raise EngineError(
                ErrorKind.NOT_FOUND,
                f"The default model is not at {default} any more. Choose another one (mtplx models default NAME), or "
                "name one with --model.",
            )
        return default
    if model is None or model == starter.shipped_recipe().id:
        return starter.ensure(data, report)
    return library.resolve_model(model, data)
