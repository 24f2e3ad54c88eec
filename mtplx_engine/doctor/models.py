"""The installed models, each as a row: how well this version runs it, and what the probe of its head found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine import words
from mtplx_engine.doctor.check import Check, Verdict
from mtplx_engine.hub import catalogue
from mtplx_engine.models import installed, starter
from mtplx_engine.models.families.supported import PLAIN_ONLY, SUPPORTED
from mtplx_engine.models.inspection import Tier, inspect
from mtplx_engine.models.probe_memory import ProbeMemory

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.models.installed_model import InstalledModel

_MOST = 30  # models; a report shall fit into a message


def rows(data: Path) -> tuple[Check, ...]:
    """Return a row for each installed model; one that says so when there is none.

    Args:
        data: The data folder.
    """
    found = installed.models(data)
    if not found:
        return (Check("Models", Verdict.UNKNOWN, "None is installed."),)
    memory = ProbeMemory(data)
    kept = tuple(_row(number, model, memory) for number, model in enumerate(found[:_MOST], 1))
    more = len(found) - len(kept)
    return (*kept, Check("Models", Verdict.UNKNOWN, f"{more} more were not looked at.")) if more else kept


def _row(number: int, model: InstalledModel, memory: ProbeMemory) -> Check:
    """Look at one model."""
    name = f"Model {number}"
    if not model.there:
        return Check(name, Verdict.UNKNOWN, "Its disk is not connected.")
    if not model.complete:
        return Check(
            name, Verdict.FAILED, f"{words.size(model.size)}: parts of it are missing. Get it again."
        )
    looked = inspect(model.path, memory)
    verdict = {Tier.REFUSED: Verdict.FAILED, Tier.UNSUPPORTED: Verdict.UNKNOWN}.get(
        looked.tier, Verdict.PASSED
    )
    return Check(name, verdict, f"{_known_as(model, looked)}, {words.size(model.size)}: {_tier(looked)}")


def _known_as(model: InstalledModel, looked: Inspection) -> str:
    """Return the name of a model that everybody knows; of others, which may be private, only the architecture."""
    public = {starter.shipped_recipe().name, *(entry.title for entry in catalogue.entries())}
    if model.title in public:
        return model.title
    family = looked.family if looked.family in (*SUPPORTED, *PLAIN_ONLY) else "some"
    return f"A {family} model"


def _tier(looked: Inspection) -> str:
    """Return the tier, and why where that is no sentence about the person's files."""
    if looked.tier is Tier.REFUSED:
        return "refused as unsafe or damaged; `mtplx inspect` says why. Get it again."
    return f"{looked.tier}. {looked.reason}" if looked.loads else f"{looked.tier}."
