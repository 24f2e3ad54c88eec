"""From a checked folder to a model in memory: weights by the backend's policy, tokenizer, head."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx
from mlx_lm.utils import load_model
from transformers import AutoTokenizer

from mtplx_engine import backend
from mtplx_engine.config import SamplerConfig
from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.errors import EngineError
from mtplx_engine.models import head_builder, placement
from mtplx_engine.models.families.registry import family_for
from mtplx_engine.models.refusal import refused
from mtplx_engine.models.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mlx import nn

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.families.family import Family

HEAD_FILE = "mtp.safetensors"
DRAFT_VOCAB_FILE = "draft_vocab.safetensors"

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
    folder, config = checkpoint.folder, checkpoint.config
    family = family_for(config)
    report(0.05, "Reading weights")
    try:
        model, _ = load_model(folder, lazy=True, get_model_classes=lambda **_: family.model_classes(config))
    except Exception as error:  # numbers that contradict each other may raise anything
        raise refused(
            folder.name, "holds weights that do not fit its config.json", details=repr(error)
        ) from error
    placement.place(model, policy, lambda fraction: report(0.1 + 0.7 * fraction, "Preparing weights"))
    report(0.85, "Reading the tokenizer")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # the tokenizers library raises nothing more special
        raise refused(folder.name, "has a tokenizer that cannot be read", details=repr(error)) from error
    report(0.95, "Connecting the drafting head")
    target, new_drafter, note = _drafter(checkpoint, family, model, policy)
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


def _drafter(
    checkpoint: Checkpoint, family: Family, model: nn.Module, policy: backend.Policy
) -> tuple[Target, Callable[[], MTPDrafter] | None, str]:
    """Connect the head that comes with a model; returns the target, and how to make a drafter or why there is none."""
    config = checkpoint.config
    vocabulary = int(config["vocab_size"])
    raw = _head_tensors(checkpoint, family)
    wiring = family.wiring({name: spec.shape for name, spec in checkpoint.tensors.items()})
    target = Target(family, model, vocabulary, policy.width_multiple, wiring.hidden)
    if not raw:
        return target, None, "This model has no drafting head (MTP); it decodes plainly."
    try:
        head = head_builder.build(family, config, raw, wiring, policy)
    except head_builder.HeadMismatchError as error:
        return target, None, f"The drafting head does not fit this model ({error}), so it is off."
    ids = _draft_vocabulary(checkpoint.folder / DRAFT_VOCAB_FILE, vocabulary)
    every = mx.arange(vocabulary, dtype=mx.int32)
    rows = target.output_rows(every if ids is None else ids).astype(backend.dtype(policy))
    mx.eval(rows)
    return target, lambda: MTPDrafter(head, target.embed, rows, ids, vocabulary), ""


def _head_tensors(checkpoint: Checkpoint, family: Family) -> dict[str, mx.array]:
    """Return the tensors of the head that is beside or among the model's own, without their prefix."""
    path = checkpoint.folder / HEAD_FILE
    if path.is_file():
        return _arrays(path)
    prefixes = family.head_prefixes(checkpoint.config)
    names = {
        name: name.removeprefix(prefix)
        for prefix in prefixes
        for name in checkpoint.tensors
        if name.startswith(prefix)
    }
    files = {checkpoint.tensors[name].file for name in names}
    shards = {file: _arrays(checkpoint.folder / file) for file in files}
    return {raw: shards[checkpoint.tensors[name].file][name] for name, raw in names.items()}


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
