"""Searches the hub for models in MLX form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.hub import repository
from mtplx_engine.hub.api import Api
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from mtplx_engine.hub.errors import CancelToken
    from mtplx_engine.hub.http import HubConnection


LIMIT = 40

_LIBRARY = "mlx"  # tag of repositories in MLX form
_WANTED = ("downloads", "likes", "gated", "tags", "config", "lastModified")
_LONGEST_TYPE = 30
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Hit:
    """A repository in the results.

    Attributes:
        id: owner/name.
        model_type: Its architecture as its config.json says; "" when the hub does not know.
        downloads: In the last month.
        gated: Whether an account must accept its licence first.
        updated: The day of the last change, as in "2026-11-29"; "" when the hub does not say.
    """

    id: str
    model_type: str
    downloads: int
    likes: int
    gated: bool
    updated: str


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a search, the most downloaded first; `odd` entries of the hub's list were invalid and left out."""

    hits: tuple[Hit, ...]
    odd: int = 0


def search(connection: HubConnection, words: str, limit: int = LIMIT, interrupt: CancelToken | None = None) -> Found:
    """Return the models in MLX form whose names match `words`, "" for all; the most downloaded first."""
    parameters: dict[str, object] = {
        "filter": _LIBRARY,
        "sort": "downloads",
        "limit": limit,
        "expand": _WANTED,
    }
    if words.strip():
        parameters["search"] = words.strip()
    hits: list[Hit] = []
    odd = 0
    with Api(connection, interrupt=interrupt) as api:
        for entry in api.entries("/api/models", parameters):
            hit = _hit(entry)
            if hit is None:
                odd += 1
            else:
                hits.append(hit)
            if len(hits) + odd == limit:
                break
    return Found(tuple(hits), odd)


def _hit(entry: object) -> Hit | None:
    """Return an entry of the list; None when it names no repository. Other invalid fields count as unknown."""
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not repository.is_repo(entry["id"]):
        return None
    config, updated = entry.get("config"), entry.get("lastModified")
    model_type = config.get("model_type") if isinstance(config, dict) else None
    day = _DAY.match(updated) if isinstance(updated, str) else None
    return Hit(
        id=entry["id"],
        model_type=one_line(model_type, _LONGEST_TYPE) if isinstance(model_type, str) else "",
        downloads=_count(entry.get("downloads")),
        likes=_count(entry.get("likes")),
        gated=bool(entry.get("gated")),
        updated=day[0] if day else "",
    )


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
