"""What a hub says a file's content hashes to, and how that is checked."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_BLOCK = 4 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEX = {"sha256": _SHA256, "git": re.compile(r"[0-9a-f]{40}"), "parts": _SHA256}


@dataclass(frozen=True, slots=True)
class Expected:
    """The hash that content must have.

    Attributes:
        kind: "sha256" of the content, which hubs know of large files; or "git", the id of the content as a git blob;
            or "parts", where it says which bytes of other files the content is, whose hash nobody knows.
        value: In hex.

    Raises:
        ValueError: It is no such hash.
    """

    kind: str
    value: str

    def __post_init__(self) -> None:
        if self.kind not in _HEX or not _HEX[self.kind].fullmatch(self.value):
            raise ValueError(f"{self.kind} {self.value!r} is no hash")

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    def hasher(self, size: int) -> Hasher:
        """Return what hashes content of `size` bytes."""
        return Hasher(self, size)

    def is_of(self, path: Path, check: Callable[[], None]) -> bool:
        """Whether a file has this hash, read from the start; never for "parts". `check` may raise something to stop."""
        if self.kind == "parts":
            return False
        hasher, block = self.hasher(path.stat().st_size), bytearray(_BLOCK)
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(block):
                check()
                hasher.update(bytes(memoryview(block)[:count]))
        return hasher.is_right()


class Hasher:
    """Hashes content that comes in order.

    The sha256 is always taken, since the manifest of an installed model notes it of every file.

    Attributes:
        sha256: Hex digest of what came so far.
    """

    def __init__(self, expected: Expected, size: int) -> None:
        self._expected: Final = expected
        self._sha256 = hashlib.sha256()
        # git ids are what the hub gives; nobody relies on them against an attacker
        self._git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        updates: list[Callable[[bytes], None]] = [self._sha256.update]
        if expected.kind == "git":
            updates.append(self._git.update)
        self._updates = tuple(updates)

    def update(self, data: bytes) -> None:
        """Take in the next bytes."""
        for update in self._updates:
            update(data)

    @property
    def sha256(self) -> str:
        """Hex digest of what came so far."""
        return self._sha256.hexdigest()

    def is_right(self) -> bool:
        """Whether all that came is what was expected, as far as a hash can tell."""
        if self._expected.kind == "parts":
            return True
        found = self.sha256 if self._expected.kind == "sha256" else self._git.hexdigest()
        return found == self._expected.value
