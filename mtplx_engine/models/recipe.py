"""The recipe of a model that is built on this machine: where its bytes come from and how they are checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.models.manifest import FileRecord, HeadWiring, parse_head

if TYPE_CHECKING:
    from pathlib import Path

NAME = "recipe.json"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to fetch, what must come out, and what is joined to it.

    Attributes:
        folder: Where the recipe and the head's files are.
        id: Name of the installed folder.
        name: Name for people.
        licence: SPDX identifier.
        revision: Counts up when an installed model must be built again.
        requirement: The pinned requirement whose wheel holds the weights.
        wheel: The wheel file.
        weights: The GGUF file inside the wheel.
        generation: Content of generation_config.json: end tokens and the recommended sampling.
        head: How the drafting head is connected, and its files.
    """

    folder: Path
    id: str
    name: str
    licence: str
    revision: int
    requirement: str
    wheel: FileRecord
    weights: FileRecord
    generation: dict[str, Any]
    head: HeadWiring


def read(folder: Path) -> Recipe:
    """Return the recipe that ships in `folder`."""
    body = json.loads((folder / NAME).read_bytes())
    return Recipe(
        **{
            **body,
            "folder": folder,
            "wheel": FileRecord(**body["wheel"]),
            "weights": FileRecord(**body["weights"]),
            "head": parse_head(body["head"]),
        }
    )
