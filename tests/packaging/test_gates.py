"""One fault planted for each gate, in an app where all of them are open."""

from __future__ import annotations

import json
import plistlib
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from mtplx_bundle import precompiling
from mtplx_bundle.gates import sizes
from mtplx_bundle.gates.contents import Contents
from mtplx_bundle.gates.gate import GATES
from mtplx_bundle.layout import Layout
from mtplx_bundle.macho import ARM64, EXECUTABLE, X86_64
from mtplx_bundle.target import MACOS
from tests.support import tiny_app, tiny_macho
from tests.support.tiny_macho import Tiny

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MLX = "mlx/lib/libmlx.dylib"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """An app without a fault; not to be changed."""
    return tiny_app.write(tmp_path_factory.mktemp("sound") / "MTPLX.app")


@pytest.fixture
def layout(sound: Layout, tmp_path: Path) -> Layout:
    """A copy of it to plant faults in."""
    shutil.copytree(sound.root, tmp_path / "MTPLX.app")
    return Layout(tmp_path / "MTPLX.app")


def report(layout: Layout) -> dict[str, list[str]]:
    """What the closed gates say, by name."""
    contents = Contents(layout, tiny_app.EXPECTED)
    found = {gate.name: list(gate.faults(contents)) for gate in GATES}
    return {name: faults for name, faults in found.items() if faults}


def test_a_sound_app_passes_every_gate(sound):
    assert report(sound) == {}


def put(name: str, data: bytes) -> Callable[[Layout], None]:
    return lambda layout: tiny_app.put(layout.site / name, data) and None


def drop(name: str) -> Callable[[Layout], None]:
    return lambda layout: (layout.site / name).unlink()


def grow(layout: Layout) -> None:
    with (layout.site / "mlx" / "lib" / "mlx.metallib").open("r+b") as file:
        file.truncate(int(sizes.BUNDLE_MB * 1e6))


def forget_a_part(layout: Layout) -> None:
    body = json.loads(layout.sbom.read_bytes())
    body["components"] = [item for item in body["components"] if item["name"] != "helper"]
    layout.sbom.write_text(json.dumps(body))


def promise_an_older_macos(layout: Layout) -> None:
    entries = plistlib.loads(layout.plist.read_bytes())
    layout.plist.write_bytes(plistlib.dumps({**entries, "LSMinimumSystemVersion": "11.0"}))


def leave_out_an_import(layout: Layout) -> None:
    (layout.site / "helper" / "words.py").unlink()


def without_filecmp(layout: Layout) -> None:
    library = layout.libraries / MACOS.python_library
    library.write_bytes(tiny_app.interpreter(sys.stdlib_module_names - {"filecmp"}))


def import_a_module_of_a_broken_package(layout: Layout) -> None:
    put("helper/__init__.py", b"import gone")(layout)
    put("app/window.py", b"import helper.words")(layout)


def tamper(layout: Layout) -> None:
    path = layout.site / MLX
    data = bytearray(path.read_bytes())
    data[5000] ^= 1
    path.write_bytes(data)


def rule(layout: Layout, rules: dict[str, object]) -> None:
    seal = plistlib.loads(layout.seal.read_bytes())
    layout.seal.write_bytes(plistlib.dumps({**seal, "rules2": rules}))


def script(layout: Layout) -> None:
    layout.executable.write_text("#!/bin/sh\necho hi\n")


def launch(tiny: Tiny) -> Callable[[Layout], None]:
    return lambda layout: layout.interpreter.write_bytes(tiny.bytes()) and None


def tell(**keys: object) -> Callable[[Layout], None]:
    """Add to Info.plist."""

    def plant(layout: Layout) -> None:
        entries = plistlib.loads(layout.plist.read_bytes())
        layout.plist.write_bytes(plistlib.dumps({**entries, **keys}))

    return plant


def link(name: str, target: str) -> Callable[[Layout], None]:
    return lambda layout: (layout.site / name).symlink_to(target)


def cut_a_compiled_module(layout: Layout) -> None:
    compiled = precompiling.compiled(layout.site / "app" / "window.py")
    compiled.write_bytes(compiled.read_bytes()[:16])


def compile_for_another_python(layout: Layout) -> None:
    compiled = precompiling.compiled(layout.site / "app" / "window.py")
    compiled.write_bytes(b"\0" + compiled.read_bytes()[1:])


def for_linux(layout: Layout) -> None:
    """Put a module in machine code there under the name that it has on Linux."""
    library = layout.libraries / MACOS.python_library
    library.write_bytes(tiny_app.interpreter(sys.stdlib_module_names - {"_bz2"}))
    tiny_app.put(layout.extensions / "_bz2.cpython-311-x86_64-linux-gnu.so", Tiny().bytes())


def tests_of_helper(layout: Layout) -> None:
    put("helper/tests/test_words.py", b"")(layout)
    with (layout.site / "helper-1.0.dist-info" / "RECORD").open("a") as file:
        file.write("helper/tests/test_words.py,,\n")


LAUNCHERS = "the launchers start what they should"
WHEELS = "every wheel is as it was packed"
STARTER = "the starter model is whole"
STRAYS = "nothing else is in the app"
X86 = Tiny(architecture=X86_64).bytes()
FAT = tiny_macho.fat(Tiny().bytes(), X86, architectures=(ARM64, X86_64))

# Each: the fault, the gate that must see it, and a word of what it says.
FAULTS = {
    "an older macOS is promised": (promise_an_older_macos, "Info.plist is valid", "LSMinimumSystemVersion"),
    "no plist": (lambda layout: layout.plist.write_bytes(b"<plist"), "Info.plist is valid", "cannot be read"),
    "another version": (
        tell(CFBundleShortVersionString="9.9.9"),
        "Info.plist is valid",
        "'9.9.9', not '1.0'",
    ),
    "a key that nobody asked for": (tell(LSUIElement=True), "Info.plist is valid", "LSUIElement"),
    "no icon": (
        lambda layout: layout.icon.write_bytes(b"not an icon"),
        "Info.plist is valid",
        "MTPLX.icns is no icon",
    ),
    "half an icon": (
        lambda layout: layout.icon.write_bytes(layout.icon.read_bytes()[:-9]),
        "Info.plist is valid",
        "MTPLX.icns is no icon",
    ),
    "an Intel library": (put("helper/a.so", X86), "all code is for Apple processors", "helper/a.so"),
    "a fat library": (put("helper/a.so", FAT), "all code is for Apple processors", "0x1000007"),
    "half a library": (put("helper/a", X86[:40]), "all code is for Apple processors", "no whole"),
    "an unsigned library": (
        put("helper/a.so", Tiny(signed=False).bytes()),
        "all code is signed",
        "not signed",
    ),
    "unsigned code without a suffix": (
        put("helper/a", Tiny(signed=False).bytes()),
        "all code is signed",
        "helper/a",
    ),
    "a library that was changed": (tamper, "all code is signed", "from 4096 on"),
    "a library for a newer macOS": (
        put("helper/a.so", Tiny(minimum=(15, 0)).bytes()),
        "no code needs a newer macOS",
        "15.0",
    ),
    "a library for any macOS": (
        put("helper/a.so", Tiny(minimum=None).bytes()),
        "no code needs a newer macOS",
        "does not say",
    ),
    "a library that is missing": (
        put("helper/a.so", Tiny(needs=("@rpath/libgone.dylib",), rpaths=("@loader_path",)).bytes()),
        "every library is found",
        "libgone",
    ),
    "a library outside the app": (
        put("helper/a.so", Tiny(needs=("/opt/lib/x.dylib",)).bytes()),
        "every library is found",
        "/opt/lib",
    ),
    "a launcher that may not be run": (
        lambda layout: layout.command.chmod(0o644),
        LAUNCHERS,
        "mtplx is no program",
    ),
    "a launcher that is a script": (script, LAUNCHERS, "MTPLX is no program"),
    "a launcher that is a library": (
        lambda layout: layout.executable.write_bytes(Tiny().bytes()),
        LAUNCHERS,
        "is no program",
    ),
    "a launcher of another SDK": (
        launch(Tiny(kind=EXECUTABLE, sdk=(27, 0))),
        LAUNCHERS,
        "the SDK 27.0, not 15.0",
    ),
    "a launcher for an older macOS": (
        launch(Tiny(kind=EXECUTABLE, minimum=(11, 0))),
        LAUNCHERS,
        "macOS 11.0, not 14.0",
    ),
    "the command is the interpreter": (
        lambda layout: shutil.copy2(layout.interpreter, layout.command),
        LAUNCHERS,
        "does not start mtplx_engine.cli.entry",
    ),
    "the command starts the window": (
        lambda layout: layout.command.write_bytes(tiny_app.launcher("app")),
        LAUNCHERS,
        "starts app",
    ),
    "no interpreter": (
        lambda layout: (layout.libraries / "libpython3.11.dylib").unlink(),
        "every library is found",
        "libpython",
    ),
    "a second mlx": (put("other/libmlx.dylib", Tiny().bytes()), "there is one mlx", "2 libmlx"),
    "no Metal kernels": (drop("mlx/lib/mlx.metallib"), "mlx finds its Metal kernels", "mlx.metallib"),
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
    "machine code is none": (put(MLX, b"text"), WHEELS, "libmlx.dylib is not the one in the wheel"),
    "a module for another system": (
        lambda layout: (layout.site / "mlx" / "core.cpython-311-darwin.so").rename(
            layout.site / "mlx" / "core.cpython-311-x86_64-linux-gnu.so"
        ),
        WHEELS,
        "core.cpython-311-darwin.so of helper is missing",
    ),
    "a file that trimming leaves out": (tests_of_helper, WHEELS, "should have been left out"),
    "a starter model that is cut off": (
        lambda layout: (layout.starter / "model.safetensors").write_bytes(b"wei"),
        STARTER,
        "model.safetensors is not as it was installed",
    ),
    "no starter model": (lambda layout: shutil.rmtree(layout.starter), STARTER, "is missing"),
    "the head of another model": (
        lambda layout: (layout.starter / "mtp.safetensors").write_bytes(b"tail"),
        STARTER,
        "is not the head of the recipe",
    ),
    "a trace of the builder's chats": (
        lambda layout: (layout.starter / "used.json").write_text("{}"),
        STRAYS,
        "used.json belongs to nothing",
    ),
    "modules in an archive": (
        lambda layout: (layout.libraries / "python311.zip").write_bytes(b"PK"),
        STRAYS,
        "python311.zip",
    ),
    "a module that a distribution has added": (
        lambda layout: (layout.stdlib / "sitecustomize.py").write_text(""),
        STRAYS,
        "sitecustomize.py",
    ),
    "a compiled module without its source": (
        put("app/__pycache__/gone.cpython-311.pyc", b""),
        STRAYS,
        "gone.cpython-311.pyc",
    ),
    "a link inside": (link("app/link.py", "window.py"), STRAYS, "is a link"),
    "two names that a Mac takes for one": (put("app/Window.py", b""), "no two names are one", "Window.py"),
    "two folders that a Mac takes for one": (
        put("App/other.py", b""),
        "no two names are one",
        "site-packages/app",
    ),
    "a file that all may write": (
        lambda layout: (layout.site / "app" / "window.py").chmod(0o666),
        "only the owner may write",
        "mode 666",
    ),
    "a program that lends its owner's rights": (
        lambda layout: layout.command.chmod(0o4755),
        "only the owner may write",
        "mode 4755",
    ),
    "a folder that nobody else may open": (
        lambda layout: (layout.site / "app").chmod(0o700),
        "only the owner may write",
        "mode 700",
    ),
    "a late import is missing": (leave_out_an_import, "every import is found", "helper.words"),
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
        lambda layout: precompiling.compiled(layout.site / "app" / "window.py").unlink(),
        "every module compiles",
        "window.py is not compiled",
    ),
    "a stray .pth": (put("a.PTH", b"import os"), "no path leads elsewhere", "a.PTH"),
    "a link with a path of the builder": (
        lambda layout: (layout.site / "own").symlink_to(layout.plist),
        "no path leads elsewhere",
        "Info.plist",
    ),
    "a link to nothing": (link("app/gone.py", "nothing"), "no path leads elsewhere", "leads to nothing"),
    "a link out of the app": (
        lambda layout: (layout.site / "out").symlink_to("/usr/lib"),
        "no path leads elsewhere",
        "/usr/lib",
    ),
    "a web engine": (put("PySide6/Qt/libexec/QtWebEngineProcess", b""), "no web engine, no QML", "WebEngine"),
    "a web engine of its own": (put("QtWebEngineCore", b""), "no web engine, no QML", "QtWebEngineCore"),
    "QML": (put("PySide6/Qt/qml/Button.qml", b""), "no web engine, no QML", "Button"),
    "too large": (grow, "the sizes are within budget", "400 are allowed"),
    "a part that is not listed": (forget_a_part, "every part is listed", "helper 1.0"),
    "no list of parts": (lambda layout: layout.sbom.unlink(), "every part is listed", "cannot be read"),
    "a part without a licence": (
        lambda layout: (layout.licences / "helper" / "LICENSE").unlink(),
        "every part has its licence",
        "helper",
    ),
    "an empty licence": (
        lambda layout: (layout.licences / "helper" / "LICENSE").write_text(" \n"),
        "every part has its licence",
        "helper/LICENSE is empty",
    ),
    "a licence of another part": (
        lambda layout: (layout.licences / "helper" / "LICENSE").write_text("All rights reserved."),
        "every part has its licence",
        "LICENSE of helper is not among",
    ),
    "a library without a licence": (
        lambda layout: tiny_app.put(layout.extensions / "libcrypto.3.dylib", Tiny().bytes()),
        "every part has its licence",
        "openssl",
    ),
    "no word on exchanging Qt": (
        lambda layout: (layout.licences / "README.txt").unlink(),
        "every part has its licence",
        "README.txt",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_closes_its_gate(layout, fault):
    plant, name, word = FAULTS[fault]
    plant(layout)
    (gate,) = (gate for gate in GATES if gate.name == name)
    assert any(word in line for line in gate.faults(Contents(layout, tiny_app.EXPECTED)))


def test_every_gate_has_a_fault_that_closes_it():
    sealed = {"the seal covers every file"}  # its faults are below
    assert {gate for _, gate, _ in FAULTS.values()} | sealed == {gate.name for gate in GATES}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (put("app/window.py", b"# another"), "changed after"),
        (put("app/extra.py", b""), "not sealed"),
        (drop("app/window.py"), "missing"),
        (lambda layout: layout.seal.unlink(), "cannot be read"),
        (promise_an_older_macos, "does not cover Contents/Info.plist"),
        (script, "holds no signature"),
        (link("app/link.py", "window.py"), "link.py is not sealed"),
        (link("app/gone.py", "nothing"), "gone.py is not sealed"),
        (lambda layout: (layout.root / "Icon\r").write_bytes(b""), "beside Contents"),
        (lambda layout: (layout.root / "stray").symlink_to("Contents"), "beside Contents"),
        (lambda layout: rule(layout, {}), "leave files out"),
    ],
)
def test_the_seal_notices_any_change(layout, change, word):
    change(layout)
    assert any(word in line for line in report(layout)["the seal covers every file"])


def test_a_link_is_sealed_with_where_it_leads(layout):
    (layout.site / "link").symlink_to("app")
    tiny_app.seal(layout)
    assert "the seal covers every file" not in report(layout)
    (layout.site / "link").unlink()
    (layout.site / "link").symlink_to("helper")
    (fault,) = report(layout)["the seal covers every file"]
    assert fault.endswith("link was changed after the signing")


def test_what_apple_fastens_to_a_notarised_app_is_no_stray(layout):
    layout.ticket.write_bytes(b"notarised")
    assert report(layout) == {}


def test_nested_code_is_sealed_by_its_own_signature(layout):
    seal = plistlib.loads(layout.seal.read_bytes())
    seal["files2"]["Helpers/mtplx"] = {"cdhash": bytes(20)}
    layout.seal.write_bytes(plistlib.dumps(seal))
    assert (
        "Contents/Helpers/mtplx was changed after the signing" in report(layout)["the seal covers every file"]
    )


def test_a_stale_compiled_module_is_noticed(layout):
    put("app/window.py", b"# another")(layout)
    assert any("another text" in line for line in report(layout)["every module compiles"])


def test_the_zip_has_a_budget_too(layout, monkeypatch):
    monkeypatch.setattr(sizes, "ZIP_MB", 0.001)
    packed = layout.root.with_suffix(".zip")
    starter = layout.starter.relative_to(layout.root.parent)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(str(starter / "model.safetensors"), bytes(2000))
    assert "the sizes are within budget" not in report(layout)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("MTPLX.app/Contents/large", bytes(2000))
    assert report(layout)["the sizes are within budget"] == ["MTPLX.zip has 0 MB, 0.001 are allowed"]


def test_the_starter_model_is_not_counted(layout, monkeypatch):
    monkeypatch.setattr(sizes, "BUNDLE_MB", 1)
    model = tiny_app.put(layout.starter / "model.safetensors", b"")
    with model.open("r+b") as file:
        file.truncate(2_000_000)
    assert "the sizes are within budget" not in report(layout)
