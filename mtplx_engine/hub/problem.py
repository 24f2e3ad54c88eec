"""What can go wrong between us and a hub: each kind with its own words and its own one thing to do."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from mtplx_engine.errors import EngineError, ErrorKind


class Problem(StrEnum):
    """The kinds of failure; the value is what the button of the message says."""

    NO_TOKEN = "Add a token"  # noqa: S105 - no secret, the label of a button
    BAD_TOKEN = "Change the token"  # noqa: S105
    LICENCE = "Open the licence page"
    FORBIDDEN = "Change the token…"
    NOT_FOUND = "Choose another model"
    NO_NETWORK = "Try again when online"
    UNREACHABLE = "Try again"
    PORTAL = "Sign in to the network"
    PROXY = "Check the proxy"
    ADDRESS = "Check the address"
    CERTIFICATE = "Check date and network"
    DISK_FULL = "Make room and try again"
    READ_ONLY = "Choose another folder"
    NOT_CONNECTED = "Try again when connected"
    RATE_LIMITED = "Try again later"
    CHANGED = "Start over"
    WRONG_HASH = "Download again"
    UNSAFE = "Choose a safe model"
    NO_MODEL = "Choose an MLX model"
    UNFIT_HEAD = "Choose another head"
    BUSY = "Wait for the other one"


ON_THE_WAY: Final = frozenset(
    {
        Problem.NO_NETWORK,
        Problem.UNREACHABLE,
        Problem.PORTAL,
        Problem.PROXY,
        Problem.ADDRESS,
        Problem.CERTIFICATE,
        Problem.RATE_LIMITED,
    }
)
"""What lies on the way to the hub, and so is the same for every model."""


MOVED: Final = frozenset({Problem.NOT_FOUND, Problem.CHANGED})
"""What is said of a file that a repository had when it was looked at, and has no more."""


IN_THE_FOLDER: Final = frozenset({Problem.READ_ONLY, Problem.NOT_CONNECTED})
"""What another folder for models helps against."""


class HubError(EngineError):
    """A failure at the hub, or on the way to it or to the disk.

    Attributes:
        problem: Its kind.
        wait_s: How long the hub asked us to wait, in seconds; None when it did not.
    """

    def __init__(
        self, problem: Problem, message: str, details: str = "", *, wait_s: float | None = None
    ) -> None:
        super().__init__(ErrorKind.DOWNLOAD, message, details)
        self.problem = problem
        self.wait_s = wait_s

    @property
    def cause(self) -> str:
        """What happened, without what to do about it and without a full stop."""
        return self.info.message.partition(". ")[0].removesuffix(".")

    @property
    def passes(self) -> bool:
        """Whether the same request may well succeed in a moment."""
        return self.problem in (
            Problem.NO_NETWORK,
            Problem.UNREACHABLE,
            Problem.RATE_LIMITED,
        )


class CancelledError(Exception):
    """The download was paused or cancelled by the person, which is no failure."""
