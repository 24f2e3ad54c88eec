"""Replay a fixed prompt prefix many times and test the draws by a G-test."""

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
"""Numbers that a test of uniformity needs: ten a bin, for its far tails."""

_BINS = 10
_EVEN = np.full(_BINS, 1 / _BINS)
_LEAST_EXPECTED = 5.0  # samples a cell should have on average before a chi-square is trusted


def g_test(observed: Floats, law: Floats) -> float:
    """Return the p-value of counts [cells] under a law [cells]; 0 when something impossible was seen.

    Rare cells are pooled until each expects enough, the rarest first.
    """
    statistic, freedom = _statistic(observed, law)
    return chi_square_tail(statistic, freedom) if freedom else float(statistic == 0)


def uniform_test(values: Floats) -> float | None:
    """Return the p-value that numbers [n] are uniform between 0 and 1; None for fewer than `LEAST_VALUES`.

    A G-test of ten even bins sees any pattern, a test of the mean sees best what moves all one way; the smaller
    p-value counts twice (Bonferroni). The mean of uniform numbers has lighter tails than the normal law taken here.
    """
    if values.size < LEAST_VALUES:
        return None
    counts, _ = np.histogram(values, _BINS, (0.0, 1.0))
    off = abs(float(values.mean()) - 0.5) * math.sqrt(12 * values.size)  # in standard deviations
    return min(1.0, 2 * min(g_test(counts.astype(np.float64), _EVEN), math.erfc(off / math.sqrt(2))))


def _statistic(observed: Floats, law: Floats) -> tuple[float, int]:
    """Return G with Williams' correction, and its degrees of freedom; infinite for something impossible."""
    if observed[law == 0].any():
        return math.inf, 0
    total = observed.sum()
    cells = _pooled(law * total)
    expected = np.bincount(cells, law * total).astype(np.float64)
    seen = np.bincount(cells, observed)
    freedom = expected.size - 1
    if freedom == 0:
        return 0.0, 0
    found = seen > 0
    g = 2 * float((seen[found] * np.log(seen[found] / expected[found])).sum())
    williams = 1 + ((total / expected).sum() - 1) / (6 * total * freedom)
    return max(0.0, g / williams), freedom


def _pooled(expected: Floats) -> NDArray[np.int64]:
    """Number the cells so that each number expects `_LEAST_EXPECTED` or more, where there is so much."""
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
    """What one draft, verify and accept gave.

    Attributes:
        tokens: The accepted drafts and the recovered or bonus token, n of them.
        laws: [n, V] the target's laws, row i of token i.
        drafted: [k, V] the laws that the drafts were drawn from.
    """

    tokens: Sequence[int]
    laws: Floats
    drafted: Floats


class Draws:
    """All tokens of many cycles.

    Args:
        depth: The most drafts of a cycle.
        seed: Of the randomised parts.
    """

    def __init__(self, depth: int, seed: int) -> None:
        self._values: list[list[float]] = [[] for _ in range(depth + 1)]
        self._generator = np.random.default_rng(seed)
        self._impossible = False

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tokens came out at draft position 1, 2, ..., accepted or recovered, and as bonus, the last."""
        return tuple(len(values) for values in self._values)

    def add(self, cycle: Cycle) -> None:
        """Take the tokens of a cycle."""
        count = len(cycle.drafted)
        for place, (token, law) in enumerate(zip(cycle.tokens, cycle.laws, strict=True)):
            score = law
            if place < count:
                with np.errstate(divide="ignore", invalid="ignore"):
                    score = law / cycle.drafted[place]
            before = law[score < score[token]].sum()
            level = law[score == score[token]].sum()
            self._impossible |= bool(law[token] == 0)
            value = (before + self._generator.random() * level) / law.sum()
            self._values[place if place < count else -1].append(min(1.0, float(value)))

    def p_value(self) -> float | None:
        """Return the p-value of all tokens, and of those of each place, as one test (Bonferroni).

        0 when something impossible was drawn; None when there are too few tokens to tell anything.
        """
        if self._impossible:
            return 0.0
        groups = [np.concatenate([np.array(values) for values in self._values]), *map(np.array, self._values)]
        found = [p_value for group in groups if (p_value := uniform_test(group)) is not None]
        return min(1.0, len(found) * min(found)) if found else None


SHORTEST = 2
"""Tokens; a drafter needs a pair."""

LAW = SamplerConfig(temperature=1.0)
"""The model's own law of the next token, which no filter cuts."""

_GOLDEN = (
    math.sqrt(5) - 1
) / 2  # multiples of it fill the range between 0 and 1 evenly, however many they are


def cuts(count: int, encode: Callable[[str], list[int]], longest: int) -> Iterator[list[int]]:
    """Return beginnings of the shipped prompts, of all kinds in turn, cut at different lengths.

    Args:
        count: How many.
        encode: Turns what a person says into the tokens of a chat.
        longest: Tokens of a beginning.
    """
    for number in range(count):
        ids = encode(PROMPTS[number % len(PROMPTS)].text)
        share = 1 - number * _GOLDEN % 1 / 2
        yield ids[: max(SHORTEST, min(longest, round(share * len(ids))))]


class Comparison(NamedTuple):
    """Rows of logits against others that should be the same.

    Attributes:
        rows: How many were compared.
        distance: The largest total variation distance of two laws; infinite where a row is no law.
        logit_distance: The largest absolute difference of a logit.
        first_choices: Rows whose most probable token was the same.
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
    shaper = Shaper(LAW, vocabulary)
    return Comparison(
        rows=one.shape[0],
        distance=_highest(mx.abs(shaper.distribution(one) - shaper.distribution(other)).sum(axis=-1)) / 2,
        logit_distance=_highest(mx.abs(one - other)),
        first_choices=cast("int", (_best(one) == _best(other)).sum().item()),
    )


def compare_verified(target: Target, cache: TokenCache, tokens: mx.array) -> Comparison:
    """Verify tokens [n] in one forward and one by one, compare the rows, and leave the cache as it was."""
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


class _HeardTarget:
    """A target, as far as a cycle needs it, that keeps the logits [k+1, V] of what it verified last."""

    def __init__(self, target: Target) -> None:
        self.vocabulary = target.vocabulary
        self.logits = mx.array([])
        self._target = target

    def verify(self, tokens: mx.array, cache: TokenCache, *, strict: bool) -> tuple[mx.array, mx.array]:
        """See `Target.verify`."""
        hidden, self.logits = self._target.verify(tokens, cache, strict=strict)
        return hidden, self.logits


class _HeardDrafter:
    """A drafter that keeps the laws [k, V] of what it proposed last; None before it did."""

    def __init__(self, drafter: Drafter) -> None:
        self.laws: mx.array | None = None
        self._drafter = drafter
        self.begin, self.extend, self.trim_to = drafter.begin, drafter.extend, drafter.trim_to

    @property
    def max_depth(self) -> int:
        """See `Drafter.max_depth`."""
        return self._drafter.max_depth

    @property
    def pairs(self) -> int:
        """See `Drafter.pairs`."""
        return self._drafter.pairs

    def propose(
        self, depth: int, shaper: Shaper, history: History | None, key: mx.array | None
    ) -> Draft | None:
        """See `Drafter.propose`."""
        draft = self._drafter.propose(depth, shaper, history, key)
        self.laws = None if draft is None else draft.laws
        return draft


class PrefixReplay:
    """A beginning and the caches that hold all of it but its last token, whatever was tried from there.

    Args:
        target: The model.
        drafter: Who drafts for it; empty.
        ids: The tokens, at least `SHORTEST`.
        chunk: Tokens per forward when it is read.
    """

    def __init__(self, target: Target, drafter: Drafter, ids: Sequence[int], chunk: int) -> None:
        self._target = target
        self._drafter = drafter
        self._ids = ids
        self._chunk = chunk
        self._cache = TokenCache(target.new_layers())
        self._newest = mx.array([])  # the hidden [1, H] of the last cached token

    def read(self) -> Iterator[int]:
        """Forward the beginning, by chunks; gives how many of its tokens are cached after each."""
        self._drafter.begin(self._ids, 0)
        *before, newest, _ = self._ids
        decoder = Decoder(self._target, self._cache, self._drafter, LAW, 0)
        yield from decoder.prefill([*before, newest], 0, self._chunk)
        self._newest = self._target.forward(mx.array([newest], mx.int32), self._cache)
        mx.eval(self._newest)
        self._go_back()

    def compare(self, depth: int, seed: int) -> Comparison:
        """Verify a draft in one forward and token by token, and compare the rows.

        Args:
            depth: Tokens of the draft.
            seed: Of the draws.

        Raises:
            EngineError: NON_FINITE.
        """
        tokens = mx.array([self._ids[-1]], mx.int32)
        draft = None
        if depth := min(depth, self._drafter.max_depth):
            shaper = Shaper(LAW, self._target.vocabulary)
            draft = self._drafter.propose(depth, shaper, None, mx.random.key(seed))
        if draft is not None:
            tokens = mx.concatenate([tokens, draft.tokens])
        found = compare_verified(self._target, self._cache, tokens)
        self._go_back()
        if math.isinf(found.distance):
            raise non_finite(len(self._ids))
        return found

    def draw(self, depth: int, seed: int) -> Cycle:
        """Draft, verify and accept once by the decoding loop, with at most so many drafts.

        Raises:
            EngineError: NON_FINITE.
        """
        target, drafter = _HeardTarget(self._target), _HeardDrafter(self._drafter)
        decoder = Decoder(cast("Target", target), self._cache, drafter, LAW, seed)
        for _ in decoder.prefill(self._ids, len(self._ids) - 1, self._chunk):
            raise ValueError("the beginning was not read")
        decoder.dispatch(min(depth, decoder.max_depth))
        tokens = decoder.read().tokens
        self._go_back()
        rows = target.logits[: len(tokens)].astype(mx.float32)
        laws = Shaper(LAW, self._target.vocabulary).distribution(rows)
        drafted = drafter.laws if drafter.laws is not None else laws[:0]
        return Cycle(tokens, np.array(laws, np.float64), np.array(drafted, np.float64))

    def gap(self, more: Sequence[int], one: int, other: int) -> float:
        """Return by how much one token's logit is above another's, plainly, after the beginning and some more tokens.

        Nothing can be tried from the beginning any more.
        """
        tokens = mx.array([self._ids[-1], *more], mx.int32)
        for token in tokens:
            _, logits = self._target.verify(token[None], self._cache, strict=False)
            mx.eval(logits)
        row = logits[0].astype(mx.float32)
        return cast("float", (row[one] - row[other]).item())

    def _go_back(self) -> None:
        length = len(self._ids) - 1
        self._cache.trim_to(length)
        self._drafter.trim_to(length - 1)
        self._drafter.extend(self._newest, self._ids[-1:])  # a proposal starts from a new pair


def _highest(values: mx.array) -> float:
    return cast("float", mx.max(values).item())


def _best(rows: mx.array) -> mx.array:
    return mx.argmax(rows, axis=-1)
