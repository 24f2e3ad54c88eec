"""Builds the rows of the Models window: of installed models, models at the hub, and downloads."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.i18n import tr
from app.model_manager import row_state
from app.model_manager.downloads import DownloadState
from app.model_manager.row_state import Action, Fault, ModelRow
from app.palette import Tone
from mtplx_engine.errors import ErrorKind
from mtplx_engine.hub import catalogue
from mtplx_engine.hub.retries import COUNTED_S, clock
from mtplx_engine.models.inspection import Tier
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.model_manager.downloads import DownloadRow
    from app.model_manager.model_library import Contents
    from app.model_manager.row_state import HubSnapshot
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.catalogue import Entry
    from mtplx_engine.hub.search import Hit
    from mtplx_engine.models.folders import InstalledModel
    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.util.system import Machine


_DOWNLOAD_ACTIONS = {
    DownloadState.QUEUED: (Action.PAUSE, Action.CANCEL),
    DownloadState.RUNNING: (Action.PAUSE, Action.CANCEL),
    DownloadState.WAITING: (Action.TRY_NOW, Action.PAUSE, Action.CANCEL),
    DownloadState.PAUSED: (Action.RESUME, Action.CANCEL),
    DownloadState.FAILED: (Action.CANCEL,),
    DownloadState.DONE: (Action.CLEAR,),
}


def _judged(found: Inspection, reason: str, machine: Machine) -> tuple[str, Tone, str]:
    """Return whether a model fits, its tone, and the sum behind it or why it does not load."""
    judged = row_state.judge(found, machine)
    if judged is None:
        return tr("does not load here"), Tone.BAD, reason
    return *row_state.fit_text(judged), judged.in_words


# ------------------------------------------------------------ installed models


@dataclass(frozen=True, slots=True)
class UseState:
    """How the installed models are used.

    Attributes:
        verified: The result of checking a model's files, by its folder.
        verifying: Progress of such a check, 0..1, by folder.
    """

    contents: Contents
    loaded: Path | None
    loading: Path | None
    verified: Mapping[Path, str]
    verifying: Mapping[Path, float]
    faults: Mapping[Path, ErrorInfo]
    inspected: Mapping[Path, Inspection]
    machine: Machine


def installed(model: InstalledModel, use: UseState, now_s: float) -> ModelRow:
    fault, found = use.faults.get(model.path), use.inspected.get(model.path)
    fit, tone, because = _judged(found, found.reason, use.machine) if found is not None else ("", Tone.QUIET, "")
    return ModelRow(
        key=str(model.path),
        title=model.title,
        note=" · ".join(_notes(model, use, now_s)),
        size=formatting.size(model.size),
        fit=fit,
        tone=tone,
        because=because,
        actions=_actions(model, use),
        more=_more(model, use),
        state=_use_state(model, use),
        fraction=use.verifying.get(model.path),
        dimmed=not model.there,
        problem=fault.message if fault else "",
        remedy=_remedy(model, fault),
    )


def _use_state(model: InstalledModel, use: UseState) -> str:
    if model.path in use.verifying:
        return tr("Checking…")
    if use.loading == model.path:
        return tr("Loading…")
    return tr("Loaded") if use.loaded == model.path else ""


def _remedy(model: InstalledModel, fault: ErrorInfo | None) -> str:
    # Only a load can be tried again.
    if fault is None or not (model.there and model.complete):
        return ""
    return tr(Action.LOAD_ANYWAY.value) if fault.kind is ErrorKind.TOO_BIG else ""


def _notes(model: InstalledModel, use: UseState, now_s: float) -> list[str]:
    notes = []
    if model.owner and model.repo != model.title:
        notes.append(tr("by {owner}").format(owner=model.owner))
    if not model.there:
        notes.append(tr("not connected"))
    elif not model.complete:
        notes.append(tr("files are missing"))
    if use.contents.default == model.path:
        notes.append(tr("used by default"))
    notes.append(_tier(model, use.inspected.get(model.path)))
    used = use.contents.used.get(model.path)
    notes.append(tr("never used") if used is None else _ago(used, now_s))
    if model.place:
        notes.append(tr("your own, in {folder}").format(folder=model.place))
    if sentence := use.verified.get(model.path):
        notes.append(sentence)
    return notes


def _tier(model: InstalledModel, found: Inspection | None) -> str:
    """Return how a model runs by its inspection, and before that by its file names."""
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


def _actions(model: InstalledModel, use: UseState) -> tuple[Action, ...]:
    if use.loading == model.path:
        return ()
    if use.loaded == model.path:
        return (Action.UNLOAD,)
    return (Action.LOAD,) if model.there and model.complete else ()


def listed_folder(model: InstalledModel) -> Path:
    """Return the folder that a model is listed for."""
    return Path(model.place) if model.place else model.path.parent


def _more(model: InstalledModel, use: UseState) -> tuple[Action, ...]:
    forget = (Action.FORGET,) if listed_folder(model) in use.contents.user_folders else ()
    if not model.there:
        return forget
    able = model.complete and use.contents.default != model.path
    return (
        *((Action.SET_DEFAULT,) if able else ()),
        Action.VERIFY,
        Action.SHOW,
        *forget,
        # The user's own models are never deleted from here.
        *(() if model.place else (Action.DELETE,)),
    )


def _ago(then_s: int, now_s: float) -> str:
    then, now = (datetime.fromtimestamp(moment, UTC).astimezone().date() for moment in (then_s, now_s))
    days = (now - then).days
    if days <= 0:
        return tr("used today")
    if days == 1:
        return tr("used yesterday")
    return tr("used {days} days ago").format(days=days) if days < 60 else tr("used on {day}").format(day=then)


# ------------------------------------------------------------ models at the hub


SIZES: Final = tuple(gigabytes * 1_000_000_000 for gigabytes in (2, 4, 8, 16, 32, 64))
"""The offered upper limits of a model's size, in bytes."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of search results; a repository that is not inspected yet passes.

    Attributes:
        fitting: It fits this machine, if only tightly.
        drafting: It has a drafting head, or one is recommended with it.
        largest: Upper limit of its bytes, its head included; None for any size.
    """

    fitting: bool = False
    drafting: bool = False
    largest: int | None = None

    def __bool__(self) -> bool:
        return self != Filters()

    def may_pass(self, hit: Hit, known: HubSnapshot) -> bool:
        inspection = known.inspections.get(hit.id)
        if inspection is None:
            return True
        return (
            (not self.fitting or row_state.fits(inspection.found, known.machine))
            and (not self.drafting or bool(row_state.drafts(inspection)) or catalogue.entry_of(hit.id) is not None)
            and (self.largest is None or inspection.plan.size <= self.largest)
        )


def recommended(entry: Entry, known: HubSnapshot) -> ModelRow:
    """Return the row of a recommended model; its details say why it cannot be fetched."""
    row = _at_hub(entry.target, entry.title, tr("good for: {what}").format(what=entry.good_for), known)
    if not row.problem:
        return row
    return dataclasses.replace(
        row,
        fit=tr("not to be had at this hub"),
        because=row.problem,
        actions=(Action.DETAILS,),
        problem="",
        remedy="",
    )


def found(hit: Hit, known: HubSnapshot) -> ModelRow:
    words = tr("1 download") if hit.downloads == 1 else tr("{count} downloads")
    downloads = words.format(count=_count(hit.downloads))
    parts = [tr("gated") if hit.gated else "", hit.model_type, downloads, hit.updated]
    return _at_hub(hit.id, hit.id, " · ".join(part for part in parts if part), known)


def unlisted(repo_id: str, known: HubSnapshot) -> ModelRow:
    """Return the row of a repository that is no longer listed."""
    return _at_hub(repo_id, repo_id, "", known)


def _at_hub(repo_id: str, title: str, about: str, known: HubSnapshot) -> ModelRow:
    inspection, fault = known.inspections.get(repo_id), known.faults.get(repo_id)
    state = _fetch_state(repo_id, known)
    if fault is not None and inspection is None:
        return ModelRow(repo_id, title, about, state=state, problem=fault.sentence, remedy=fault.remedy)
    if inspection is None:
        return ModelRow(
            repo_id,
            title,
            about,
            fit=tr("asking the hub…") if repo_id in known.asking else "",
            state=state,
            actions=(Action.DETAILS,) if state else (Action.GET, Action.DETAILS),
        )
    fit, tone, because = _judged(inspection.found, inspection.reason, known.machine)
    gets = row_state.fits(inspection.found, known.machine) and not state
    return ModelRow(
        repo_id,
        title,
        " · ".join(part for part in (row_state.drafts(inspection) or tr("plain decoding"), about) if part),
        size=formatting.size(inspection.plan.size),
        fit=fit,
        tone=tone,
        because=because,
        actions=(Action.GET, Action.DETAILS) if gets else (Action.DETAILS,),
        state=state,
    )


def _fetch_state(repo_id: str, known: HubSnapshot) -> str:
    """Return what the row shows in place of Get, "" for Get."""
    row = known.download_of(repo_id)
    if row is not None and row.state is not DownloadState.DONE:
        words = {
            DownloadState.QUEUED: tr("Waiting"),
            DownloadState.WAITING: tr("Waiting"),
            DownloadState.PAUSED: tr("Paused"),
            DownloadState.FAILED: tr("Stopped"),
        }.get(row.state)
        return words or tr("{share} %").format(share=int(100 * fraction(row)))
    if known.is_installed(repo_id):
        return tr("Installed")
    return tr("Looking…") if repo_id in known.wanted else ""


def _count(count: int) -> str:
    """Return a number of downloads, rounded to thousands or millions."""
    for unit, factor in ((tr("{count} M"), 1_000_000), (tr("{count} k"), 1_000)):
        if count >= factor:
            return unit.format(count=f"{count / factor:,.0f}")
    return str(count)


# ------------------------------------------------------------ downloads


def downloads(items: Iterable[DownloadRow]) -> tuple[ModelRow, ...]:
    """Return the rows of downloads; those with equal titles name their owners."""
    items = tuple(items)
    titles = Counter(item.title for item in items)
    return tuple(_download(item, _title_apart(item) if titles[item.title] > 1 else item.title) for item in items)


def _title_apart(row: DownloadRow) -> str:
    owner = row.id.partition("--")[0]
    return tr("{title} by {owner}").format(title=row.title, owner=owner)


def _download(row: DownloadRow, title: str) -> ModelRow:
    failed = Fault.of(row.error, row.problem) if row.error is not None else None
    return ModelRow(
        key=row.id,
        title=title,
        note=progress(row),
        actions=_DOWNLOAD_ACTIONS[row.state],
        fraction=None if row.state is DownloadState.DONE else fraction(row),
        problem=failed.sentence if failed else "",
        remedy=failed.remedy if failed else "",
    )


def fraction(row: DownloadRow) -> float:
    """Return the progress of a download, 0..1."""
    return min(row.done / row.total, 1.0) if row.total else 0.0


def progress(row: DownloadRow) -> str:
    """Return bytes, speed and time left in words, and whether the hub's files have changed since the inspection."""
    text = _progress(row)
    return tr("{progress} · changed at the hub meanwhile").format(progress=text) if row.renewed else text


def _progress(row: DownloadRow) -> str:
    amount = row_state.share(row.done, row.total)
    match row.state:
        case DownloadState.QUEUED:
            return tr("Waiting for the downloads before it · {size}").format(size=formatting.size(row.total))
        case DownloadState.PAUSED:
            return tr("Paused · {amount}").format(amount=amount)
        case DownloadState.FAILED:
            return tr("Stopped · {amount}").format(amount=amount)
        case DownloadState.DONE:
            return tr("Installed · {size}").format(size=formatting.size(row.total))
        case DownloadState.WAITING:
            return " · ".join((*_wait(row), amount))
        case DownloadState.RUNNING:
            return " · ".join((*_wait(row), amount, *(() if row.waiting else _pace(row))))


def _wait(row: DownloadRow) -> tuple[str, ...]:
    """Return the reason and the end of a wait."""
    if row.waiting is None or row.again_s is None:
        return ()
    cause, until = row.waiting.cause, row.waiting.until
    if row.again_s < COUNTED_S:
        return (tr("{cause}, trying again in {count} s").format(cause=cause, count=row.again_s),)
    if row.waiting.asked:
        return (cause,)
    return (tr("{cause}, trying again at {time}").format(cause=cause, time=clock(until, until - row.again_s)),)


def _pace(row: DownloadRow) -> tuple[str, ...]:
    if row.total and row.done >= row.total:
        return (tr("checking"),)
    if row.bytes_s is None:
        return ()
    speed = tr("{speed}/s").format(speed=formatting.size(round(row.bytes_s)))
    if row.seconds_left is None:
        return (speed,)
    return (speed, tr("{time} left").format(time=formatting.duration(row.seconds_left)))
