"""Why the engine owes nothing more of what it was asked for, in words for the person."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from app.translate import marked, tr
from mtplx_engine.protocol import Generate

if TYPE_CHECKING:
    from mtplx_engine.trials import CheckExactness, Measure


class EngineLoss(Enum):
    """What became of the process, as it is said of an answer and of a trial."""

    STOPPED = (
        marked("The engine stopped; the answer so far is kept."),
        marked("The engine stopped; nothing of what it measured is kept."),
    )
    RESTARTED = (
        marked("The engine was restarted; the answer so far is kept."),
        marked("The engine was restarted; nothing of what it measured is kept."),
    )
    OTHER_MODEL = (
        marked("Another model was loaded; the answer so far is kept."),
        marked("Another model was loaded; nothing of what was measured is kept."),
    )
    UNLOADED = (
        marked("The model was unloaded; the answer so far is kept."),
        marked("The model was unloaded; nothing of what was measured is kept."),
    )
    OVERDUE = (
        marked("The engine did not stop in time and was restarted; the answer so far is kept."),
        marked("The engine did not stop in time and was restarted; nothing of what it measured is kept."),
    )
    NOT_RUNNING = (
        marked("The engine is not running. Press Restart to start it."),
        marked("The engine is not running. Restart it in the Model menu, then measure again."),
    )

    def words(self, command: Generate | Measure | CheckExactness) -> str:
        """Return what is said of a command that it ended."""
        of_answer, of_trial = self.value
        return tr(of_answer if isinstance(command, Generate) else of_trial)
