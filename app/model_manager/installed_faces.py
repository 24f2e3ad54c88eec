"""How the models on this computer look."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.model_manager import fit_words
from app.model_manager.face import Action, Face
from app.translate import tr
from mtplx_engine.errors import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.models.installed_model import InstalledModel


@dataclass(frozen=True, slots=True)
class Use:
    """How models are used.

    Attributes:
        loaded: The folder of the loaded model, None without one.
        loading: The folder of the model that is being loaded, "" without one.
        default: The folder of the default model, None for the starter.
        last_used: When each folder's model was loaded last, in seconds since 1970.
        verified: What a check of a model's files found, by its name.
        reading: How far such a check is, 0..1, by name.
        faults: What could not be done with a model, by name.
    """

    loaded: Path | None
    loading: str
    default: Path | None
    last_used: Mapping[Path, int]
    verified: Mapping[str, str]
    reading: Mapping[str, float]
    faults: Mapping[str, ErrorInfo]


def face(model: InstalledModel, use: Use, now_s: float) -> Face:
    """Return how an installed model looks."""
    fault = use.faults.get(model.name)
    return Face(
        key=str(model.path),
        title=model.title,
        note=" · ".join(_notes(model, use, now_s)),
        size=fit_words.size(model.size),
        actions=_actions(model, use),
        more=_more(model, use),
        state=_state(model, use),
        fraction=use.reading.get(model.name),
        dimmed=not model.there,
        problem=fault.message if fault else "",
        remedy=_remedy(model, fault),
    )


def _state(model: InstalledModel, use: Use) -> str:
    if model.name in use.reading:
        return tr("Checking…")
    if use.loading == str(model.path):
        return tr("Loading…")
    return tr("Loaded") if use.loaded == model.path else ""


def _remedy(model: InstalledModel, fault: ErrorInfo | None) -> str:
    """Return what the button about a failure says; only a load can be tried again."""
    if fault is None or not (model.there and model.complete):
        return ""
    return tr(Action.LOAD_ANYWAY.value) if fault.kind is ErrorKind.TOO_BIG else ""


def _notes(model: InstalledModel, use: Use, now_s: float) -> list[str]:
    notes = []
    if not model.there:
        notes.append(tr("not connected"))
    elif not model.complete:
        notes.append(tr("files are missing"))
    if use.default == model.path:
        notes.append(tr("used by default"))
    notes.append(tr("drafts for itself (MTP)") if model.has_head else tr("plain decoding"))
    used = use.last_used.get(model.path)
    notes.append(tr("never used") if used is None else _ago(used, now_s))
    if model.place:
        notes.append(tr("your own, in {folder}").format(folder=model.place))
    if sentence := use.verified.get(model.name):
        notes.append(sentence)
    return notes


def _actions(model: InstalledModel, use: Use) -> tuple[Action, ...]:
    if use.loading == str(model.path):
        return ()
    if use.loaded == model.path:
        return (Action.UNLOAD,)
    return (Action.LOAD,) if model.there and model.complete else ()


def _more(model: InstalledModel, use: Use) -> tuple[Action, ...]:
    if not model.there:
        return ()
    able = model.complete and use.default != model.path
    return (
        *((Action.SET_DEFAULT,) if able else ()),
        Action.VERIFY,
        Action.SHOW,
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
