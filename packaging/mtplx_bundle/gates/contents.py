"""What is in an app, and what must be in it; the gates compare the two.

What must be in it is read from the sources of the build, never from the app itself.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mtplx_bundle import macho, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.layout import Layout
    from mtplx_bundle.macho import Image
    from mtplx_bundle.runtime import Modules


class Contents:
    """The files of an app.

    Args:
        layout: The app.
        expected: What it must be made of.
    """

    def __init__(self, layout: Layout, expected: Expected) -> None:
        self.layout = layout
        self.expected = expected

    @cached_property
    def everything(self) -> tuple[Path, ...]:
        """Every file, folder and link."""
        return tuple(sorted(self.layout.root.rglob("*")))

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """Every file, links left out."""
        return tuple(path for path in self.everything if path.is_file() and not path.is_symlink())

    @cached_property
    def links(self) -> tuple[Path, ...]:
        """Every link, wherever it leads."""
        return tuple(path for path in self.everything if path.is_symlink())

    @cached_property
    def images(self) -> dict[Path, tuple[Image, ...]]:
        """The images of each Mach-O file, none for a file that cannot be read."""
        return {path: _images(path) for path in self.files if macho.is_macho(path)}

    def name(self, path: Path) -> str:
        """Return a path as it stands in reports, below the app's folder."""
        return str(path.relative_to(self.layout.root))


def _images(path: Path) -> tuple[Image, ...]:
    try:
        return macho.images(path.read_bytes())
    except macho.NotMachOError:
        return ()


_PROJECT = Path(__file__).resolve().parents[3]
_MAC = {  # environment markers of a Mac with Apple silicon
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "arm64",
    "platform_python_implementation": "CPython",
    "platform_system": "Darwin",
    "python_full_version": "3.11.9",
    "python_version": "3.11",
    "sys_platform": "darwin",
}
_LOCKED = re.compile(r"^\S+==[^\\\n]+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be in an app.

    Attributes:
        version: Ours.
        wheels: Name and version of each wheel that is locked for Macs, ours left out.
        own: Every file of this checkout that ships, below site-packages.
        modules: Python's own modules.
    """

    version: str
    wheels: frozenset[tuple[str, str]]
    own: frozenset[str]
    modules: Modules


def of_checkout(python: Path | None) -> Expected:
    """Return what an app of this checkout is made of.

    Args:
        python: The installed Python that was taken, None for the one that runs.

    Raises:
        UnfitPythonError: That Python does not say which version it is.
    """
    project = tomllib.loads((_PROJECT / "pyproject.toml").read_text())["project"]
    modules = runtime.running() if python is None else runtime.installed(python)
    return Expected(
        version=project["version"],
        wheels=locked((_PROJECT / "requirements" / "run.txt").read_text()),
        own=frozenset(_own_files()),
        modules=modules,
    )


def _own_files() -> Iterator[str]:
    for folder, pattern in (("app", "*.py"), ("mtplx_engine", "*.py"), ("resources", "*.*")):
        yield from (str(path.relative_to(_PROJECT)) for path in (_PROJECT / folder).rglob(pattern))


def locked(text: str) -> frozenset[tuple[str, str]]:
    """Return normalised name and version of each project that is locked for Macs with Apple silicon.

    Args:
        text: Of a requirements file with one version of each project.
    """
    wanted = map(Requirement, _LOCKED.findall(text))
    return frozenset(
        (canonicalize_name(item.name), str(item.specifier).removeprefix("=="))
        for item in wanted
        if item.marker is None or item.marker.evaluate(_MAC)
    )
