"""The state of one row of the Models window, and its memory fit in words."""

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


class Action(StrEnum):
    """What can be done with a model; the value is what its button says."""

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
        key: What its actions are about: a repository, a download, or the folder of an installed model.
        title: Name for people.
        note: The second line, quieter.
        size: Bytes in words, "" while they are not known.
        fit: Whether it fits, in a few words.
        tone: How loudly `fit` is said.
        because: The sum behind `fit`, or all of what went wrong.
        actions: The buttons, the one that is meant first.
        more: What the menu at the end offers.
        state: What is said in place of buttons, as "Installed".
        fraction: How far something is, 0..1; None when nothing is going on.
        dimmed: Whether the model is out of reach at the moment.
        problem: What went wrong, a sentence.
        remedy: What the button about `problem` says, "" without one.
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


_TONES = {
    memory_fit.MemoryVerdict.FITS: Tone.GOOD,
    memory_fit.MemoryVerdict.TIGHT: Tone.DOUBT,
    memory_fit.MemoryVerdict.TOO_BIG: Tone.BAD,
}


def judge(found: Inspection, machine: Machine, context: int = memory_fit.CONTEXT) -> Fit | None:
    """Return whether a model fits, None when this version does not load it."""
    return memory_fit.judge_fit(found.footprint, context, machine) if found.footprint is not None else None


def fits(found: Inspection, machine: Machine) -> bool:
    """Return whether this version loads a model, and it fits, be it tightly."""
    judged = judge(found, machine)
    return judged is not None and judged.verdict is not memory_fit.MemoryVerdict.TOO_BIG


def words(sum_: Fit) -> tuple[str, Tone]:
    """Return a verdict with what the model needs and what models can have, and how loudly it is said."""
    sentence = {
        memory_fit.MemoryVerdict.FITS: tr("fits (needs {share})"),
        memory_fit.MemoryVerdict.TIGHT: tr("tight (needs {share})"),
        memory_fit.MemoryVerdict.TOO_BIG: tr("will not fit (needs {share})"),
    }[sum_.verdict]
    return sentence.format(share=share(sum_.total, for_models(sum_))), _TONES[sum_.verdict]


def for_models(sum_: Fit) -> int:
    """Return the bytes that a model can have on the machine of a sum."""
    return min(sum_.memory - sum_.reserve, sum_.limit)


def parts(sum_: Fit) -> tuple[tuple[str, int], ...]:
    """Return the sum line by line: what it is, and its bytes."""
    lines = [(tr("Weights"), sum_.weights)]
    if sum_.head:
        lines.append((tr("Drafting head"), sum_.head))
    context = tr("{count} tokens of context").format(count=f"{sum_.context:,}")
    return (*lines, (context, sum_.cache), (tr("Reading a prompt"), sum_.scratch))


def drafts(look: RepoInspection) -> str:
    """Return how a model is made faster, "" when it is not."""
    if look.found.head is None or look.found.head.problem:
        return ""
    if look.plan.head_size:
        return tr("drafts for itself (MTP), its head adds {size}").format(size=size(look.plan.head_size))
    return tr("drafts for itself (MTP)")


def share(part: int, whole: int) -> str:
    """Return a part of so many bytes, with the unit once where both have the same."""
    some, whole_ = size(part), size(whole)
    if some.endswith(" GB") and whole_.endswith(" GB"):
        some = some.removesuffix(" GB")
    return tr("{part} of {whole}").format(part=some, whole=whole_)


ABOUT_TOKEN: Final = frozenset({HubErrorKind.NO_TOKEN, HubErrorKind.BAD_TOKEN, HubErrorKind.FORBIDDEN})
"""What another token helps against."""

ABOUT_WAY: Final = frozenset({HubErrorKind.PROXY, HubErrorKind.ADDRESS})
"""What another address in the settings helps against."""

ABOUT_CHOICE: Final = frozenset(
    {HubErrorKind.NOT_FOUND, HubErrorKind.UNSAFE, HubErrorKind.NO_MODEL, HubErrorKind.UNFIT_HEAD}
)
"""What only another model helps against."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure.

    Attributes:
        sentence: What happened, for people.
        problem: What kind of failure it is, None when it has none of the hub's.
    """

    sentence: str
    problem: HubErrorKind | None = None

    @classmethod
    def of(cls, error: ErrorInfo, problem: HubErrorKind | None) -> Fault:
        """Return the failure that a service tells of."""
        return cls(error.message, problem)

    @property
    def remedy(self) -> str:
        """What the button about it says."""
        return tr(self.problem.value) if self.problem is not None else tr(Action.LOOK_AGAIN.value)


def show_fault(card: ErrorCard, fault: Fault | None) -> None:
    """Let a card say what went wrong, and hide it when nothing did."""
    card.setVisible(fault is not None)
    if fault is not None:
        card.label.setText(fault.sentence)
        card.set_action(fault.remedy)


@dataclass(frozen=True, slots=True)
class HubSnapshot:
    """What rows of models at the hub and the offer are made from.

    Attributes:
        machine: Where models would run.
        installed: The folder names of installed models, in small letters.
        looks: By repository.
        faults: Why a look failed, by repository.
        downloads: By folder name.
        asking: Repositories that the hub is being asked about.
        wanted: Repositories that are fetched as soon as it is known that they may be.
    """

    machine: Machine
    installed: frozenset[str] = frozenset()
    looks: Mapping[str, RepoInspection] = field(default_factory=dict)
    faults: Mapping[str, Fault] = field(default_factory=dict)
    downloads: Mapping[str, DownloadRow] = field(default_factory=dict)
    asking: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()

    def is_installed(self, repo_id: str) -> bool:
        """Whether the model of a repository is there, from the hub or in the Hugging ModelRow cache."""
        return bool({folder_name(repo_id).casefold(), repo_id.casefold()} & self.installed)

    def download_of(self, repo_id: str) -> DownloadRow | None:
        """Return the download of a repository's model."""
        return self.downloads.get(folder_name(repo_id))
