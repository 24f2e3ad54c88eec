"""Questions in line for the engine, which answers one after the other."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.chat import model_faults
from app.chat.conversation import MessageStatus
from app.chat.turn import Outcome, Piece, Turn
from app.services.engine_link import EngineLink, EngineState
from app.translate import tr
from mtplx_engine.stats import FinishReason

if TYPE_CHECKING:
    from mtplx_engine.config import Depth
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.protocol import DepthChosen, Failed, Finished, ModelInfo, PrefillProgress, Tokens

_READING_MS = 250
_DOWN = (EngineState.NO_MODEL, EngineState.GAVE_UP)
_STATUS = {
    FinishReason.END: MessageStatus.DONE,
    FinishReason.STOP: MessageStatus.DONE,
    FinishReason.LENGTH: MessageStatus.LENGTH,
    FinishReason.CANCELLED: MessageStatus.STOPPED,
}


class AnswerLine(QObject):
    """Passes one turn at a time to the engine, once its question is on the disk and a model is in.

    Attributes:
        drafting: The draft depth for the next answers.
        model: The model that is loaded, None before the first.
        generations: Ids of what the engine is asked for, each of them once.
        held: Why nothing is asked until `release`; "" when questions are asked.

    Signals:
        streamed(Turn, Piece): Text or thinking came; the turn has taken it in.
        counted(Turn): Its meter has counted one more decode cycle.
        measured(Turn): There is a new reading of its meter.
        prefilled(Turn): More of its prompt is read.
        waiting(Turn, str): In words what it waits for, "" for nothing to speak of.
        ended(Turn, Outcome): It is over; nothing but `figures` follows.
        figures(Turn, DecodeStats): What the engine counted in an answer that was stopped.
        answered(Turn, Finished): How an answer ended for the engine, stopped or not; comes last.
    """

    streamed = Signal(object, object)
    counted = Signal(object)
    measured = Signal(object)
    prefilled = Signal(object)
    waiting = Signal(object, str)
    ended = Signal(object, object)
    figures = Signal(object, object)
    answered = Signal(object, object)

    def __init__(self, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link = link
        self.drafting: Depth = "auto"
        self.model: ModelInfo | None = None
        self.generations = count(1)
        self.held = ""
        self._turns: list[Turn] = []  # the first one may be running
        self._running: Turn | None = None
        self._stopping: Turn | None = None  # over for the person, not yet for the engine
        self._restarting = False  # asked for, and not answered yet
        self._resting = False  # unloaded until somebody asks
        self._allowed: set[str] = set()  # to be loaded even when they will not fit
        self._switching: Turn | None = None  # wants another model, which is being loaded
        self._known_as = ""  # what the loaded model was called when it was asked for
        self._progress = tr("Starting the engine…")
        self._down = model_faults.unloaded()
        self._clock = QTimer(self, interval=_READING_MS)
        self._clock.timeout.connect(self._measure)
        link.loaded.connect(self._loaded)
        link.state_changed.connect(self._state_changed)
        link.prefill.connect(self._prefill)
        link.depth_chosen.connect(self._depth_chosen)
        link.tokens.connect(self._tokens)
        link.finished.connect(self._finished)
        link.failed.connect(self._failed)
        link.lost.connect(self._lost)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns that have not ended, in the order in which they are answered."""
        return tuple(self._turns)

    @property
    def down(self) -> bool:
        """Whether the engine stays without a model until somebody restarts it."""
        return self._link.state in _DOWN and not self._restarting

    def turn_in(self, chat_id: str) -> Turn | None:
        """Return the turn of a chat that has not ended."""
        return next((turn for turn in self._turns if turn.chat_id == chat_id), None)

    def add(self, turn: Turn) -> None:
        """Put a turn at the end of the line."""
        self._turns.append(turn)
        if self._resting and self.down:
            self.restart()
        self.advance()

    def stop(self, turn: Turn) -> None:
        """End a turn at whatever stage it is; it is over when this returns."""
        if turn is self._running:
            self._link.cancel(turn.generation)
            self._running, self._stopping = None, turn
        self._end(turn, Outcome(MessageStatus.STOPPED))

    def fail(self, turn: Turn, error: ErrorInfo) -> None:
        """End a turn that the engine has not seen."""
        self._end(turn, Outcome(MessageStatus.ERROR, error=error))

    def interrupt(self) -> None:
        """End all turns where they are, because the program ends."""
        for turn in self.turns:
            self._end(turn, Outcome(MessageStatus.INTERRUPTED))

    def restart(self) -> None:
        """Start the engine again; turns in line wait for it."""
        self._restarting = True
        self._link.restart()

    def rest(self) -> None:
        """Give the model's memory back until the next question."""
        self._resting = True
        self._link.unload()

    def hold(self, words: str) -> None:
        """Ask nothing until `release`, because the engine has something else to do; `words` say what it waits for."""
        if words != self.held:
            self.held = words
            self.tell_waiting()

    def release(self) -> None:
        """Ask again."""
        self.held = ""
        self.advance()

    def load_anyway(self, model: str = "") -> None:
        """From now on load a model even when it will not fit into memory, by default the one that was refused."""
        model = model or self._link.model
        self._allowed.add(model)
        if self.down:
            self._restarting = True
            self._link.load(model, anyway=True)

    def set_progress(self, words: str) -> None:
        """Say what the engine is doing while no model is in."""
        self._progress = words
        self.tell_waiting()

    def tell_waiting(self) -> None:
        """Say for each turn without text what it waits for."""
        for turn in self._turns:
            if not turn.begun:
                self.waiting.emit(turn, self._words(turn))

    def advance(self) -> None:
        """Ask the next question that may be asked."""
        if self.down:
            for turn in self.turns:
                self.fail(turn, self._down)
        ready = self._link.state is EngineState.READY and not self.held
        free = not self._running and not self._stopping
        following = next((turn for turn in self._turns if turn.committed), None)
        if ready and free and following is not None and self.model is not None:
            self._turns.remove(following)
            self._turns.insert(0, following)
            if self._is_loaded(following.ask.settings.model):
                self._run(following, self.model)
            else:
                self._switch(following)
        self.tell_waiting()

    def _run(self, turn: Turn, model: ModelInfo) -> None:
        self._running = turn
        request = turn.ask.request(turn.generation, model, self.drafting)
        turn.start(request.sampler)
        self._link.generate(request)
        self._clock.start()

    # ------------------------------------------------------------ which model

    def _is_loaded(self, wanted: str) -> bool:
        if not wanted or self.model is None:
            return True
        # Not its title, which other models may have too.
        return wanted in {self._known_as, self.model.path, Path(self.model.path).name}

    def _switch(self, turn: Turn) -> None:
        if self._switching is None:
            self._switching = turn
            model = turn.ask.settings.model
            self._link.load(model, anyway=model in self._allowed)

    def _switched(self, state: EngineState) -> None:
        """Take the new model for the one that was wanted; go back to the old one where it cannot be loaded."""
        turn = self._switching
        if turn is None or state not in (EngineState.READY, *_DOWN):
            return
        self._switching = None
        if state is EngineState.READY:
            self._known_as = turn.ask.settings.model
        elif state is EngineState.NO_MODEL and self.model is not None:
            self._restarting = True  # before the answer fails: the engine is not what is missing
            if turn in self._turns:
                self.fail(turn, model_faults.without(turn.ask.settings.model, self._down))
            self._link.load(self.model.path, anyway=True)  # it was in before

    # ------------------------------------------------------------ what the engine tells

    def _loaded(self, model: ModelInfo) -> None:
        self.model = model
        self._known_as = ""
        self._down = model_faults.unloaded()

    def _state_changed(self, state: EngineState) -> None:
        self._restarting = False
        self._resting = self._resting and state is not EngineState.LOADING
        if state is EngineState.STARTING:
            self._progress = tr("Starting the engine…")
        self._switched(state)
        self.advance()

    def _prefill(self, event: PrefillProgress) -> None:
        if self._running and event.generation == self._running.generation:
            self._running.prefill = event
            self.prefilled.emit(self._running)
            self.tell_waiting()

    def _depth_chosen(self, event: DepthChosen) -> None:
        if self._running and event.generation == self._running.generation:
            self._running.depth = event

    def _tokens(self, event: Tokens) -> None:
        turn = self._running
        if turn and event.generation == turn.generation:
            piece = turn.add(event)
            self.counted.emit(turn)
            self._tell(turn, piece)

    def _finished(self, event: Finished) -> None:
        if self._stopping and event.generation == self._stopping.generation:
            turn, self._stopping = self._stopping, None
            event = turn.timed(event)
            self.figures.emit(turn, event.stats)
            self.answered.emit(turn, event)
        elif self._running and event.generation == self._running.generation:
            turn = self._running
            event = turn.timed(event)
            self._tell(turn, turn.end(event))
            self._end(turn, Outcome(_STATUS[event.reason], event.stats))
            self.answered.emit(turn, event)
        self.advance()

    def _failed(self, event: Failed) -> None:
        if event.generation is None:
            self._down = event.error  # the state that follows says whether it stays so
        elif self._stopping and event.generation == self._stopping.generation:
            self._stopping = None
        elif self._running and event.generation == self._running.generation:
            self._end(self._running, Outcome(MessageStatus.ERROR, error=event.error))
        self.advance()

    def _lost(self, error: ErrorInfo) -> None:
        self._down = error

    # ------------------------------------------------------------ inside

    def _tell(self, turn: Turn, piece: Piece) -> None:
        if piece.text or piece.thinking:
            self.streamed.emit(turn, piece)

    def _end(self, turn: Turn, outcome: Outcome) -> None:
        if turn is self._running:
            self._running = None
        if self._running is None:
            self._clock.stop()
        self._turns.remove(turn)
        self.ended.emit(turn, outcome)
        self.tell_waiting()

    def _measure(self) -> None:
        if self._running and self._running.begun:
            self.measured.emit(self._running)

    def _words(self, turn: Turn) -> str:
        if turn is self._running:
            return turn.reading
        if self.held:
            return self.held
        if self._running:
            return tr("Waiting for the answer in another chat…")
        return "" if self._link.state is EngineState.READY else self._progress
