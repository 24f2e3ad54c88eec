"""Writes the smallest Mach-O files that say something: load commands, and an ad-hoc signature over them."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from mtplx_bundle.macho import ARM64

DYLIB = 6
_PAGE = 4096
_BODY = 3 * _PAGE  # so that a signature has pages to cover


@dataclass(frozen=True, slots=True)
class Tiny:
    """What a file is to say; see `mtplx_bundle.macho.Image`."""

    architecture: int = ARM64
    kind: int = DYLIB
    minimum: tuple[int, int] | None = (14, 0)
    sdk: tuple[int, int] = (15, 0)
    needs: tuple[str, ...] = ("/usr/lib/libSystem.B.dylib",)
    weak: tuple[str, ...] = ()
    rpaths: tuple[str, ...] = ()
    signed: bool = True
    adhoc: bool = True  # by nobody
    text: bytes = b""  # somewhere in it
    slots: tuple[tuple[int, bytes], ...] = ()  # number, and what it is the hash of

    def bytes(self) -> bytes:
        """Return the file."""
        commands = [_load(0xC, name) for name in self.needs]
        commands += [_load(0x80000018, name) for name in self.weak]
        commands += [_string(0x8000001C, 12, path) for path in self.rpaths]
        if self.minimum is not None:
            versions = [major << 16 | minor << 8 for major, minor in (self.minimum, self.sdk)]
            commands.append(struct.pack("<6I", 0x32, 24, 1, *versions, 0))
        if self.signed:
            commands.append(struct.pack("<4I", 0x1D, 16, _BODY, 8192))
        body = b"".join(commands)
        head = struct.pack("<8I", 0xFEEDFACF, self.architecture, 0, self.kind, len(commands), len(body), 0, 0)
        data = (head + body + self.text).ljust(_BODY, b"\x90")
        return data + _signature(data, dict(self.slots), 0x2 if self.adhoc else 0) if self.signed else data


def fat(*images: bytes, architectures: tuple[int, ...]) -> bytes:
    """Return a fat file of several images, each with its processor."""
    offset, table, body = _PAGE, b"", b""
    for architecture, image in zip(architectures, images, strict=True):
        table += struct.pack(">5I", architecture, 0, offset + len(body), len(image), 12)
        body += image
    return (struct.pack(">2I", 0xCAFEBABE, len(images)) + table).ljust(offset, b"\0") + body


def _string(command: int, offset: int, text: str, extra: bytes = b"") -> bytes:
    name = text.encode() + b"\0"
    size = -(-(offset + len(name)) // 8) * 8
    return (struct.pack("<3I", command, size, offset) + extra + name).ljust(size, b"\0")


def _load(command: int, name: str) -> bytes:
    return _string(command, 24, name, struct.pack("<3I", 2, 0x10000, 0x10000))


def _signature(data: bytes, slots: dict[int, bytes], flags: int) -> bytes:
    name, special = b"tiny\0", max(slots, default=0)
    outside = b"".join(
        hashlib.sha256(slots[slot]).digest() if slot in slots else bytes(32) for slot in range(special, 0, -1)
    )
    pages = [data[start : start + _PAGE] for start in range(0, len(data), _PAGE)]
    inside = b"".join(hashlib.sha256(page).digest() for page in pages)
    at = 44 + len(name) + len(outside)
    rest = struct.pack(">2I", 0x20400, flags) + struct.pack(
        ">5I4BI", at, 44, special, len(pages), len(data), 32, 2, 0, 12, 0
    )
    directory = rest + name + outside + inside
    directory = struct.pack(">2I", 0xFADE0C02, len(directory) + 8) + directory
    blob = struct.pack(">2I", 0, 20) + directory
    signature = struct.pack(">3I", 0xFADE0CC0, len(blob) + 12, 1) + blob
    return signature.ljust(8192, b"\0")
