"""Gate: Python's own modules are all there, those in Python as they were taken, those in machine code for Macs."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from mtplx_bundle import code_signature, runtime
from mtplx_bundle.runtime import DROPPED, SETTINGS
from mtplx_bundle.target import EXTENSION_SUFFIXES, MACOS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents


_DROPPED = {*(name.removesuffix(".py") for name in DROPPED), "_tkinter"}
# Part of the interpreter without an init function of that name.
_INNERMOST = {"sys", "builtins", "marshal", "_warnings", "_frozen_importlib", "_frozen_importlib_external"}
# Of other systems than a Mac.
_ELSEWHERE = {
    "_gdbm",  # the GPL's; python.org leaves it out
    "_msi",
    "_overlapped",
    "_winapi",
    "msilib",
    "msvcrt",
    "nis",
    "nt",
    "ossaudiodev",
    "spwd",
    "winreg",
    "winsound",
}


def faults(contents: Contents) -> Iterator[str]:
    """Yield Python's own modules that are not there, or that are others."""
    layout, modules = contents.layout, contents.expected.modules
    for name in modules.names:
        path = layout.stdlib / name
        if not path.is_file():
            yield f"{name} of Python itself"
        elif path.read_bytes() != (modules.folder / name).read_bytes():
            yield f"{name} is not the one of Python {modules.version}"
    if len(list(layout.stdlib.glob(SETTINGS))) != 1:
        yield f"there is not one {SETTINGS}"
    yield from _machine_code(contents)
    interpreter = runtime.version(layout)
    if _is_for_release(contents) and interpreter != modules.version:
        yield f"the interpreter is Python {interpreter}, the modules are of {modules.version}"


def _is_for_release(contents: Contents) -> bool:
    """Whether somebody has signed the app; an app of two Pythons is for trying out."""
    for image in contents.images.get(contents.layout.executable, ()):
        with contextlib.suppress(code_signature.BadSignatureError):
            return not code_signature.verify(image).adhoc
    return False


def _machine_code(contents: Contents) -> Iterator[str]:
    layout = contents.layout
    try:
        interpreter = (layout.libraries / MACOS.python_library).read_bytes()
    except OSError:
        yield f"{contents.name(layout.libraries / MACOS.python_library)} is missing"
        return
    written = {
        name.removesuffix("/__init__.py").removesuffix(".py") for name in contents.expected.modules.names
    }
    for name in sorted(sys.stdlib_module_names - _DROPPED - _INNERMOST - _ELSEWHERE - written):
        extensions = (layout.extensions / f"{name}{suffix}" for suffix in EXTENSION_SUFFIXES)
        built_in = f"_PyInit_{name}\0".encode() in interpreter
        if not built_in and not any(path.is_file() for path in extensions):
            yield f"{name} of Python itself"
