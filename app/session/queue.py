"""FIFO of generations for the engine, which writes one answer after the other."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.chat.conversation import MessageStatus
from app.chat.generation import Generation, Outcome, Piece, unloaded, without
from app.i18n import tr
from app.services.engine_worker import EngineState
from mtplx_engine.ipc.protocol import DepthChosen, Failed, Finished, PrefillProgress, Tokens
from mtplx_engine.stats import FinishReason

if TYPE_CHECKING:
    from app.services.engine_link import EngineLink
    from mtplx_engine.config import Depth
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.ipc.protocol import Event, ModelInfo


_READING_MS = 250
_DOWN = (EngineState.NO_MODEL, EngineState.GAVE_UP)
_STATUS = {
    FinishReason.END: MessageStatus.DONE,
    FinishReason.STOP: MessageStatus.DONE,
    FinishReason.LENGTH: MessageStatus.LENGTH,
    FinishReason.CANCELLED: MessageStatus.STOPPED,
}


class GenerationQueue(QObject):
    """Passes one generation at a time to the engine, once its question is on the disk and a model is in.

    Attributes:
        drafting: The draft depth for the next answers.
        model: The model that is loaded, None before the first.
        generations: Ids of what the engine is asked for, each of them once.
        held: Why nothing is asked until `release`; "" when questions are asked.

    Signals:
        streamed(Generation, Piece): Text or thinking came; the generation has taken it in.
        counted(Generation): Its meter has counted one more decode cycle.
        measured(Generation): There is a new reading of its meter.
        prefilled(Generation): More of its prompt is read.
        waiting(Generation, str): In words what it waits for, "" for nothing to speak of.
        ended(Generation, Outcome): It is over; nothing but `figures` follows.
        figures(Generation, DecodeStats): What the engine counted in an answer that was stopped.
        answered(Generation, Finished): How an answer ended for the engine, stopped or not; comes last.
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
        self._pending: list[Generation] = []  # the first one may be running
        self._running: Generation | None = None
        self._stopping: Generation | None = None  # over for the user, not yet for the engine
        self._restarting = False  # asked for, and not answered yet
        self._resting = False  # unloaded until somebody asks
        self._allowed: set[str] = set()  # to be loaded even when they will not fit
        self._switching: Generation | None = None  # wants another model, which is being loaded
        self._known_as = ""  # what the loaded model was called when it was asked for
        self._progress = tr("Starting the engine…")
        self._down = unloaded()
        self._clock = QTimer(self, interval=_READING_MS)
        self._clock.timeout.connect(self._measure)
        link.loaded.connect(self._loaded)
        link.state_changed.connect(self._state_changed)
        link.lost.connect(self._lost)
        link.happened.connect(self._take)

    @property
    def pending(self) -> tuple[Generation, ...]:
        """All generations that have not ended, in the order in which they are answered."""
        return tuple(self._pending)

    @property
    def down(self) -> bool:
        """Whether the engine stays without a model until somebody restarts it."""
        return self._link.state in _DOWN and not self._restarting

    def pending_in(self, chat_id: str) -> Generation | None:
        """Return the generation of a chat that has not ended."""
        return next((generation for generation in self._pending if generation.chat_id == chat_id), None)

    def add(self, generation: Generation) -> None:
        """Put a generation at the end of the queue."""
        self._pending.append(generation)
        if self._resting and self.down:
            self.restart()
        self.advance()

    def stop(self, generation: Generation) -> None:
        """End a generation at whatever stage it is; it is over when this returns."""
        if generation is self._running:
            self._link.cancel(generation.id)
            self._running, self._stopping = None, generation
        self._end(generation, Outcome(MessageStatus.STOPPED))

    def fail(self, generation: Generation, error: ErrorInfo) -> None:
        """End a generation that the engine has not seen."""
        self._end(generation, Outcome(MessageStatus.ERROR, error=error))

    def interrupt(self) -> None:
        """End all generations where they are, because the program ends."""
        for generation in self.pending:
            self._end(generation, Outcome(MessageStatus.INTERRUPTED))

    def restart(self) -> None:
        """Start the engine again; what is pending waits for it."""
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
        """Say for each generation without text what it waits for."""
        for generation in self._pending:
            if not generation.begun:
                self.waiting.emit(generation, self._words(generation))

    def advance(self) -> None:
        """Ask the next question that may be asked."""
        if self.down:
            for generation in self.pending:
                self.fail(generation, self._down)
        ready = self._link.state is EngineState.READY and not self.held
        free = not self._running and not self._stopping
        following = next((generation for generation in self._pending if generation.committed), None)
        if ready and free and following is not None and self.model is not None:
            self._pending.remove(following)
            self._pending.insert(0, following)
            if self._is_loaded(following.request.settings.model):
                self._run(following, self.model)
            else:
                self._switch(following)
        self.tell_waiting()

    def _run(self, generation: Generation, model: ModelInfo) -> None:
        self._running = generation
        request = generation.request.command(generation.id, model, self.drafting)
        generation.start(request.sampler)
        self._link.submit(request)
        self._clock.start()

    # ------------------------------------------------------------ which model

    def _is_loaded(self, wanted: str) -> bool:
        if not wanted or self.model is None:
            return True
        # Not its title, which other models may have too.
        return wanted in {self._known_as, self.model.path, Path(self.model.path).name}

    def _switch(self, generation: Generation) -> None:
        if self._switching is None:
            self._switching = generation
            model = generation.request.settings.model
            self._link.load(model, anyway=model in self._allowed)

    def _switched(self, state: EngineState) -> None:
        """Take the new model for the one that was wanted; go back to the old one where it cannot be loaded."""
        generation = self._switching
        if generation is None or state not in (EngineState.READY, *_DOWN):
            return
        self._switching = None
        if state is EngineState.READY:
            self._known_as = generation.request.settings.model
        elif state is EngineState.NO_MODEL and self.model is not None:
            self._restarting = True  # before the answer fails: the engine is not what is missing
            if generation in self._pending:
                self.fail(generation, without(generation.request.settings.model, self._down))
            self._link.load(self.model.path, anyway=True)  # it was in before

    # ------------------------------------------------------------ what the engine tells

    def _loaded(self, model: ModelInfo) -> None:
        self.model = model
        self._known_as = ""
        self._down = unloaded()

    def _state_changed(self, state: EngineState) -> None:
        self._restarting = False
        self._resting = self._resting and state is not EngineState.LOADING
        if state is EngineState.STARTING:
            self._progress = tr("Starting the engine…")
        self._switched(state)
        self.advance()

    def _take(self, event: Event) -> None:
        match event:
            case Finished():
                self._finished(event)
                self.advance()
            case Failed():
                self._failed(event)
                self.advance()
            case PrefillProgress() | DepthChosen() | Tokens() if self._running:
                if event.generation == self._running.id:
                    self._follow(self._running, event)

    def _follow(self, generation: Generation, event: PrefillProgress | DepthChosen | Tokens) -> None:
        match event:
            case PrefillProgress():
                generation.prefill = event
                self.prefilled.emit(generation)
                self.tell_waiting()
            case DepthChosen():
                generation.depth = event
            case Tokens():
                piece = generation.add(event)
                self.counted.emit(generation)
                self._stream(generation, piece)

    def _finished(self, event: Finished) -> None:
        if self._stopping and event.generation == self._stopping.id:
            generation, self._stopping = self._stopping, None
            event = generation.timed(event)
            self.figures.emit(generation, event.stats)
            self.answered.emit(generation, event)
        elif self._running and event.generation == self._running.id:
            generation = self._running
            event = generation.timed(event)
            self._stream(generation, generation.end(event))
            self._end(generation, Outcome(_STATUS[event.reason], event.stats))
            self.answered.emit(generation, event)

    def _failed(self, event: Failed) -> None:
        if event.generation is None:
            self._down = event.error  # the state that follows says whether it stays so
        elif self._stopping and event.generation == self._stopping.id:
            self._stopping = None
        elif self._running and event.generation == self._running.id:
            self._end(self._running, Outcome(MessageStatus.ERROR, error=event.error))

    def _lost(self, error: ErrorInfo) -> None:
        self._down = error

    # ------------------------------------------------------------ inside

    def _stream(self, generation: Generation, piece: Piece) -> None:
        if piece.text or piece.thinking:
            self.streamed.emit(generation, piece)

    def _end(self, generation: Generation, outcome: Outcome) -> None:
        if generation is self._running:
            self._running = None
        if self._running is None:
            self._clock.stop()
        self._pending.remove(generation)
        self.ended.emit(generation, outcome)
        self.tell_waiting()

    def _measure(self) -> None:
        if self._running and self._running.begun:
            self.measured.emit(self._running)

    def _words(self, generation: Generation) -> str:
        if generation is self._running:
            return generation.reading
        if self.held:
            return self.held
        if self._running:
            return tr("Waiting for the answer in another chat…")
        return "" if self._link.state is EngineState.READY else self._progress
