"""The check of exactness passes a right engine bit for bit and finds each kind of fault in a wrong one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import mlx.core as mx
import pytest

from mtplx_engine import acceptance, decoding
from mtplx_engine.bench import exactness
from mtplx_engine.bench.prefix import Draws, PrefixReplay, prompt_prefixes
from mtplx_engine.bench.prompts import PROMPTS
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import USUAL_SAMPLES, Checked, CheckExactness, TrialProgress
from mtplx_engine.measure.results import CHANCE, ODD, Exactness, judge_exactness
from mtplx_engine.models.target import Target
from tests.support import engine_runs, faults, tiny_folder
from tests.support.engine_runs import check_error
from tests.support.toy import TOY

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.acceptance import DraftVerdict
    from mtplx_engine.measure.measurement import ExactnessReport
    from tests.support.faults import Plant


def _check(engine: Engine, prefixes: int, samples: int) -> ExactnessReport:
    *_, last = exactness.check(engine, CheckExactness(7, prefixes, samples), threading.Event())
    assert isinstance(last, Checked)
    assert last.generation == 7
    return last.report


@pytest.fixture(autouse=True)
def _the_same_draws_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactness.secrets, "randbits", lambda _: 2)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    engine = Engine()
    engine.load(str(TOY), tmp_path_factory.mktemp("data"), lambda *_: None, threading.Event())
    return engine


def test_a_right_engine_is_identical(engine: Engine) -> None:
    """With the stock BLAS the rows of a product do not depend on how many there are."""
    report = _check(engine, 4, 122)
    assert judge_exactness(report) is Exactness.IDENTICAL, report
    assert (report.prefixes, report.rows, report.first_choices) == (4, 16, 16)
    assert (report.greedy_prefixes, report.greedy_same, report.greedy_ties) == (4, 4, 0)
    assert (report.samples, report.depth) == (122, 3)
    assert report.tokens_at[0] == 122  # each cycle begins with a draft
    assert report.p_value > ODD
    assert report.subject.key == engine.info.speed_key


def test_a_trained_hybrid_is_identical(toy: Engine) -> None:
    report = _check(toy, 2, 60)
    assert judge_exactness(report) is Exactness.IDENTICAL, report
    assert report.p_value is not None


def _too_generous(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft is kept with min(1, 2 p/q)."""
    monkeypatch.setattr(acceptance, "acceptance_probability", lambda p, q: mx.minimum(2 * p / q, 1))


def _kept_from_the_second_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draft but the first of a cycle is kept."""
    right = acceptance.acceptance_probability

    def faulty(p: mx.array, q: mx.array) -> mx.array:
        return mx.where(mx.arange(p.size) > 0, 1, right(p, q))

    monkeypatch.setattr(acceptance, "acceptance_probability", faulty)


def _bonus_from_the_row_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bonus token is drawn from the row of the last draft."""
    right = acceptance.accept

    def faulty(p: mx.array, q: mx.array, drafts: mx.array, *draws: mx.array) -> DraftVerdict:
        return right(mx.concatenate([p[:-1], p[-2:-1]]) if drafts.size else p, q, drafts, *draws)

    monkeypatch.setattr(decoding, "accept", faulty)


@pytest.mark.parametrize(
    ("plant", "samples", "seed"),
    [
        (_too_generous, 700, 2),
        (faults.no_residual, 520, 3),
        (_kept_from_the_second_on, 480, 2),
        (_bonus_from_the_row_before, 120, 2),
        (faults.bonus_from_q, 120, 2),
        (faults.forced_accept, 120, 2),
        (faults.argmax_accept, 120, 2),
        (faults.row_off_by_one, 120, 2),
    ],
)
def test_a_wrong_acceptance_rule_is_found_by_the_draws(
    toy: Engine, monkeypatch: pytest.MonkeyPatch, plant: Plant, samples: int, seed: int
) -> None:
    """By fewer draws than are usual, of which more follow where the first are odd."""
    monkeypatch.setattr(exactness.secrets, "randbits", lambda _: seed)
    plant(monkeypatch)
    report = _check(toy, 4, samples)
    assert judge_exactness(report) is Exactness.DIFFERENT, report
    assert report.p_value < CHANCE
    assert report.distance < report.allowed
    assert report.greedy_same == report.greedy_prefixes
    assert samples < USUAL_SAMPLES


def test_odd_draws_are_followed_by_more_until_the_last_look(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Draws, "p_value", lambda _: 1e-3)
    report = _check(engine, 2, 4)
    assert report.samples == 4 * (1 + 3 + 12)
    assert report.p_value == pytest.approx(3e-3)
    assert judge_exactness(report) is Exactness.ODD
    monkeypatch.setattr(Draws, "p_value", lambda draws: 1e-3 if sum(draws.counts) < 10 else 0.3)
    report = _check(engine, 2, 4)
    assert report.samples == 16
    assert judge_exactness(report) is Exactness.IDENTICAL


def test_a_wrong_rollback_is_found_by_the_answers(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    faults.rollback_off_by_one(monkeypatch)
    report = _check(engine, 2, 2)
    assert judge_exactness(report) is Exactness.DIFFERENT, report
    assert report.greedy_same + report.greedy_ties < report.greedy_prefixes


def test_a_wrong_state_is_found_by_the_rows(toy: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    faults.state_of_refused_drafts(monkeypatch)
    report = _check(toy, 2, 2)
    assert judge_exactness(report) is Exactness.DIFFERENT, report
    assert report.distance > report.allowed


def _plant_rounding(monkeypatch: pytest.MonkeyPatch, size: float) -> None:
    """Rows of wider forwards are off by up to so much, each entry in a way of its own."""
    verify = Target.verify

    def rounded(self: Target, tokens: mx.array, cache: object, *, strict: bool) -> tuple[mx.array, mx.array]:
        hidden, logits = verify(self, tokens, cache, strict=strict)
        if tokens.size > 1:
            logits = logits + size * mx.sin(mx.arange(logits.size).reshape(logits.shape))
        return hidden, logits

    monkeypatch.setattr(Target, "verify", rounded)


@pytest.mark.parametrize(("size", "word"), [(1e-5, Exactness.ROUNDING), (0.5, Exactness.DIFFERENT)])
def test_rounding_is_told_from_a_fault_by_its_size(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, size: float, word: Exactness
) -> None:
    _plant_rounding(monkeypatch, size)
    report = _check(engine, 3, 100)
    assert judge_exactness(report) is word, report
    assert report.logit_distance == pytest.approx(size, rel=0.01)
    assert 0 < report.distance <= size


def test_greedy_answers_may_part_at_a_tie_and_nowhere_else(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain choice is better by `gap` where the answers part; the rows are off by 1e-4."""
    _plant_rounding(monkeypatch, 1e-4)
    faults.rollback_off_by_one(monkeypatch)
    monkeypatch.setattr(PrefixReplay, "gap", lambda *_: 3.9e-4)
    report = _check(engine, 2, 100)
    assert report.greedy_ties == report.greedy_prefixes - report.greedy_same > 0
    assert judge_exactness(report) is Exactness.ROUNDING
    monkeypatch.setattr(PrefixReplay, "gap", lambda *_: 4.1e-4)
    assert judge_exactness(_check(engine, 2, 2)) is Exactness.DIFFERENT


def test_the_gap_is_that_of_the_plain_row(engine: Engine) -> None:
    ids = [*range(40, 52)]
    replay = PrefixReplay(engine.model.target, engine.drafters().new("mtp"), ids, 64)
    list(replay.read())
    cache = TokenCache(engine.model.target.new_layers())
    _, rows = engine.model.target.verify(mx.array([*ids, 60, 61], mx.int32), cache, strict=True)
    expected = (rows[-1, 5] - rows[-1, 9]).item()
    assert replay.gap([60, 61], 5, 9) == pytest.approx(expected, abs=1e-5)


# ---------------------------------------------------------------- prompt_prefixes


def test_beginnings_are_of_all_kinds_and_of_many_lengths() -> None:
    found = list(prompt_prefixes(40, lambda text: list(range(len(text))), 200))
    assert len({len(ids) for ids in found}) > 20
    assert len(found[0]) == min(200, len(PROMPTS[0].text))
    assert all(2 <= len(ids) <= 200 for ids in found)
    shares = [len(ids) / len(PROMPTS[n % len(PROMPTS)].text) for n, ids in enumerate(found) if len(ids) < 200]
    assert min(shares) > 0.45
    assert list(prompt_prefixes(1, lambda text: [1, 2, 3], 200)) == [[1, 2, 3]]


# ---------------------------------------------------------------- progress and ends


def test_progress_grows_and_says_where_it_is(engine: Engine) -> None:
    *progress, _ = exactness.check(engine, CheckExactness(7, 3, 9), threading.Event())
    assert all(isinstance(event, TrialProgress) and event.generation == 7 for event in progress)
    fractions = [event.fraction for event in progress]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < 0.1
    assert 0.9 < fractions[-1] <= 1
    assert progress[0].left_s is None
    assert progress[-1].left_s is not None
    assert progress[-1].what == "beginning 3 of 3"


def test_a_cancelled_check_ends_at_the_next_forward(engine: Engine) -> None:
    cancelled = threading.Event()
    events = []
    for event in exactness.check(engine, CheckExactness(7, 50, 5000), cancelled):
        events.append(event)
        if len(events) == 30:
            cancelled.set()
    assert len(events) == 30
    assert all(isinstance(event, TrialProgress) for event in events)
    assert engine_runs.run(engine)[-1].stats.cached_tokens == 0


@pytest.mark.parametrize(("prefixes", "samples"), [(0, 10), (10, 0), (-1, 5)])
def test_numbers_that_show_nothing(engine: Engine, prefixes: int, samples: int) -> None:
    with pytest.raises(EngineError) as caught:
        _check(engine, prefixes, samples)
    check_error(caught, ErrorKind.BAD_REQUEST, str(prefixes), str(samples))


def test_a_model_that_nothing_drafts_for(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path, head=False)
    engine = Engine()
    engine_runs.load(engine, tmp_path)
    with pytest.raises(EngineError) as caught:
        _check(engine, 1, 1)
    check_error(caught, ErrorKind.UNSUPPORTED, "no drafting head")
    engine.unload()
    with pytest.raises(EngineError) as caught:
        _check(engine, 1, 1)
    check_error(caught, ErrorKind.NO_MODEL)
