"""How the models on this computer look."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from app.model_manager import fit_words
from app.model_manager.face import Action, Face
from app.palette import Tone
from app.translate import tr
from mtplx_engine.errors import ErrorKind
from mtplx_engine.models.inspection import Tier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.models.installed_model import InstalledModel
    from mtplx_engine.models.machine import Machine


@dataclass(frozen=True, slots=True)
class Use:
    """How models are used.

    Attributes:
        loaded: The folder of the loaded model, None without one.
        loading: The folder of the model that is being loaded, None without one.
        default: The folder of the default model, None for the starter.
        last_used: When each folder's model was loaded last, in seconds since 1970.
        places: Folders that can be taken off the list.
        verified: What a check of a model's files found, by its folder.
        reading: How far such a check is, 0..1, by folder.
        faults: What could not be done with a model, by folder.
        inspected: What the files of models say, by folder.
        machine: Where they would run.
    """

    loaded: Path | None
    loading: Path | None
    default: Path | None
    last_used: Mapping[Path, int]
    places: frozenset[Path]
    verified: Mapping[Path, str]
    reading: Mapping[Path, float]
    faults: Mapping[Path, ErrorInfo]
    inspected: Mapping[Path, Inspection]
    machine: Machine


def face(model: InstalledModel, use: Use, now_s: float) -> Face:
    """Return how an installed model looks."""
    fault = use.faults.get(model.path)
    fit, tone, because = _judged(use.inspected.get(model.path), use)
    return Face(
        key=str(model.path),
        title=model.title,
        note=" · ".join(_notes(model, use, now_s)),
        size=fit_words.size(model.size),
        fit=fit,
        tone=tone,
        because=because,
        actions=_actions(model, use),
        more=_more(model, use),
        state=_state(model, use),
        fraction=use.reading.get(model.path),
        dimmed=not model.there,
        problem=fault.message if fault else "",
        remedy=_remedy(model, fault),
    )


def _judged(found: Inspection | None, use: Use) -> tuple[str, Tone, str]:
    """Return whether an inspected model fits, how loudly that is said, and the sum behind it."""
    if found is None:
        return "", Tone.QUIET, ""
    judged = fit_words.judge(found, use.machine)
    if judged is None:
        return tr("does not load here"), Tone.BAD, found.reason
    return *fit_words.words(judged), judged.in_words


def _state(model: InstalledModel, use: Use) -> str:
    if model.path in use.reading:
        return tr("Checking…")
    if use.loading == model.path:
        return tr("Loading…")
    return tr("Loaded") if use.loaded == model.path else ""


def _remedy(model: InstalledModel, fault: ErrorInfo | None) -> str:
    """Return what the button about a failure says; only a load can be tried again."""
    if fault is None or not (model.there and model.complete):
        return ""
    return tr(Action.LOAD_ANYWAY.value) if fault.kind is ErrorKind.TOO_BIG else ""


def _notes(model: InstalledModel, use: Use, now_s: float) -> list[str]:
    notes = []
    if model.owner and model.repo != model.title:
        notes.append(tr("by {owner}").format(owner=model.owner))
    if not model.there:
        notes.append(tr("not connected"))
    elif not model.complete:
        notes.append(tr("files are missing"))
    if use.default == model.path:
        notes.append(tr("used by default"))
    notes.append(_tier(model, use.inspected.get(model.path)))
    used = use.last_used.get(model.path)
    notes.append(tr("never used") if used is None else _ago(used, now_s))
    if model.place:
        notes.append(tr("your own, in {folder}").format(folder=model.place))
    if sentence := use.verified.get(model.path):
        notes.append(sentence)
    return notes


def _tier(model: InstalledModel, found: Inspection | None) -> str:
    """Return how well a model runs; before it was inspected what its file names say."""
    drafts = tr("drafts for itself (MTP)")
    if found is None:
        return drafts if model.has_head else tr("plain decoding")
    match found.tier:
        case Tier.VERIFIED:
            return tr("{drafts}, verified").format(drafts=drafts)
        case Tier.UNVERIFIED:
            return tr("{drafts}, not tried yet").format(drafts=drafts)
        case Tier.UNSUPPORTED | Tier.REFUSED:
            return found.reason
        case _:
            return tr("plain decoding")


def _actions(model: InstalledModel, use: Use) -> tuple[Action, ...]:
    if use.loading == model.path:
        return ()
    if use.loaded == model.path:
        return (Action.UNLOAD,)
    return (Action.LOAD,) if model.there and model.complete else ()


def place(model: InstalledModel) -> Path:
    """Return the folder because of which a model is listed."""
    return Path(model.place) if model.place else model.path.parent


def _more(model: InstalledModel, use: Use) -> tuple[Action, ...]:
    forget = (Action.FORGET,) if place(model) in use.places else ()
    if not model.there:
        return forget
    able = model.complete and use.default != model.path
    return (
        *((Action.SET_DEFAULT,) if able else ()),
        Action.VERIFY,
        Action.SHOW,
        *forget,
        # What the person brought is never deleted from here.
        *(() if model.place else (Action.DELETE,)),
    )


def _ago(then_s: int, now_s: float) -> str:
    """Return when something was, as people say it."""
    then, now = (datetime.fromtimestamp(moment, UTC).astimezone().date() for moment in (then_s, now_s))
    days = (now - then).days
    if days <= 0:
        return tr("used today")
    if days == 1:
        return tr("used yesterday")
    return tr("used {days} days ago").format(days=days) if days < 60 else tr("used on {day}").format(day=then)
