"""Find a head's wiring by a teacher-forced probe, and connect head and target.

`probe` runs every wiring of a head over a known text and compares its top tokens with the target's. `HeadConnector`
builds the target and its drafter; it probes a head once and remembers the result.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache

from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.models import head_builder, head_source, identity, inspection, pairing, stored_tensors
from mtplx_engine.models.families import supported
from mtplx_engine.models.families.registry import family_for
from mtplx_engine.models.inspection import ProbeResult
from mtplx_engine.models.manifest import Concat, Hidden, Norms, Wiring
from mtplx_engine.models.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mlx import nn

    from mtplx_engine.backend import Policy
    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.families.family import EmbeddingAndHead, Family, MTPHead, Trunk
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.inspection import ProbeMemory


TEXT = """\
Return the number of items in the list. If the list is empty, the result is zero. The first argument is the name of
the file to open, and the second one is the mode in which it is opened. It is an error if the file does not exist.

def read_lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\\n")

The weather was cold in the morning, but in the afternoon the sun came out and the children went to play in the park.
One, two, three, four, five, six, seven, eight, nine, ten. The capital of France is Paris, and the capital of Italy is
Rome. Once upon a time there was a king who had three sons. The first of them was strong, the second one was clever.
"""
POSITIONS = 3
MOST_TOKENS = 128
_FEWEST_TOKENS = 32
_UNSETTLED = 8  # the first tokens of a text, which nothing predicts


def probe(
    family: Family,
    config: Mapping[str, Any],
    model: nn.Module,
    raw: Mapping[str, mx.array],
    *,
    published: Wiring,
    tokens: mx.array,
    policy: Policy,
) -> ProbeResult:
    """Measure all wirings of a head and return the best; `published` is preferred where it is as good as another.

    `config` is the target's, laid flat, `raw` as for `head_builder.build_head`, and `tokens` [T] are the ids of `TEXT`,
    T at most `MOST_TOKENS` and more than 16.

    Raises:
        HeadMismatchError: The tensors do not fit the model.
    """
    ends = family.ends(model)
    caches = Target(family, model, int(config["vocab_size"])).new_layers()
    before = family.hidden_states(model, tokens, caches)
    after = ends.norm(before)
    choices = ends.logits(after).argmax(axis=-1)
    mx.eval(before, after, choices)
    results = []
    for norms, concat in itertools.product(Norms, Concat):
        head = head_builder.build_head(family, config, raw, Wiring(published.hidden, concat, norms), policy)
        for hidden, states in ((Hidden.AFTER_NORM, after), (Hidden.BEFORE_NORM, before)):
            rates = list(_agreement(head, ends, tokens, states, choices))
            mx.eval(rates)
            agreement = tuple(round(float(rate), 4) for rate in rates)
            results.append(ProbeResult(Wiring(hidden, concat, norms), agreement))
    return max(results, key=lambda result: (result.score, result.wiring == published))


def _agreement(
    head: MTPHead, ends: EmbeddingAndHead, tokens: mx.array, hidden: mx.array, choices: mx.array
) -> Iterator[mx.array]:
    """Yield how often the head's top token is the target's, a scalar 0..1, at draft positions 1, 2, ...

    All tokens of the text are read at once: at position i the head takes its own output of position i-1 as the hiddens
    [T - i, H], and the text's own tokens.
    """
    embedded = ends.embedding(tokens)
    for position in range(1, POSITIONS + 1):
        inputs = head.inputs(embedded[position:], hidden[: tokens.size - position])
        hidden = head(inputs, KVCache())
        guesses = ends.logits(head.readout(hidden)).argmax(axis=-1)
        yield (guesses == choices[position:])[_UNSETTLED:].mean()


@dataclass(frozen=True, slots=True)
class HeadConnection:
    """A target and its drafter.

    Attributes:
        target: The target, which hands out the hiddens that its head reads.
        new_drafter: Makes an empty drafter, None without a usable head.
        note: Why there is no drafter, one sentence; empty when there is one.
    """

    target: Target
    new_drafter: Callable[[], MTPDrafter] | None
    note: str


class _UnusableHeadError(Exception):
    """The head must not be used; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class HeadConnector:
    """Connects a loaded model with its drafting head; `memory` None takes the published wiring unprobed."""

    checkpoint: Checkpoint
    trunk: Trunk
    model: nn.Module
    encode: Callable[[str], Sequence[int]]
    policy: Policy
    memory: ProbeMemory | None

    @property
    def _config(self) -> Mapping[str, Any]:
        return self.checkpoint.config

    @property
    def _vocabulary(self) -> int:
        return int(self.checkpoint.config["vocab_size"])

    def connect(self) -> HeadConnection:
        """Connect model and head; without a usable head the model decodes plainly and the note says why."""
        source = self.checkpoint.head
        reason = supported.why_plain(self._config, self.checkpoint.tensors, head=source is not None)
        if source is None or reason:
            return self._plain(reason)
        try:
            return self._with_head(source)
        except _UnusableHeadError as error:
            return self._plain(str(error))
        except head_builder.HeadMismatchError as error:
            return self._plain(stored_tensors.unfit(str(error)))

    def _plain(self, note: str) -> HeadConnection:
        target = Target(self.trunk, self.model, self._vocabulary, self.policy.width_multiple)
        return HeadConnection(target, None, note)

    def _with_head(self, source: HeadSource) -> HeadConnection:
        if source.problem:
            raise _UnusableHeadError(source.problem)
        if own := pairing.differing_tensors(source, self.checkpoint.folder, self.checkpoint.tensors):
            raise _UnusableHeadError(
                f"The drafting head does not share {own} with its model, which this version needs, so it is off."
            )
        raw = head_builder.read(source)
        family = family_for(self._config)
        wiring = self._wiring(source, raw, family)
        head = head_builder.build_head(family, self._config, raw, wiring, self.policy)
        target = Target(family, self.model, self._vocabulary, self.policy.width_multiple, wiring.hidden)
        path = source.draft_vocabulary
        ids = (
            None
            if path is None
            else mx.array(list(head_source.read_draft_vocabulary(path, self._vocabulary)), mx.int32)
        )
        project = target.projection(ids)
        return HeadConnection(target, lambda: MTPDrafter(head, target.embed, project, ids, self._vocabulary), "")

    def _wiring(self, source: HeadSource, raw: dict[str, mx.array], family: Family) -> Wiring:
        """Return the wiring that the probe confirms; a manifest is as untrusted as any file and only proposes one.

        The starter's head needs no probe, which would take seconds of the very first start.
        """
        installed = self.checkpoint.manifest
        shapes = {name: spec.shape for name, spec in self.checkpoint.tensors.items()}
        published = installed.head.wiring if installed and installed.head else family.wiring(shapes)
        if self.memory is None or identity.is_starter(self.checkpoint, source):
            return published
        key = identity.identity_of(self.checkpoint)
        result = self.memory.recall(key)
        if result is None:
            result = probe(
                family,
                self._config,
                self.model,
                raw,
                published=published,
                tokens=self._probe_tokens(),
                policy=self.policy,
            )
            self.memory.remember(key, result)
        if not result.usable:
            raise _UnusableHeadError(
                f"The drafting head does not predict this model: it agrees with it on {result.score:.0%} of a "
                f"known text, and {inspection.LEAST_AGREEMENT:.0%} are needed. So it is off."
            )
        return result.wiring

    def _probe_tokens(self) -> mx.array:
        tokens = list(self.encode(TEXT))[:MOST_TOKENS]
        if len(tokens) < _FEWEST_TOKENS or max(tokens) >= self._vocabulary:
            raise _UnusableHeadError(
                "The drafting head could not be tried, since this model's tokenizer does not read English text. "
                "So it is off."
            )
        return mx.array(tokens, mx.int32)
