"""Reads what a wheel says of its own files: `RECORD`, which the installer takes over from it."""

from __future__ import annotations

import base64
import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.distributions import Distribution


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a wheel.

    Attributes:
        name: Its path below site-packages.
        sha256: The hash of its bytes, None for the record itself.
    """

    name: str
    sha256: bytes | None


def read(distribution: Distribution) -> Iterator[Entry]:
    """Yield the files of an installed wheel.

    Raises:
        OSError, ValueError: There is no record, or none that can be read.
    """
    with (distribution.folder / "RECORD").open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            name, said, _ = row
            kind, _, digest = said.partition("=")
            yield Entry(name, base64.urlsafe_b64decode(f"{digest}=") if kind == "sha256" else None)
