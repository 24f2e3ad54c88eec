"""The state of one row of the Models window, its memory fit in words, and its failures with their remedies."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from app.i18n import marked, tr
from app.palette import Tone
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.plan import folder_name
from mtplx_engine.models import memory_fit
from mtplx_engine.util.formatting import size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.model_manager.downloads import DownloadRow
    from app.widgets.cards import ErrorCard
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.models.memory_fit import Fit
    from mtplx_engine.util.system import Machine


_TONES = {
    memory_fit.MemoryVerdict.FITS: Tone.GOOD,
    memory_fit.MemoryVerdict.TIGHT: Tone.DOUBT,
    memory_fit.MemoryVerdict.TOO_BIG: Tone.BAD,
}


class Action(StrEnum):
    """What can be done with a model; the value is the label of the button."""

    GET = marked("Get")
    GET_ANYWAY = marked("Get Anyway")
    DETAILS = marked("Details")
    LOOK_AGAIN = marked("Try Again")
    LOAD = marked("Load")
    LOAD_ANYWAY = marked("Load Anyway")
    UNLOAD = marked("Unload")
    SET_DEFAULT = marked("Use by Default")
    VERIFY = marked("Verify")
    SHOW = marked("Show in File Manager")
    FORGET = marked("Take Its Folder Off the List…")
    DELETE = marked("Delete…")
    PAUSE = marked("Pause")
    RESUME = marked("Resume")
    TRY_NOW = marked("Try Now")
    CANCEL = marked("Cancel")
    CLEAR = marked("Clear")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One row.

    Attributes:
        key: The repository, the download, or the folder of the installed model.
        note: The second line.
        size: Bytes in words, "" while they are unknown.
        fit: Whether it fits, in a few words.
        tone: The colour of `fit`.
        because: The sum behind `fit`, or the reason of a failure.
        actions: The buttons, the primary one first.
        more: The actions of the menu at the end.
        state: Shown in place of buttons, such as "Installed".
        fraction: Progress, 0..1; None without any.
        dimmed: Whether the model is unreachable at the moment.
        remedy: The label of the button about `problem`, "" without one.
    """

    key: str
    title: str
    note: str = ""
    size: str = ""
    fit: str = ""
    tone: Tone = Tone.QUIET
    because: str = ""
    actions: tuple[Action, ...] = ()
    more: tuple[Action, ...] = ()
    state: str = ""
    fraction: float | None = None
    dimmed: bool = False
    problem: str = ""
    remedy: str = ""


def judge(found: Inspection, machine: Machine, context: int = memory_fit.CONTEXT) -> Fit | None:
    """Return whether a model fits, None when this version does not load it."""
    return memory_fit.judge_fit(found.footprint, context, machine) if found.footprint is not None else None


def fits(found: Inspection, machine: Machine) -> bool:
    """Return whether this version loads a model, and it fits, be it tightly."""
    judged = judge(found, machine)
    return judged is not None and judged.verdict is not memory_fit.MemoryVerdict.TOO_BIG


def fit_text(judged: Fit) -> tuple[str, Tone]:
    """Return a verdict with the bytes that the model needs and that models can have, and its tone."""
    sentence = {
        memory_fit.MemoryVerdict.FITS: tr("fits (needs {share})"),
        memory_fit.MemoryVerdict.TIGHT: tr("tight (needs {share})"),
        memory_fit.MemoryVerdict.TOO_BIG: tr("will not fit (needs {share})"),
    }[judged.verdict]
    return sentence.format(share=share(judged.total, for_models(judged))), _TONES[judged.verdict]


def for_models(judged: Fit) -> int:
    """Return the bytes that a model can have on the machine."""
    return min(judged.memory - judged.reserve, judged.limit)


def parts(judged: Fit) -> tuple[tuple[str, int], ...]:
    """Return the parts of the needed memory: name and bytes."""
    lines = [(tr("Weights"), judged.weights)]
    if judged.head:
        lines.append((tr("Drafting head"), judged.head))
    context = tr("{count} tokens of context").format(count=f"{judged.context:,}")
    return (*lines, (context, judged.cache), (tr("Reading a prompt"), judged.scratch))


def drafts(inspection: RepoInspection) -> str:
    """Return how a model drafts, "" when it does not."""
    if inspection.found.head is None or inspection.found.head.problem:
        return ""
    if inspection.plan.head_size:
        return tr("drafts for itself (MTP), its head adds {size}").format(size=size(inspection.plan.head_size))
    return tr("drafts for itself (MTP)")


def share(part: int, whole: int) -> str:
    """Return a part of so many bytes, with the unit once where both have the same."""
    some, whole_ = size(part), size(whole)
    if some.endswith(" GB") and whole_.endswith(" GB"):
        some = some.removesuffix(" GB")
    return tr("{part} of {whole}").format(part=some, whole=whole_)


ABOUT_TOKEN: Final = frozenset({HubErrorKind.NO_TOKEN, HubErrorKind.BAD_TOKEN, HubErrorKind.FORBIDDEN})
"""Failures that another token remedies."""

ABOUT_CONNECTION: Final = frozenset({HubErrorKind.PROXY, HubErrorKind.ADDRESS})
"""Failures that another address in the settings remedies."""

ABOUT_CHOICE: Final = frozenset(
    {HubErrorKind.NOT_FOUND, HubErrorKind.UNSAFE, HubErrorKind.NO_MODEL, HubErrorKind.UNFIT_HEAD}
)
"""Failures that only another model remedies."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure: a sentence for the user, and its kind, None when it is not the hub's."""

    sentence: str
    problem: HubErrorKind | None = None

    @classmethod
    def of(cls, error: ErrorInfo, problem: HubErrorKind | None) -> Fault:
        return cls(error.message, problem)

    @property
    def remedy(self) -> str:
        return tr(self.problem.value) if self.problem is not None else tr(Action.LOOK_AGAIN.value)


def show_fault(card: ErrorCard, fault: Fault | None) -> None:
    """Show a failure on a card; hide the card without one."""
    card.setVisible(fault is not None)
    if fault is not None:
        card.label.setText(fault.sentence)
        card.set_action(fault.remedy)


@dataclass(frozen=True, slots=True)
class HubSnapshot:
    """What rows of models at the hub and the offer are made from.

    Attributes:
        installed: The folder names of installed models, in lower case.
        downloads: By folder name.
        asking: Repositories whose inspection is still to come.
        wanted: Repositories that are fetched once they are inspected.
    """

    machine: Machine
    installed: frozenset[str] = frozenset()
    inspections: Mapping[str, RepoInspection] = field(default_factory=dict)
    faults: Mapping[str, Fault] = field(default_factory=dict)
    downloads: Mapping[str, DownloadRow] = field(default_factory=dict)
    asking: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()

    def is_installed(self, repo_id: str) -> bool:
        """Whether the model of a repository is installed, by us or in the Hugging Face cache."""
        return bool({folder_name(repo_id).casefold(), repo_id.casefold()} & self.installed)

    def download_of(self, repo_id: str) -> DownloadRow | None:
        return self.downloads.get(folder_name(repo_id))
