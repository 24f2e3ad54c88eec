"""Options that several commands share."""

from __future__ import annotations

import argparse
import dataclasses
import getpass
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from mtplx_engine.cli import output
from mtplx_engine.config import MAX_DEPTH, ChatMessage, DraftCore, SamplerConfig
from mtplx_engine.hub import api, credentials, remote_inspect, settings
from mtplx_engine.hub.credentials import TokenStore, system_keychain
from mtplx_engine.models.memory_fit import CONTEXT

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.config import Depth
    from mtplx_engine.hub.errors import CancelToken
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.plan import DownloadPlan
    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.util.formatting import Report


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
    """What a person asked for on the command line.

    Attributes:
        sampling: The fields of SamplerConfig that were given.
        max_tokens: Limit of the answer, None for the context window.
        stop: Strings that end the answer.
        system: The system message, None for the model's own.
    """

    sampling: dict[str, Any]
    max_tokens: int | None
    stop: tuple[str, ...]
    system: str | None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> AnswerOptions:
        """Take them from parsed arguments.

        Raises:
            EngineError: BAD_REQUEST, when a number is out of its range.
        """
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
        """Return the model's recommendation, changed where the person asked for something else."""
        return dataclasses.replace(recommended, **self.sampling)

    def opening(self) -> list[ChatMessage]:
        """Return the messages that a chat begins with."""
        return [] if self.system is None else [ChatMessage("system", self.system)]


def add_hub(parser: argparse.ArgumentParser) -> None:
    """Declare how the hub is reached."""
    parser.add_argument(
        "--endpoint", default="", metavar="URL", help="a mirror, in place of the hub that is set"
    )
    parser.add_argument(
        "--ask-token", action="store_true", help="ask for an access token; the keychain keeps it on a Mac"
    )


def add_data_dir(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Declare --data-dir; `again` for a part of a command that has it, so that it may come before or after."""
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
    """Declare --draft-model."""
    parser.add_argument(
        "--draft-model",
        metavar="NAME|PATH",
        default="",
        help="a smaller model with the same tokenizer that drafts instead of the model's own head",
    )


def drafter(arguments: argparse.Namespace) -> DraftCore:
    """Return who drafts where --draft-model is all that says so: that model, which is not loaded to be idle."""
    return "draft_model" if arguments.draft_model else "stock"


def add_context(parser: argparse.ArgumentParser) -> None:
    """Declare --context."""
    parser.add_argument(
        "--context",
        metavar="N",
        type=positive,
        default=CONTEXT,
        help=f"judge whether it fits with so many tokens of context (default: {CONTEXT})",
    )


def add_anyway(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare --anyway, which does what was advised against."""
    parser.add_argument("--anyway", action="store_true", help=what)


def add_json(
    parser: argparse.ArgumentParser,
    what: str = "print one JSON object instead of text",
    *,
    again: bool = False,
) -> None:
    """Declare --json; `again` for a part of a command that has it, so that it may come before or after."""
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS if again else False, help=what
    )


def add_answer(parser: argparse.ArgumentParser) -> None:
    """Declare how answers are made."""
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
    """Take a whole number above 0.

    Raises:
        ArgumentTypeError: It is something else.
    """
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")


def above_0(text: str) -> float:
    """Take a number above 0.

    Raises:
        ArgumentTypeError: It is something else.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if 0 < number < math.inf:
        return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")


def _not_empty(text: str) -> str:
    """Take an option's text; an empty one is most likely a variable that is not set."""
    if text:
        return text
    raise argparse.ArgumentTypeError("it is empty")


def connect(arguments: argparse.Namespace, data: Path) -> HubConnection:
    """Return the way to the hub that the options and the settings give, or else the environment of its own programs.

    Raises:
        EngineError: BAD_REQUEST, when an address is none, or no token was entered.
    """
    found = settings.read_settings(data)
    if arguments.endpoint:
        found = settings.HubSettings(arguments.endpoint, found.proxy)
    connection = found.connection(None)
    keychain = system_keychain()
    store = TokenStore(connection.host, keychain)
    if arguments.ask_token:
        store.set(_ask_token(connection.host))
    password = credentials.store_proxy(found.proxy, keychain)
    token = store.get() or api.login(connection.endpoint)
    return found.connection(token, password.get() if password is not None else None)


def _ask_token(host: str) -> str:
    try:
        return getpass.getpass(f"Access token of {host}: ")
    except EOFError:  # Ctrl-D
        return ""


def look_at(connection: HubConnection, wanted: DownloadPlan) -> RepoInspection:
    """Look at what would be installed; Ctrl-C ends that.

    Raises:
        EngineError: The hub does not let us.
        KeyboardInterrupt: Ctrl-C was pressed.
    """

    def work(interrupt: CancelToken, report: Report) -> RepoInspection:
        report(0.0, "Looking at it")
        return remote_inspect.inspect_repo(connection, wanted, interrupt)

    return output.ask(work)
