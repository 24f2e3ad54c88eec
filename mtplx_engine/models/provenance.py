"""Where a model came from and how its weights are stored, in words for people. Imports no mlx."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from mtplx_engine.models import hub_cache

if TYPE_CHECKING:
    from mtplx_engine.models.checkpoint import Checkpoint

_COMMIT = re.compile(r"@([0-9a-f]{7,64})$")  # at the end of a manifest's source
_MODES = ("mxfp4", "mxfp8", "nvfp4")
_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8"}


def revision(checkpoint: Checkpoint) -> str:
    """Return the commit of the repository that a model came from, or the number of its recipe; "" when not known."""
    noted = checkpoint.manifest
    if noted is None:
        return hub_cache.commit(checkpoint.folder)
    if found := _COMMIT.search(noted.source):
        return found[1]
    return str(noted.revision) if noted.files else hub_cache.commit(checkpoint.folder)


def quantization(checkpoint: Checkpoint) -> str:
    """Return how the weights of a model are stored, as in "4-bit, group 64", "4 to 8-bit, group 64" or "bfloat16"."""
    settings = checkpoint.config.get("quantization")
    if settings:
        tables = [settings, *(value for value in settings.values() if isinstance(value, dict))]
        bits, groups = ({table[name] for table in tables} for name in ("bits", "group_size"))
        kind = f" {settings['mode']}" if settings.get("mode") in _MODES else ""
        return f"{_span(bits)}-bit{kind}, group {_span(groups)}"
    sizes: Counter[str] = Counter()
    for spec in checkpoint.tensors.values():
        sizes[spec.dtype] += spec.size
    most = max(sizes, key=sizes.__getitem__, default="")
    return _TYPES.get(most, "packed")


def _span(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
