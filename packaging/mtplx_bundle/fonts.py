"""Which version of a font is shipped: OpenType files say so in their table `head`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


_ROW = struct.Struct(">4s3I")  # of the table of tables: tag, sum, offset, length
_ONE = 1 << 16  # revisions have 16 bits behind the point


def version(folder: Path, family: str) -> str | None:
    """Return the version of a font family, None when none of its files is there.

    Args:
        folder: Where the fonts are.
        family: As their file names begin.
    """
    path = next(iter(sorted(folder.glob(f"{family}-*.[ot]tf"))), None)
    return None if path is None else _revision(path.read_bytes())


def _revision(data: bytes) -> str | None:
    (tables,) = struct.unpack_from(">H", data, 4)
    for index in range(tables):
        tag, _, offset, _ = _ROW.unpack_from(data, 12 + index * _ROW.size)
        if tag == b"head":
            return f"{struct.unpack_from('>i', data, offset + 4)[0] / _ONE:.3f}"
    return None
