"""Checks code signatures against the bytes that they cover, on any system.

It checks what Apple calls static validity, the hashes; who signed is left to Apple's tools.
The layout is that of XNU's `osfmk/kern/cs_blobs.h`.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_bundle.macho import Image


_SUPER_BLOB, _CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02
_SHA256 = 2
_HASH_SIZE, _CDHASH_SIZE = 32, 20
_HEAD = struct.Struct(">9I4BI")  # up to pageSize and spare2
INFO_SLOT, SEAL_SLOT = 1, 3
_RUNTIME, _ADHOC = 0x10000, 0x2


class BadSignatureError(ValueError):
    """There is no signature, or it does not fit the bytes."""


@dataclass(frozen=True, slots=True)
class CodeDirectory:
    """The code directory of a signature, its main part.

    Attributes:
        identifier: The name under which the code was signed.
        adhoc: Whether the signature is ad hoc, of nobody.
        runtime: Whether the hardened runtime is asked for.
        cdhash: The hash by which nested code is named in the seal of what is around it.
        slots: The hashes of what is outside the file, by slot: INFO_SLOT, SEAL_SLOT.
    """

    identifier: str
    adhoc: bool
    runtime: bool
    cdhash: bytes
    slots: dict[int, bytes]


def verify(image: Image) -> CodeDirectory:
    """Return the code directory of an image, after the hash of every page was compared.

    Raises:
        BadSignatureError: There is no signature, it cannot be read, or a page is another one.
    """
    if image.signature is None:
        raise BadSignatureError("not signed")
    offset, size = image.signature
    try:
        return _verified(image.data, _code_directory(image.data[offset : offset + size]), offset)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise BadSignatureError(f"its signature cannot be read ({error!r})") from error


def _code_directory(blob: memoryview) -> memoryview:
    """Return the code directory with SHA-256 hashes in a signature; older ones stand beside it."""
    magic, _, count = struct.unpack_from(">3I", blob)
    if magic != _SUPER_BLOB:
        raise BadSignatureError(f"its signature begins with {magic:#x}")
    for index in range(count):
        _, at = struct.unpack_from(">2I", blob, 12 + 8 * index)
        found, size = struct.unpack_from(">2I", blob, at)
        if found == _CODE_DIRECTORY and blob[at + 37] == _SHA256:
            return blob[at : at + size]
    raise BadSignatureError("its signature holds no SHA-256 hashes")


def _verified(data: memoryview, directory: memoryview, end: int) -> CodeDirectory:
    _, _, _, flags, hashes, name, specials, pages, limit, _, _, _, shift, _ = _HEAD.unpack_from(directory)
    if limit != end:
        raise BadSignatureError(f"its signature covers {limit} of {end} bytes")
    page = 1 << shift
    if pages != -(-limit // page):
        raise BadSignatureError(f"its signature covers {pages} pages of {-(-limit // page)}")
    for index in range(pages):
        start = index * page
        if _hash(directory, hashes, index) != hashlib.sha256(data[start : min(start + page, limit)]).digest():
            raise BadSignatureError(f"its bytes from {start} on are not the signed ones")
    return CodeDirectory(
        identifier=bytes(directory[name:]).partition(b"\0")[0].decode(),
        adhoc=bool(flags & _ADHOC),
        runtime=bool(flags & _RUNTIME),
        cdhash=hashlib.sha256(directory).digest()[:_CDHASH_SIZE],
        slots={slot: _hash(directory, hashes, -slot) for slot in range(1, specials + 1)},
    )


def _hash(directory: memoryview, start: int, index: int) -> bytes:
    at = start + index * _HASH_SIZE
    if at < 0 or at + _HASH_SIZE > len(directory):
        raise BadSignatureError("its signature is cut off")
    return bytes(directory[at : at + _HASH_SIZE])
