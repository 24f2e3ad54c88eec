"""Writes an app in which every gate is open, with next to nothing in it."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import plistlib
import py_compile
import struct
import sys
from typing import TYPE_CHECKING

from mtplx_bundle import compiling, inventory, macho, metadata, runtime
from mtplx_bundle.code_signature import INFO_SLOT, SEAL_SLOT
from mtplx_bundle.gates.contents import Expected
from mtplx_bundle.layout import MACOS, Layout
from mtplx_engine import paths
from mtplx_engine.models import manifest
from mtplx_engine.models.manifest import Manifest
from tests.support.tiny_macho import Tiny

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_PYTHON = ("json/__init__.py", "json/decoder.py", "json/encoder.py", "json/scanner.py")
EXPECTED = Expected(
    "1.0",
    frozenset({("helper", "1.0")}),
    frozenset({"app/window.py"}),
    dataclasses.replace(runtime.running(), names=_PYTHON),
)
"""The expectation of the gates for this app."""
_MODULES = {
    "app/__init__.py": "",
    "app/__main__.py": "import json\nfrom app import window\n",
    "app/window.py": "def late():\n    from helper import words\n",
    "helper/__init__.py": "try:\n    import speedups\nexcept ImportError:\n    pass\n",
    "helper/words.py": "",
    "mtplx_engine/__init__.py": "",
    "mtplx_engine/host.py": "import mlx.core\n",
    "mtplx_engine/cli/__init__.py": "",
    "mtplx_engine/cli/entry.py": "from ..host import start\n",
}


def write(root: Path) -> Layout:
    """Write the app into `root`, signed; return where everything is."""
    layout = Layout(root)
    for path, module in compiling.launcher_modules(layout).items():
        put(path, launcher(module)).chmod(0o755)
    _write_python(layout)
    for name, text in _MODULES.items():
        put(layout.site / name, text.encode())
    put(
        layout.site / "mlx" / "core.cpython-311-darwin.so",
        Tiny(needs=("@rpath/libmlx.dylib",), rpaths=("@loader_path/lib",)).bytes(),
    )
    put(layout.site / "mlx" / "lib" / "libmlx.dylib", Tiny().bytes())
    put(layout.site / "mlx" / "lib" / "mlx.metallib", b"kernels")
    for name in ("mtplx", "helper"):
        folder = layout.site / f"{name}-1.0.dist-info"
        put(folder / "METADATA", f"Name: {name}\nVersion: 1.0\nLicense-Expression: MIT\n".encode())
        put(folder / "licenses" / "LICENSE", b"Take it.")
    for name in ("mtplx", "helper", "python", "fonts", "starter-model"):
        put(layout.licences / name / "LICENSE", b"Take it.")
    put(layout.licences / inventory.NOTICE, b"All of it.")
    put(layout.icon, _icon())
    _write_starter(layout)
    _write_records(layout)
    for path in layout.stdlib.rglob("*.py"):
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(path, compiling.compiled_path(path), "", doraise=True, invalidation_mode=mode)
    metadata.write_info_plist(layout, EXPECTED.version)
    inventory.write_sbom(layout, EXPECTED.modules.version)
    seal(layout)
    return layout


def _write_python(layout: Layout) -> None:
    put(layout.libraries / MACOS.python_library, interpreter(sys.stdlib_module_names))
    put(layout.stdlib / "_sysconfigdata__darwin_darwin.py", b"build_time_vars = {}\n")
    for name in _PYTHON:
        put(layout.stdlib / name, (EXPECTED.modules.folder / name).read_bytes())


def _write_starter(layout: Layout) -> None:
    put(
        layout.starter.parent / manifest.RECIPE_NAME,
        (paths.resources() / "starter" / manifest.RECIPE_NAME).read_bytes(),
    )
    source = manifest.read_recipe(layout.starter.parent)
    for name in source.head.files:
        put(layout.starter.parent / name, b"head")
        put(layout.starter / name, b"head")
    put(layout.starter / "model.safetensors", b"weights")
    files = manifest.record_files(layout.starter, ("model.safetensors", *source.head.files))
    found = Manifest(source.id, source.name, source.licence, "", source.revision, files)
    manifest.write_manifest(layout.starter, found)


def _write_records(layout: Layout) -> None:
    """Write a RECORD for each wheel: ours has the modules and the recipe, the other one the rest."""
    ours = ("app/", "mtplx_engine/", "resources/", "mtplx-")
    for name in ("mtplx", "helper"):
        record = layout.site / f"{name}-1.0.dist-info" / "RECORD"
        files = [path for path in _files(layout.site) if not path.is_relative_to(layout.starter)]
        files = [
            path
            for path in files
            if path.name != "RECORD" and str(path.relative_to(layout.site)).startswith(ours) is (name == "mtplx")
        ]
        rows = [f"{path.relative_to(layout.site)},sha256={_digest(path)},0\n" for path in files]
        put(record, "".join([*rows, f"{record.relative_to(layout.site)},,\n"]).encode())


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


def _digest(path: Path) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).decode().rstrip("=")


def _icon() -> bytes:
    """Return an icns file of pictures that end after their sizes."""
    heads = {
        kind: b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s2I", 13, b"IHDR", size, size) + bytes(9)
        for kind, size in metadata.ICON_SIZES.items()
    }
    return metadata.icns(heads)


def launcher(module: str | None, slots: tuple[tuple[int, bytes], ...] = ()) -> bytes:
    """Return a program that starts a module."""
    text = f"{module}\0".encode("utf-32-le") if module else b""
    return Tiny(kind=macho.EXECUTABLE, text=text, slots=slots).bytes()


def interpreter(modules: frozenset[str]) -> bytes:
    """Return a library that is Python with these modules built in."""
    return Tiny(text=b"".join(f"_PyInit_{name}\0".encode() for name in modules) + b"3.11.0\0").bytes()


def seal(layout: Layout) -> None:
    """Seal every file and sign the launcher over the seal; also after a change that the seal should allow."""
    names = _files(layout.contents)
    names = [path for path in names if path not in (layout.plist, layout.seal, layout.executable)]
    sealed: dict[str, dict[str, object]] = {
        str(path.relative_to(layout.contents)): {"hash2": hashlib.sha256(path.read_bytes()).digest()} for path in names
    }
    for path in layout.contents.rglob("*"):
        if path.is_symlink():
            sealed[str(path.relative_to(layout.contents))] = {"symlink": str(path.readlink())}
    put(layout.seal, plistlib.dumps({"files2": sealed, "rules2": {"^.*": True}}))
    outside = ((INFO_SLOT, layout.plist.read_bytes()), (SEAL_SLOT, layout.seal.read_bytes()))
    put(layout.executable, launcher("app", outside)).chmod(0o755)


def put(path: Path, data: bytes) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
