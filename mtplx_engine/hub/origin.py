"""Where an installed model and its head came from, as its manifest notes it for people and as it is read again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mtplx_engine.hub.plan import Plan
    from mtplx_engine.hub.repo import Repo

_TAKEN = "taken out of "
_FORM = re.compile(r".*?([^/@ ]+/[^/@ ]+)@([0-9a-f]{40})")


class Origin(NamedTuple):
    """A repository at a commit.

    Attributes:
        repo: owner/name.
        revision: The commit.
        taken: Whether only a head was taken out of it.
    """

    repo: str
    revision: str
    taken: bool = False

    def in_words(self) -> str:
        """Name it in a sentence."""
        return f"{self.repo} (commit {self.revision[:7]})"


def of(repo: Repo, endpoint: str) -> str:
    """Return what a manifest notes of a repository."""
    return f"{endpoint}/{repo.id}@{repo.revision}"


def of_head(plan: Plan, endpoint: str) -> str:
    """Return what a manifest notes of a drafting head, "" when there is none or the model carries it itself."""
    if plan.taken is not None:
        return _TAKEN + of(plan.taken.original, endpoint)
    return of(plan.head, endpoint) if plan.head is not None else ""


def read(noted: str) -> Origin | None:
    """Return what a manifest notes; None for nothing, or what is from elsewhere. Which mirror gave it is the same."""
    found = _FORM.fullmatch(noted)
    return Origin(found[1], found[2], noted.startswith(_TAKEN)) if found else None


def head(plan: Plan) -> Origin | None:
    """Return where the head of a plan comes from, None when there is none or the model carries it itself."""
    return read(of_head(plan, ""))
