"""The one model to begin with: the largest recommended one that fits this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.model_manager import fit_words
from app.translate import tr
from mtplx_engine import words
from mtplx_engine.hub import catalogue
from mtplx_engine.models import fit, starter
from mtplx_engine.models.fit import Verdict

if TYPE_CHECKING:
    from app.model_manager.known import Known
    from mtplx_engine.models.machine import Machine

# Of a recommended model: bits of a parameter with its share of scales and of the head, and what it takes in use.
_BITS, _BESIDE = 4.8, 1.15
_USUAL_BYTES_S = 50e6 / 8  # a common line into a house; nobody knows this one before the first byte


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that is offered.

    Attributes:
        repo_id: Its repository.
        title: Name for people.
        why: Why this one, a sentence.
        cost: Its size and how long that takes.
    """

    repo_id: str
    title: str
    why: str
    cost: str


def estimate(machine: Machine) -> Offer | None:
    """Return what can be offered before the hub has been asked about anything; None when nothing would fit."""
    for entry in reversed(catalogue.entries()):
        parameters = entry.billions * 1_000_000_000
        size = round(parameters * _BITS / 8)
        weights = size if machine.packed else parameters * machine.item
        if weights * _BESIDE + fit.RESERVE <= fit.comfortable(machine.memory, machine.limit):
            return Offer(
                entry.target,
                entry.title,
                tr(
                    "The largest recommended model for this computer with {memory} GB. Good for {what}."
                ).format(memory=round(machine.memory / 2**30), what=entry.good_for),
                _cost(tr("About {size}, {time} at 50 Mbit/s"), size),
            )
    return None


def make(known: Known) -> Offer | None:
    """Return the offer; None when there is a model besides the starter, or none fits, or not all is known yet."""
    if known.installed - {starter.shipped_recipe().id.casefold()} or known.downloads:
        return None
    for entry in reversed(catalogue.entries()):
        look = known.looks.get(entry.target)
        if look is None:
            if entry.target in known.faults:
                continue
            return None
        judged = fit_words.judge(look.found, known.machine)
        if judged is not None and judged.verdict is Verdict.FITS:
            share = fit_words.share(judged.total, fit_words.for_models(judged))
            why = tr("The largest recommended model that fits: it needs {share}. Good for {what}.")
            return Offer(
                entry.target,
                entry.title,
                why.format(share=share, what=entry.good_for),
                _cost(tr("{size}, about {time} at 50 Mbit/s"), look.plan.size),
            )
    return None


def _cost(sentence: str, size: int) -> str:
    seconds = max(size / _USUAL_BYTES_S, 1)
    return sentence.format(size=fit_words.size(size), time=words.duration(seconds))
