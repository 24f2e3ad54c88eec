"""Gates: all machine code is for Apple processors, signed, and for no newer macOS than the app promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_bundle import code_signature, macho
from mtplx_bundle.target import MINIMUM_MACOS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents


def other_processors(contents: Contents) -> Iterator[str]:
    """Yield the Mach-O files that are for other processors too, or cannot be read."""
    for path, images in contents.images.items():
        others = [image.architecture for image in images if image.architecture != macho.ARM64]
        if others:
            yield f"{contents.name(path)} has code for {', '.join(map(hex, others))}"
        elif not images:
            yield f"{contents.name(path)} is no whole Mach-O file"


def bad_signatures(contents: Contents) -> Iterator[str]:
    """Yield the Mach-O files whose signature is missing or does not fit them."""
    for path, images in contents.images.items():
        for image in images:
            try:
                code_signature.verify(image)
            except code_signature.BadSignatureError as error:
                yield f"{contents.name(path)}: {error}"


def too_new(contents: Contents) -> Iterator[str]:
    """Yield the Mach-O files that are made for a newer macOS than Info.plist asks for."""
    major, minor = map(int, MINIMUM_MACOS.split("."))
    for path, images in contents.images.items():
        for image in images:
            if image.minimum is None:
                yield f"{contents.name(path)} does not say which macOS it is made for"
            elif image.minimum > (major, minor):
                yield f"{contents.name(path)} is made for macOS {image.minimum[0]}.{image.minimum[1]}"
