"""What a person wants of the models that a search finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.model_manager import fit_words
from mtplx_engine.hub import catalogue
from mtplx_engine.models.fit import Verdict

if TYPE_CHECKING:
    from app.model_manager.known import Known
    from mtplx_engine.hub.look import Look
    from mtplx_engine.hub.search import Hit

SIZES: Final = tuple(gigabytes * 1_000_000_000 for gigabytes in (2, 4, 8, 16, 32, 64))
"""Bytes that the largest wanted model may have, as they are offered."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What must hold; what nobody has asked the hub about yet passes.

    Attributes:
        fitting: It fits this machine, be it tightly.
        drafting: It has a drafting head, or one goes with it.
        largest: Bytes that it may have, its head included; None for any size.
    """

    fitting: bool = False
    drafting: bool = False
    largest: int | None = None

    def __bool__(self) -> bool:
        """Whether anything is wanted at all."""
        return self != Filters()

    def may_pass(self, hit: Hit, known: Known) -> bool:
        """Return whether a model that was found passes as far as is known."""
        look = known.looks.get(hit.id)
        if look is None:
            return True
        return (
            (not self.fitting or _fits(look, known))
            and (not self.drafting or bool(fit_words.drafts(look)) or catalogue.entry_of(hit.id) is not None)
            and (self.largest is None or look.plan.size <= self.largest)
        )


def _fits(look: Look, known: Known) -> bool:
    judged = fit_words.judge(look.found, known.machine)
    return judged is not None and judged.verdict is not Verdict.TOO_BIG
