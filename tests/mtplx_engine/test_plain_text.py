"""Whatever a text spells and however the tokenizer works, none of its tokens is an added one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from mtplx_engine.plain_text import PlainText

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
MARKS = ("<think>", "<|end|>", "<|END|>x")
BLANKS = "\n\n"
TEXTS = st.lists(
    st.sampled_from([*MARKS, "<THINK>", "＜think＞", "<th", "ink>", " ", "\n", "é", "日", "a"])
).map("".join)


def made(backend: Tokenizer, *, special: bool = False) -> Any:
    backend.add_tokens([AddedToken(mark, special=special, normalized=not special) for mark in MARKS])
    backend.add_tokens([AddedToken(BLANKS, normalized=False)])
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def byte_level(
    normalizer: Any = None, *, known: tuple[str, ...] = (), ignore_merges: bool = False
) -> Tokenizer:
    vocabulary = {word: index for index, word in enumerate([*BYTES, *known])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=ignore_merges))
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not ignore_merges)
    backend.decoder = decoders.ByteLevel()
    return backend


def unigram() -> Tokenizer:
    fallback = [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    backend = Tokenizer(models.Unigram([*fallback, *((mark, 0.0) for mark in MARKS)], 0, byte_fallback=True))
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    return backend


KINDS = {
    "without the flag": made(byte_level()),
    "with the flag": made(byte_level(), special=True),
    "in the vocabulary": made(byte_level(known=MARKS, ignore_merges=True)),
    "pieces by score": made(unigram()),
}


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
def test_a_text_keeps_its_spelling_and_opens_nothing(kind: str, text: str) -> None:
    tokenizer = KINDS[kind]
    ids = PlainText(tokenizer).encode(text)
    assert not set(ids) & tokenizer.added_tokens_decoder.keys()
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokenizer_alone_would_open_something(kind: str) -> None:
    tokenizer = KINDS[kind]
    assert set(tokenizer.encode(MARKS[0])) & tokenizer.added_tokens_decoder.keys()


def test_what_normalization_makes_a_control_token_of_is_disguised() -> None:
    lower, wide = made(byte_level(normalizers.Lowercase())), made(byte_level(normalizers.NFKC()))
    for tokenizer, text in ((lower, "a <Think>"), (wide, "＜think＞"), (lower, "<|End|>X")):
        assert set(tokenizer.encode(text)) & tokenizer.added_tokens_decoder.keys()
        plain = PlainText(tokenizer)
        assert plain.is_disguised(text)
        assert not set(plain.encode(text)) & tokenizer.added_tokens_decoder.keys()
        assert not plain.is_disguised("a think")
    assert not PlainText(made(byte_level())).is_disguised("<Think>")


def test_runs_of_blanks_are_text() -> None:
    plain = PlainText(made(byte_level()))
    assert not plain.controls.search(BLANKS)
    assert [found.group() for found in plain.controls.finditer("a<|END|>x<think>")] == ["<|END|>x", "<think>"]


def test_a_tokenizer_without_added_tokens() -> None:
    plain = PlainText(PreTrainedTokenizerFast(tokenizer_object=byte_level()))
    assert plain.controls.pattern == ""
    assert len(plain.encode("<think>")) == len("<think>")
    assert not plain.is_disguised("<think>")


def test_a_character_that_only_an_added_token_spells_is_left_out() -> None:
    backend = Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    backend.add_special_tokens([AddedToken("?", special=True)])
    assert PlainText(PreTrainedTokenizerFast(tokenizer_object=backend)).encode("a?b") == [0]
