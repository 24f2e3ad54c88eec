"""What an app is to be made of, by what it was made from and not by what is in it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from mtplx_bundle import runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.runtime import Modules


_PROJECT = Path(__file__).resolve().parents[3]
_MAC = {  # as markers have it
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
    """Return what this checkout makes.

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
        own=frozenset(_own()),
        modules=modules,
    )


def _own() -> Iterator[str]:
    """Yield our modules, and all of our resources."""
    for folder, pattern in (("app", "*.py"), ("mtplx_engine", "*.py"), ("resources", "*.*")):
        yield from (str(path.relative_to(_PROJECT)) for path in (_PROJECT / folder).rglob(pattern))


def locked(text: str) -> frozenset[tuple[str, str]]:
    """Return name and version of what a lock has for Macs with Apple silicon.

    Args:
        text: Of a requirements file with one version of each.
    """
    wanted = map(Requirement, _LOCKED.findall(text))
    return frozenset(
        (normal(item.name), str(item.specifier).removeprefix("=="))
        for item in wanted
        if item.marker is None or item.marker.evaluate(_MAC)
    )


def normal(name: str) -> str:
    """Return a project's name in the form in which two that are one are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()
