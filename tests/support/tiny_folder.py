"""A tiny random model as a real folder: weights, drafting head, byte-level tokenizer with a ChatML template."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
from mlx import nn
from mlx.utils import tree_flatten
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from mtplx_engine.models import checkpoint, identity
from mtplx_engine.models.inspection import ProbeMemory, ProbeResult
from mtplx_engine.models.manifest import Wiring
from tests.support.tiny import tiny_head_drafter, tiny_target

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.target import Target


CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|file|>")  # the last one has no role
UNKNOWN, START, END, FILE = range(4)
MERGES = (("h", "e"), ("l", "l"), ("he", "ll"), ("Ġ", "w"))
VOCABULARY = len(CONTROL) + 256 + len(MERGES)
WINDOW = 512
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def write(
    folder: Path,
    *,
    seed: int = 0,
    head: bool = True,
    bits: int | None = None,
    group_size: int = 64,
    mode: str = "affine",
) -> Target:
    """Write the model and return its target, quantized when the folder is.

    Args:
        folder: An empty folder, which is the data folder too.
        seed: Of the weights.
        head: Whether to put mtp.safetensors beside them.
        bits: 4 or 8 to quantize the weights in groups of `group_size`.
        group_size: 32 or 64.
        mode: Of quantization, as mlx names it.
    """
    target = tiny_target(VOCABULARY, seed=seed, layers=2, hidden=64, spread=3.0)
    if head:
        _save(folder / "mtp.safetensors", tiny_head_drafter(target)._head)
    if bits:
        nn.quantize(target.model, group_size=group_size, bits=bits, mode=mode)
    _save(folder / "model.safetensors", target.model)
    settings = {"group_size": group_size, "bits": bits, "mode": mode}
    write_config(folder, target, **({"quantization": settings} if bits else {}))
    _write_json(folder / "generation_config.json", {"eos_token_id": [END], "temperature": 0.6, "top_p": None})
    write_tokenizer(folder)
    if head:
        remember_head(folder, folder)
    return target


def write_twin(folder: Path, quantized: Path) -> None:
    """Write the model of the folder `quantized` with its weights unpacked by numpy, in float32."""
    settings = json.loads((quantized / "config.json").read_bytes())["quantization"]
    arrays = {name: np.array(array) for name, array in mx.load(str(quantized / "model.safetensors")).items()}
    plain = {}
    for name, array in arrays.items():
        stem = name.removesuffix(".weight")
        if f"{stem}.scales" in arrays:
            rows = _unpack(array, settings["bits"]).reshape(array.shape[0], -1, settings["group_size"])
            rows = rows * arrays[f"{stem}.scales"][..., None] + arrays[f"{stem}.biases"][..., None]
            plain[name] = mx.array(rows.reshape(array.shape[0], -1), mx.float32)
        elif not name.endswith((".scales", ".biases")):
            plain[name] = mx.array(array, mx.float32)
    mx.save_safetensors(str(folder / "model.safetensors"), plain)
    write_config(folder, tiny_target(VOCABULARY, layers=2, hidden=64))
    write_tokenizer(folder)


def write_config(folder: Path, target: Target, **changes: object) -> None:
    """Write config.json for `target`, with some entries changed or added."""
    args = target.model.args
    body = {
        "model_type": "llama",
        "hidden_size": args.hidden_size,
        "intermediate_size": args.intermediate_size,
        "num_hidden_layers": args.num_hidden_layers,
        "num_attention_heads": args.num_attention_heads,
        "num_key_value_heads": args.num_key_value_heads,
        "max_position_embeddings": WINDOW,
        "rope_theta": args.rope_theta,
        "rms_norm_eps": args.rms_norm_eps,
        "vocab_size": target.vocabulary,
        "tie_word_embeddings": args.tie_word_embeddings,
        "eos_token_id": END,
    }
    _write_json(folder / "config.json", body | changes)


def remember_head(folder: Path, data: Path) -> None:
    """Note in a data folder that the head is good: a random one agrees with its target too seldom for the probe."""
    ProbeMemory(data).remember(identity.identity_of(checkpoint.check(folder)), ProbeResult(Wiring(), (0.5, 0.5, 0.5)))


def write_tokenizer(folder: Path, template: str | None = TEMPLATE) -> None:
    """Write tokenizer.json and tokenizer_config.json."""
    words = [*CONTROL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *map("".join, MERGES)]
    model = models.BPE(vocab={word: index for index, word in enumerate(words)}, merges=list(MERGES))
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in CONTROL])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "bos_token": CONTROL[START],
        "eos_token": CONTROL[END],
        "unk_token": CONTROL[UNKNOWN],
    }
    _write_json(folder / "tokenizer_config.json", settings | ({"chat_template": template} if template else {}))


def _unpack(packed: np.ndarray, bits: int) -> np.ndarray:
    """Unpack uint32 words [rows, n] that hold 32 / bits numbers each, the lowest bits first."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    values = (packed[..., None] >> shifts) & np.uint32((1 << bits) - 1)
    return values.reshape(packed.shape[0], -1).astype(np.float32)


def _save(path: Path, module: nn.Module) -> None:
    mx.save_safetensors(str(path), dict(tree_flatten(module.parameters())))


def _write_json(path: Path, body: object) -> None:
    path.write_text(json.dumps(body))
