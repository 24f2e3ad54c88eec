"""All gates, in the order of the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_bundle.gates import (
    binaries,
    imports,
    launchers,
    leftovers,
    linking,
    lists,
    mlx_library,
    names,
    plist,
    python,
    sealed,
    sizes,
    sources,
    starter,
    strays,
    wheels,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mtplx_bundle.gates.contents import Contents


@dataclass(frozen=True, slots=True)
class Gate:
    """Something that must hold of an app before anybody gets it.

    Attributes:
        name: What must hold, in a few words.
        faults: Returns what is wrong, each in a line; nothing when the gate is open.
    """

    name: str
    faults: Callable[[Contents], Iterable[str]]


GATES = (
    Gate("Info.plist is valid", plist.faults),
    Gate("the launchers start what they should", launchers.faults),
    Gate("all code is for Apple processors", binaries.other_processors),
    Gate("all code is signed", binaries.bad_signatures),
    Gate("no code needs a newer macOS", binaries.too_new),
    Gate("the seal covers every file", sealed.faults),
    Gate("every library is found", linking.faults),
    Gate("there is one mlx", mlx_library.second_library),
    Gate("mlx finds its Metal kernels", mlx_library.missing_kernels),
    Gate("Python is complete", python.faults),
    Gate("every wheel is as it was packed", wheels.faults),
    Gate("the starter model is whole", starter.faults),
    Gate("nothing else is in the app", strays.faults),
    Gate("no two names are one", names.same),
    Gate("only the owner may write", names.modes),
    Gate("every import is found", imports.faults),
    Gate("every module compiles", sources.faults),
    Gate("no path leads elsewhere", leftovers.paths_to_elsewhere),
    Gate("no web engine, no QML", leftovers.web_and_qml),
    Gate("the sizes are within budget", sizes.faults),
    Gate("every part is listed", lists.unlisted),
    Gate("every part has its licence", lists.unlicensed),
)
