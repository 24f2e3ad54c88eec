"""Gates: there is one mlx, and its Metal kernels are where it looks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_bundle.gates.contents import Contents


_LIBRARY, _KERNELS = "libmlx.dylib", "mlx.metallib"


def second_library(contents: Contents) -> Iterator[str]:
    """Yield the mlx libraries, unless there is exactly one: a second one ends the process."""
    found = [contents.name(path) for path in contents.files if path.name == _LIBRARY]
    if len(found) != 1:
        yield f"{len(found)} {_LIBRARY}: {', '.join(found) or 'none'}"


def missing_kernels(contents: Contents) -> Iterator[str]:
    """Yield the mlx libraries without the Metal library beside them."""
    for path in contents.files:
        if path.name == _LIBRARY and not path.with_name(_KERNELS).is_file():
            yield f"{contents.name(path)} has no {_KERNELS} beside it"
