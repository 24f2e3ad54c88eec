"""FIFO of generations: the engine writes one answer at a time, and loads the model that each needs."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.chat.conversation import MessageStatus
from app.chat.generation import Generation, Outcome, Piece, chosen_model_error, no_model_error
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
    """Sends one generation at a time to the engine, once its question is on the disk and a model is loaded.

    Attributes:
        model: The loaded model; the last one while none is loaded, None before the first.
        held: Why nothing is sent until `release`; "" when the queue advances.

    Signals:
        streamed(Generation, Piece): Text or thinking came; the generation already has it.
        counted(Generation): Its meter has counted one more decode cycle.
        measured(Generation): Its meter has a new reading.
        prefilled(Generation): Its prefill has advanced.
        waiting(Generation, str): What it waits for, as text; "" for nothing.
        ended(Generation, Outcome): It is over; only `late_stats` may follow.
        late_stats(Generation, DecodeStats): The statistics of a stopped answer.
        answered(Generation, Finished): The engine's last event of an answer, stopped or not; comes last.
    """

    streamed = Signal(object, object)
    counted = Signal(object)
    measured = Signal(object)
    prefilled = Signal(object)
    waiting = Signal(object, str)
    ended = Signal(object, object)
    late_stats = Signal(object, object)
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
        self._restarting = False  # requested, and no state has followed yet
        self._idle = False  # unloaded until the next generation
        self._allowed: set[str] = set()  # models to load even when they will not fit
        self._switching: Generation | None = None  # its model is being loaded
        self._requested_name = ""  # of the loaded model, as the chat's settings have it
        self._progress = tr("Starting the engine…")
        self._down_reason = no_model_error()
        self._clock = QTimer(self, interval=_READING_MS)
        self._clock.timeout.connect(self._measure)
        link.loaded.connect(self._loaded)
        link.state_changed.connect(self._state_changed)
        link.lost.connect(self._lost)
        link.happened.connect(self._handle_event)

    @property
    def pending(self) -> tuple[Generation, ...]:
        """All generations that have not ended, in the order of the queue."""
        return tuple(self._pending)

    @property
    def down(self) -> bool:
        """Whether the engine stays without a model until `restart`."""
        return self._link.state in _DOWN and not self._restarting

    def pending_in(self, chat_id: str) -> Generation | None:
        return next((generation for generation in self._pending if generation.chat_id == chat_id), None)

    def add(self, generation: Generation) -> None:
        self._pending.append(generation)
        if self._idle and self.down:
            self.restart()
        self.advance()

    def stop(self, generation: Generation) -> None:
        """End a generation at any stage; it has ended when this returns."""
        if generation is self._running:
            self._link.cancel(generation.id)
            self._running, self._stopping = None, generation
        self._end(generation, Outcome(MessageStatus.STOPPED))

    def fail(self, generation: Generation, error: ErrorInfo) -> None:
        """End a generation that was not sent to the engine."""
        self._end(generation, Outcome(MessageStatus.ERROR, error=error))

    def interrupt(self) -> None:
        """End all generations with the text so far, because the program ends."""
        for generation in self.pending:
            self._end(generation, Outcome(MessageStatus.INTERRUPTED))

    def restart(self) -> None:
        """Restart the engine; pending generations wait for it."""
        self._restarting = True
        self._link.restart()

    def unload_idle(self) -> None:
        """Unload the model until the next generation is added."""
        self._idle = True
        self._link.unload()

    def hold(self, reason: str) -> None:
        """Send nothing until `release`, while the engine runs something else; `reason` is shown to the user."""
        if reason != self.held:
            self.held = reason
            self.tell_waiting()

    def release(self) -> None:
        self.held = ""
        self.advance()

    def load_anyway(self, model: str = "") -> None:
        """Load a model even when it will not fit into memory, from now on; by default the refused one."""
        model = model or self._link.model
        self._allowed.add(model)
        if self.down:
            self._restarting = True
            self._link.load(model, anyway=True)

    def set_progress(self, text: str) -> None:
        """Set what is shown for waiting generations while no model is loaded."""
        self._progress = text
        self.tell_waiting()

    def tell_waiting(self) -> None:
        """Emit `waiting` for each generation without text."""
        for generation in self._pending:
            if not generation.begun:
                self.waiting.emit(generation, self._waiting_text(generation))

    def advance(self) -> None:
        """Send the next generation that is ready."""
        if self.down:
            for generation in self.pending:
                self.fail(generation, self._down_reason)
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

    # ------------------------------------------------------------ the model of a generation

    def _is_loaded(self, wanted: str) -> bool:
        if not wanted or self.model is None:
            return True
        # Not its title, which other models may have too.
        return wanted in {self._requested_name, self.model.path, Path(self.model.path).name}

    def _switch(self, generation: Generation) -> None:
        if self._switching is None:
            self._switching = generation
            model = generation.request.settings.model
            self._link.load(model, anyway=model in self._allowed)

    def _switched(self, state: EngineState) -> None:
        """Finish loading another model; load the former one again where that failed."""
        generation = self._switching
        if generation is None or state not in (EngineState.READY, *_DOWN):
            return
        self._switching = None
        if state is EngineState.READY:
            self._requested_name = generation.request.settings.model
        elif state is EngineState.NO_MODEL and self.model is not None:
            self._restarting = True  # before `fail`: the engine is not down
            if generation in self._pending:
                self.fail(generation, chosen_model_error(generation.request.settings.model, self._down_reason))
            self._link.load(self.model.path, anyway=True)  # it was loaded before

    # ------------------------------------------------------------ events of the engine

    def _loaded(self, model: ModelInfo) -> None:
        self.model = model
        self._requested_name = ""
        self._down_reason = no_model_error()

    def _state_changed(self, state: EngineState) -> None:
        self._restarting = False
        self._idle = self._idle and state is not EngineState.LOADING
        if state is EngineState.STARTING:
            self._progress = tr("Starting the engine…")
        self._switched(state)
        self.advance()

    def _handle_event(self, event: Event) -> None:
        match event:
            case Finished():
                self._finished(event)
                self.advance()
            case Failed():
                self._failed(event)
                self.advance()
            case PrefillProgress() | DepthChosen() | Tokens() if self._running:
                if event.generation == self._running.id:
                    self._handle_progress(self._running, event)

    def _handle_progress(self, generation: Generation, event: PrefillProgress | DepthChosen | Tokens) -> None:
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
            self.late_stats.emit(generation, event.stats)
            self.answered.emit(generation, event)
        elif self._running and event.generation == self._running.id:
            generation = self._running
            event = generation.timed(event)
            self._stream(generation, generation.end(event))
            self._end(generation, Outcome(_STATUS[event.reason], event.stats))
            self.answered.emit(generation, event)

    def _failed(self, event: Failed) -> None:
        if event.generation is None:
            self._down_reason = event.error  # the following state tells whether it stays so
        elif self._stopping and event.generation == self._stopping.id:
            self._stopping = None
        elif self._running and event.generation == self._running.id:
            self._end(self._running, Outcome(MessageStatus.ERROR, error=event.error))

    def _lost(self, error: ErrorInfo) -> None:
        self._down_reason = error

    # ------------------------------------------------------------ private

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

    def _waiting_text(self, generation: Generation) -> str:
        if generation is self._running:
            return generation.reading
        if self.held:
            return self.held
        if self._running:
            return tr("Waiting for the answer in another chat…")
        return "" if self._link.state is EngineState.READY else self._progress
