"""What a row about a model shows and offers, before there are widgets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.palette import Tone
from app.translate import marked


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
