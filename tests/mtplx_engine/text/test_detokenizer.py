"""Streamed text is the decoding of the whole, shows no half character, and ends before a stop string."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders
from transformers import AutoTokenizer

from mtplx_engine.text.detokenizer import Detokenizer, StopStrings, TextStream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


# Emoji joined by U+200D, with skin tone and flag; Hangul whole and in parts; Hebrew with points; CJK of three and
# four bytes; combining marks.
HARD = [
    "👩‍👩‍👧 and 👩🏽‍🚀, 🇮🇱",
    "한글은 한글",
    "שָׁלוֹם עולם",
    "日本語の文章、𠮷野家",
    "e\u0301 naïve — ¼",
    "<|im_end|> and </s> are only words here",
]
TEXT = st.one_of(
    st.sampled_from(HARD),
    st.text(st.characters(codec="utf-8", exclude_characters="\ufffd"), max_size=30),
    st.text("aé한👩‍日", max_size=20),
)


def replacing_bytes(tokens: Sequence[bytes]) -> Callable[[Sequence[int]], str]:
    """A byte-level decoder over a list of tokens, as strict about partial characters as tokenizers is."""
    return lambda ids: b"".join(tokens[i] for i in ids).decode("utf-8", "replace")


def falling_back(tokens: Sequence[str]) -> Callable[[Sequence[int]], str]:
    """The decoder of Llama 2 and Gemma: words with a leading mark, unknown characters byte by byte."""
    decoder = decoders.Sequence(
        [
            decoders.Replace("\u2581", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return lambda ids: decoder.decode([tokens[i] for i in ids])


def cut(data: bytes, lengths: Sequence[int]) -> list[bytes]:
    """Cut bytes into tokens, using the lengths again and again."""
    tokens, at = [], 0
    while at < len(data):
        length = lengths[len(tokens) % len(lengths)]
        tokens.append(data[at : at + length])
        at += length
    return tokens


def stream(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[str]:
    """What is visible after each token."""
    detokenizer, shown, moments = Detokenizer(decode), "", []
    for token in ids:
        shown += detokenizer.push(token)
        moments.append(shown)
    return moments


@given(TEXT, st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_bytes_cut_anywhere_join_to_the_text(text: str, lengths: list[int]) -> None:
    tokens = cut(text.encode(), lengths)
    moments = stream(replacing_bytes(tokens), range(len(tokens)))
    for count, shown in enumerate(moments, 1):
        so_far = b"".join(tokens[:count])
        assert shown == so_far.decode("utf-8", "ignore")  # every whole character at once, and never half of one


@given(TEXT, st.lists(st.booleans(), min_size=1))
def test_byte_fallback_and_leading_spaces_join_to_the_text(text: str, in_bytes: list[bool]) -> None:
    tokens: list[str] = []
    for index, character in enumerate(text):
        if in_bytes[index % len(in_bytes)]:
            tokens += [f"<0x{byte:02X}>" for byte in character.encode()]
        else:
            tokens.append("\u2581" if character == " " else character)
    decode = falling_back(tokens)
    moments = stream(decode, range(len(tokens)))
    assert all("\ufffd" not in shown for shown in moments)
    assert "".join(moments[-1:]) == decode(range(len(tokens)))


def test_a_real_replacement_character_and_broken_bytes_are_shown_once_more_text_follows() -> None:
    tokens = ["\ufffd".encode(), b"a\x80", b"\xff", b"b\xe2\x82"]
    assert stream(replacing_bytes(tokens), range(4)) == ["", "\ufffda", "\ufffda", "\ufffda\ufffd\ufffdb"]


def test_an_unfinished_character_at_the_end_is_dropped() -> None:
    tokens = [b"ok ", "👩".encode()[:3]]
    text = TextStream(replacing_bytes(tokens), ())
    assert text.push(0) + text.push(1) + text.finish() == "ok "


@pytest.mark.starter
def test_the_starters_tokens_join_to_the_text(starter_dir: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(starter_dir, local_files_only=True)

    def decode(ids: Sequence[int]) -> str:
        return tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    split = 0
    for text in HARD:
        ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        moments = stream(decode, ids)
        split += sum(a == b for a, b in itertools.pairwise(moments))
        assert moments[-1] == text
        assert all(text.startswith(shown) for shown in moments)
    assert split > 20  # characters did span tokens


# ---------------------------------------------------------------- stop strings

PIECES = st.lists(st.text("ab\n", max_size=4), max_size=12)
STOPS = st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3)


def stopped_text(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The plainest rule: the text before the stop string that is complete first; of two, the longer one."""
    for end in range(len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            return text[: end - max(map(len, ending))], True
    return text, False


@settings(max_examples=400)
@given(PIECES, STOPS)
def test_stop_strings_end_the_text_however_it_is_cut(pieces: list[str], stops: list[str]) -> None:
    expected, found = stopped_text("".join(pieces), stops)
    watcher, shown = StopStrings(stops), ""
    for piece in pieces:
        shown += watcher.push(piece)
        assert expected.startswith(shown)  # nothing that must be taken back
        if watcher.found:
            break
    assert watcher.found == found
    assert shown + watcher.finish() == expected


@settings(max_examples=200)
@given(PIECES, STOPS)
def test_no_more_is_held_back_than_can_become_a_stop(pieces: list[str], stops: list[str]) -> None:
    watcher, shown, given_so_far = StopStrings(stops), "", ""
    for piece in pieces:
        given_so_far += piece
        shown += watcher.push(piece)
        if watcher.found:
            return
        held = given_so_far.removeprefix(shown)
        assert not held or any(stop.startswith(held) and held != stop for stop in stops)


@pytest.mark.parametrize(
    ("stops", "pieces", "text"),
    [
        (["</s>"], ["a<", "/", "s", "> b"], "a"),
        (["END"], ["EN", "EN", "D"], "EN"),
        (["aab"], ["aa", "ab"], "a"),
        (["stop", "op"], ["a st", "op"], "a "),
        (["\n\n"], ["a\n", "b\n", "\nc"], "a\nb"),
        (["", "x"], ["", "y"], "y"),
    ],
)
def test_stop_strings_across_pieces(stops: list[str], pieces: list[str], text: str) -> None:
    watcher = StopStrings(stops)
    assert "".join([watcher.push(piece) for piece in pieces]) + watcher.finish() == text


def test_a_stop_string_may_share_a_token_with_text_and_cross_half_characters() -> None:
    tokens = ["한 ".encode() + "글".encode()[:1], "글".encode()[1:] + b"S", b"TOP more"]
    text = TextStream(replacing_bytes(tokens), ["글STOP"])
    assert [text.push(token) for token in range(3)] == ["한 ", "", ""]
    assert text.stopped
    assert text.finish() == ""


@pytest.mark.parametrize(
    ("pieces", "stop", "cut"),
    [
        (["a", " b", "END", "x"], "END", 1),
        (["a", " E", "N", "D"], "END", 2),  # " E" begins before the stop string
        (["a", "E", "N", "D."], "END", 3),
        (["a", "xENDy"], "END", 0),
        (["END"], "END", 1),
        (["a", "b"], "END", 0),
    ],
)
def test_tokens_wholly_inside_a_stop_string_are_cut(pieces: list[str], stop: str, cut: int) -> None:
    stream = TextStream(lambda ids: "".join(pieces[token] for token in ids), (stop,))
    for token in range(len(pieces)):
        stream.push(token)
        if stream.stopped:
            break
    assert stream.cut == cut


def test_each_character_counts_with_the_token_that_ends_it() -> None:
    pieces = [b"a", "é".encode()[:1], "é".encode()[1:] + b"b", b"cSTO", b"P!"]
    stream = TextStream(lambda ids: b"".join(pieces[token] for token in ids).decode(errors="replace"), ["STOP"])
    given = [stream.push(token, accepted=token in (1, 3)) for token in range(5)]
    assert given == ["a", "", "éb", "c", ""]
    assert stream.accepted(0, 4) == bytes([0, 0, 0, 1])
