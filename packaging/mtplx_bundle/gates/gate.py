"""All gates, in the order of the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_bundle.gates import binaries, files, metadata, python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mtplx_bundle.gates.contents import Contents


@dataclass(frozen=True, slots=True)
class Gate:
    """Something that must hold of an app before it is released.

    Attributes:
        name: What must hold, in a few words.
        faults: Returns what is wrong, each in a line; nothing when the gate is open.
    """

    name: str
    faults: Callable[[Contents], Iterable[str]]


GATES = (
    Gate("Info.plist is valid", metadata.wrong_plist),
    Gate("the launchers start what they should", binaries.wrong_launchers),
    Gate("all code is for Apple processors", binaries.other_processors),
    Gate("all code is signed", binaries.bad_signatures),
    Gate("no code needs a newer macOS", binaries.too_new),
    Gate("the seal covers every file", files.unsealed),
    Gate("every library is found", binaries.missing_libraries),
    Gate("there is one mlx", binaries.second_library),
    Gate("mlx finds its Metal kernels", binaries.missing_kernels),
    Gate("Python is complete", python.incomplete_python),
    Gate("every wheel is as it was packed", python.changed_wheels),
    Gate("the starter model is whole", metadata.wrong_starter),
    Gate("nothing else is in the app", files.strays),
    Gate("no two names are one", files.colliding_names),
    Gate("only the owner may write", files.unsafe_modes),
    Gate("every import is found", python.missing_imports),
    Gate("every module compiles", python.uncompiled),
    Gate("no path leads elsewhere", files.paths_to_elsewhere),
    Gate("no web engine, no QML", files.web_and_qml),
    Gate("the sizes are within budget", files.oversize),
    Gate("every part is listed", metadata.unlisted),
    Gate("every part has its licence", metadata.unlicensed),
)
