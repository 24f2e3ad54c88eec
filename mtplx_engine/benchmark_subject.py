"""The subject of a measurement or a check: which model, and on which machine. Imports no mlx."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import TYPE_CHECKING

from mtplx_engine.measure.measurement import BenchmarkSubject
from mtplx_engine.util import system

if TYPE_CHECKING:
    from mtplx_engine.ipc.protocol import ModelInfo


def subject_of(info: ModelInfo, drafter: str) -> BenchmarkSubject:
    """Return the subject of what is measured of a loaded model, and of who drafts for it, on this machine."""
    return BenchmarkSubject(
        key=info.speed_key,
        model=info.name,
        revision=info.revision,
        quantization=info.quantization,
        drafter=drafter,
        backend=info.backend,
        chip=system.chip_name(),
        memory=system.this_machine().memory,
        system=_system(),
        version=importlib.metadata.version("mtplx"),
    )


def _system() -> str:
    version = platform.mac_ver()[0]
    return f"macOS {version}" if version else f"{platform.system()} {platform.release()}"
