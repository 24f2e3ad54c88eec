"""The figures of the context window, and the ways out when it is full."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.chat.context_use import ContextUse, first_to_read, most_tokens, raised_window
from app.chat.conversation import Role
from mtplx_engine.config import ChatMessage
from tests.support.trees import message

PATH = [
    message("q1", None),
    message("a1", "q1", Role.ASSISTANT),
    message("q2", "a1"),
    message("a2", "q2", Role.ASSISTANT),
    message("q3", "a2"),
]


def test_words_and_tooltip_say_what_is_counted():
    use = ContextUse(8192, 8192, system=100, messages=1000, draft=30, answer=70, thinking=34)
    assert use.words() == "1,234 of 8,192 tokens, 15 %"
    assert use.tooltip().splitlines() == [
        "Context: 1,234 of 8,192 tokens, 15 %",
        "System prompt: 100",
        "Messages: 1,000",
        "This answer: 70",
        "Its thinking: 34",
        "What you type: 30",
    ]


@given(st.integers(1, 10**6), st.lists(st.integers(0, 10**6), min_size=5, max_size=5))
def test_the_share_never_exceeds_one(window, parts):
    use = ContextUse(window, window, *parts)
    assert 0 <= use.share <= 1
    assert use.is_over == (use.used >= window)
    assert (use.share == 1) == use.is_over


def test_a_window_is_raised_as_far_as_the_model_goes():
    assert raised_window(5000, 2048, 32768) == 6144
    assert raised_window(5000, 2048, 5100) == 5100
    assert raised_window(5000, 2048, 5000) is None
    assert raised_window(5000, 8192, 8192) is None


def test_the_oldest_turns_are_left_out_and_no_more_than_needed():
    counts = [100, 300, 50, 400, 20]
    assert first_to_read(PATH, counts, 1000, 1000) == "q2"  # room of 250 is needed
    assert first_to_read(PATH, counts, 1300, 1000) == "q3"
    assert first_to_read(PATH, counts, 1610, 1000) == ""
    assert first_to_read(PATH, counts, 5000, 1000) is None
    assert first_to_read([], [], 5000, 1000) is None


@given(st.text())
def test_no_byte_is_more_than_a_token(text):
    assert most_tokens([ChatMessage("user", text)]) >= len(text.encode(errors="replace"))
