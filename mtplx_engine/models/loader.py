"""Load checked folders into memory: weights, tokenizer, drafting head, draft model."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mlx_lm  # noqa: F401 - before transformers, whose advice on stderr it turns off
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig

from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import (
    checkpoint,
    config_checks,
    head_builder,
    json_files,
    library,
    memory_fit,
    weights,
)
from mtplx_engine.models.families import supported
from mtplx_engine.models.families.registry import trunk_for
from mtplx_engine.models.json_files import refused
from mtplx_engine.models.probe import HeadConnector
from mtplx_engine.text import segments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mtplx_engine import backend
    from mtplx_engine.draft.mtp_head import MTPDrafter
    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.inspection import ProbeMemory
    from mtplx_engine.models.memory_fit import Fit, Footprint
    from mtplx_engine.models.target import Target
    from mtplx_engine.text.segments import Markup
    from mtplx_engine.util.formatting import Report
    from mtplx_engine.util.system import Machine


# The context window is enforced before prefill; the tokenizer's own warning would only come first.
_NO_LIMIT = 1 << 62
_END = "eos_token_id"
_TOKENIZER_MAX_BYTES = 128 << 20
_SAMPLER_KEYS = frozenset({"temperature", "top_p", "top_k", "min_p", "repetition_penalty"})


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory.

    Attributes:
        tokenizer: A transformers tokenizer.
        markup: The marks around thinking and tool calls.
        hidden_ids: Control tokens that are no such mark.
        end_ids: Tokens that end an answer.
        window: Context window in tokens.
        recommended: Sampling as its generation_config.json recommends.
        takes_drafts: Whether it can verify drafts; if not, it always decodes plainly.
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
        text: str = self.tokenizer.decode(shown, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


def load_checkpoint(
    checkpoint: Checkpoint,
    policy: backend.Policy,
    report: Callable[[float, str], None],
    probes: ProbeMemory | None = None,
) -> LoadedModel:
    """Load a checked model folder.

    `report` gets the progress, 0..1, and its phase, and may raise to stop. Without `probes`, the results of probing
    drafting heads, heads are taken as published.

    Raises:
        EngineError: REFUSED, when weights and configuration do not fit together.
    """
    folder, config = checkpoint.folder, checkpoint.config
    trunk = trunk_for(config)

    report(0.05, "Reading weights")
    model = weights.load(checkpoint)
    head_builder.place_head(model, policy, lambda fraction: report(0.1 + 0.7 * fraction, "Preparing weights"))
    report(0.85, "Reading the tokenizer")
    tokenizer = _tokenizer(folder)
    report(0.95, "Connecting the drafting head")
    connector = HeadConnector(
        checkpoint,
        trunk,
        model,
        encode=lambda text: tokenizer.encode(text, add_special_tokens=False),
        policy=policy,
        memory=probes,
    )
    connection = connector.connect()
    generation = config_checks.read_optional(folder / "generation_config.json")
    marks = segments.read_markup(tokenizer)
    return LoadedModel(
        name=checkpoint.name,
        path=folder,
        target=connection.target,
        tokenizer=tokenizer,
        markup=marks,
        hidden_ids=segments.hidden_ids(tokenizer, marks),
        end_ids=_end_ids(
            tokenizer, config, config_checks.read_optional(folder / config_checks.CONFIG_NAME), generation
        ),
        window=int(config.get("max_position_embeddings") or 2048),
        recommended=_recommended(generation),
        takes_drafts=supported.takes_drafts(config),
        new_drafter=connection.new_drafter,
        drafter_note=connection.note,
    )


def _tokenizer(folder: Path) -> Any:
    """Return a folder's tokenizer, or raise REFUSED; config.json only tells its class."""
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
    ids: set[int] = set()
    for value in (tokenizer.eos_token_id, *(named.get(_END) for named in settings)):
        ids.update(token for token in (value if isinstance(value, list) else [value]) if type(token) is int)
    return frozenset(ids)


def _recommended(generation: dict[str, Any]) -> SamplerConfig:
    """Return the sampler of a generation config; invalid values (null is common) stay at the default."""
    config = SamplerConfig()
    for key in _SAMPLER_KEYS & generation.keys():
        with contextlib.suppress(EngineError):
            config = dataclasses.replace(config, **{key: generation[key]})
    return config


def check_tokenizer_pair(target: Checkpoint, draft: Checkpoint) -> None:
    """Check that the tokenizers of two checked folders are equal, so that one model can draft for the other.

    Raises:
        EngineError: UNSUPPORTED, when any token differs, or the draft model's family cannot draft.
    """
    if not supported.takes_drafts(draft.config):
        family = supported.PLAIN_ONLY[draft.config["model_type"]]
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{family} models cannot draft in this version. Choose another draft model.",
        )
    ours, theirs = _tokens(target), _tokens(draft)
    ids = ours.keys() | theirs.keys()
    differing = sum(ours.get(token) != theirs.get(token) for token in ids)
    if differing:
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{draft.name} cannot draft for {target.name}: {differing:,} of {len(ids):,} tokens differ. "
            "Choose a smaller model of the same family.",
        )


def _tokens(checkpoint: Checkpoint) -> dict[int, str]:
    """Return the text of each token id, as tokenizer.json spells it."""
    body: dict[str, Any] = json_files.read_json(checkpoint.folder / config_checks.TOKENIZER_NAME, _TOKENIZER_MAX_BYTES)
    vocabulary = body["model"]["vocab"]
    if isinstance(vocabulary, dict):
        tokens = {token: text for text, token in vocabulary.items()}
    else:  # pairs of text and score
        tokens = {token: entry[0] for token, entry in enumerate(vocabulary)}
    return tokens | {token["id"]: token["content"] for token in body.get("added_tokens") or []}


def check_folders(model: str, draft_model: str, data: Path) -> list[Checkpoint]:
    """Return the checked folders of a model and, where it takes drafts, of its draft model.

    Each is given as a folder or a name; "" for no draft model.

    Raises:
        EngineError: NOT_FOUND, REFUSED or UNSUPPORTED.
    """
    found = checkpoint.check(library.resolve_model(model, data))
    if not draft_model or not supported.takes_drafts(found.config):
        return [found]
    return [found, checkpoint.check(library.resolve_model(draft_model, data))]


def footprints(parts: Sequence[Checkpoint], here: Machine, *, anyway: bool) -> list[Footprint]:
    """Return the memory footprints of a model and, if there is one, its draft model.

    Raises:
        EngineError: REFUSED, see `memory_fit.measure_footprint`; TOO_BIG, when they do not fit together for the
            default context, unless `anyway`.
    """
    found = [memory_fit.measure_footprint(part.config, part.tensors, part.head, here) for part in parts]
    if not anyway:
        memory_fit.check_fit(parts[0].name, judge_models(found, memory_fit.CONTEXT, here))
    return found


def judge_models(found: Sequence[Footprint], context: int, here: Machine) -> Fit:
    """Return the combined fit of footprints for a context."""
    one, *others = (memory_fit.judge_fit(footprint, context, here) for footprint in found)
    return memory_fit.combined_fit(one, others[0]) if others else one


def load_models(
    parts: Sequence[Checkpoint],
    policy: backend.Policy,
    report: Report,
    probes: ProbeMemory,
) -> list[LoadedModel]:
    """Load models one after the other, see `load_checkpoint`; each takes its share of the progress by its bytes.

    Raises:
        EngineError: Also UNSUPPORTED, when their tokenizers differ.
    """
    for small in parts[1:]:
        check_tokenizer_pair(parts[0], small)
    total, done = sum(part.total_bytes for part in parts), 0.0
    loaded = []
    for part in parts:
        share = part.total_bytes / total
        loaded.append(load_checkpoint(part, policy, _within(report, done, share), probes))
        done += share
    return loaded


def _within(report: Report, start: float, share: float) -> Report:
    return lambda fraction, phase: report(start + share * fraction, phase)
