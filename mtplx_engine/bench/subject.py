"""What a measurement or a check was of, and where it was made."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import TYPE_CHECKING

from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.measurement import Subject
from mtplx_engine.models import machine

if TYPE_CHECKING:
    from mtplx_engine.config import DraftCore, DrafterKind
    from mtplx_engine.engine import Engine
    from mtplx_engine.protocol import ModelInfo


def subject_of(info: ModelInfo, drafter: str) -> Subject:
    """Return the subject of what is measured of a loaded model, and of who drafts for it, on this machine."""
    return Subject(
        key=info.speed_key,
        model=info.name,
        revision=info.revision,
        quantization=info.quantization,
        drafter=drafter,
        backend=info.backend,
        chip=machine.chip(),
        memory=machine.this().memory,
        system=_system(),
        version=importlib.metadata.version("mtplx"),
    )


def drafter_of(engine: Engine, core: DraftCore) -> DrafterKind:
    """Return who drafts, where somebody must.

    Raises:
        EngineError: UNSUPPORTED when nobody does.
    """
    drafter = engine.drafters().wanted(SamplerConfig(draft_core=core))
    if drafter is None:
        raise EngineError(ErrorKind.UNSUPPORTED, engine.info.drafter_note)
    return drafter


def _system() -> str:
    version = platform.mac_ver()[0]
    return f"macOS {version}" if version else f"{platform.system()} {platform.release()}"
