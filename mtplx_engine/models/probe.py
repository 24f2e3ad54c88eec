"""Finds out how a head is wired, and whether it predicts its target at all, by letting it read a known text.

A head that is wired wrongly still runs and its answers stay exact; only its drafts are never accepted. So every
candidate wiring drafts a few positions deep along a fixed text, and the one that agrees best with the target wins.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache

from mtplx_engine.models import head_builder
from mtplx_engine.models.probe_memory import Verdict
from mtplx_engine.models.target import Target
from mtplx_engine.models.wiring import Concat, Hidden, Norms, Wiring

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mlx import nn

    from mtplx_engine.backend import Policy
    from mtplx_engine.models.ends import Ends
    from mtplx_engine.models.families.family import Family
    from mtplx_engine.models.families.head import MTPHead

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
_UNSETTLED = 8  # the first tokens of a text are anybody's guess


def probe(
    family: Family,
    config: Mapping[str, Any],
    model: nn.Module,
    raw: Mapping[str, mx.array],
    *,
    published: Wiring,
    tokens: mx.array,
    policy: Policy,
) -> Verdict:
    """Try all wirings of a head and return the best.

    Args:
        family: The target's.
        config: Its configuration, laid flat.
        model: The target.
        raw: The head's tensors, as `head_builder.build` takes them.
        published: The wiring that is preferred where it is as good as another.
        tokens: [T] ids of `TEXT`, T at most `MOST_TOKENS` and more than 16.
        policy: How weights are held on this device.

    Raises:
        HeadMismatchError: The tensors do not fit the model.
    """
    ends = family.ends(model)
    caches = Target(family, model, int(config["vocab_size"])).new_layers()
    before = family.hidden_states(model, tokens, caches)
    after = ends.norm(before)
    choices = ends.logits(after).argmax(axis=-1)
    mx.eval(before, after, choices)
    verdicts = []
    for norms, concat in itertools.product(Norms, Concat):
        head = head_builder.build(family, config, raw, Wiring(published.hidden, concat, norms), policy)
        for hidden, states in ((Hidden.AFTER_NORM, after), (Hidden.BEFORE_NORM, before)):
            rates = list(_agreement(head, ends, tokens, states, choices))
            mx.eval(rates)
            agreement = tuple(round(float(rate), 4) for rate in rates)
            verdicts.append(Verdict(Wiring(hidden, concat, norms), agreement))
    return max(verdicts, key=lambda verdict: (verdict.score, verdict.wiring == published))


def _agreement(
    head: MTPHead, ends: Ends, tokens: mx.array, hidden: mx.array, choices: mx.array
) -> Iterator[mx.array]:
    """Yield how often the head chooses what the target does, 0..1, at chained positions 1, 2, ...

    All places of the text are read at once: at position i the head takes its own output of position i-1 for the
    hiddens [T, H] and the text's own tokens.
    """
    embedded = ends.embedding(tokens)
    for position in range(1, POSITIONS + 1):
        inputs = head.inputs(embedded[position:], hidden[: tokens.size - position])
        hidden = head(inputs, KVCache())
        guesses = ends.logits(head.readout(hidden)).argmax(axis=-1)
        yield (guesses == choices[position:])[_UNSETTLED:].mean()
