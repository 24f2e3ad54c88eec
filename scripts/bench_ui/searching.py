"""How long a search over many messages takes."""

from __future__ import annotations

import itertools
import random
from functools import partial
from typing import TYPE_CHECKING

from app.chat.conversation import ChatSummary
from app.storage.database import ChatDatabase
from app.storage.schema import transaction
from scripts.bench_ui.timing import Moment, OwnTime, Result, timed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


_SYLLABLES = [
    "ka",
    "to",
    "re",
    "the",
    "ing",
    "and",
    "mo",
    "li",
    "ta",
    "er",
    "on",
    "sh",
    "pre",
    "st",
    "qu",
    "ver",
    "ion",
]
_COMMON = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "it",
    "for",
    "you",
    "on",
    "what",
    "answer",
    "have",
    "they",
    "not",
]
_CHINESE = "日本語の文章です、東京タワーに行きました。"
_PER_CHAT = 20
_REPEATS = 5
_LIMIT_MS = 50.0


def measure_searching(folder: Path, messages: int) -> list[Result]:
    """Fill a store with messages of 440 characters on average, and measure each kind of query.

    Of each query the slowest of five counts, opening and indexing are not part of it.
    """
    rare = _fill(folder, messages)
    queries = {
        "a common word": "the",
        "two common words": "and the",
        "a whole question": "what is the answer that they have for you",
        "a part of many words": "verst",
        "a rare word": rare,
        "two characters": "zq",
        "one character": "q",
        "two Japanese characters": "東京",
        "a Japanese word": "東京タワー",
        "nothing like it": "xylophone",
    }
    with ChatDatabase(folder, 0) as database, OwnTime() as clock:
        index = database.search_index()
        while index.behind:
            index.catch_up()
        return [
            timed(
                f"search in {messages:,} messages: {name}",
                _slowest(clock, partial(index.find, query)),
                _LIMIT_MS,
            )
            for name, query in queries.items()
        ]


def _slowest(clock: OwnTime, run: Callable[[], object]) -> Moment:
    return max((_time(clock, run) for _ in range(_REPEATS)), key=lambda took: took.own)


def _time(clock: OwnTime, run: Callable[[], object]) -> Moment:
    started = clock.now()
    run()
    return clock.now().since(started)


def _fill(folder: Path, messages: int) -> str:
    """Write the chats in one go; return a word that is rare in them."""
    chance = random.Random(1)  # noqa: S311
    rare = ["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(20_000)]
    words = [*_COMMON, *rare]
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))
    with ChatDatabase(folder, 0) as database:
        connection = database._connection  # noqa: SLF001  one commit for each message would take minutes
        with transaction(connection):
            for number in range(0, messages, _PER_CHAT):
                chat = ChatSummary(f"c{number // _PER_CHAT}", " ".join(chance.choices(words, weights, k=6)), 0, 0)
                connection.execute(
                    "INSERT INTO chats (id, title, created_ms, updated_ms, touched) VALUES (?, ?, 0, 0, ?)",
                    (chat.id, chat.title, number),
                )
            for number in range(messages):
                length = int(chance.lognormvariate(3.9, 0.9)) + 3
                text = " ".join(chance.choices(words, cum_weights=weights, k=length))
                connection.execute(
                    """
                    INSERT INTO messages (id, chat_id, role, status, created_ms, model, error, text)
                    VALUES (?, ?, 'user', 'done', 0, '', '', ?)
                    """,
                    (f"m{number}", f"c{number // _PER_CHAT}", text + _CHINESE * (number % 50 == 0)),
                )
    return rare[-1]
