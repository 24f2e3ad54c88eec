"""The program under test with a scripted engine and no screen, and the texts it is given."""

from __future__ import annotations

import random
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Self, cast

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.application import Application
from app.chat.conversation import ChatSummary, Conversation, Message, MessageStatus, Role
from app.services.engine_worker import EngineState
from app.storage.database import ChatDatabase
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.models import starter
from scripts.bench_ui.timing import LoopWatch
from tests.support.fake_host import fake_host_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from scripts.bench_ui.timing import Moment
    from tests.support.fake_script import Script


_SIZE = (1080, 720)
_WAIT_S = 300.0
_POLL_MS = 20
_CALM_MS, _CALM_S = 700, 0.1  # idle when less CPU time is used in an interval


class Program:
    """The real program on a folder of its own, driven as a user drives it.

    Args:
        folder: The data folder.
        script: What the engine does.
        chats: In the folder when it starts.

    Attributes:
        app: The program.
        watch: Measures the gaps of its event loop.
    """

    def __init__(self, folder: Path, script: Script, chats: Sequence[Conversation] = ()) -> None:
        with ChatDatabase(folder / "chats", 0) as database:
            database.import_chats(chats)
        self._qt = cast("QApplication", QApplication.instance() or QApplication([]))
        make_client = partial(EngineClient, folder / "logs", fake_host_command(script))
        starter.is_installed = lambda *_: True
        self.app = Application(self._qt, folder, folder / "logs", make_client)
        self.watch = LoopWatch()

    def __enter__(self) -> Self:
        self.app.show()
        self.app.window.resize(*_SIZE)
        self.until(lambda: self.app.link.state is EngineState.READY)
        self.settle()
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.close()
        self.app.window.close()
        self.app.close()
        self.app.window.deleteLater()
        QCoreApplication.sendPostedEvents(self.app.window, QEvent.Type.DeferredDelete.value)

    def ask(self, text: str) -> None:
        """Type a prompt and send it."""
        composer = self.app.window.pane.composer
        composer.set_text(text)
        composer.edit.submitted.emit()

    def open_chat(self, chat_id: str) -> None:
        """Show a chat and wait until it is shown."""
        self.app.session.open_chat(chat_id)
        self.until(lambda: self.app.session.chat_id == chat_id)
        self.settle()

    def longest_block(self, run: Callable[[], object]) -> Moment:
        """Run a function in the event loop, wait for all that follows from it, and return the longest gap."""
        self.watch.start()
        QTimer.singleShot(0, self.watch, run)
        self.settle()
        self.watch.stop()
        return self.watch.longest()

    def until(self, condition: Callable[[], bool]) -> None:
        """Let the program run until a condition holds.

        Raises:
            TimeoutError: It did not hold in time.
        """
        deadline = time.monotonic() + _WAIT_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {_WAIT_S:.0f} s in vain")
            self._run_for(_POLL_MS)

    def settle(self) -> None:
        """Let the program run until it has nothing more to do."""
        self.until(lambda: not self.app.session.busy and self._is_calm())

    def _is_calm(self) -> bool:
        used = time.process_time()
        self._run_for(_CALM_MS)
        return time.process_time() - used < _CALM_S and not self.app.session.busy

    def _run_for(self, milliseconds: int) -> None:
        """Run a real event loop: only there deferred deletions happen."""
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop, loop.quit)
        loop.exec()


SECTION_TOKENS = 500
_TEXT = (
    "the a model drafts tokens and its target verifies **them** in one forward so that each cycle costs *little* "
    "more than reading `cache` rows while memory allows it which is why acceptance matters for speed on laptops"
)
_WORDS = _TEXT.split(" ")
_CODE = """\
```python
def verify(draft, target, *, depth=3):
    \"\"\"Return how many of the drafted tokens hold.\"\"\"
    accepted = 0
    for token, logits in zip(draft, target.forward(draft)):
        if logits.argmax() != token:  # the first that differs ends it
            break
        accepted += 1
    return min(accepted, depth)
```
"""
_TABLE_ROWS = 6
_NOW_MS = 1_760_000_000_000


def tokens_of(text: str) -> list[str]:
    """Return the tokens of the scripted engine: words with the space before them."""
    return re.findall(r"\s*\S+", text)


def answer(sections: int, seed: int = 1) -> str:
    """Return an answer of so many sections: each has the same number of tokens, a list, a code block and a table."""
    chance = random.Random(seed)  # noqa: S311
    return "".join(_section(number, chance) for number in range(sections))


def chat(name: str, messages: int) -> Conversation:
    """Return a chat with so many messages in turn."""
    chance = random.Random(name)  # noqa: S311
    return Conversation(
        ChatSummary(name, f"Chat {name}", _NOW_MS, _NOW_MS),
        tuple(_messages(name, messages, chance)),
        f"{name}-{messages - 1}",
    )


def long_line(characters: int) -> str:
    """Return a line without a space."""
    chance = random.Random(2)  # noqa: S311
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=characters))


def lines(count: int, characters: int) -> str:
    """Return lines of words, each with so many characters."""
    chance = random.Random(3)  # noqa: S311
    line = _prose(chance, characters)
    return "\n".join(f"{number:06} {line}"[:characters] for number in range(count))


def _section(number: int, chance: random.Random) -> str:
    points = "".join(f"- {_prose(chance, 12)}\n" for _ in range(4))
    rows = "".join(f"| {_prose(chance, 2)} | {chance.random():.3f} | `x{row}` |\n" for row in range(_TABLE_ROWS))
    table = f"| name | value | code |\n|---|---|---|\n{rows}"
    body = f"## Part {number}\n\n{_prose(chance, 90)}\n\n{points}\n{_CODE}\n{_prose(chance, 60)}\n\n{table}\n"
    return f"{body}{_prose(chance, SECTION_TOKENS - len(tokens_of(body)))}\n\n"


def _messages(name: str, count: int, chance: random.Random) -> Iterator[Message]:
    parent = None
    for number in range(count):
        asks = number % 2 == 0
        text = _prose(chance, 20) + "?" if asks else _reply(number, chance)
        role = Role.USER if asks else Role.ASSISTANT
        yield Message(f"{name}-{number}", name, parent, role, text, MessageStatus.DONE, _NOW_MS)
        parent = f"{name}-{number}"


def _reply(number: int, chance: random.Random) -> str:
    parts = [_prose(chance, chance.randint(30, 150)) for _ in range(chance.randint(1, 4))]
    return "\n\n".join([*parts, _CODE] if number % 3 == 0 else parts)


def _prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))
