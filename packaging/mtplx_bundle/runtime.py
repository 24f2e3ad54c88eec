"""Puts a relocatable Python 3.11 into the app."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout, Target


_VERSION = re.compile(rb"(3\.11\.\d+)\0")
_OPENSSL = re.compile(rb"OpenSSL (3\.\d+\.\d+) ")
_PATCH_LEVEL = re.compile(r'#define PY_VERSION\s+"(3\.11\.\d+)')
_NAMES = Path(__file__).with_name("python_modules.txt")  # of 3.11, DROPPED left out
_NCURSES = re.compile(rb"ncurses (\d+\.\d+)\.\d{8}\0")
_SQLITE = re.compile(rb"(3\.\d\d\.\d+)\0")
_LOCK = Path(__file__).resolve().parents[2] / "requirements" / "python-macos.txt"
_DEPLOY = "deploy_libs/"  # where panda3d's wheel keeps python.org's libraries, made for packing apps anywhere

_BUILD_WITH = (
    "Linux distributions ship Python in parts; build with a whole one, as pyenv makes it with "
    "PYTHON_CONFIGURE_OPTS=--enable-shared: make clean, then make PYTHON=/path/to/python3.11 app."
)

DROPPED = (
    "distutils",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "test",
    "tkinter",
    "turtle.py",
    "turtledemo",
    "venv",
)
"""Python's own modules that no app needs: tools for developers, and Tk, which has libraries of its own."""
_DROPPED_EXTENSIONS = (
    "_test*",
    "_ctypes_test*",
    "_xx*",
    "xxlimited*",
    "_tkinter*",
    "nis.*",
    "ossaudiodev.*",
)


SETTINGS = "_sysconfigdata_*.py"
"""Build settings of Python, which belong to its library."""


class UnfitPythonError(ValueError):
    """A Python cannot be shipped; the text says why."""


@dataclass(frozen=True, slots=True)
class Modules:
    """The standard library's modules in Python.

    Attributes:
        folder: Where they are.
        version: Of the Python that they belong to.
        names: Their files below the folder, as every whole Python 3.11 has them, and the licence.
    """

    folder: Path
    version: str
    names: tuple[str, ...]


def running() -> Modules:
    """Return the modules of the Python that runs."""
    return Modules(Path(sysconfig.get_path("stdlib")), platform.python_version(), _names())


def installed(prefix: Path) -> Modules:
    """Return the modules of an installed Python.

    Args:
        prefix: Where it is: `lib/python3.11` and `include/python3.11` are below it.

    Raises:
        UnfitPythonError: It does not say which version it is.
    """
    header = prefix / "include" / "python3.11" / "patchlevel.h"
    found = _PATCH_LEVEL.search(header.read_text()) if header.is_file() else None
    if found is None:
        raise UnfitPythonError(f"{header} does not name a version of Python 3.11. Is it installed in {prefix}?")
    return Modules(prefix / "lib" / "python3.11", found[1], _names())


def _names() -> tuple[str, ...]:
    return tuple(_NAMES.read_text().split())


def from_wheel(layout: Layout, target: Target, cache: Path) -> None:
    """Take python.org's libraries for macOS out of the locked wheel, and the modules in Python from this machine.

    Raises:
        CalledProcessError: The wheel could not be fetched, or is another one.
        UnfitPythonError: The Python that runs is not whole.
    """
    wheel = _fetch(cache)
    layout.extensions.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.startswith(_DEPLOY):
                name = member.removeprefix(_DEPLOY)
                folder = _folder(layout, target, name)
                (folder / name).write_bytes(archive.read(member))
    _copy_modules(running(), layout)
    _drop_extensions(layout)


def from_installation(layout: Layout, target: Target, prefix: Path) -> None:
    """Copy an installed Python.

    Args:
        layout: The app.
        target: Names the library.
        prefix: Where it is: `lib` with the library and `lib/python3.11` are below it.

    Raises:
        UnfitPythonError: It has no shared library there, or is not whole.
    """
    library, modules = prefix / "lib" / target.python_library, installed(prefix)
    if not library.is_file():
        raise UnfitPythonError(f"{library} is missing. {_BUILD_WITH}")
    layout.libraries.mkdir(parents=True)
    shutil.copy2(library, layout.libraries)
    _copy_modules(modules, layout)
    for path in modules.folder.glob(SETTINGS):
        shutil.copy2(path, layout.stdlib)
    if (modules.folder / "lib-dynload").is_dir():  # else they are all in the library
        shutil.copytree(modules.folder / "lib-dynload", layout.extensions)
    _drop_extensions(layout)


def version(layout: Layout) -> str | None:
    """Return the version in the interpreter's library, None when there is none."""
    return _version_in(layout.libraries, "libpython3.11.*", _VERSION)


def openssl_version(layout: Layout) -> str | None:
    """Return the version of the OpenSSL beside the interpreter, None when the system's is used."""
    return _version_in(layout.extensions, "libcrypto.*", _OPENSSL)


def ncurses_version(layout: Layout) -> str | None:
    """Return the version of the ncurses beside the interpreter, None when there is none."""
    return _version_in(layout.extensions, "libncurses*", _NCURSES)


def sqlite_version(layout: Layout) -> str | None:
    """Return the version of the SQLite inside Python's own module, None when it names none."""
    return _version_in(layout.extensions, "_sqlite3.*", _SQLITE)


def _version_in(folder: Path, name: str, pattern: re.Pattern[bytes]) -> str | None:
    for library in folder.glob(name):
        if found := pattern.search(library.read_bytes()):
            return found[1].decode()
    return None


def _fetch(cache: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--platform", "macosx_11_0_universal2", "--python-version", "3.11"]
    command += ["--require-hashes", "-r", str(_LOCK), "--dest", str(cache)]
    subprocess.run(command, check=True)
    return next(cache.glob("panda3d-*.whl"))


def _folder(layout: Layout, target: Target, name: str) -> Path:
    if name == target.python_library:
        return layout.libraries
    return layout.stdlib if name.endswith(".py") else layout.extensions


def _copy_modules(modules: Modules, layout: Layout) -> None:
    """Copy the files that every Python 3.11 has, and nothing that a Linux distribution has added.

    Raises:
        UnfitPythonError: A file is missing.
    """
    missing = [name for name in modules.names if not (modules.folder / name).is_file()]
    if missing:
        raise UnfitPythonError(
            f"{modules.folder} lacks {len(missing)} files of Python 3.11, {missing[0]} among them. {_BUILD_WITH}"
        )
    for name in modules.names:
        path = layout.stdlib / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(modules.folder / name, path)


def _drop_extensions(layout: Layout) -> None:
    for pattern in _DROPPED_EXTENSIONS:
        for path in layout.extensions.glob(pattern):
            path.unlink()
