"""One fault planted for each gate, in an app where all of them are open."""

from __future__ import annotations

import json
import plistlib
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from mtplx_bundle.gates import sizes
from mtplx_bundle.gates.contents import Contents
from mtplx_bundle.gates.gate import GATES
from mtplx_bundle.layout import Layout
from mtplx_bundle.macho import ARM64, X86_64
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
    contents = Contents(layout)
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


X86 = Tiny(architecture=X86_64).bytes()
FAT = tiny_macho.fat(Tiny().bytes(), X86, architectures=(ARM64, X86_64))

# Each: the fault, the gate that must see it, and a word of what it says.
FAULTS = {
    "an older macOS is promised": (promise_an_older_macos, "Info.plist is valid", "LSMinimumSystemVersion"),
    "no plist": (lambda layout: layout.plist.write_bytes(b"<plist"), "Info.plist is valid", "cannot be read"),
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
    "a launcher that is no program": (
        lambda layout: layout.command.chmod(0o644),
        "every library is found",
        "mtplx",
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
    "a stray .pth": (put("a.pth", b"import os"), "no path leads elsewhere", "a.pth"),
    "a link out of the app": (
        lambda layout: (layout.site / "out").symlink_to("/usr/lib"),
        "no path leads elsewhere",
        "/usr/lib",
    ),
    "a web engine": (put("PySide6/Qt/libexec/QtWebEngineProcess", b""), "no web engine, no QML", "WebEngine"),
    "QML": (put("PySide6/Qt/qml/Button.qml", b""), "no web engine, no QML", "Button"),
    "too large": (grow, "the sizes are within budget", "400 are allowed"),
    "a part that is not listed": (forget_a_part, "every part is listed", "helper 1.0"),
    "no list of parts": (lambda layout: layout.sbom.unlink(), "every part is listed", "cannot be read"),
    "a part without a licence": (
        lambda layout: (layout.licences / "helper" / "LICENSE").unlink(),
        "every part has its licence",
        "helper",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_closes_its_gate(layout, fault):
    plant, gate, word = FAULTS[fault]
    plant(layout)
    assert any(word in line for line in report(layout)[gate])


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
    ],
)
def test_the_seal_notices_any_change(layout, change, word):
    change(layout)
    assert any(word in line for line in report(layout)["the seal covers every file"])


def test_nested_code_is_sealed_by_its_own_signature(layout):
    seal = plistlib.loads(layout.seal.read_bytes())
    seal["files2"]["Helpers/mtplx"] = {"cdhash": bytes(20)}
    layout.seal.write_bytes(plistlib.dumps(seal))
    assert (
        "Contents/Helpers/mtplx was changed after the signing" in report(layout)["the seal covers every file"]
    )


def test_a_stale_compiled_module_is_noticed(layout):
    compiled = layout.site / "app" / "__pycache__" / "window.cpython-311.pyc"
    tiny_app.put(compiled, bytes(16))
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
