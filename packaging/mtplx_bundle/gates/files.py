"""Gates for the files of the app: sealed, known, named apart, with safe modes, leading nowhere else, within budget."""

from __future__ import annotations

import hashlib
import plistlib
import re
import stat
import sys
import unicodedata
import zipfile
from typing import TYPE_CHECKING, Any
from xml.parsers.expat import ExpatError

from mtplx_bundle import code_signature, compiling, wheels
from mtplx_bundle.layout import MACOS
from mtplx_bundle.runtime import SETTINGS
from mtplx_bundle.wheels import shipped
from mtplx_engine.models import manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents


_CATCH_ALL = "^.*"  # the rule that seals whatever no other rule names


def unsealed(contents: Contents) -> Iterator[str]:
    """Yield what the seal does not cover, and what has changed since."""
    layout = contents.layout
    try:
        seal = plistlib.loads(layout.seal.read_bytes())
        sealed, rules = dict(seal["files2"]), dict(seal["rules2"])
    except (OSError, ValueError, KeyError, TypeError, ExpatError) as error:
        yield f"the seal cannot be read: {error!r}"
        return
    if rules.get(_CATCH_ALL) is not True:
        yield "its rules leave files out"
    yield from _uncovered_by_launcher(contents)
    # The launcher's own signature covers these, and Apple's the last.
    ours = {layout.plist, layout.seal, layout.executable, layout.ticket}
    for path in sorted({*contents.files, *contents.links} - ours):
        if not path.is_relative_to(layout.contents):
            yield f"{contents.name(path)} lies beside Contents, where nothing is sealed"
            continue
        entry = sealed.pop(str(path.relative_to(layout.contents)), None)
        if entry is None:
            yield f"{contents.name(path)} is not sealed"
        elif not _is_as_sealed(contents, path, entry):
            yield f"{contents.name(path)} was changed after the signing"
    for name in sealed:
        yield f"Contents/{name} is sealed but missing"


def _is_as_sealed(contents: Contents, path: Path, entry: dict[str, Any]) -> bool:
    if path.is_symlink():
        return bool(entry == {"symlink": str(path.readlink())})
    if "cdhash" not in entry:
        with path.open("rb") as file:
            return bool(entry.get("hash2") == hashlib.file_digest(file, "sha256").digest())
    try:
        # Nested code is named by the hash of its own signature.
        return [code_signature.verify(image).cdhash for image in contents.images[path]] == [entry["cdhash"]]
    except (KeyError, code_signature.BadSignatureError):
        return False


def _uncovered_by_launcher(contents: Contents) -> Iterator[str]:
    """Yield Info.plist and seal, when the signature of the launcher is of others."""
    layout = contents.layout
    images = contents.images.get(layout.executable, ())
    if not images:
        yield "the launcher holds no signature"
    for image in images:
        try:
            slots = code_signature.verify(image).slots
        except code_signature.BadSignatureError as error:
            yield f"the launcher is {error}"
            continue
        for slot, path in ((code_signature.INFO_SLOT, layout.plist), (code_signature.SEAL_SLOT, layout.seal)):
            if slots.get(slot) != hashlib.sha256(path.read_bytes()).digest():
                yield f"the launcher's signature does not cover {contents.name(path)}"


def strays(contents: Contents) -> Iterator[str]:
    """Yield the files that belong neither to a wheel, Python or the starter model nor to the app itself, and links."""
    known = {
        *_files_of_app(contents),
        *_files_of_wheels(contents),
        *_files_of_python(contents),
        *_files_of_starter(contents),
    }
    known |= {compiling.compiled_path(path) for path in known if path.suffix == ".py"}
    for path in contents.files:
        if path not in known and not path.is_relative_to(contents.layout.licences):
            yield f"{contents.name(path)} belongs to nothing"
    for path in contents.links:
        yield f"{contents.name(path)} is a link, and no part has any"


def _files_of_app(contents: Contents) -> Iterator[Path]:
    layout = contents.layout
    yield from compiling.launcher_modules(layout)
    yield from (layout.plist, layout.seal, layout.ticket, layout.icon, layout.sbom)
    # The signing seals each of Qt's frameworks by itself.
    yield from layout.site.glob("PySide6/Qt/lib/*.framework/Versions/A/_CodeSignature/CodeResources")


def _files_of_wheels(contents: Contents) -> Iterator[Path]:
    for item in shipped(contents.layout):
        try:
            yield from (contents.layout.site / entry.name for entry in wheels.read_record(item))
        except (OSError, ValueError):
            continue  # the gate of the wheels reports it


def _files_of_python(contents: Contents) -> Iterator[Path]:
    layout = contents.layout
    yield layout.libraries / MACOS.python_library
    yield from (layout.stdlib / name for name in contents.expected.modules.names)
    yield from layout.stdlib.glob(SETTINGS)
    for path in layout.extensions.glob("*"):
        if path in contents.images and (
            path.name.partition(".")[0] in sys.stdlib_module_names or path.suffix == ".dylib"
        ):
            yield path


def _files_of_starter(contents: Contents) -> Iterator[Path]:
    starter = contents.layout.starter
    yield starter / manifest.MANIFEST_NAME
    found = manifest.read_manifest(starter)
    if found is not None:
        yield from (starter / item.name for item in found.files)


_MODES = {0o644, 0o755}


def colliding_names(contents: Contents) -> Iterator[str]:
    """Yield names that are equal on a Mac's disk, which ignores case and Unicode composition."""
    seen: dict[str, str] = {}
    for path in contents.everything:
        name = contents.name(path)
        other = seen.setdefault(unicodedata.normalize("NFD", name).casefold(), name)
        if other != name:
            yield f"{name} and {other} are one"


def unsafe_modes(contents: Contents) -> Iterator[str]:
    """Yield the files that others may write, that nobody may read, or that lend their owner's rights."""
    for path in contents.everything:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if not path.is_symlink() and mode not in ({0o755} if path.is_dir() else _MODES):
            yield f"{contents.name(path)} has mode {mode:o}"


_PATH_FILES = {"pyvenv.cfg", "python311.zip", "sitecustomize.py", "usercustomize.py"}
_PATH_SUFFIXES = (".pth", "._pth", ".egg-link")
_WEB = re.compile(r"WebEngine", re.IGNORECASE)
_WEB_OR_QML = re.compile(rf"{_WEB.pattern}|Qml|\bqml\b|Quick", re.IGNORECASE)


def paths_to_elsewhere(contents: Contents) -> Iterator[str]:
    """Yield the files that make Python look into other folders at its start, and links that lead out or nowhere."""
    for path in contents.files:
        name = path.name.lower()
        if name in _PATH_FILES or name.endswith(_PATH_SUFFIXES):
            yield contents.name(path)
    root = contents.layout.root.resolve()
    for path in contents.links:
        target, found = path.readlink(), path.resolve()
        if target.is_absolute() or not found.is_relative_to(root) or not found.exists():
            yield f"{contents.name(path)} leads to {target}"


def web_and_qml(contents: Contents) -> Iterator[str]:
    """Yield what belongs to Qt's web engine or to QML, neither of which the app uses."""
    qt = contents.layout.site / "PySide6"
    for path in contents.files:
        unwanted = _WEB_OR_QML if path.is_relative_to(qt) else _WEB  # others may name a module so
        if unwanted.search(contents.name(path)):
            yield contents.name(path)


BUNDLE_MB, ZIP_MB = 400, 120


def oversize(contents: Contents) -> Iterator[str]:
    """Yield the budgets that are exceeded; the starter model, which comes on top, is not counted."""
    bundle = bundle_bytes(contents)
    if bundle > BUNDLE_MB * 1e6:
        yield f"the app has {bundle / 1e6:.0f} MB, {BUNDLE_MB} are allowed"
    for path in contents.layout.root.parent.glob("*.zip"):
        packed = zip_bytes(contents, path)
        if packed > ZIP_MB * 1e6:
            yield f"{path.name} has {packed / 1e6:.0f} MB, {ZIP_MB} are allowed"


def bundle_bytes(contents: Contents) -> int:
    """Return the size of the app in bytes, without the starter model."""
    starter = contents.layout.starter.parent
    return sum(path.stat().st_size for path in contents.files if not path.is_relative_to(starter))


def zip_bytes(contents: Contents, path: Path) -> int:
    """Return the compressed size of the app in a zip in bytes, without the starter model."""
    starter = str(contents.layout.starter.parent.relative_to(contents.layout.root.parent))
    with zipfile.ZipFile(path) as archive:
        return sum(item.compress_size for item in archive.infolist() if not item.filename.startswith(f"{starter}/"))
