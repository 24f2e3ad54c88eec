"""Gates for machine code: launchers, processor, signature, minimum macOS, linked libraries, mlx."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_bundle import code_signature, compiling, macho
from mtplx_bundle.layout import MACOS, MINIMUM_MACOS, SDK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents
    from mtplx_bundle.macho import Image


def wrong_launchers(contents: Contents) -> Iterator[str]:
    """Yield launchers that are no programs, start another module, or are made for another macOS or SDK."""
    started = compiling.launcher_modules(contents.layout)
    for path, module in started.items():
        name, images = contents.name(path), contents.images.get(path, ())
        if len(images) != 1 or images[0].kind != macho.EXECUTABLE or not os.access(path, os.X_OK):
            yield f"{name} is no program"
            continue
        for subject, found, wanted in (
            ("macOS", images[0].minimum, tuple(map(int, MINIMUM_MACOS.split(".")))),
            ("the SDK", images[0].sdk, SDK),
        ):
            if found != wanted:
                yield f"{name} is made for {subject} {_dotted(found)}, not {_dotted(wanted)}"
        for other in filter(None, started.values()):
            if _starts(images[0], other) != (other == module):
                yield f"{name} {'does not start' if other == module else 'starts'} {other}"


def _starts(image: Image, module: str) -> bool:
    # As the wide string that Python takes.
    return f"{module}\0".encode("utf-32-le") in bytes(image.data)


def _dotted(version: tuple[int, ...] | None) -> str:
    return "unknown" if version is None else ".".join(map(str, version))


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


_SYSTEM = ("/usr/lib/", "/System/Library/")


def missing_libraries(contents: Contents) -> Iterator[str]:
    """Yield the linked libraries that are neither in the app nor in the system, the interpreter among them."""
    layout = contents.layout
    if not (layout.libraries / MACOS.python_library).is_file():
        yield f"{contents.name(layout.libraries / MACOS.python_library)} is missing"
    for path, images in contents.images.items():
        for image in images:
            for dependency in image.dependencies:
                if not dependency.weak and not _resolves(contents, path, image, dependency.name):
                    yield f"{contents.name(path)} needs {dependency.name}"


def _resolves(contents: Contents, path: Path, image: Image, name: str) -> bool:
    if name.startswith(_SYSTEM):
        return True
    if name.startswith("@rpath/"):
        rest = name.removeprefix("@rpath/")
        return any(_is_inside(contents, path, f"{rpath}/{rest}") for rpath in image.rpaths)
    return _is_inside(contents, path, name)


def _is_inside(contents: Contents, path: Path, name: str) -> bool:
    """Whether a name with `@loader_path` or `@executable_path` leads to a file in the app."""
    layout = contents.layout
    name = name.replace("@loader_path", str(path.parent)).replace("@executable_path", str(layout.executable.parent))
    found = Path(os.path.normpath(name))
    return found.is_relative_to(layout.root) and found.is_file()


_MLX_LIBRARY, _MLX_KERNELS = "libmlx.dylib", "mlx.metallib"


def second_library(contents: Contents) -> Iterator[str]:
    """Yield the mlx libraries, unless there is exactly one: a second one ends the process."""
    found = [contents.name(path) for path in contents.files if path.name == _MLX_LIBRARY]
    if len(found) != 1:
        yield f"{len(found)} {_MLX_LIBRARY}: {', '.join(found) or 'none'}"


def missing_kernels(contents: Contents) -> Iterator[str]:
    """Yield the mlx libraries without the Metal library beside them."""
    for path in contents.files:
        if path.name == _MLX_LIBRARY and not path.with_name(_MLX_KERNELS).is_file():
            yield f"{contents.name(path)} has no {_MLX_KERNELS} beside it"
