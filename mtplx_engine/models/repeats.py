"""Whether embedding and output head, where a drafting head repeats them, are really its target's; imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.models import safetensors_header
from mtplx_engine.models.head_source import Location

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.safetensors_header import TensorSpec

# What a head may repeat, as its names end, and how the target's end.
_REPEATED = {
    "embed_tokens.weight": ("embed_tokens.weight",),
    "shared_head.head.weight": ("lm_head.weight", "embed_tokens.weight"),
    "lm_head.weight": ("lm_head.weight", "embed_tokens.weight"),
}
_PLACES = 8
_BYTES = 4096


def differing(head: HeadSource, folder: Path, tensors: Mapping[str, TensorSpec]) -> str:
    """Return the name of a tensor that a head does not share with its target; empty when there is none.

    Tensors that are packed in another way cannot be compared and count as shared.

    Args:
        head: The head.
        folder: The target's folder.
        tensors: The target's tensors, in files there.
    """
    for raw, location in head.tensors.items():
        endings = next((ends for end, ends in _REPEATED.items() if raw == end or raw.endswith(f".{end}")), ())
        own = next(
            (name for ending in endings for name in tensors if name == ending or name.endswith(f".{ending}")),
            None,
        )
        if own is not None and not _same(location, Location(folder / tensors[own].file, own, tensors[own])):
            return raw
    return ""


def _same(repeated: Location, own: Location) -> bool:
    if repeated.spec.dtype != own.spec.dtype:
        return True
    return repeated.spec.shape == own.spec.shape and _sample(repeated) == _sample(own)


def _sample(location: Location) -> bytes:
    """Return bytes from all over a tensor."""
    spec = location.spec
    starts = (spec.size * place // _PLACES for place in range(_PLACES))
    with location.path.open("rb") as file:
        return safetensors_header.sample_tensor(file, spec, starts, _BYTES)
