"""Replay of a fixed prompt prefix, and statistical tests of the tokens sampled after it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import mlx.core as mx
import numpy as np

from mtplx_engine.bench.prompts import PROMPTS
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import SamplerConfig
from mtplx_engine.decoding import Decoder, non_finite
from mtplx_engine.sampling import Shaper, finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mtplx_engine.draft.drafter import Draft, Drafter
    from mtplx_engine.models.target import Target
    from mtplx_engine.sampling import History

    Floats = NDArray[np.float64]


LEAST_VALUES = 100
"""Numbers that `uniform_test` needs: ten a bin, for its far tails."""

_BINS = 10
_EVEN = np.full(_BINS, 1 / _BINS)
_LEAST_EXPECTED = 5.0  # samples that a cell has to expect for the chi-square approximation


def g_test(observed: Floats, distribution: Floats) -> float:
    """Return the p-value of counts [cells] under a distribution [cells]; 0 when an impossible cell was observed.

    A G-test (likelihood ratio) whose rare cells are pooled until each expects enough samples, the rarest first.
    """
    statistic, freedom = _statistic(observed, distribution)
    return chi_square_tail(statistic, freedom) if freedom else float(statistic == 0)


def uniform_test(values: Floats) -> float | None:
    """Return the p-value of numbers [n] being uniform on 0..1; None for fewer than `LEAST_VALUES`.

    The smaller p-value of two tests counts twice (Bonferroni): a G-test of ten even bins detects any pattern, a test of
    the mean a common shift. The mean of uniform numbers has lighter tails than the normal distribution assumed here.
    """
    if values.size < LEAST_VALUES:
        return None
    counts, _ = np.histogram(values, _BINS, (0.0, 1.0))
    off = abs(float(values.mean()) - 0.5) * math.sqrt(12 * values.size)  # standard deviations
    return min(1.0, 2 * min(g_test(counts.astype(np.float64), _EVEN), math.erfc(off / math.sqrt(2))))


def _statistic(observed: Floats, distribution: Floats) -> tuple[float, int]:
    """Return G with Williams' correction, and its degrees of freedom; infinite for an impossible observation."""
    if observed[distribution == 0].any():
        return math.inf, 0
    total = observed.sum()
    cells = _pooled(distribution * total)
    expected = np.bincount(cells, distribution * total).astype(np.float64)
    counts = np.bincount(cells, observed)
    freedom = expected.size - 1
    if freedom == 0:
        return 0.0, 0
    some = counts > 0
    g = 2 * float((counts[some] * np.log(counts[some] / expected[some])).sum())
    williams = 1 + ((total / expected).sum() - 1) / (6 * total * freedom)
    return max(0.0, g / williams), freedom


def _pooled(expected: Floats) -> NDArray[np.int64]:
    """Return a pool number for each cell, so that each pool expects `_LEAST_EXPECTED` if there is so much."""
    numbers = np.zeros(expected.size, np.int64)
    number, mass = 0, 0.0
    left = float(expected.sum())
    for cell in np.argsort(expected, kind="stable"):
        numbers[cell] = number
        mass, left = mass + expected[cell], left - expected[cell]
        if min(mass, left) >= _LEAST_EXPECTED:
            number, mass = number + 1, 0.0
    return numbers


def chi_square_tail(statistic: float, freedom: int) -> float:
    """Return P(X > statistic) for X chi-square with a whole number of degrees of freedom, in closed form."""
    half = statistic / 2
    if half == 0:
        return 1.0
    if freedom % 2:
        tail, exponents = math.erfc(math.sqrt(half)), (i + 0.5 for i in range(freedom // 2))
    else:
        tail, exponents = 0.0, (float(i) for i in range(freedom // 2))
    return min(1.0, tail + sum(math.exp(e * math.log(half) - half - math.lgamma(e + 1)) for e in exponents))


class Cycle(NamedTuple):
    """One cycle of draft, verify and accept.

    Attributes:
        tokens: The accepted drafts and the recovered or bonus token, n of them.
        target: [n, V] distributions of the target, row i of token i.
        draft: [k, V] distributions that the drafts were sampled from.
    """

    tokens: Sequence[int]
    target: Floats
    draft: Floats


class Draws:
    """The tokens of many cycles, tested against the distributions of the target.

    A token becomes its randomised probability integral transform, which is uniform on 0..1 if the token is distributed
    as the target says. Tokens are ordered by target / draft probability, which shows a wrong acceptance best.
    """

    def __init__(self, depth: int, seed: int) -> None:
        self._values: list[list[float]] = [[] for _ in range(depth + 1)]
        self._generator = np.random.default_rng(seed)
        self._impossible = False

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of tokens at draft position 1, 2, ..., accepted or recovered, and of bonus tokens, the last."""
        return tuple(len(values) for values in self._values)

    def add(self, cycle: Cycle) -> None:
        count = len(cycle.draft)
        for at, (token, row) in enumerate(zip(cycle.tokens, cycle.target, strict=True)):
            score = row
            if at < count:
                with np.errstate(divide="ignore", invalid="ignore"):
                    score = row / cycle.draft[at]
            below = row[score < score[token]].sum()
            level = row[score == score[token]].sum()
            self._impossible |= bool(row[token] == 0)
            value = (below + self._generator.random() * level) / row.sum()
            self._values[at if at < count else -1].append(min(1.0, float(value)))

    def p_value(self) -> float | None:
        """Return the p-value of all tokens and of those at each position, as one test (Bonferroni).

        0 when an impossible token was sampled; None for too few tokens.
        """
        if self._impossible:
            return 0.0
        groups = [np.concatenate([np.array(values) for values in self._values]), *map(np.array, self._values)]
        found = [p_value for group in groups if (p_value := uniform_test(group)) is not None]
        return min(1.0, len(found) * min(found)) if found else None


SHORTEST = 2
"""Tokens of the shortest prefix; a drafter needs a pair."""

UNFILTERED = SamplerConfig(temperature=1.0)
"""Samples from the model's own distribution, without filters."""

_GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples modulo 1 are spread evenly, however many they are


def prompt_prefixes(count: int, encode: Callable[[str], list[int]], longest: int) -> Iterator[list[int]]:
    """Yield `count` prefixes of the shipped prompts, of all kinds in turn and of different lengths up to `longest`.

    `encode` turns a user message into the tokens of a chat.
    """
    for number in range(count):
        ids = encode(PROMPTS[number % len(PROMPTS)].text)
        share = 1 - number * _GOLDEN % 1 / 2
        yield ids[: max(SHORTEST, min(longest, round(share * len(ids))))]


class Comparison(NamedTuple):
    """Differences of rows of logits that should be equal.

    Attributes:
        distance: The largest total variation distance of two distributions; infinite for logits that are not finite.
        logit_distance: The largest absolute difference of a logit.
        first_choices: Rows with the same most probable token.
    """

    rows: int
    distance: float
    logit_distance: float
    first_choices: int


def compare_rows(one: mx.array, other: mx.array, vocabulary: int) -> Comparison:
    """Compare logits [n, V] row by row, at temperature 1."""
    one, other = one.astype(mx.float32), other.astype(mx.float32)
    if not (finite(one) & finite(other)).item():
        return Comparison(one.shape[0], math.inf, math.inf, 0)
    shaper = Shaper(UNFILTERED, vocabulary)
    return Comparison(
        rows=one.shape[0],
        distance=_highest(mx.abs(shaper.distribution(one) - shaper.distribution(other)).sum(axis=-1)) / 2,
        logit_distance=_highest(mx.abs(one - other)),
        first_choices=cast("int", (_best(one) == _best(other)).sum().item()),
    )


def compare_verified(target: Target, cache: TokenCache, tokens: mx.array) -> Comparison:
    """Verify tokens [n] in one forward and one by one, compare the rows, and restore the cache."""
    length = cache.length
    _, verified = target.verify(tokens, cache, strict=False)
    mx.eval(verified)
    cache.trim_to(length)
    with cache.one_block():
        rows = [target.verify(token[None], cache, strict=False)[1] for token in tokens]
    plain = mx.concatenate(rows)
    mx.eval(plain)
    cache.trim_to(length)
    return compare_rows(verified, plain, target.vocabulary)


class _RecordingTarget:
    """The part of a target that a cycle needs; keeps the logits [k+1, V] of the last verify step."""

    def __init__(self, target: Target) -> None:
        self.vocabulary = target.vocabulary
        self.logits = mx.array([])
        self._target = target

    def verify(self, tokens: mx.array, cache: TokenCache, *, strict: bool) -> tuple[mx.array, mx.array]:
        hidden, self.logits = self._target.verify(tokens, cache, strict=strict)
        return hidden, self.logits


class _RecordingDrafter:
    """A drafter that keeps the distributions [k, V] of its last proposal, None before the first."""

    def __init__(self, drafter: Drafter) -> None:
        self.distributions: mx.array | None = None
        self._drafter = drafter
        self.begin, self.extend, self.trim_to = drafter.begin, drafter.extend, drafter.trim_to

    @property
    def max_depth(self) -> int:
        return self._drafter.max_depth

    @property
    def pairs(self) -> int:
        return self._drafter.pairs

    def propose(self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None) -> Draft | None:
        draft = self._drafter.propose(depth, shaper, history, key)
        self.distributions = None if draft is None else draft.distributions
        return draft


class PrefixReplay:
    """A prompt prefix with the caches of all but its last token, restored after each trial.

    Args:
        drafter: Without pairs.
        ids: The tokens, at least `SHORTEST`.
        chunk: Prefill tokens per forward.
    """

    def __init__(self, target: Target, drafter: Drafter, ids: Sequence[int], chunk: int) -> None:
        self._target = target
        self._drafter = drafter
        self._ids = ids
        self._chunk = chunk
        self._cache = TokenCache(target.new_layers())
        self._newest = mx.array([])  # the hidden [1, H] of the last cached token

    def read(self) -> Iterator[int]:
        """Prefill the prefix by chunks; yields the number of cached tokens after each."""
        self._drafter.begin(self._ids, 0)
        *before, newest, _ = self._ids
        decoder = Decoder(self._target, self._cache, self._drafter, UNFILTERED, 0)
        yield from decoder.prefill([*before, newest], 0, self._chunk)
        self._newest = self._target.forward(mx.array([newest], mx.int32), self._cache)
        mx.eval(self._newest)
        self._restore()

    def compare(self, depth: int, seed: int) -> Comparison:
        """Verify a draft of `depth` tokens in one forward and token by token, and compare the rows.

        Raises:
            EngineError: NON_FINITE.
        """
        tokens = mx.array([self._ids[-1]], mx.int32)
        draft = None
        if depth := min(depth, self._drafter.max_depth):
            shaper = Shaper(UNFILTERED, self._target.vocabulary)
            draft = self._drafter.propose(depth, shaper, None, mx.random.key(seed))
        if draft is not None:
            tokens = mx.concatenate([tokens, draft.tokens])
        found = compare_verified(self._target, self._cache, tokens)
        self._restore()
        if math.isinf(found.distance):
            raise non_finite(len(self._ids))
        return found

    def draw(self, depth: int, seed: int) -> Cycle:
        """Run one cycle of the decoding loop, with at most `depth` drafts. Raises as `compare`."""
        target, drafter = _RecordingTarget(self._target), _RecordingDrafter(self._drafter)
        decoder = Decoder(cast("Target", target), self._cache, drafter, UNFILTERED, seed)
        for _ in decoder.prefill(self._ids, len(self._ids) - 1, self._chunk):
            raise ValueError("the prefix was not prefilled")
        decoder.dispatch(min(depth, decoder.max_depth))
        tokens = decoder.read().tokens
        self._restore()
        rows = target.logits[: len(tokens)].astype(mx.float32)
        verified = Shaper(UNFILTERED, self._target.vocabulary).distribution(rows)
        drafted = drafter.distributions if drafter.distributions is not None else verified[:0]
        return Cycle(tokens, np.array(verified, np.float64), np.array(drafted, np.float64))

    def gap(self, more: Sequence[int], one: int, other: int) -> float:
        """Return one token's logit minus another's in plain decoding after the prefix and `more` tokens.

        It does not restore the caches: no trial can follow.
        """
        tokens = mx.array([self._ids[-1], *more], mx.int32)
        for token in tokens:
            _, logits = self._target.verify(token[None], self._cache, strict=False)
            mx.eval(logits)
        row = logits[0].astype(mx.float32)
        return cast("float", (row[one] - row[other]).item())

    def _restore(self) -> None:
        length = len(self._ids) - 1
        self._cache.trim_to(length)
        self._drafter.trim_to(length - 1)
        self._drafter.extend(self._newest, self._ids[-1:])  # a proposal starts from a new pair


def _highest(values: mx.array) -> float:
    return cast("float", mx.max(values).item())


def _best(rows: mx.array) -> mx.array:
    return mx.argmax(rows, axis=-1)
