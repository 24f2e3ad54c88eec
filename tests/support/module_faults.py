"""Faults of Python, of the wheels and of their modules, which the gates must find."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from mtplx_bundle import compiling
from mtplx_bundle.layout import MACOS
from mtplx_bundle.macho import EXECUTABLE
from tests.support import tiny_app
from tests.support.planting import drop, put
from tests.support.tiny_macho import Tiny

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout
    from tests.support.planting import Fault


def without_filecmp(layout: Layout) -> None:
    library = layout.libraries / MACOS.python_library
    library.write_bytes(tiny_app.interpreter(sys.stdlib_module_names - {"filecmp"}))


def for_linux(layout: Layout) -> None:
    """Put a module in machine code there under the name that it has on Linux."""
    library = layout.libraries / MACOS.python_library
    library.write_bytes(tiny_app.interpreter(sys.stdlib_module_names - {"_bz2"}))
    tiny_app.put(layout.extensions / "_bz2.cpython-311-x86_64-linux-gnu.so", Tiny().bytes())


def forget_the_window(layout: Layout) -> None:
    """Leave a module out as a wheel does that was packed without it."""
    record = layout.site / "mtplx-1.0.dist-info" / "RECORD"
    rows = record.read_text().splitlines(keepends=True)
    record.write_text("".join(row for row in rows if not row.startswith("app/window.py")))
    drop("app/window.py")(layout)


def tests_of_helper(layout: Layout) -> None:
    put("helper/tests/test_words.py", b"")(layout)
    with (layout.site / "helper-1.0.dist-info" / "RECORD").open("a") as file:
        file.write("helper/tests/test_words.py,,\n")


def import_a_module_of_a_broken_package(layout: Layout) -> None:
    put("helper/__init__.py", b"import gone")(layout)
    put("app/window.py", b"import helper.words")(layout)


def cut_a_compiled_module(layout: Layout) -> None:
    compiled = compiling.compiled_path(layout.site / "app" / "window.py")
    compiled.write_bytes(compiled.read_bytes()[:16])


def compile_for_another_python(layout: Layout) -> None:
    compiled = compiling.compiled_path(layout.site / "app" / "window.py")
    compiled.write_bytes(b"\0" + compiled.read_bytes()[1:])


WHEELS = "every wheel is as it was packed"


FAULTS: dict[str, Fault] = {
    "a module of Python is missing": (
        without_filecmp,
        "Python is complete",
        "filecmp",
    ),
    "a module deep in Python is missing": (
        lambda layout: (layout.stdlib / "json" / "decoder.py").unlink(),
        "Python is complete",
        "json/decoder.py",
    ),
    "a module of another Python": (
        lambda layout: (layout.stdlib / "json" / "decoder.py").write_text("# 3.11.1"),
        "Python is complete",
        "is not the one of Python",
    ),
    "a module of Python for Linux": (
        for_linux,
        "Python is complete",
        "_bz2 of Python itself",
    ),
    "Python does not know how it was built": (
        lambda layout: (layout.stdlib / "_sysconfigdata__darwin_darwin.py").unlink(),
        "Python is complete",
        "_sysconfigdata_",
    ),
    "an import of a module deep in Python is missing": (
        put("app/child.py", b"import json.tool"),
        "every import is found",
        "json.tool, which app.child imports",
    ),
    "two Pythons in an app for release": (
        lambda layout: layout.executable.write_bytes(Tiny(kind=EXECUTABLE, adhoc=False).bytes()),
        "Python is complete",
        "the interpreter is Python 3.11.0",
    ),
    "a wheel is missing": (
        lambda layout: shutil.rmtree(layout.site / "helper-1.0.dist-info"),
        WHEELS,
        "helper 1.0 is missing",
    ),
    "a module that our wheel never had": (
        forget_the_window,
        WHEELS,
        "app/window.py of this checkout is missing",
    ),
    "a wheel that is not locked": (
        put("new-2.0.dist-info/METADATA", b"Name: new\nVersion: 2.0\n"),
        WHEELS,
        "new 2.0 is not locked",
    ),
    "a wheel without a record": (drop("helper-1.0.dist-info/RECORD"), WHEELS, "the record of helper"),
    "a file of a wheel is missing": (drop("helper/words.py"), WHEELS, "helper/words.py of helper is missing"),
    "a file of a wheel is empty": (
        put("mlx/lib/mlx.metallib", b""),
        WHEELS,
        "mlx.metallib is not the one in the wheel",
    ),
    "machine code is none": (
        put("mlx/lib/libmlx.dylib", b"text"),
        WHEELS,
        "libmlx.dylib is not the one in the wheel",
    ),
    "a module for another system": (
        lambda layout: (layout.site / "mlx" / "core.cpython-311-darwin.so").rename(
            layout.site / "mlx" / "core.cpython-311-x86_64-linux-gnu.so"
        ),
        WHEELS,
        "core.cpython-311-darwin.so of helper is missing",
    ),
    "a file that trimming leaves out": (tests_of_helper, WHEELS, "should have been left out"),
    "a late import is missing": (drop("helper/words.py"), "every import is found", "helper.words"),
    "an engine module is missing": (
        drop("mtplx_engine/host.py"),
        "every import is found",
        "mtplx_engine.host",
    ),
    "an import of a dropped module": (
        put("helper/__init__.py", b"import distutils.util"),
        "every import is found",
        "distutils",
    ),
    "a package that cannot be imported": (
        import_a_module_of_a_broken_package,
        "every import is found",
        "gone, which helper imports",
    ),
    "a module that is started by name": (
        put("app/child.py", b"import gone"),
        "every import is found",
        "gone, which app.child imports",
    ),
    "a module that is no Python": (put("helper/odd.py", b"def"), "every module compiles", "helper/odd.py"),
    "a compiled module that is cut off": (cut_a_compiled_module, "every module compiles", "cut off"),
    "a compiled module of another Python": (
        compile_for_another_python,
        "every module compiles",
        "of another Python",
    ),
    "a module that is not compiled": (
        lambda layout: compiling.compiled_path(layout.site / "app" / "window.py").unlink(),
        "every module compiles",
        "window.py is not compiled",
    ),
}
