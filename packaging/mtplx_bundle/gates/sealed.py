"""Gate: the signature of the app covers every file in it, with the bytes that are there."""

from __future__ import annotations

import hashlib
import plistlib
from typing import TYPE_CHECKING, Any
from xml.parsers.expat import ExpatError

from mtplx_bundle import code_signature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents


def faults(contents: Contents) -> Iterator[str]:
    """Yield what the seal does not cover, and what has changed since."""
    layout = contents.layout
    try:
        sealed: dict[str, Any] = plistlib.loads(layout.seal.read_bytes())["files2"]
    except (OSError, ValueError, KeyError, ExpatError) as error:
        yield f"the seal cannot be read: {error!r}"
        return
    yield from _unlike_the_launcher(contents)
    ours = {layout.plist, layout.seal, layout.executable}  # covered by the launcher's own signature
    for path in contents.files:
        if path in ours:
            continue
        noted = sealed.pop(str(path.relative_to(layout.contents)), None)
        if noted is None:
            yield f"{contents.name(path)} is not sealed"
        elif not _is_as_noted(contents, path, noted):
            yield f"{contents.name(path)} was changed after the signing"
    for name, noted in sealed.items():
        if "symlink" not in noted:
            yield f"Contents/{name} is sealed but missing"


def _is_as_noted(contents: Contents, path: Path, noted: dict[str, Any]) -> bool:
    if "cdhash" not in noted:
        with path.open("rb") as file:
            return bool(noted.get("hash2") == hashlib.file_digest(file, "sha256").digest())
    try:
        # Nested code, noted by its own signature.
        return [code_signature.verify(image).cdhash for image in contents.images[path]] == [noted["cdhash"]]
    except (KeyError, code_signature.BadSignatureError):
        return False


def _unlike_the_launcher(contents: Contents) -> Iterator[str]:
    layout = contents.layout
    for image in contents.images.get(layout.executable, ()):
        try:
            slots = code_signature.verify(image).slots
        except code_signature.BadSignatureError as error:
            yield f"the launcher is {error}"
            continue
        for slot, path in ((code_signature.INFO_SLOT, layout.plist), (code_signature.SEAL_SLOT, layout.seal)):
            if slots.get(slot) != hashlib.sha256(path.read_bytes()).digest():
                yield f"the launcher's signature does not cover {contents.name(path)}"
