"""A drafting head that is taken out of a repository with a whole model: which bytes of which files it is made of.

Nobody tells the hash of such bytes. What holds instead: the commit, the sizes of the files, the hash of each file's
header, and that a file keeps one ETag throughout. Whether the head predicts its model, the probe tells as of any.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mtplx_engine.hub.digest import Expected
from mtplx_engine.hub.repo import Repo  # noqa: TC001 - annotations are read at run time
from mtplx_engine.hub.requests import Source
from mtplx_engine.models import model_config
from mtplx_engine.models.safetensors_header import ITEM_BYTES, LENGTH_BYTES, MAX_DIMENSIONS

if TYPE_CHECKING:
    from pathlib import Path

NAME: Final = "model.safetensors"
"""The file that a head becomes."""

_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor of the head.

    Attributes:
        name: Its name in the head.
        dtype: As safetensors spells it.
        shape: Its shape.
        file: The file of the original that holds it.
        begin: Its first byte there.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    begin: int

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file of the original, by which the file is known again: its bytes, and their sha256 in hex."""

    file: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TakenHead:
    """A head, and where its bytes are.

    Attributes:
        original: The repository that has it, with only the files that parts are taken from.
        architecture: The model's, as in config.json's `model_type`.
        hidden_size: Of the model.
        vocabulary: Of the model, in tokens.
        headers: Those of the files.
        parts: Its tensors, in the order of the file that they become.
    """

    original: Repo
    architecture: str
    hidden_size: int
    vocabulary: int
    headers: tuple[Header, ...]
    parts: tuple[Part, ...]

    @property
    def start(self) -> bytes:
        """How the head's file begins: all before the tensors."""
        entries, at = {}, 0
        for part in self.parts:
            span = [at, at + part.size]
            entries[part.name] = {"dtype": part.dtype, "shape": list(part.shape), "data_offsets": span}
            at += part.size
        text = json.dumps(entries, separators=(",", ":")).encode()
        text = text.ljust(-(-len(text) // _ALIGNMENT) * _ALIGNMENT)
        return len(text).to_bytes(LENGTH_BYTES, "little") + text

    @property
    def config(self) -> bytes:
        """What the head's config.json says."""
        body = {
            "model_type": f"{self.architecture}_mtp",
            "hidden_size": self.hidden_size,
            "vocab_size": self.vocabulary,
        }
        return json.dumps(body, indent=1).encode() + b"\n"

    @property
    def source(self) -> Source:
        """The head's file, as if the hub had it; in place of its hash there is one of where its bytes are."""
        start = self.start
        where = [self.original.id, self.original.revision, *((part.file, part.begin) for part in self.parts)]
        recipe = hashlib.sha256(json.dumps(where).encode() + start).hexdigest()
        size = len(start) + sum(part.size for part in self.parts)
        return Source("", self.original.id, "its drafting head", size, Expected("parts", recipe))

    @property
    def size(self) -> int:
        """Bytes of its two files."""
        return len(self.config) + self.source.size

    def lay(self, folder: Path) -> None:
        """Make `folder` look like the head: the file that its tensors will be in is a hole behind its start."""
        folder.mkdir()
        (folder / model_config.NAME).write_bytes(self.config)
        with (folder / NAME).open("wb") as file:
            file.write(self.start)
            file.truncate(self.source.size)

    def is_sound(self) -> bool:
        """Whether all parts are within the files that the repository has."""
        sizes = {file.name: file.size for file in self.original.files}
        return (
            len({part.name for part in self.parts}) == len(self.parts) > 0
            and {header.file for header in self.headers} == sizes.keys()
            and all(LENGTH_BYTES <= header.size <= sizes[header.file] for header in self.headers)
            and all(_is_inside(part, sizes.get(part.file, 0)) for part in self.parts)
        )


def _is_inside(part: Part, size: int) -> bool:
    return (
        part.dtype in ITEM_BYTES
        and len(part.shape) <= MAX_DIMENSIONS
        and all(side >= 0 for side in part.shape)
        and 0 <= part.begin <= part.begin + part.size <= size
    )
