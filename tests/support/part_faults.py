"""Faults of Info.plist, files, licences, list of parts and starter model, which the gates must find."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from mtplx_bundle.gates import files
from tests.support import tiny_app
from tests.support.planting import link, put, tell
from tests.support.tiny_macho import Tiny

if TYPE_CHECKING:
    from mtplx_bundle.layout import Layout
    from tests.support.planting import Fault


def grow(layout: Layout) -> None:
    with (layout.site / "mlx" / "lib" / "mlx.metallib").open("r+b") as file:
        file.truncate(int(files.BUNDLE_MB * 1e6))


def forget_a_part(layout: Layout) -> None:
    body = json.loads(layout.sbom.read_bytes())
    body["components"] = [item for item in body["components"] if item["name"] != "helper"]
    layout.sbom.write_text(json.dumps(body))


STARTER = "the starter model is whole"
STRAYS = "nothing else is in the app"


FAULTS: dict[str, Fault] = {
    "an older macOS is promised": (
        tell(LSMinimumSystemVersion="11.0"),
        "Info.plist is valid",
        "LSMinimumSystemVersion",
    ),
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
