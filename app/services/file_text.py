"""The process that extracts the text of a file: `python -I -m app.services.file_text FILE`, started by `FileReader`.

Files are hostile: a PDF of a few kilobytes can need hours and gigabytes. They are read here under limits of CPU time
and memory. The output is one line of JSON: the text, or why there is none.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


LARGEST_FILE = 20 << 20  # bytes
LONGEST_TEXT = 2_000_000  # characters; far more than any window holds

_CPU_S = 20
_MEMORY = 1 << 30  # bytes, the interpreter included
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*")
_CONTROL = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")
_FEW = 0.01  # of a text's bytes may be control characters


class Refusal(StrEnum):
    """Why no text was extracted."""

    MISSING = "missing"  # not a file, or not readable
    EMPTY = "empty"
    LARGE = "large"
    IMAGE = "image"
    BINARY = "binary"
    LOCKED = "locked"  # needs a password
    SCANNED = "scanned"  # a PDF of pictures
    DAMAGED = "damaged"


class RefusedError(Exception):
    """No text was extracted."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.value)
        self.why = why


def read(path: Path) -> str:
    """Return the text of a file; RefusedError where there is none, or too much of it."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise RefusedError(Refusal.MISSING)
        if size > LARGEST_FILE:
            raise RefusedError(Refusal.LARGE)
        data = path.read_bytes()
    except OSError as error:
        raise RefusedError(Refusal.MISSING) from error
    text = _pdf_text(path) if data.startswith(b"%PDF-") else _decoded(data)
    if len(text) > LONGEST_TEXT:
        raise RefusedError(Refusal.LARGE)
    return text


def _decoded(data: bytes) -> str:
    if not data.strip():
        raise RefusedError(Refusal.EMPTY)
    if data.startswith(_IMAGES) or data[8:12] in (b"WEBP", b"avif", b"heic", b"mif1"):
        raise RefusedError(Refusal.IMAGE)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _as(data, "utf-16")
    controls = sum(byte in _CONTROL for byte in data[: 1 << 16])
    if controls > _FEW * min(len(data), 1 << 16) or b"\0" in data:
        raise RefusedError(Refusal.BINARY)
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode("utf-8-sig")
    return _as(data, "cp1252")


def _as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise RefusedError(Refusal.BINARY) from error


def _pdf_text(path: Path) -> str:
    try:
        text = "\n\n".join(page for page in _pages(path) if page)
    except (RefusedError, MemoryError):
        raise
    except Exception as error:  # whatever the parser stumbles over
        raise RefusedError(Refusal.DAMAGED) from error
    if not text:
        raise RefusedError(Refusal.SCANNED)
    return text


def _pages(path: Path) -> Iterator[str]:
    from pypdf import PdfReader

    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        raise RefusedError(Refusal.LOCKED)
    length = 0
    for page in reader.pages:
        text = page.extract_text().strip()
        length += len(text)
        if length > LONGEST_TEXT:
            raise RefusedError(Refusal.LARGE)
        yield text


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    path = Path(sys.argv[1])
    try:
        answer = {"text": read(path), "size": path.stat().st_size}
    except RefusedError as error:
        answer = {"refused": error.why.value}
    except MemoryError:
        answer = {"refused": Refusal.LARGE.value}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _main()
