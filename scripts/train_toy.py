"""Trains the hybrid toy of the tests: a tiny Qwen3.5 with an MTP head, on the docstrings that come with Python.

    python scripts/train_toy.py tests/data/toy

Three GatedDeltaNet layers and one of full attention, then a head on the frozen trunk; a few minutes on one core.
The folder is written as Qwen publishes: norm gains minus one, the convolution's weight as [C, 1, K], the head's
tensors as `mtp.*` among the trunk's, everything in bfloat16. The last lines are the metrics in README.md there.
"""

from __future__ import annotations

import ast
import copy
import json
import math
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
from mlx import nn, optimizers
from mlx.utils import tree_flatten
from mlx_lm.models.qwen3_5 import DecoderLayer, Model, ModelArgs
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from mtplx_engine import backend

backend.prepare()

SEED = 7
VOCABULARY = 1024
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
BATCH, LENGTH = 16, 64
TRUNK_STEPS, HEAD_STEPS = 1000, 500
CHAIN = 3
CHAIN_WEIGHTS = (1.0, 0.6, 0.4)
HELD_OUT = 20  # every 20th docstring is kept for validation
SAMPLING_TEMPERATURE = 0.7
UNSETTLED = 16  # tokens at the start of a window, which have too little context
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CONFIG: dict[str, Any] = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "tie_word_embeddings": False,
    "text_config": {
        "model_type": "qwen3_5_text",
        "hidden_size": 128,
        "intermediate_size": 320,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "rms_norm_eps": 1e-6,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 2048,
        "linear_num_value_heads": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
        "linear_conv_kernel_dim": 4,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "full_attention_interval": 4,
        "mtp_num_hidden_layers": 1,
        "eos_token_id": 2,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
    },
}

Batches = Iterator[mx.array]


class Head(nn.Module):
    """Qwen's MTP head: a full-attention block over the next token's embedding and the hidden after the final norm."""

    def __init__(self, args: Any) -> None:
        super().__init__()
        size = args.hidden_size
        self.pre_fc_norm_embedding = nn.RMSNorm(size, eps=args.rms_norm_eps)
        self.pre_fc_norm_hidden = nn.RMSNorm(size, eps=args.rms_norm_eps)
        self.fc = nn.Linear(2 * size, size, bias=False)
        self.layers = [DecoderLayer(args, args.full_attention_interval - 1)]
        self.norm = nn.RMSNorm(size, eps=args.rms_norm_eps)

    def __call__(self, embedded: mx.array, hidden: mx.array) -> mx.array:
        """Return the hiddens [B, T, H] of one more position, after the norm."""
        joined = mx.concatenate([self.pre_fc_norm_embedding(embedded), self.pre_fc_norm_hidden(hidden)], axis=-1)
        return self.norm(self.layers[0](self.fc(joined), mask="causal"))


def documents() -> list[tuple[str, str]]:
    """Return (dotted name, docstring) of everything that Python's own library documents, by file name."""
    root = Path(sysconfig.get_path("stdlib"))
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if {"site-packages", "dist-packages", "test", "tests", "lib2to3"} & set(parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text and len(text) >= 40:
                    found.append((".".join([*parts, getattr(node, "name", "")]).strip("."), text))
    return found


def chat(name: str, text: str) -> str:
    """Return a docstring as the answer to its name, as `TEMPLATE` renders it."""
    return f"<|im_start|>user\n{name}<|im_end|>\n<|im_start|>assistant\n{text}<|im_end|>\n"


def train_tokenizer(texts: list[str]) -> Tokenizer:
    """Return a byte-level BPE of `VOCABULARY` tokens, the control tokens first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        show_progress=False,
        special_tokens=[AddedToken(text, special=True) for text in CONTROL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def batches(ids: np.ndarray, generator: np.random.Generator) -> Batches:
    """Yield random windows [BATCH, LENGTH] without end."""
    while True:
        starts = generator.integers(0, ids.size - LENGTH, BATCH)
        yield mx.array(np.stack([ids[start : start + LENGTH] for start in starts]))


def fit(module: nn.Module, loss: Callable[..., mx.array], windows: Batches, steps: int, rate: float) -> None:
    """Minimise `loss(windows)` over the module's weights with AdamW, warm-up and a cosine to zero."""
    warm_up = steps // 20
    schedule = optimizers.join_schedules(
        [optimizers.linear_schedule(0.0, rate, warm_up), optimizers.cosine_decay(rate, steps - warm_up)],
        [warm_up],
    )
    optimizer = optimizers.AdamW(schedule, weight_decay=0.05, betas=[0.9, 0.98])
    gradient = nn.value_and_grad(module, loss)
    for step in range(steps):
        value, gradients = gradient(next(windows))
        gradients, _ = optimizers.clip_grad_norm(gradients, 1.0)
        optimizer.update(module, gradients)
        mx.eval(module.parameters(), optimizer.state)
        if step % 100 == 0:
            print(f"  step {step}: loss {value.item():.3f}", flush=True)


def trunk_loss(model: Model, window: mx.array) -> mx.array:
    """Return the cross entropy of the next token."""
    return nn.losses.cross_entropy(model(window[:, :-1]), window[:, 1:], reduction="mean")


def chained_logits(model: Model, head: Head, window: mx.array) -> list[tuple[mx.array, mx.array]]:
    """Return (draft logits, trunk logits), both [B, T, V], at chained positions 1..CHAIN, teacher-forced."""
    trunk = model.language_model
    truth = mx.stop_gradient(trunk.model(window))
    hidden, pairs = truth, []
    for step in range(1, CHAIN + 1):
        hidden = head(mx.stop_gradient(trunk.model.embed_tokens(window[:, step:])), hidden[:, : LENGTH - step])
        pairs.append((trunk.lm_head(hidden), mx.stop_gradient(trunk.lm_head(truth[:, step:]))))
    return pairs


def head_loss(model: Model, head: Head, window: mx.array) -> mx.array:
    """Return the cross entropy to the trunk's own distribution, chained positions weighted."""
    total = mx.array(0.0)
    for weight, (draft, target) in zip(CHAIN_WEIGHTS, chained_logits(model, head, window), strict=True):
        probabilities = mx.softmax(target, axis=-1)
        total = total + weight * (mx.logsumexp(draft, axis=-1) - (probabilities * draft).sum(axis=-1)).mean()
    return total


def metrics(model: Model, head: Head, ids: np.ndarray) -> dict[str, Any]:
    """Measure on held-out text: loss, agreement and expected acceptance at chained positions."""
    generator = np.random.default_rng(SEED)
    windows = [next(batches(ids, generator)) for _ in range(12)]
    loss = float(np.mean([trunk_loss(model, window).item() for window in windows]))
    agreement, acceptance = np.zeros(CHAIN), np.zeros(CHAIN)
    for window in windows:
        for step, (draft, target) in enumerate(chained_logits(model, head, window)):
            settled = draft[:, UNSETTLED:], target[:, UNSETTLED:]
            choices = [rows.argmax(axis=-1) for rows in settled]
            agreement[step] += (choices[0] == choices[1]).mean().item() / len(windows)
            distributions = [mx.softmax(rows / SAMPLING_TEMPERATURE, axis=-1) for rows in settled]
            acceptance[step] += mx.minimum(*distributions).sum(-1).mean().item() / len(windows)
    return {
        "validation_loss": round(loss, 3),
        "uniform_loss": round(math.log(VOCABULARY), 3),
        "head_agreement": agreement.round(3).tolist(),
        "acceptance_at_0.7": acceptance.round(3).tolist(),
    }


def round_to_bfloat16(module: nn.Module) -> None:
    """Round the weights to the precision of the file, norm gains as it stores them."""
    rounded = [
        (name, (stored(name, value).astype(mx.float32) + float(is_gain(name)))) for name, value in weights_of(module)
    ]
    module.load_weights(rounded)


def weights_of(module: nn.Module) -> list[tuple[str, mx.array]]:
    """Return all weights with their paths."""
    return tree_flatten(module.parameters())


def is_gain(name: str) -> bool:
    """Whether it is a norm's gain that Qwen stores minus one: all but those inside a GatedDeltaNet."""
    return "norm" in name.split(".")[-2] and ".linear_attn." not in name


def stored(name: str, value: mx.array) -> mx.array:
    """Return a weight as the file holds it."""
    return (value - float(is_gain(name))).astype(mx.bfloat16)


def tensors(model: Model, head: Head) -> dict[str, mx.array]:
    """Return all weights under the names and in the layout of Qwen's own files."""
    found = {}
    for name, value in weights_of(model.language_model):
        kept = stored(name, value)
        kept = kept.moveaxis(2, 1) if name.endswith("conv1d.weight") else kept
        found[name if name.startswith("lm_head") else f"model.language_model.{name.removeprefix('model.')}"] = kept
    return found | {f"mtp.{name}": stored(name, value) for name, value in weights_of(head)}


def write(folder: Path, model: Model, head: Head, tokenizer: Tokenizer) -> None:
    """Write the model folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mx.save_safetensors(str(folder / "model.safetensors"), tensors(model, head), metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    files = {
        "config.json": CONFIG,
        "generation_config.json": {
            "eos_token_id": [2, 0],
            "temperature": 0.7,
            "top_p": 0.95,
            "do_sample": True,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
            "clean_up_tokenization_spaces": False,
            "model_max_length": 2048,
            "chat_template": TEMPLATE,
        },
    }
    for name, body in files.items():
        (folder / name).write_text(json.dumps(body, indent=1) + "\n")


def main(folder: Path) -> None:
    """Train the toy, write it into `folder` and print its metrics."""
    mx.random.seed(SEED)
    found = documents()
    texts = [chat(*document) for document in found]
    tokenizer = train_tokenizer(texts)
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    held_out = np.concatenate([ids for number, ids in enumerate(encoded) if number % HELD_OUT == 0])
    training = np.concatenate([ids for number, ids in enumerate(encoded) if number % HELD_OUT])
    print(
        f"{len(found)} docstrings, {training.size} tokens to learn from, {held_out.size} to validate",
        flush=True,
    )
    windows = batches(training, np.random.default_rng(SEED))

    model = Model(ModelArgs.from_dict(copy.deepcopy(CONFIG)))  # it changes what it is given
    mx.eval(model.parameters())
    fit(model, lambda window: trunk_loss(model, window), windows, TRUNK_STEPS, 4e-3)
    round_to_bfloat16(model)
    head = Head(model.language_model.args)
    fit(head, lambda window: head_loss(model, head, window), windows, HEAD_STEPS, 3e-3)
    round_to_bfloat16(head)
    write(folder, model, head, tokenizer)
    print(json.dumps(metrics(model, head, held_out), indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
