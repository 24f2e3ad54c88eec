"""From a checked folder to a model in memory: weights by the backend's policy, tokenizer, head."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten, tree_map
from mlx_lm.utils import load_model
from transformers import AutoTokenizer

from mtplx_engine import backend
from mtplx_engine.config import SamplerConfig
from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.errors import EngineError
from mtplx_engine.models.families import llama
from mtplx_engine.models.refusal import refused
from mtplx_engine.models.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mtplx_engine.models.checkpoint import Checkpoint

HEAD_FILE = "mtp.safetensors"
DRAFT_VOCAB_FILE = "draft_vocab.safetensors"

# The window is enforced before prefill, with both numbers; the tokenizer's own warning would only come first.
_NO_LIMIT = 1 << 62
_SAMPLER_KEYS = frozenset({"temperature", "top_p", "top_k", "min_p", "repetition_penalty"})


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory.

    Attributes:
        name: For people.
        path: Its folder.
        target: The model that decides.
        tokenizer: A transformers tokenizer.
        end_ids: Tokens that end an answer.
        window: Context window in tokens.
        recommended: The sampler that its makers recommend.
        new_drafter: Makes an empty drafter, or None without a usable head.
        drafter_note: Why there is no drafter, one sentence; empty when there is one.
    """

    name: str
    path: Path
    target: Target
    tokenizer: Any
    end_ids: frozenset[int]
    window: int
    recommended: SamplerConfig
    new_drafter: Callable[[], MTPDrafter] | None
    drafter_note: str

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, without control tokens."""
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text


def load(checkpoint: Checkpoint, policy: backend.Policy, report: Callable[[float, str], None]) -> LoadedModel:
    """Load a checked model folder.

    Args:
        checkpoint: The folder, checked by `models.checkpoint`.
        policy: How weights are held on this device.
        report: Told how far it is, 0..1 and in words; may raise to stop.

    Raises:
        EngineError: REFUSED, when weights and configuration do not fit together.
    """
    folder = checkpoint.folder
    report(0.05, "Reading weights")
    try:
        model, _ = load_model(folder, lazy=True)
    except Exception as error:  # numbers that contradict each other may raise anything
        raise refused(
            folder.name, "holds weights that do not fit its config.json", details=repr(error)
        ) from error
    _place(model, policy, lambda fraction: report(0.1 + 0.7 * fraction, "Preparing weights"))
    report(0.85, "Reading the tokenizer")
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True, model_max_length=_NO_LIMIT
        )
    except Exception as error:  # the tokenizers library raises nothing more special
        raise refused(folder.name, "has a tokenizer that cannot be read", details=repr(error)) from error
    config = checkpoint.config
    vocabulary = int(config["vocab_size"])
    target = Target(llama, model, vocabulary, policy.width_multiple)
    report(0.95, "Connecting the drafting head")
    new_drafter, note = _drafter(checkpoint, model, target, policy)
    generation = _read_json(folder / "generation_config.json")
    return LoadedModel(
        name=checkpoint.name,
        path=folder,
        target=target,
        tokenizer=tokenizer,
        end_ids=_end_ids(tokenizer, config, generation),
        window=int(config.get("max_position_embeddings") or 2048),
        recommended=_recommended(generation),
        new_drafter=new_drafter,
        drafter_note=note,
    )


def _place(model: nn.Module, policy: backend.Policy, progress: Callable[[float], None]) -> None:
    """Bring the weights into the form that the policy asks for, a module at a time to keep the peak low."""
    dtype = backend.dtype(policy)
    modules = model.leaf_modules()
    if not policy.keep_quantized:
        modules = tree_map(lambda m: _unpacked(m, dtype), modules, is_leaf=nn.Module.is_module)
        model.update_modules(modules)
    model.set_dtype(dtype)
    arrays = [array for _, array in cast("list[tuple[str, mx.array]]", tree_flatten(model.parameters()))]
    for done, array in enumerate(arrays):
        mx.eval(array)
        if done % 16 == 0:
            progress(done / len(arrays))
    mx.clear_cache()


def _unpacked(module: nn.Module, dtype: mx.Dtype) -> nn.Module:
    """Return a plain twin of a quantized module, its weights unpacked in float32 before rounding to `dtype`."""
    if not isinstance(module, nn.QuantizedLinear | nn.QuantizedEmbedding):
        return module
    scales, biases = module.scales, module.biases
    if biases is not None:  # the formats without biases have scales of a kind of their own
        scales, biases = scales.astype(mx.float32), biases.astype(mx.float32)
    weight = mx.dequantize(
        module.weight,
        scales,
        biases,
        group_size=module.group_size,
        bits=module.bits,
        mode=module.mode,
        dtype=mx.float32,
    ).astype(dtype)
    if isinstance(module, nn.QuantizedEmbedding):
        plain: nn.Module = nn.Embedding(1, 1)
    else:
        plain = nn.Linear(1, 1, bias="bias" in module)
        if "bias" in module:
            plain.bias = module.bias
    plain.weight = weight
    return plain


def _drafter(
    checkpoint: Checkpoint, model: nn.Module, target: Target, policy: backend.Policy
) -> tuple[Callable[[], MTPDrafter] | None, str]:
    """Load the head beside the model; returns how to make a drafter, or None and the reason."""
    path = checkpoint.folder / HEAD_FILE
    if not path.is_file():
        return None, "This model has no drafting head (MTP); it decodes plainly."
    weights = _arrays(path)
    expected = llama.head_shapes(checkpoint.config)
    wrong = sorted(set(expected) ^ set(weights)) or sorted(
        name for name, shape in expected.items() if weights[name].shape != shape
    )
    if wrong:
        return None, f"The drafting head does not fit this model ({wrong[0]}), so it is off."
    dtype = backend.dtype(policy)
    head = llama.LlamaMTPHead(model.args)
    head.load_weights(list(weights.items()))
    head.set_dtype(dtype)
    ids = _draft_vocabulary(checkpoint.folder / DRAFT_VOCAB_FILE, target.vocabulary)
    every = mx.arange(target.vocabulary, dtype=mx.int32)
    rows = llama.output_rows(model, every if ids is None else ids).astype(dtype)
    mx.eval(head.parameters(), rows)
    return lambda: MTPDrafter(head, target.embed, rows, ids, target.vocabulary), ""


def _draft_vocabulary(path: Path, vocabulary: int) -> mx.array | None:
    """Return the sorted token ids [D] that the head may draft, or None for all of them."""
    if not path.is_file():
        return None
    ids = _arrays(path).get("draft_vocab", mx.array([])).astype(mx.int32)
    is_sorted = ids.ndim == 1 and bool((ids[1:] > ids[:-1]).all())
    if not ids.size or not is_sorted or int(ids[0]) < 0 or int(ids[-1]) >= vocabulary:
        raise refused(path.name, f"does not hold sorted token ids below {vocabulary}")
    return ids


def _end_ids(tokenizer: Any, config: dict[str, Any], generation: dict[str, Any]) -> frozenset[int]:
    """Return the union of the end tokens that tokenizer, config and generation config name."""
    ids: set[int] = set()
    for value in (tokenizer.eos_token_id, config.get("eos_token_id"), generation.get("eos_token_id")):
        ids.update(
            token for token in (value if isinstance(value, list) else [value]) if isinstance(token, int)
        )
    return frozenset(ids)


def _recommended(generation: dict[str, Any]) -> SamplerConfig:
    """Return the sampler of a generation config; what no sampler takes (null is common) stays at the default."""
    config = SamplerConfig()
    for key in _SAMPLER_KEYS & generation.keys():
        with contextlib.suppress(EngineError):
            config = dataclasses.replace(config, **{key: generation[key]})
    return config


def _arrays(path: Path) -> dict[str, mx.array]:
    return cast("dict[str, mx.array]", mx.load(str(path)))


def _read_json(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return body
