"""Writes an app in which every gate is open, with next to nothing in it."""

from __future__ import annotations

import hashlib
import plistlib
import sys
from typing import TYPE_CHECKING

from mtplx_bundle import info_plist, macho, sbom
from mtplx_bundle.code_signature import INFO_SLOT, SEAL_SLOT
from mtplx_bundle.layout import Layout
from mtplx_bundle.target import MACOS
from mtplx_engine import paths
from mtplx_engine.models import recipe
from tests.support.tiny_macho import Tiny

if TYPE_CHECKING:
    from pathlib import Path

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
    for launcher in (layout.executable, layout.interpreter, layout.command):
        put(launcher, Tiny(kind=macho.EXECUTABLE).bytes()).chmod(0o755)
    put(layout.libraries / MACOS.python_library, interpreter(sys.stdlib_module_names))
    for name, text in _MODULES.items():
        put(layout.site / name, text.encode())
    put(
        layout.site / "mlx" / "core.cpython-311-darwin.so",
        Tiny(needs=("@rpath/libmlx.dylib",), rpaths=("@loader_path/lib",)).bytes(),
    )
    put(layout.site / "mlx" / "lib" / "libmlx.dylib", Tiny().bytes())
    put(layout.site / "mlx" / "lib" / "mlx.metallib", b"kernels")
    for name in ("mtplx", "helper"):
        about = f"Name: {name}\nVersion: 1.0\nLicense-Expression: MIT\n"
        put(layout.site / f"{name}-1.0.dist-info" / "METADATA", about.encode())
    for name in ("mtplx", "helper", "python", "fonts"):
        put(layout.licences / name / "LICENSE", b"Take it.")
    put(layout.icon, b"icns")
    put(layout.starter.parent / recipe.NAME, (paths.resources() / "starter" / recipe.NAME).read_bytes())
    info_plist.write(layout, "1.0")
    sbom.write(layout)
    seal(layout)
    return layout


def interpreter(modules: frozenset[str]) -> bytes:
    """Return a library that is Python with these modules built in."""
    return Tiny(text=b"".join(f"_PyInit_{name}\0".encode() for name in modules) + b"3.11.9\0").bytes()


def seal(layout: Layout) -> None:
    """Note every file in the seal, and sign the launcher over it; for after a change that is none of the seal's."""
    names = [path for path in layout.contents.rglob("*") if path.is_file()]
    names = [path for path in names if path not in (layout.plist, layout.seal, layout.executable)]
    noted = {
        str(path.relative_to(layout.contents)): {"hash2": hashlib.sha256(path.read_bytes()).digest()}
        for path in names
    }
    put(layout.seal, plistlib.dumps({"files2": noted}))
    outside = ((INFO_SLOT, layout.plist.read_bytes()), (SEAL_SLOT, layout.seal.read_bytes()))
    put(layout.executable, Tiny(kind=macho.EXECUTABLE, slots=outside).bytes()).chmod(0o755)


def put(path: Path, data: bytes) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
