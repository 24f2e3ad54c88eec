"""Whether a model fits this machine, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.palette import Tone
from app.translate import tr
from mtplx_engine.models import fit
from mtplx_engine.words import size

if TYPE_CHECKING:
    from mtplx_engine.hub.look import Look
    from mtplx_engine.models.fit import Fit
    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.models.machine import Machine

_TONES = {
    fit.Verdict.FITS: Tone.GOOD,
    fit.Verdict.TIGHT: Tone.DOUBT,
    fit.Verdict.TOO_BIG: Tone.BAD,
}


def judge(found: Inspection, machine: Machine, context: int = fit.CONTEXT) -> Fit | None:
    """Return whether a model fits, None when this version does not load it."""
    return fit.judge(found.footprint, context, machine) if found.footprint is not None else None


def fits(found: Inspection, machine: Machine) -> bool:
    """Return whether this version loads a model, and it fits, be it tightly."""
    judged = judge(found, machine)
    return judged is not None and judged.verdict is not fit.Verdict.TOO_BIG


def words(sum_: Fit) -> tuple[str, Tone]:
    """Return a verdict with what the model needs and what models can have, and how loudly it is said."""
    sentence = {
        fit.Verdict.FITS: tr("fits (needs {share})"),
        fit.Verdict.TIGHT: tr("tight (needs {share})"),
        fit.Verdict.TOO_BIG: tr("will not fit (needs {share})"),
    }[sum_.verdict]
    return sentence.format(share=share(sum_.total, for_models(sum_))), _TONES[sum_.verdict]


def for_models(sum_: Fit) -> int:
    """Return the bytes that a model can have on the machine of a sum."""
    return min(sum_.memory - sum_.reserve, sum_.limit)


def parts(sum_: Fit) -> tuple[tuple[str, int], ...]:
    """Return the sum line by line: what it is, and its bytes."""
    lines = [(tr("Weights"), sum_.weights)]
    if sum_.head:
        lines.append((tr("Drafting head"), sum_.head))
    context = tr("{count} tokens of context").format(count=f"{sum_.context:,}")
    return (*lines, (context, sum_.cache), (tr("Reading a prompt"), sum_.scratch))


def drafts(look: Look) -> str:
    """Return how a model is made faster, "" when it is not."""
    if look.found.head is None or look.found.head.problem:
        return ""
    if look.plan.head_size:
        return tr("drafts for itself (MTP), its head adds {size}").format(size=size(look.plan.head_size))
    return tr("drafts for itself (MTP)")


def share(part: int, whole: int) -> str:
    """Return a part of so many bytes, with the unit once where both have the same."""
    some, whole_ = size(part), size(whole)
    if some.endswith(" GB") and whole_.endswith(" GB"):
        some = some.removesuffix(" GB")
    return tr("{part} of {whole}").format(part=some, whole=whole_)
