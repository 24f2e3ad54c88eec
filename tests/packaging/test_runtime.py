from __future__ import annotations

import shutil
import sys

import pytest

from mtplx_bundle import compiling, runtime
from mtplx_bundle.layout import LINUX, Layout
from tests.support.tiny_app import put


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path / "MTPLX.app")


@pytest.fixture
def prefix(tmp_path):
    """An installed Python."""
    folder = tmp_path / "python"
    put(folder / "lib" / LINUX.python_library, b"\0 /build/Python-3.11.7\0 ")
    put(folder / "include" / "python3.11" / "patchlevel.h", b'#define PY_VERSION "3.11.7"\n')
    for name in (
        *runtime.running().names,
        "_sysconfigdata__linux.py",
        "sitecustomize.py",
        "test/test_json.py",
        "idlelib/run.py",
        "turtle.py",
        "site-packages/old.py",
    ):
        put(folder / "lib" / "python3.11" / name, b"")
    for name in ("_ssl.so", "_testcapi.so", "_tkinter.so"):
        put(folder / "lib" / "python3.11" / "lib-dynload" / name, b"")
    return folder


def test_an_installed_python_is_taken_with_what_every_python_has_and_nothing_else(layout, prefix):
    runtime.from_installation(layout, LINUX, prefix)
    names = {str(path.relative_to(layout.stdlib)) for path in layout.stdlib.rglob("*") if path.is_file()}
    expected = runtime.installed(prefix)
    assert names == {*expected.names, "_sysconfigdata__linux.py", "lib-dynload/_ssl.so"}
    assert runtime.version(layout) == expected.version == "3.11.7"


def test_a_python_with_all_its_modules_in_its_library_is_taken(layout, prefix):
    shutil.rmtree(prefix / "lib" / "python3.11" / "lib-dynload")
    runtime.from_installation(layout, LINUX, prefix)
    assert not layout.extensions.exists()


def test_the_python_that_runs_is_whole():
    modules = runtime.running()
    assert [name for name in modules.names if not (modules.folder / name).is_file()] == []
    roots = {name.partition("/")[0].removesuffix(".py") for name in modules.names}
    assert (
        {"ctypes", "encodings", "json", "asyncio"}
        <= roots
        <= sys.stdlib_module_names
        | {
            "LICENSE.txt",
            "__hello__",
            "__phello__",
        }
    )
    assert not roots & {name.removesuffix(".py") for name in runtime.DROPPED}
    assert {"ctypes/macholib/dyld.py", "encodings/idna.py", "asyncio/unix_events.py"} <= set(modules.names)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (f"lib/{LINUX.python_library}", "libpython3.11.so.1.0 is missing. Linux distributions"),
        ("lib/python3.11/ctypes/macholib/dyld.py", "lacks 1 files of Python 3.11, ctypes/macholib/dyld.py"),
        ("lib/python3.11/LICENSE.txt", "LICENSE.txt among them"),
        ("include/python3.11/patchlevel.h", "does not name a version"),
    ],
)
def test_a_python_that_comes_in_parts_is_refused_with_a_sentence(layout, prefix, name, word):
    (prefix / name).unlink()
    with pytest.raises(runtime.UnfitPythonError, match=word):
        runtime.from_installation(layout, LINUX, prefix)


def test_modules_are_compiled_without_a_trace_of_this_machine(layout, tmp_path):
    often = put(layout.site / "app" / "window.py", b"x = 1\n")
    seldom = put(layout.site / "transformers" / "models" / "llama" / "configuration_llama.py", b"x = 1\n")
    compiling.compile_modules(layout)
    compiled = often.parent / "__pycache__" / "window.cpython-311.pyc"
    data = compiled.read_bytes()
    assert int.from_bytes(data[4:8], "little") == 1  # by hash, never checked again
    assert str(tmp_path).encode() not in data
    assert b"python3.11/site-packages/app/window.py" in data
    assert not (seldom.parent / "__pycache__").exists()


def test_a_module_that_is_no_python_stops_the_build(layout, capfd):
    put(layout.site / "odd.py", b"def\n")
    with pytest.raises(compiling.BrokenSourceError):
        compiling.compile_modules(layout)
