"""Read and verify the header of a safetensors file, and sample its tensors.

mlx multiplies the dimensions without looking for overflow, so a lying header ends in a segmentation fault there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from mtplx_engine.models import json_files
from mtplx_engine.models.json_files import refused

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


MAX_HEADER_BYTES = 32 << 20
MAX_TENSORS = 200_000
MAX_DIMENSIONS = 8
_MAX_DIMENSION = 2**31 - 1
LENGTH_BYTES = 8
_OTHER_BRACES = 1 << 10  # the header's own, and those in the metadata's texts
_MOST_COMMAS = 4 + MAX_DIMENSIONS - 1  # of a tensor

ITEM_BYTES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "F8_E4M3": 1,
    "F8_E8M0": 1,
    "U16": 2,
    "I16": 2,
    "F16": 2,
    "BF16": 2,
    "U32": 4,
    "I32": 4,
    "F32": 4,
    "U64": 8,
    "I64": 8,
    "F64": 8,
}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor's entry in a header: dtype as safetensors spells it, shape, file name, offset of its data there."""

    dtype: str
    shape: tuple[int, ...]
    file: str
    begin: int

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]


def read(path: Path) -> dict[str, TensorSpec]:
    """Return the tensors of a safetensors file by name, without reading their data.

    Raises:
        EngineError: REFUSED, when the header lies, overlaps, leaves gaps or is too large.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if size < LENGTH_BYTES or length > size - LENGTH_BYTES:
            raise refused(path.name, f"is cut off or no safetensors file ({size} bytes)")
        if length > MAX_HEADER_BYTES:
            raise refused(path.name, f"has a header of {length} bytes, more than {MAX_HEADER_BYTES}")
        raw = file.read(length)
    # Counted before parsing too: 500,000 tensors would cost seconds only to be refused.
    if raw.count(b"{") > MAX_TENSORS + _OTHER_BRACES or raw.count(b",") > MAX_TENSORS * _MOST_COMMAS:
        raise refused(path.name, f"lists more than {MAX_TENSORS} tensors")
    header = json_files.parse_json(raw, path.name)
    _check_metadata(header.pop("__metadata__", None), path.name)
    if len(header) > MAX_TENSORS:
        raise refused(path.name, f"lists more than {MAX_TENSORS} tensors")
    spans = sorted((*_span(entry, name, path.name), name) for name, entry in header.items())
    _check_layout(spans, size - LENGTH_BYTES - length, path.name)
    data = LENGTH_BYTES + length
    return {
        name: TensorSpec(entry["dtype"], tuple(entry["shape"]), path.name, data + entry["data_offsets"][0])
        for name, entry in header.items()
    }


def sample_tensor(file: BinaryIO, spec: TensorSpec, starts: Iterable[int], most: int) -> bytes:
    """Read up to `most` bytes of a tensor at each of some offsets, in bytes from its first, and join them."""
    parts = []
    for start in starts:
        file.seek(spec.begin + start)
        parts.append(file.read(min(most, spec.size - start)))
    return b"".join(parts)


def _check_metadata(metadata: Any, file: str) -> None:
    if metadata is None:  # as mlx writes it
        return
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise refused(file, "has metadata that are not text")


def _span(entry: Any, name: str, file: str) -> tuple[int, int]:
    """Return the offsets of a tensor's first byte and of its end, checked against its dtype and shape."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise refused(file, f"describes the tensor {name[:100]!r} in an unknown way")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        raise refused(file, f"has the tensor {name[:100]!r} in the unknown type {str(dtype)[:20]!r}")
    if not _are_whole(shape, _MAX_DIMENSION) or len(shape) > MAX_DIMENSIONS:
        raise refused(file, f"has the tensor {name[:100]!r} in an impossible shape")
    if not _are_whole(offsets, 2**63) or len(offsets) != 2:
        raise refused(file, f"has no sound place for the tensor {name[:100]!r}")
    begin, end = offsets
    if end - begin != math.prod(shape) * ITEM_BYTES[dtype]:
        raise refused(file, f"has another number of bytes for {name[:100]!r} than its shape needs")
    return begin, end


def _are_whole(values: Any, largest: int) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest for value in values
    )


def _check_layout(spans: list[tuple[int, int, str]], data_bytes: int, file: str) -> None:
    """Check that the tensors lie one after the other and fill the file exactly."""
    at = 0
    for begin, end, name in spans:
        if begin != at:
            raise refused(file, f"has a gap or an overlap before the tensor {name[:100]!r}")
        at = end
    if at != data_bytes:
        raise refused(file, f"should have {at} bytes of data but has {data_bytes}")
