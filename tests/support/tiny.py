"""Tiny random models whose exact distribution can be enumerated, run through the production loop.

With a vocabulary this small a random head agrees with its target about half the time, so nothing here is vacuous;
`DistortedDrafter` is the other extreme, close to the target and wrong in a known way.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
from mlx import nn
from mlx.utils import tree_flatten
from mlx_lm.models.llama import Model, ModelArgs

from mtplx_engine.acceptance import race
from mtplx_engine.answer import Answer, AnswerStats
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import MAX_DEPTH
from mtplx_engine.decoding import Decoder
from mtplx_engine.depth import DepthController
from mtplx_engine.depth_policy import DepthChooser
from mtplx_engine.draft.drafter import Draft
from mtplx_engine.draft.mtp_head import MTPDrafter
from mtplx_engine.engine import PrefixCache
from mtplx_engine.ipc.protocol import DepthChosen, Finished, Generate, PrefillProgress, Tokens
from mtplx_engine.models.families import llama
from mtplx_engine.models.target import Target
from mtplx_engine.sampling import draw_exponentials
from mtplx_engine.text.detokenizer import TextStream
from mtplx_engine.text.segments import Markup, Segmenter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mtplx_engine.config import SamplerConfig
    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.sampling import History, Shaper


def tiny_target(
    vocabulary: int,
    *,
    seed: int = 0,
    layers: int = 1,
    hidden: int = 16,
    spread: float = 1.0,
    width_multiple: int = 1,
) -> Target:
    """Make a random Llama in float32, the same on every machine.

    Args:
        vocabulary: V.
        seed: Of the weights.
        layers: Transformer blocks.
        hidden: H, a multiple of 8; heads are 8 wide, two share one pair of keys and values when there are two.
        spread: About the standard deviation of the logits; 1 puts about half of the mass on one token.
        width_multiple: Verify steps are filled up to a multiple of this many rows.
    """
    heads = hidden // 8
    args = ModelArgs(
        model_type="llama",
        hidden_size=hidden,
        num_hidden_layers=layers,
        intermediate_size=2 * hidden,
        num_attention_heads=heads,
        num_key_value_heads=max(1, heads // 2),
        rms_norm_eps=1e-5,
        vocab_size=vocabulary,
        rope_theta=100.0,  # few positions are used, and they should matter
        tie_word_embeddings=False,
    )
    model = Model(args)
    _randomise(model, seed)
    model.lm_head.weight = model.lm_head.weight * spread
    return Target(llama, model, vocabulary, width_multiple)


def tiny_head_drafter(
    target: Target, *, seed: int = 1, draft_ids: Sequence[int] | None = None, spread: float = 0.5
) -> MTPDrafter:
    """Put a random MTP head on a tiny target.

    Args:
        target: From `tiny_target`.
        seed: Of the head's weights.
        draft_ids: The sorted tokens that the head may draft; None for all.
        spread: Scales the head's logits; 0 drafts uniformly.
    """
    model = target.model
    head = llama.LlamaMTPHead(model.args)
    _randomise(head, seed)
    ids = None if draft_ids is None else mx.array(list(draft_ids), mx.int32)
    project = target.projection(ids)
    return MTPDrafter(head, target.embed, lambda hidden: project(hidden) * spread, ids, target.vocabulary)


def _randomise(module: nn.Module, seed: int) -> None:
    """Fill all matrices from numpy's generator, which mlx releases cannot change; norms keep their ones."""
    generator = np.random.default_rng(seed)
    weights = []
    for name, value in sorted(tree_flatten(module.parameters())):
        if value.ndim == 2:
            scale = 1.0 if "embed" in name else 1.5 / math.sqrt(value.shape[-1])
            weights.append((name, mx.array(generator.normal(0, scale, value.shape), mx.float32)))
    module.load_weights(weights, strict=False)
    mx.eval(module.parameters())


class DistortedDrafter:
    """Drafts from the target's own logits, by plain forwards of its own, plus noise that depends on the last token.

    Args:
        target: The target.
        first: The prompt's first token, the only one that no pair names.
        seed: Of the noise.
        noise: Its standard deviation; 0 drafts from the target's very distribution.
    """

    max_depth = MAX_DEPTH

    def __init__(self, target: Target, first: int, *, seed: int = 1, noise: float = 2.5) -> None:
        self._target = target
        self._noise = mx.array(
            np.random.default_rng(seed).normal(0, noise, (target.vocabulary, target.vocabulary)), mx.float32
        )
        self._cache = TokenCache(target.new_layers())
        self._tokens = [mx.array([first], mx.int32)]

    @property
    def pairs(self) -> int:
        return sum(tokens.size for tokens in self._tokens) - 1

    def begin(self, prompt: Sequence[int], reused: int) -> int:
        self.trim_to(min(reused, self.pairs))
        return self.pairs

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        self._tokens.append(mx.array(list(tokens), mx.int32))

    def trim_to(self, pairs: int) -> None:
        self._tokens = [mx.concatenate(self._tokens)[: pairs + 1]]
        self._cache.trim_to(self._cache.reachable(pairs))

    def propose(self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None) -> Draft:
        known = mx.concatenate(self._tokens)
        self._tokens = [known]
        keys = None if key is None else mx.random.split(key, depth)
        inputs = known[self._cache.length :]
        tokens, distributions = [], []
        with self._cache.one_block():
            for step in range(depth):
                logits = self._target.logits(self._target.forward(inputs, self._cache)[-1:])
                adjusted = shaper.adjust(logits + self._noise[inputs[-1]], history)[0]
                if keys is None:
                    token = mx.argmax(adjusted).astype(mx.int32)
                else:
                    distributions.append(shaper.distribution(adjusted))
                    token = race(distributions[-1], draw_exponentials(distributions[-1].shape, keys[step]))
                inputs = token[None]
                history = history and history.after(inputs)
                tokens.append(inputs)
        self._cache.trim_to(known.size)
        return Draft(mx.concatenate(tokens), mx.stack(distributions) if distributions else None)


@dataclass(frozen=True, slots=True)
class Decoded:
    """One answer.

    Attributes:
        tokens: Its tokens.
        events: One for each cycle that emitted some.
        finished: Its last event.
        decoder: Settled at the end of the answer.
        cache: The target's, settled too.
    """

    tokens: tuple[int, ...]
    events: tuple[Tokens, ...]
    finished: Finished
    decoder: Decoder
    cache: TokenCache


def letters(ids: Sequence[int]) -> str:
    """Decode token ids as "a", "b", "c", ..."""
    return "".join(chr(ord("a") + token) for token in ids)


def decode(
    target: Target,
    drafter: Drafter | None,
    prompt: Sequence[int],
    config: SamplerConfig,
    *,
    seed: int,
    max_tokens: int,
    cache: TokenCache | None = None,
    reused: int = 0,
    chunk: int = 64,
    depths: DepthController | None = None,
    end_ids: frozenset[int] = frozenset(),
    stop: tuple[str, ...] = (),
    markup: Markup = Markup(),  # noqa: B008 - frozen
) -> Decoded:
    """Answer a prompt through `Answer` and `Decoder`; the depth is the configuration's.

    Args:
        target: The target.
        drafter: Must hold `reused` pairs; None decodes plainly.
        prompt: Token ids; the first cycle can draft when it has at least `reused` + 2 of them.
        config: The sampler.
        seed: Of every draw.
        max_tokens: The answer's limit.
        cache: One that holds the first `reused` tokens of the prompt, or None for a new one.
        reused: How many tokens `cache` holds.
        chunk: Prompt tokens per forward.
        depths: Chooses the depth when the configuration says "auto".
        end_ids: Tokens that end the answer.
        stop: Strings that end it, in `letters`.
        markup: The marks of thinking, in `letters` too.
    """
    cache = cache or TokenCache(target.new_layers())
    if drafter is not None:
        assert drafter.begin(prompt, reused) == reused
    decoder = Decoder(target, cache, drafter, config, seed)
    stats = AnswerStats(len(prompt), reused, seed, str(config.speculative_depth))
    answer = Answer(
        request=Generate(generation=1, messages=(), sampler=config, max_tokens=max_tokens, stop=stop),
        decoder=decoder,
        text=TextStream(letters, stop),
        segments=Segmenter(markup),
        stats=stats,
        depths=DepthChooser(config, "mtp", depths or DepthController(MAX_DEPTH), turned_off=False),
        end_ids=end_ids,
        limit=max_tokens,
    )
    events = list(answer.run(list(prompt), reused, chunk, threading.Event()))
    decoder.settle(stats.emitted)
    cycles = tuple(event for event in events if isinstance(event, Tokens))
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert all(isinstance(event, PrefillProgress | DepthChosen | Tokens) for event in events[:-1])
    tokens = tuple(token for event in cycles for token in event.token_ids)
    return Decoded(tokens, cycles, finished, decoder, cache)


class Answers:
    """Endless independent answers to one prompt, each with a seed of its own; caches are kept as `Engine` keeps them.

    Args:
        target: The target.
        drafter: Empty.
        prompt: At least two token ids.
        config: The sampler.
        length: Tokens an answer.
        first_seed: The seed of the first answer; the next ones follow it.
        depths: Chooses the depth when the configuration says "auto".

    Attributes:
        cycles: How often a cycle had so many (drafted, accepted) tokens.
    """

    def __init__(
        self,
        target: Target,
        drafter: Drafter,
        prompt: Sequence[int],
        config: SamplerConfig,
        *,
        length: int,
        first_seed: int = 0,
        depths: DepthController | None = None,
    ) -> None:
        self.cycles: Counter[tuple[int, int]] = Counter()
        self._target = target
        self._drafter = drafter
        self._prompt = prompt
        self._config = config
        self._length = length
        self._first_seed = first_seed
        self._depths = depths

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield the tokens of each answer."""
        session = PrefixCache(TokenCache(self._target.new_layers()), self._drafter)
        for seed in itertools.count(self._first_seed):
            answer = decode(
                self._target,
                self._drafter,
                self._prompt,
                self._config,
                seed=seed,
                max_tokens=self._length,
                cache=session.cache,
                reused=session.begin(self._prompt).reused,
                depths=self._depths,
            )
            self.cycles.update((event.drafted, event.accepted) for event in answer.events)
            yield answer.tokens
            session.tokens = answer.decoder.forwarded
