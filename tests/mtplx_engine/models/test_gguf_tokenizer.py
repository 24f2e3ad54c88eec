"""The tokenizer that is built from a GGUF is the model's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from mtplx_engine.models import gguf_repack, gguf_tokenizer
from tests.support import tiny_gguf

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = (
    tiny_gguf.CONTROL + sorted(ByteLevel.alphabet()) + [pair.replace(" ", "") for pair in tiny_gguf.MERGES]
)
TINY = gguf_tokenizer.build(TOKENS, tiny_gguf.MERGES, tiny_gguf.CONTROL)


@given(st.text())
def test_any_text_survives_a_round_trip(text: str) -> None:
    ids = TINY.encode(text, add_special_tokens=False).ids
    assert TINY.decode(ids, skip_special_tokens=False) == text


def test_merges_are_applied_and_digits_stay_apart() -> None:
    assert TINY.encode("hello 12").tokens == ["hello", "Ġ", "1", "2"]


def test_control_tokens_are_matched_whole_and_can_be_skipped() -> None:
    ids = TINY.encode("<|im_start|>hello<|im_end|>").ids
    assert (ids[0], ids[-1], len(ids)) == (1, 2, 3)
    assert TINY.decode(ids) == "hello"


def test_the_files_name_the_special_tokens_and_hold_the_template(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf")
    gguf_repack.repack(tmp_path / "tiny.gguf", tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert config["chat_template"] == tiny_gguf.TEMPLATE
    assert config["eos_token"] == "<|im_end|>"
    assert json.loads((tmp_path / "special_tokens_map.json").read_text())["bos_token"] == "<|im_start|>"
    assert Tokenizer.from_file(str(tmp_path / "tokenizer.json")).get_vocab_size() == len(TOKENS)


def test_another_pre_tokenizer_is_refused(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf", pre="llama-bpe")
    with pytest.raises(ValueError, match="unknown pre-tokenizer 'llama-bpe'"):
        gguf_repack.repack(tmp_path / "tiny.gguf", tmp_path)


@pytest.mark.starter
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello world", [19556, 905]),
        (" 123", [216, 33, 34, 35]),
        ("You are a helpful AI assistant", [2683, 359, 253, 5356, 5646, 11173]),
        (
            "<|im_start|>user\nWhat is the capital of France?<|im_end|>",
            [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2],
        ),
    ],
)
def test_the_starter_has_the_published_ids(starter_dir: Path, text: str, ids: list[int]) -> None:
    tokenizer = Tokenizer.from_file(str(starter_dir / "tokenizer.json"))
    assert tokenizer.encode(text).ids == ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


@pytest.mark.starter
def test_the_starter_renders_chatml(starter_dir: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(starter_dir, trust_remote_code=False)
    turns = [{"role": "user", "content": "Hi"}]
    assert tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert tokenizer.eos_token_id == 2
