"""Token counts of the context window, kept up to date while the user types and answers are written."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.chat.conversation import Message, MessageStatus, Role, new_id, up_to
from app.chat.prompt import ContextUse, as_text, most_tokens, prompt_of, read_path, with_files
from app.services.engine_worker import EngineState
from mtplx_engine.ipc.protocol import Count, Counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.chat.conversation import Attachment, Conversation
    from app.chat.generation import Generation
    from app.services.engine_link import EngineLink
    from app.session.queue import GenerationQueue
    from app.session.session import ChatSession
    from mtplx_engine.config import ChatMessage
    from mtplx_engine.ipc.protocol import Event


_PAUSE_MS = 300
_PATIENCE_MS = 2000


@dataclass(frozen=True, slots=True)
class UnsentMessage:
    """A typed, unsent message; `after` is the message before it, "" for the last shown one, None for none."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    after: str | None = ""

    def __bool__(self) -> bool:
        return bool(self.text.strip() or self.attachments)


@dataclass(frozen=True, slots=True)
class _CountRequest:
    """A prompt sent to the engine to be counted: the messages of `path`, then the draft with `files` attached."""

    request: int
    chat_id: str
    path: tuple[Message, ...]
    files: int
    prompt: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class Weighed:
    """The context use if a draft were sent.

    Attributes:
        use: The use; None when it surely fits, or when the engine did not answer in time.
        path: The messages before it in the prompt.
        counts: The tokens of each of these.
    """

    draft: UnsentMessage
    use: ContextUse | None
    path: tuple[Message, ...] = ()
    counts: tuple[int, ...] = ()


class ContextMeter(QObject):
    """Has the engine count tokens, shortly after the last key press; nothing is tokenized in this process.

    Signals:
        changed(ContextUse | None): The use now; None without a model.
        weighed(Weighed): The result of `weigh`.
    """

    changed = Signal(object)
    weighed = Signal(object)

    def __init__(
        self, session: ChatSession, queue: GenerationQueue, link: EngineLink, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._queue = queue
        self._link = link
        self._draft = UnsentMessage()
        self._read_draft: Callable[[], UnsentMessage] = UnsentMessage
        self._request_ids = count(1)
        self._asked: _CountRequest | None = None
        self._known: tuple[_CountRequest, Counted] | None = None
        self._weighing: UnsentMessage | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._ask_again)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self._give_up)
        link.happened.connect(self._handle_event)
        for signal in (
            session.opened,
            session.rearranged,
            session.changed,
            session.settings_changed,
            link.loaded,
        ):
            signal.connect(self._soon)
        link.state_changed.connect(self._tell)
        for beat in (queue.prefilled, queue.measured):
            beat.connect(self._tell)

    def follow(self, draft: Callable[[], UnsentMessage]) -> None:
        """Include what `draft` returns; it is called when a count is due, not with every key press."""
        self._read_draft = draft

    def touch(self) -> None:
        self._pause.start()

    def weigh(self, draft: UnsentMessage) -> None:
        """Count the prompt with this draft; `weighed` follows, at once when it surely fits."""
        self._draft = self._weighing = draft
        ready = self._queue.model is not None and self._link.state is EngineState.READY
        if not ready or most_tokens(self._prompt(self._draft)[1]) < self._window():
            self._give_up()
        elif self._is_known():
            self._answer()
        else:
            self._patience.start()
            self._ask()

    # ------------------------------------------------------------ counting

    def _soon(self) -> None:
        self._tell()
        self._pause.start()

    def _prompt(self, draft: UnsentMessage) -> tuple[tuple[Message, ...], tuple[ChatMessage, ...]]:
        chat = self._session.shown
        if draft.after != "":
            chat = up_to(chat, draft.after)
        if draft:
            chat = chat.with_message(_as_message(draft, chat))
        path = read_path(chat)
        return path[: len(path) - bool(draft)], prompt_of(chat)

    def _ask_again(self) -> None:
        self._draft = self._read_draft() if self._weighing is None else self._weighing
        self._ask()

    def _ask(self) -> None:
        self._pause.stop()
        if self._link.state is not EngineState.READY:
            return
        path, prompt = self._prompt(self._draft)
        settings = self._session.settings
        texts = (
            settings.system_prompt,
            with_files(self._draft.text, self._draft.attachments),
            *map(as_text, self._draft.attachments),
            *(with_files(message.text, message.attachments) for message in path),
        )
        self._asked = _CountRequest(
            next(self._request_ids), self._session.chat_id, path, len(self._draft.attachments), prompt
        )
        self._link.submit(Count(self._asked.request, prompt, texts, settings.thinking))

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, Counted) and self._asked is not None and event.request == self._asked.request:
            self._counted(self._asked, event)

    def _counted(self, asked: _CountRequest, counted: Counted) -> None:
        self._known = None if counted.tokens is None else (asked, counted)
        self._tell()
        if self._weighing is None:
            return
        if self._known is None:
            self._give_up()
        elif self._is_known():
            self._answer()
        else:  # of another draft
            self._ask()

    def _is_known(self) -> bool:
        return self._known is not None and self._known[0].prompt == self._prompt(self._draft)[1]

    def _answer(self) -> None:
        if self._weighing is None or self._known is None:
            return
        asked, counted = self._known
        self._settle(Weighed(self._weighing, self._idle_use(), asked.path, counted.texts[2 + asked.files :]))

    def _give_up(self) -> None:
        if self._weighing is not None:
            self._settle(Weighed(self._weighing, None))

    def _settle(self, weighed: Weighed) -> None:
        self._weighing = None
        self._patience.stop()
        self._pause.start()  # the weighed draft may differ from the typed one
        self.weighed.emit(weighed)

    # ------------------------------------------------------------ reporting

    def _window(self) -> int:
        model, settings = self._queue.model, self._session.settings
        largest = model.context_window if model else 0
        return min(largest, settings.context or largest)

    def _tell(self, *_: object) -> None:
        generation = self._session.generation
        self.changed.emit(self._live_use(generation) if generation and generation.prefill else self._idle_use())

    def _idle_use(self) -> ContextUse | None:
        """Return the use by the newest count."""
        model = self._queue.model
        if model is None:
            return None
        largest = model.context_window
        if self._known is None or self._known[0].chat_id != self._session.chat_id:
            return ContextUse(self._window(), largest)
        asked, counted = self._known
        system, draft = counted.texts[:2]
        rest = max(0, (counted.tokens or 0) - system - draft)
        files = counted.texts[2 : 2 + asked.files]
        return ContextUse(self._window(), largest, system, rest, draft, files=files)

    def _live_use(self, generation: Generation) -> ContextUse | None:
        """Return the use while an answer is written: prompt tokens of the prefill, and tokens received since."""
        idle = self._idle_use()
        if idle is None or generation.prefill is None:
            return None
        return ContextUse(
            idle.window,
            idle.largest,
            idle.system,
            max(0, generation.prefill.total - idle.system),
            idle.draft if self._read_draft() else 0,
            generation.tokens - generation.thinking_tokens,
            generation.thinking_tokens,
        )


def _as_message(draft: UnsentMessage, chat: Conversation) -> Message:
    return Message(
        new_id(),
        chat.chat.id,
        chat.leaf_id,
        Role.USER,
        draft.text,
        MessageStatus.DONE,
        0,
        attachments=draft.attachments,
    )
