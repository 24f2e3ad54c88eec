"""What an answer is like is guessed from its text, whatever that is, in a time that grows with its length."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.answer_kind import kind_of
from mtplx_engine.config import ChatMessage
from mtplx_engine.measurement import PromptKind
from tests.support.hostile_texts import hostile_texts

LETTER = (
    "Dear neighbours, on Saturday the water in our street is turned off from nine until noon. Please fill a few "
    "bottles the evening before. The school on the corner stays open and has water for everybody who needs some."
)
PROSE = (
    "The sky is blue because the air scatters short waves of light more than long ones. In the evening the light has "
    "a longer way through the air, and most of the blue is gone before it reaches you."
)
PROGRAM = (
    "def count(text):\n    return sum(letter in 'aeiou' for letter in text.lower())\n\nprint(count('hello'))"
)


def asked(question: str) -> tuple[ChatMessage, ...]:
    return (ChatMessage("system", "Be kind."), ChatMessage("user", question))


@pytest.mark.parametrize(
    ("kind", "question", "answer"),
    [
        (PromptKind.CHAT, "Why is the sky blue?", PROSE),
        (PromptKind.CHAT, "Hello!", "Hi! How are you today?"),
        (PromptKind.CHAT, "What is `x`?", f"{PROSE}\n\n```\nx\n```\n\n{PROSE}"),
        (PromptKind.CHAT, "When?", "In 1969, on 20 July, two people walked on the Moon; it took 8 days."),
        (
            PromptKind.CODE,
            "Count vowels in Python",
            f"Here it is:\n\n```python\n{PROGRAM}\n```\n\nIt adds them up.",
        ),
        (PromptKind.CODE, "Count vowels in Python", f"```python\n{PROGRAM}"),
        (PromptKind.CODE, f"What is wrong?\n\n```\n{PROGRAM}\n```", f"{PROSE}\n\n```\nx = 1\n```\n\n{PROSE}"),
        (
            PromptKind.MATHS,
            "Solve 2x + 3 = 7",
            r"Subtract 3 on both sides: \(2x = 4\). Divide by 2: \(x = 2\). So $x = 2$.",
        ),
        (PromptKind.MATHS, "What is 17 * 23?", "17 * 20 = 340, 17 * 3 = 51, and 340 + 51 = 391."),
        (
            PromptKind.LANGUAGE,
            "Schreibe einen Satz",
            "Der Himmel ist blau, weil die Luft das kurzwellige Licht stärker streut als das langwellige.",
        ),
        (
            PromptKind.LANGUAGE,
            "Why? In Japanese",
            "空が青いのは、空気が短い波長の光をより強く散乱するからです。",
        ),
        (PromptKind.LANGUAGE, "Translate to Russian", "Небо голубое, потому что воздух рассеивает свет."),
        (
            PromptKind.LANGUAGE,
            "Et en français ?",
            "Le ciel est bleu parce que l'air diffuse la lumière de courte longueur d'onde dans toutes les directions.",
        ),
        (PromptKind.COPY, f"Write Sunday for Saturday:\n\n{LETTER}", LETTER.replace("Saturday", "Sunday")),
        (
            PromptKind.COPY,
            f"Rename it:\n```\n{PROGRAM * 3}\n```",
            f"```\n{PROGRAM.replace('count', 'n') * 3}\n```",
        ),
        (
            PromptKind.COPY,
            f"直して：{'空が青いのは空気が光を散乱するからです。' * 2}",
            "空が青いのは空気が光を散乱するからだ。" * 2,
        ),
        (PromptKind.CHAT, LETTER, ""),
    ],
)
def test_the_kind_is_recognised(kind: PromptKind, question: str, answer: str) -> None:
    assert kind_of(asked(question), answer) is kind


def test_what_is_copied_may_stand_earlier_in_the_chat() -> None:
    chat = (*asked("A letter, please"), ChatMessage("assistant", LETTER), ChatMessage("user", "On Sunday!"))
    assert kind_of(chat, LETTER.replace("Saturday", "Sunday")) is PromptKind.COPY


def test_hostile_texts_have_a_kind() -> None:
    for text in hostile_texts("/tmp/x", "http://127.0.0.1"):
        assert kind_of(asked(text), text) in PromptKind


@given(st.text(), st.text(alphabet="`~$\\=<1 \nab漢é") | st.text())
def test_every_text_has_a_kind(question: str, answer: str) -> None:
    assert kind_of(asked(question), answer) in PromptKind
    assert kind_of((), answer) in PromptKind


@pytest.mark.parametrize(
    "unit", ["a ", "$", "$a", "\\(", "1 ", "1+", "= ", "`", "```\n", " ", "\n", "é", "漢", "a\u0301"]
)
def test_the_time_grows_with_the_length_up_to_a_limit(unit: str) -> None:
    """Quadratic time would be minutes for each of these."""
    text = unit * 200_000
    before = time.process_time()
    kind_of(asked(text), text)
    assert time.process_time() - before < 2
