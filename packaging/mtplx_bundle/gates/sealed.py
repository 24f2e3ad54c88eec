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


_EVERYTHING = "^.*"  # the rule by which a seal takes whatever no other rule speaks of


def faults(contents: Contents) -> Iterator[str]:
    """Yield what the seal does not cover, and what has changed since."""
    layout = contents.layout
    try:
        seal = plistlib.loads(layout.seal.read_bytes())
        sealed, rules = dict(seal["files2"]), dict(seal["rules2"])
    except (OSError, ValueError, KeyError, TypeError, ExpatError) as error:
        yield f"the seal cannot be read: {error!r}"
        return
    if rules.get(_EVERYTHING) is not True:
        yield "its rules leave files out"
    yield from _unlike_the_launcher(contents)
    # The launcher's own signature covers these, and Apple's the last.
    ours = {layout.plist, layout.seal, layout.executable, layout.ticket}
    for path in sorted({*contents.files, *contents.links} - ours):
        if not path.is_relative_to(layout.contents):
            yield f"{contents.name(path)} lies beside Contents, where nothing is sealed"
            continue
        noted = sealed.pop(str(path.relative_to(layout.contents)), None)
        if noted is None:
            yield f"{contents.name(path)} is not sealed"
        elif not _is_as_noted(contents, path, noted):
            yield f"{contents.name(path)} was changed after the signing"
    for name in sealed:
        yield f"Contents/{name} is sealed but missing"


def _is_as_noted(contents: Contents, path: Path, noted: dict[str, Any]) -> bool:
    if path.is_symlink():
        return bool(noted == {"symlink": str(path.readlink())})
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
