"""How downloads look."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from app.model_manager import fit_words
from app.model_manager.face import Action, Face
from app.model_manager.fault import Fault
from app.services.download_row import DownloadState
from app.translate import tr
from mtplx_engine import words
from mtplx_engine.hub.waiting import COUNTED_S, clock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.services.download_row import DownloadRow

_ACTIONS = {
    DownloadState.QUEUED: (Action.PAUSE, Action.CANCEL),
    DownloadState.RUNNING: (Action.PAUSE, Action.CANCEL),
    DownloadState.WAITING: (Action.TRY_NOW, Action.PAUSE, Action.CANCEL),
    DownloadState.PAUSED: (Action.RESUME, Action.CANCEL),
    DownloadState.FAILED: (Action.CANCEL,),
    DownloadState.DONE: (Action.CLEAR,),
}


def faces(rows: Iterable[DownloadRow]) -> tuple[Face, ...]:
    """Return how downloads look; those with one title say whose they are too."""
    rows = tuple(rows)
    titles = Counter(row.title for row in rows)
    return tuple(_face(row, _title_apart(row) if titles[row.title] > 1 else row.title) for row in rows)


def _title_apart(row: DownloadRow) -> str:
    owner = row.id.partition("--")[0]
    return tr("{title} by {owner}").format(title=row.title, owner=owner)


def _face(row: DownloadRow, title: str) -> Face:
    failed = Fault.of(row.error, row.problem) if row.error is not None else None
    return Face(
        key=row.id,
        title=title,
        note=progress(row),
        actions=_ACTIONS[row.state],
        # What is done needs no bar.
        fraction=None if row.state is DownloadState.DONE else fraction(row),
        problem=failed.sentence if failed else "",
        remedy=failed.remedy if failed else "",
    )


def fraction(row: DownloadRow) -> float:
    """Return how much of a download is there, 0..1."""
    return min(row.done / row.total, 1.0) if row.total else 0.0


def progress(row: DownloadRow) -> str:
    """Return bytes, speed and time left in words, and whether it is not what was looked at."""
    said = _progress(row)
    return tr("{progress} · changed at the hub meanwhile").format(progress=said) if row.renewed else said


def _progress(row: DownloadRow) -> str:
    amount = fit_words.share(row.done, row.total)
    match row.state:
        case DownloadState.QUEUED:
            return tr("Waiting for the downloads before it · {size}").format(size=fit_words.size(row.total))
        case DownloadState.PAUSED:
            return tr("Paused · {amount}").format(amount=amount)
        case DownloadState.FAILED:
            return tr("Stopped · {amount}").format(amount=amount)
        case DownloadState.DONE:
            return tr("Installed · {size}").format(size=fit_words.size(row.total))
        case DownloadState.WAITING:
            return " · ".join((*_wait(row), amount))
        case DownloadState.RUNNING:
            return " · ".join((*_wait(row), amount, *(() if row.waiting else _pace(row))))


def _wait(row: DownloadRow) -> tuple[str, ...]:
    """Return why nothing comes, and for how long."""
    if row.waiting is None or row.again_s is None:
        return ()
    cause, until = row.waiting.cause, row.waiting.until
    if row.again_s < COUNTED_S:
        return (tr("{cause}, trying again in {count} s").format(cause=cause, count=row.again_s),)
    if row.waiting.asked:
        return (cause,)
    return (
        tr("{cause}, trying again at {time}").format(cause=cause, time=clock(until, until - row.again_s)),
    )


def _pace(row: DownloadRow) -> tuple[str, ...]:
    if row.total and row.done >= row.total:
        return (tr("checking"),)
    if row.bytes_s is None:
        return ()
    speed = tr("{speed}/s").format(speed=fit_words.size(round(row.bytes_s)))
    if row.seconds_left is None:
        return (speed,)
    return (speed, tr("{time} left").format(time=words.duration(row.seconds_left)))
