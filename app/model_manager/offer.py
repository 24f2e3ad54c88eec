"""The one model to begin with: the largest recommended one that fits this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.model_manager import fit_words
from app.translate import tr
from mtplx_engine import words
from mtplx_engine.hub import catalogue
from mtplx_engine.models import starter
from mtplx_engine.models.fit import Verdict

if TYPE_CHECKING:
    from app.model_manager.known import Known

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
            need, have = judged.total, fit_words.for_models(judged)
            why = tr(
                "The largest recommended model that fits: it needs {need} of {have} GB. Good for {what}."
            )
            cost = tr("{size}, about {time} at 50 Mbit/s")
            return Offer(
                entry.target,
                entry.title,
                why.format(
                    need=fit_words.gigabytes(need), have=fit_words.gigabytes(have), what=entry.good_for
                ),
                cost.format(
                    size=fit_words.size(look.plan.size),
                    time=words.duration(look.plan.size / _USUAL_BYTES_S),
                ),
            )
    return None
