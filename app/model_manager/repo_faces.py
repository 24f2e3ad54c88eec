"""How models at the hub look: recommended ones, and those that were found."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from app.model_manager import download_faces, fit_words
from app.model_manager.face import Action, Face
from app.palette import Tone
from app.services.download_row import DownloadState
from app.translate import tr
from mtplx_engine.models.fit import Verdict

if TYPE_CHECKING:
    from app.model_manager.known import Known
    from mtplx_engine.hub.catalogue import Entry
    from mtplx_engine.hub.look import Look
    from mtplx_engine.hub.search import Hit


def recommended(entry: Entry, known: Known) -> Face:
    """Return how a recommended model looks; why it cannot be had is said in its details."""
    face = _face(entry.target, entry.title, _good_for(entry), known)
    if not face.problem:
        return face
    return dataclasses.replace(
        face,
        fit=tr("not to be had at this hub"),
        because=face.problem,
        actions=(Action.DETAILS,),
        problem="",
        remedy="",
    )


def found(hit: Hit, known: Known) -> Face:
    """Return how a found repository looks."""
    words = tr("1 download") if hit.downloads == 1 else tr("{count} downloads")
    downloads = words.format(count=_count(hit.downloads))
    parts = [tr("gated") if hit.gated else "", hit.model_type, downloads, hit.updated]
    return _face(hit.id, hit.id, " · ".join(part for part in parts if part), known)


def unlisted(repo_id: str, known: Known) -> Face:
    """Return how a repository looks that is in no list any more."""
    return _face(repo_id, repo_id, "", known)


def _face(repo_id: str, title: str, about: str, known: Known) -> Face:
    look, fault = known.looks.get(repo_id), known.faults.get(repo_id)
    state = _state(repo_id, known)
    if fault is not None and look is None:
        return Face(repo_id, title, about, state=state, problem=fault.sentence, remedy=fault.remedy)
    if look is None:
        return Face(
            repo_id,
            title,
            about,
            fit=tr("asking the hub…") if repo_id in known.asking else "",
            state=state,
            actions=(Action.DETAILS,) if state else (Action.GET, Action.DETAILS),
        )
    fit, tone, because, gets = _judged(look, known)
    return Face(
        repo_id,
        title,
        " · ".join(part for part in (fit_words.drafts(look) or tr("plain decoding"), about) if part),
        size=fit_words.size(look.plan.size),
        fit=fit,
        tone=tone,
        because=because,
        actions=(Action.GET, Action.DETAILS) if gets and not state else (Action.DETAILS,),
        state=state,
    )


def is_for(look: Look, known: Known) -> bool:
    """Whether this version loads a model, and it fits the machine."""
    return _judged(look, known)[3]


def _judged(look: Look, known: Known) -> tuple[str, Tone, str, bool]:
    """Return the verdict in words, how loudly it is said, the sum behind it, and whether Get is offered."""
    judged = fit_words.judge(look.found, known.machine)
    if judged is None:
        return tr("does not load here"), Tone.BAD, look.reason, False
    words, tone = fit_words.words(judged)
    return words, tone, judged.in_words, judged.verdict is not Verdict.TOO_BIG


def _state(repo_id: str, known: Known) -> str:
    """Return what is said in place of Get."""
    row = known.download_of(repo_id)
    if row is not None and row.state is not DownloadState.DONE:
        words = {
            DownloadState.QUEUED: tr("Waiting"),
            DownloadState.WAITING: tr("Waiting"),
            DownloadState.PAUSED: tr("Paused"),
            DownloadState.FAILED: tr("Stopped"),
        }.get(row.state)
        return words or tr("{share} %").format(share=int(100 * download_faces.fraction(row)))
    if known.is_installed(repo_id):
        return tr("Installed")
    return tr("Looking…") if repo_id in known.wanted else ""


def _good_for(entry: Entry) -> str:
    return tr("good for: {what}").format(what=entry.good_for)


def _count(count: int) -> str:
    """Return a number of downloads as people say it."""
    for unit, factor in ((tr("{count} M"), 1_000_000), (tr("{count} k"), 1_000)):
        if count >= factor:
            return unit.format(count=f"{count / factor:,.0f}")
    return str(count)
