"""A model and, where there is one, the model that drafts for it: from checked folders to memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.models import checkpoint, fit, installed, loader, tokenizer_pair
from mtplx_engine.models.families import supported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mtplx_engine import backend
    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.fit import Fit, Footprint
    from mtplx_engine.models.loader import LoadedModel
    from mtplx_engine.models.machine import Machine
    from mtplx_engine.models.probe_memory import ProbeMemory
    from mtplx_engine.progress import Report


def checked(model: str, draft_model: str, data: Path) -> list[Checkpoint]:
    """Return the checked folder of a model, and that of the one that drafts for it where it takes drafts.

    Args:
        model: Folder or name.
        draft_model: The same of the other, "" for none.
        data: The data folder.

    Raises:
        EngineError: NOT_FOUND, REFUSED or UNSUPPORTED.
    """
    found = checkpoint.check(installed.resolve(model, data))
    if not draft_model or not supported.takes_drafts(found.config):
        return [found]
    return [found, checkpoint.check(installed.resolve(draft_model, data))]


def footprints(parts: Sequence[Checkpoint], here: Machine, *, anyway: bool) -> list[Footprint]:
    """Return what models take on a machine.

    Args:
        parts: The model, and the one that drafts for it if there is one.
        here: The machine.
        anyway: Whether they may take more than there is.

    Raises:
        EngineError: REFUSED, see `fit.measure`; TOO_BIG, when they do not fit together for the usual context.
    """
    found = [fit.measure(part.config, part.tensors, part.head, here) for part in parts]
    if not anyway:
        fit.check(parts[0].name, judge(found, fit.CONTEXT, here))
    return found


def judge(found: Sequence[Footprint], context: int, here: Machine) -> Fit:
    """Return the sum of what `footprints` found, for a context."""
    one, *others = (fit.judge(footprint, context, here) for footprint in found)
    return fit.together(one, others[0]) if others else one


def load(
    parts: Sequence[Checkpoint],
    policy: backend.Policy,
    report: Report,
    probes: ProbeMemory,
) -> list[LoadedModel]:
    """Load models one after the other, see `loader.load`; each takes its share of the progress by its bytes.

    Raises:
        EngineError: Also UNSUPPORTED, when their tokenizers differ.
    """
    for small in parts[1:]:
        tokenizer_pair.check(parts[0], small)
    total, done = sum(part.total_bytes for part in parts), 0.0
    loaded = []
    for part in parts:
        share = part.total_bytes / total
        loaded.append(loader.load(part, policy, _within(report, done, share), probes))
        done += share
    return loaded


def _within(report: Report, start: float, share: float) -> Report:
    """Return what tells of a part's progress as of some of the whole."""
    return lambda fraction, phase: report(start + share * fraction, phase)
