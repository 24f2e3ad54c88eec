"""The curated list of recommended models."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from mtplx_engine import paths

_FILE = "models.toml"


@dataclass(frozen=True, slots=True)
class Entry:
    """A recommended model, with rounded `billions` of parameters; `head` is "" when the model has its own."""

    title: str
    target: str
    head: str
    good_for: str
    billions: int


@cache
def entries() -> tuple[Entry, ...]:
    """Return the recommended models, the smallest first."""
    body = tomllib.loads((paths.resources() / _FILE).read_text(encoding="utf-8"))
    return tuple(Entry(**item) for item in body["model"])


def entry_of(repo_id: str) -> Entry | None:
    """Return the entry of a repository, None without one; hubs ignore the case of names."""
    return next((entry for entry in entries() if entry.target.casefold() == repo_id.casefold()), None)
