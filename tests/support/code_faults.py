"""Faults of machine code and of the launchers, which the gates must find."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from mtplx_bundle.macho import ARM64, EXECUTABLE, X86_64
from tests.support import tiny_app, tiny_macho
from tests.support.planting import drop, put, script
from tests.support.tiny_macho import Tiny

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtplx_bundle.layout import Layout
    from tests.support.planting import Fault


def tamper(layout: Layout) -> None:
    path = layout.site / MLX
    data = bytearray(path.read_bytes())
    data[5000] ^= 1
    path.write_bytes(data)


def launch(tiny: Tiny) -> Callable[[Layout], None]:
    return lambda layout: layout.interpreter.write_bytes(tiny.bytes()) and None


MLX = "mlx/lib/libmlx.dylib"
LAUNCHERS = "the launchers start what they should"
X86 = Tiny(architecture=X86_64).bytes()
FAT = tiny_macho.fat(Tiny().bytes(), X86, architectures=(ARM64, X86_64))


FAULTS: dict[str, Fault] = {
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
}
