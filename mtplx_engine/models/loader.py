"""From a checked folder to a model in memory: weights by the backend's policy, tokenizer, head."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig

from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import EngineError
from mtplx_engine.models import markup, model_config, placement, weights
from mtplx_engine.models.connection import Connector
from mtplx_engine.models.families import supported
from mtplx_engine.models.families.registry import trunk_for
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mtplx_engine import backend
    from mtplx_engine.draft.mtp_head import MTPDrafter
    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.probe_memory import ProbeMemory
    from mtplx_engine.models.target import Target
    from mtplx_engine.segments import Markup

# The window is enforced before prefill, with both numbers; the tokenizer's own warning would only come first.
_NO_LIMIT = 1 << 62
_END = "eos_token_id"
_SAMPLER_KEYS = frozenset({"temperature", "top_p", "top_k", "min_p", "repetition_penalty"})


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory.

    Attributes:
        name: For people.
        path: Its folder.
        target: The model that decides.
        tokenizer: A transformers tokenizer.
        markup: The marks around thinking and tool calls.
        hidden_ids: Control tokens that are not part of a mark.
        end_ids: Tokens that end an answer.
        window: Context window in tokens.
        recommended: The sampler that its makers recommend.
        takes_drafts: Whether anything may draft for it; if not, it decodes plainly whatever is asked for.
        new_drafter: Makes an empty drafter, or None without a usable head.
        drafter_note: Why there is no drafter, one sentence; empty when there is one.
    """

    name: str
    path: Path
    target: Target
    tokenizer: Any
    markup: Markup
    hidden_ids: frozenset[int]
    end_ids: frozenset[int]
    window: int
    recommended: SamplerConfig
    takes_drafts: bool
    new_drafter: Callable[[], MTPDrafter] | None
    drafter_note: str

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, without control tokens but with the marks of `markup`."""
        shown = [token for token in ids if token not in self.hidden_ids]
        text: str = self.tokenizer.decode(
            shown, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text


def load(
    checkpoint: Checkpoint,
    policy: backend.Policy,
    report: Callable[[float, str], None],
    probes: ProbeMemory | None = None,
) -> LoadedModel:
    """Load a checked model folder.

    Args:
        checkpoint: The folder, checked by `models.checkpoint`.
        policy: How weights are held on this device.
        report: Told how far it is, 0..1 and in words; may raise to stop.
        probes: What the probe of a drafting head found before and finds now; None takes heads as published.

    Raises:
        EngineError: REFUSED, when weights and configuration do not fit together.
    """
    folder, config = checkpoint.folder, checkpoint.config
    trunk = trunk_for(config)

    report(0.05, "Reading weights")
    model = weights.load(checkpoint)
    placement.place(model, policy, lambda fraction: report(0.1 + 0.7 * fraction, "Preparing weights"))
    report(0.85, "Reading the tokenizer")
    tokenizer = _tokenizer(folder)
    report(0.95, "Connecting the drafting head")
    connector = Connector(
        checkpoint,
        trunk,
        model,
        encode=lambda text: tokenizer.encode(text, add_special_tokens=False),
        policy=policy,
        memory=probes,
    )
    connection = connector.connect()
    generation = _read_json(folder / "generation_config.json")
    marks = markup.read(tokenizer)
    return LoadedModel(
        name=checkpoint.name,
        path=folder,
        target=connection.target,
        tokenizer=tokenizer,
        markup=marks,
        hidden_ids=markup.hidden_ids(tokenizer, marks),
        end_ids=_end_ids(tokenizer, config, _read_json(folder / model_config.NAME), generation),
        window=int(config.get("max_position_embeddings") or 2048),
        recommended=_recommended(generation),
        takes_drafts=supported.takes_drafts(config),
        new_drafter=connection.new_drafter,
        drafter_note=connection.note,
    )


def _tokenizer(folder: Path) -> Any:
    """Return the tokenizer of a folder; config.json only says which class it has, where transformers knows that.

    Raises:
        EngineError: REFUSED, when it cannot be read.
    """
    safely: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    try:
        config = AutoConfig.from_pretrained(folder, **safely)
    except Exception:  # noqa: BLE001 - an architecture that it does not know, or one whose numbers it checks its own way
        config = PreTrainedConfig()
    try:
        found = AutoTokenizer.from_pretrained(folder, config=config, model_max_length=_NO_LIMIT, **safely)
    except Exception as error:  # the tokenizers library raises nothing more special
        raise refused(folder.name, "has a tokenizer that cannot be read", details=repr(error)) from error
    if not found.is_fast:
        raise refused(folder.name, "has a tokenizer of a kind that does not read its tokenizer.json")
    return found


def _end_ids(tokenizer: Any, *settings: dict[str, Any]) -> frozenset[int]:
    """Return the union of the end tokens that a tokenizer and some settings name."""
    ids: set[int] = set()
    for value in (tokenizer.eos_token_id, *(named.get(_END) for named in settings)):
        ids.update(token for token in (value if isinstance(value, list) else [value]) if type(token) is int)
    return frozenset(ids)


def _recommended(generation: dict[str, Any]) -> SamplerConfig:
    """Return the sampler of a generation config; what no sampler takes (null is common) stays at the default."""
    config = SamplerConfig()
    for key in _SAMPLER_KEYS & generation.keys():
        with contextlib.suppress(EngineError):
            config = dataclasses.replace(config, **{key: generation[key]})
    return config


def _read_json(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return body
