"""What is said while it is measured: answers like those of a model, and what people paste."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from app.chat.conversation import ChatSummary, Conversation, Message, MessageStatus, Role

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    rows = "".join(
        f"| {_prose(chance, 2)} | {chance.random():.3f} | `x{row}` |\n" for row in range(_TABLE_ROWS)
    )
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
