"""Reads Mach-O files, the executables and libraries of macOS, as far as the gates need it.

The layout is that of `<mach-o/loader.h>` and `<mach-o/fat.h>`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


ARM64, X86_64 = 0x0100000C, 0x01000007
EXECUTABLE = 2  # the file type of programs

_MAGIC_64 = 0xFEEDFACF
_OTHER_MAGICS = {0xFEEDFACE, 0xCEFAEDFE, 0xCFFAEDFE}  # 32 bits, or big-endian
_FAT_MAGIC, _FAT_MAGIC_64 = 0xCAFEBABE, 0xCAFEBABF
_MOST_SLICES = 16  # Java's classes begin like fat files, with a version number in place of the count
_HEADER = struct.Struct("<8I")

_LC_RPATH, _LC_CODE_SIGNATURE = 0x8000001C, 0x1D
_LC_LOADS = {0xC, 0x80000018, 0x8000001F, 0x80000023}  # load, weak, re-export, upward
_LC_WEAK = 0x80000018
_LC_VERSION_MIN_MACOSX, _LC_BUILD_VERSION = 0x24, 0x32
_VERSIONS = {_LC_VERSION_MIN_MACOSX: 8, _LC_BUILD_VERSION: 12}  # where minimum and SDK stand in the command


class NotMachOError(ValueError):
    """The bytes begin like a Mach-O file but are none."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A linked library; a weak one may be missing."""

    name: str
    weak: bool


@dataclass(frozen=True, slots=True)
class Image:
    """One architecture's program or library.

    Attributes:
        architecture: The processor, as ARM64.
        kind: The file type, as EXECUTABLE.
        minimum: The oldest macOS that it is made for, as (14, 0); None when it does not say.
        sdk: The macOS whose behaviour it is made for; None when it does not say.
        dependencies: The libraries that it is linked to.
        rpaths: Where `@rpath` leads.
        signature: Offset and size of the code signature within the image, None without one.
        data: The image's bytes.
    """

    architecture: int
    kind: int
    minimum: tuple[int, int] | None
    sdk: tuple[int, int] | None
    dependencies: tuple[Dependency, ...]
    rpaths: tuple[str, ...]
    signature: tuple[int, int] | None
    data: memoryview


def is_macho(path: Path) -> bool:
    """Whether a file is a Mach-O file, by its first bytes and never by its name."""
    with path.open("rb") as file:
        head = file.read(8)
    if len(head) < 8:
        return False
    little, (big, count) = int.from_bytes(head[:4], "little"), struct.unpack(">2I", head)
    if big in (_FAT_MAGIC, _FAT_MAGIC_64):
        return bool(0 < count <= _MOST_SLICES)
    return little == _MAGIC_64 or little in _OTHER_MAGICS


def images(data: bytes) -> tuple[Image, ...]:
    """Return the images in a file: several in a fat one.

    Raises:
        NotMachOError: The bytes are cut off, or not of 64 bits.
    """
    try:
        return tuple(_image(part) for part in _parts(memoryview(data)))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise NotMachOError(repr(error)) from error


def thinned(data: bytes) -> bytes:
    """Return the arm64 image of a fat file, and a thin file as it is.

    Raises:
        NotMachOError: There is none in it.
    """
    for image in images(data):
        if image.architecture == ARM64:
            return bytes(image.data)
    raise NotMachOError("no arm64 image")


def with_sdk(data: bytes, sdk: tuple[int, int]) -> bytes:
    """Return a thin file that names another SDK; its signature no longer fits.

    Raises:
        NotMachOError: It does not say with which SDK it was made.
    """
    at = _HEADER.size
    for command, body in _commands(memoryview(data), _HEADER.unpack_from(data)[4]):
        if command == _LC_BUILD_VERSION:
            at += _VERSIONS[command] + 4
            return data[:at] + struct.pack("<I", sdk[0] << 16 | sdk[1] << 8) + data[at + 4 :]
        at += len(body)
    raise NotMachOError("no SDK")


def _version(packed: int) -> tuple[int, int]:
    return packed >> 16, packed >> 8 & 0xFF


def _parts(data: memoryview) -> Iterator[memoryview]:
    magic, count = struct.unpack_from(">2I", data)
    if magic not in (_FAT_MAGIC, _FAT_MAGIC_64):
        yield data
        return
    row = struct.Struct(">2I3I" if magic == _FAT_MAGIC else ">2I2Q2I")
    for index in range(count):
        _, _, offset, size, *_ = row.unpack_from(data, 8 + index * row.size)
        if offset + size > len(data):
            raise NotMachOError(f"an image ends at {offset + size}, the file at {len(data)}")
        yield data[offset : offset + size]


def _image(data: memoryview) -> Image:
    magic, architecture, _, kind, count, _, _, _ = _HEADER.unpack_from(data)
    if magic != _MAGIC_64:
        raise NotMachOError(f"magic {magic:#x}")
    minimum: tuple[int, int] | None = None
    sdk: tuple[int, int] | None = None
    signature: tuple[int, int] | None = None
    dependencies: list[Dependency] = []
    rpaths: list[str] = []
    for command, body in _commands(data, count):
        if command in _LC_LOADS:
            dependencies.append(Dependency(_string(body), command == _LC_WEAK))
        elif command == _LC_RPATH:
            rpaths.append(_string(body))
        elif command in (_LC_BUILD_VERSION, _LC_VERSION_MIN_MACOSX):
            minimum, sdk = map(_version, struct.unpack_from("<2I", body, _VERSIONS[command]))
        elif command == _LC_CODE_SIGNATURE:
            signature = struct.unpack_from("<2I", body, 8)
    return Image(architecture, kind, minimum, sdk, tuple(dependencies), tuple(rpaths), signature, data)


def _commands(data: memoryview, count: int) -> Iterator[tuple[int, memoryview]]:
    at = _HEADER.size
    for _ in range(count):
        command, size = struct.unpack_from("<2I", data, at)
        if size < 8 or at + size > len(data):
            raise NotMachOError(f"a load command of {size} bytes at {at}")
        yield command, data[at : at + size]
        at += size


def _string(body: memoryview) -> str:
    (start,) = struct.unpack_from("<I", body, 8)
    return bytes(body[start:]).partition(b"\0")[0].decode()
