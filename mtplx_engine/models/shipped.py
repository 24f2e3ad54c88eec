"""Which head is our own: the starter model's, which ships with the code and was trained on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.models import head_source, identity, safetensors_header, starter

if TYPE_CHECKING:
    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.head_source import HeadSource


def is_starter(checked: Checkpoint, head: HeadSource) -> bool:
    """Whether a model is the starter, with the very bytes of the head that ships with the code."""
    noted, recipe = checked.manifest, starter.shipped_recipe()
    if noted is None or (noted.id, noted.head) != (recipe.id, recipe.head):
        return False
    path = paths.resources() / "starter" / recipe.head.files[0]
    specs = safetensors_header.read(path)
    ours = (head_source.Location(path, name, spec) for name, spec in specs.items())
    return identity.whole(ours) == identity.whole(head.tensors.values())
