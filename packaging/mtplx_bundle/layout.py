"""Paths inside the app, and the systems that it is laid out for: Macs, and Linux for the twin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.paths import APP_NAME

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of an app, the same for each target.

    Python's own layout is kept below `Contents/Resources/lib`, and that of the wheels in its `site-packages`: mlx looks
    for its Metal library beside its own, and Qt for its plugins below its frameworks.

    Attributes:
        root: The app itself, `MTPLX.app`.
    """

    root: Path

    @property
    def contents(self) -> Path:
        """Everything is in here."""
        return self.root / "Contents"

    @property
    def plist(self) -> Path:
        """What macOS reads about the app."""
        return self.contents / "Info.plist"

    @property
    def executable(self) -> Path:
        """The launcher that a double-click starts."""
        return self.contents / "MacOS" / APP_NAME

    @property
    def helpers(self) -> Path:
        """Folder of the other launchers; `MTPLX` and `mtplx` would be one file on a Mac's disk."""
        return self.contents / "Helpers"

    @property
    def interpreter(self) -> Path:
        """The launcher that takes Python's own command line: the engine process is started with it."""
        return self.helpers / "mtplx-engine"

    @property
    def command(self) -> Path:
        """The launcher of the `mtplx` command."""
        return self.helpers / "mtplx"

    @property
    def resources(self) -> Path:
        """Home of the interpreter."""
        return self.contents / "Resources"

    @property
    def icon(self) -> Path:
        """The app's icon."""
        return self.resources / f"{APP_NAME}.icns"

    @property
    def libraries(self) -> Path:
        """Folder of the interpreter's library."""
        return self.resources / "lib"

    @property
    def stdlib(self) -> Path:
        """Python's own modules."""
        return self.libraries / "python3.11"

    @property
    def extensions(self) -> Path:
        """Python's own modules in machine code."""
        return self.stdlib / "lib-dynload"

    @property
    def site(self) -> Path:
        """The wheels, ours too."""
        return self.stdlib / "site-packages"

    @property
    def starter(self) -> Path:
        """The starter model, ready to use, where `mtplx_engine.models.starter` looks for it."""
        return self.site / "resources" / "starter" / "model"

    @property
    def licences(self) -> Path:
        """The licence texts of all that is shipped."""
        return self.resources / "licences"

    @property
    def sbom(self) -> Path:
        """What is shipped, for programs to read."""
        return self.resources / "sbom.cdx.json"

    @property
    def ticket(self) -> Path:
        """Apple's answer, when the app was notarised; fastened to it after the signing."""
        return self.contents / "CodeResources"

    @property
    def seal(self) -> Path:
        """The hashes of all files, which the signature of the launcher covers."""
        return self.contents / "_CodeSignature" / "CodeResources"


MINIMUM_MACOS = "14.0"  # mlx's own
SDK = (15, 0)
"""The macOS whose looks and behaviour the programs ask for: that of Qt, which knows of no newer one."""


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
"""Suffixes of extension modules of Python 3.11 for Macs."""
