"""Looks for models on a hub."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from mtplx_engine.hub import names
from mtplx_engine.hub.repo import asked

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import ExpandModelProperty_T, ModelInfo

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt

LIMIT = 40

_LIBRARY = "mlx"  # the tag of repositories in the form that we load
_WANTED: list[ExpandModelProperty_T] = ["downloads", "likes", "gated", "tags", "config", "lastModified"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A repository that was found.

    Attributes:
        id: owner/name.
        model_type: Its architecture as its config.json says; "" when the hub does not know.
        downloads: In the last month.
        likes: How many people like it.
        gated: Whether an account must accept its licence first.
        updated: The day of the last change, as in "2026-11-29"; "" when the hub does not say.
    """

    id: str
    model_type: str
    downloads: int
    likes: int
    gated: bool
    updated: str


def search(
    connection: Connection, words: str, limit: int = LIMIT, interrupt: Interrupt | None = None
) -> tuple[Hit, ...]:
    """Return the models in MLX form that fit the words, the most used first.

    Args:
        connection: How the hub is reached.
        words: Parts of names; "" for all.
        limit: At most so many.
        interrupt: Stops it.

    Raises:
        HubError: The hub cannot be asked.
        CancelledError: The interrupt was set.
    """

    def ask(api: HfApi) -> tuple[Hit, ...]:
        found = api.list_models(
            search=words.strip() or None, filter=_LIBRARY, sort="downloads", limit=limit, expand=_WANTED
        )
        return tuple(_hit(info) for info in islice(found, limit) if names.is_repo(info.id))

    return asked(connection, "models", ask, interrupt)


def _hit(info: ModelInfo) -> Hit:
    model_type = (info.config or {}).get("model_type")
    return Hit(
        id=info.id,
        model_type=model_type if isinstance(model_type, str) else "",
        downloads=info.downloads or 0,
        likes=info.likes or 0,
        gated=bool(info.gated),
        updated=info.last_modified.date().isoformat() if info.last_modified else "",
    )
