"""What the app is laid out for: Macs with Apple silicon, or the Linux machine that builds its twin."""

from __future__ import annotations

from dataclasses import dataclass

MINIMUM_MACOS = "14.0"  # mlx's own
SDK = (15, 0)
"""The macOS whose looks and behaviour the programs ask for: Qt's own, which knows of no newer one."""


@dataclass(frozen=True, slots=True)
class Target:
    """A system that the app is laid out for.

    Attributes:
        name: As it stands in file names.
        wheels: uv's name of the platform whose wheels are taken, None for this machine's.
        compiler: zig's name of it, None for this machine's.
        python_library: File name of the library that is the interpreter.
    """

    name: str
    wheels: str | None
    compiler: str | None
    python_library: str


MACOS = Target("macos-arm64", "aarch64-apple-darwin", f"aarch64-macos.{MINIMUM_MACOS}", "libpython3.11.dylib")
LINUX = Target("linux", None, None, "libpython3.11.so.1.0")
EXTENSION_SUFFIXES = (".cpython-311-darwin.so", ".abi3.so", ".so")
"""The endings by which Python 3.11 for Macs knows a module in machine code."""
