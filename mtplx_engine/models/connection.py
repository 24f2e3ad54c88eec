"""Joins a loaded model with its drafting head, in the wiring that the probe confirmed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import mlx.core as mx

from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.models import (
    completeness,
    draft_vocabulary,
    head_builder,
    identity,
    probe,
    probe_memory,
    repeats,
    shipped,
)
from mtplx_engine.models.families import supported
from mtplx_engine.models.families.registry import family_for
from mtplx_engine.models.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mlx import nn

    from mtplx_engine.backend import Policy
    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.families.family import Family, Trunk
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.probe_memory import ProbeMemory
    from mtplx_engine.models.wiring import Wiring

_FEWEST_TOKENS = 32


@dataclass(frozen=True, slots=True)
class Connection:
    """A target and what drafts for it.

    Attributes:
        target: The target, which hands out the hiddens that its head reads.
        new_drafter: Makes an empty drafter, None without a usable head.
        note: Why there is no drafter, one sentence; empty when there is one.
    """

    target: Target
    new_drafter: Callable[[], MTPDrafter] | None
    note: str


class _UnusableHeadError(Exception):
    """The head must not be used; the text is the sentence for the person."""


class Connector:
    """Connects one model.

    Args:
        checkpoint: What the model was loaded from.
        trunk: Its family.
        model: The mlx-lm model.
        encode: Turns text into token ids.
        policy: How weights are held on this device.
        memory: What the probe found before; None takes the published wiring unseen.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        trunk: Trunk,
        model: nn.Module,
        *,
        encode: Callable[[str], Sequence[int]],
        policy: Policy,
        memory: ProbeMemory | None,
    ) -> None:
        self._checkpoint = checkpoint
        self._config = checkpoint.config
        self._vocabulary = int(checkpoint.config["vocab_size"])
        self._trunk = trunk
        self._model = model
        self._encode = encode
        self._policy = policy
        self._memory = memory

    def connect(self) -> Connection:
        """Join model and head; without a usable head the model decodes plainly and the note says why."""
        source = self._checkpoint.head
        reason = supported.why_plain(self._config, self._checkpoint.tensors, head=source is not None)
        if source is None or reason:
            return self._plain(reason)
        try:
            return self._with_head(source)
        except _UnusableHeadError as error:
            return self._plain(str(error))
        except head_builder.HeadMismatchError as error:
            return self._plain(completeness.unfit(str(error)))

    def _plain(self, note: str) -> Connection:
        target = Target(self._trunk, self._model, self._vocabulary, self._policy.width_multiple)
        return Connection(target, None, note)

    def _with_head(self, source: HeadSource) -> Connection:
        if source.problem:
            raise _UnusableHeadError(source.problem)
        if own := repeats.differing(source, self._checkpoint.folder, self._checkpoint.tensors):
            raise _UnusableHeadError(
                f"The drafting head does not share {own} with its model, which this version needs, so it is off."
            )
        raw = head_builder.read(source)
        family = family_for(self._config)
        wiring = self._wiring(source, raw, family)
        head = head_builder.build(family, self._config, raw, wiring, self._policy)
        target = Target(family, self._model, self._vocabulary, self._policy.width_multiple, wiring.hidden)
        path = source.draft_vocabulary
        ids = (
            None if path is None else mx.array(list(draft_vocabulary.read(path, self._vocabulary)), mx.int32)
        )
        project = target.projection(ids)
        return Connection(target, lambda: MTPDrafter(head, target.embed, project, ids, self._vocabulary), "")

    def _wiring(self, source: HeadSource, raw: dict[str, mx.array], family: Family) -> Wiring:
        """Return the wiring that the probe confirms; a manifest is a file like any other and only proposes one.

        Our own head needs no probe, which would take seconds of the very first start.
        """
        noted = self._checkpoint.manifest
        shapes = {name: spec.shape for name, spec in self._checkpoint.tensors.items()}
        published = noted.head.wiring if noted and noted.head else family.wiring(shapes)
        if self._memory is None or shipped.is_starter(self._checkpoint, source):
            return published
        key = identity.of(self._checkpoint)
        verdict = self._memory.recall(key)
        if verdict is None:
            verdict = probe.probe(
                family,
                self._config,
                self._model,
                raw,
                published=published,
                tokens=self._probe_tokens(),
                policy=self._policy,
            )
            self._memory.remember(key, verdict)
        if not verdict.usable:
            raise _UnusableHeadError(
                f"The drafting head does not predict this model: it agrees with it on {verdict.score:.0%} of a "
                f"known text, and {probe_memory.LEAST_AGREEMENT:.0%} are needed. So it is off."
            )
        return verdict.wiring

    def _probe_tokens(self) -> mx.array:
        tokens = list(self._encode(probe.TEXT))[: probe.MOST_TOKENS]
        if len(tokens) < _FEWEST_TOKENS or max(tokens) >= self._vocabulary:
            raise _UnusableHeadError(
                "The drafting head could not be tried, since this model's tokenizer does not read English text. "
                "So it is off."
            )
        return mx.array(tokens, mx.int32)
