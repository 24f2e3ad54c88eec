"""A whole measurement of a tiny model: what it holds, where it can be cancelled, what it refuses."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.bench import benchmark
from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import Measure, Measured, TrialProgress
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import PromptKind
from mtplx_engine.measure.store import MeasurementStore
from mtplx_engine.models import memory_fit
from tests.support import engine_runs, tiny_folder
from tests.support.engine_runs import check_error

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.measure.measurement import Measurement


KINDS = (PromptKind.CODE, PromptKind.LANGUAGE)
REQUEST = Measure(7, KINDS, context=160, tokens=16, pairs=3, depths=(2, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("measured")
    tiny_folder.write(folder)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    engine = Engine()
    engine_runs.load(engine, folder)
    return engine


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtplx_engine.bench.benchmark.PAUSE_S", 0.0)


def run(engine: Engine, cancelled: threading.Event, **changes: Any) -> list[TrialProgress | Measured]:
    return list(benchmark.measure(engine, dataclasses.replace(REQUEST, **changes), cancelled))


def measured(engine: Engine, **changes: Any) -> Measurement:
    *told, last = run(engine, threading.Event(), **changes)
    assert all(isinstance(event, TrialProgress) for event in told)
    assert isinstance(last, Measured)
    assert {event.generation for event in (*told, last)} == {REQUEST.generation}
    fractions = [event.fraction for event in told]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] < 1
    return last.measurement


def test_a_measurement_holds_every_run_and_is_kept(engine: Engine, folder: Path) -> None:
    found = measured(engine)
    assert [run.pair for run in found.runs] == sorted(3 * list(range(6)))
    assert {(run.pair, run.depth) for run in found.runs} == {(pair, depth) for pair in range(6) for depth in range(3)}
    kinds = {run.pair: run.kind for run in found.runs}
    assert list(kinds.values()) == [*KINDS, *KINDS, *KINDS]
    assert len({run.prompt for run in found.runs}) == 6
    assert {run.stats.emitted for run in found.runs} == {16}
    lengths = {run.stats.prompt_tokens for run in found.runs}
    assert 130 <= min(lengths) <= max(lengths) <= 160 - 16
    assert all(run.stats.cached_tokens == 0 for run in found.runs)
    assert all(run.identical is (True if run.depth else None) for run in found.runs)
    assert min(run.peak_bytes for run in found.runs) > 100_000  # the weights alone
    assert found.cross_check is not None
    assert found.cross_check.pairs == 3
    assert [curve.context for curve in found.curves] == [
        256,
        tiny_folder.WINDOW - 9,
    ]  # 8 more and the next fit
    assert found.subject.key == engine.info.speed_key
    assert (found.kinds, found.context, found.tokens, found.temperature) == (KINDS, 160, 16, 0.0)
    assert MeasurementStore(folder).latest(engine.info.speed_key) == found
    assert [result.depth for result in results.results_of(found).depths] == [1, 2]


def test_sampled_answers_are_measured_too(engine: Engine) -> None:
    found = measured(engine, temperature=0.8, kinds=(PromptKind.CHAT,), depths=(1,))
    assert {run.identical for run in found.runs} == {None}
    assert len({run.stats.seed for run in found.runs}) == 3  # one a pair


def test_more_pairs_than_prompts_ask_the_same_again(engine: Engine) -> None:
    found = measured(engine, kinds=(PromptKind.MATHS,), pairs=4, depths=(1,))
    assert [run.prompt for run in found.runs if not run.depth] == ["maths-1", "maths-2", "maths-3", "maths-1"]


def test_the_depths_are_by_default_those_that_auto_chooses_among(engine: Engine) -> None:
    assert measured(engine, kinds=(PromptKind.CHAT,), depths=()).depths == (1, 2, 3, 4)


@pytest.mark.parametrize("at", [1, 15, 60, 130, 190, 240, 300])
def test_it_can_be_cancelled_at_any_forward(engine: Engine, monkeypatch, at: int, folder: Path) -> None:
    """Those of the curves, of prefills and of answers, mlx-lm's included: they all go through the first layer."""
    layer = type(engine.model.target.model.layers[0])
    call, cancelled, count = layer.__call__, threading.Event(), 0

    def counted(*args: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        if count == 2 * at:  # of two layers
            cancelled.set()
        return call(*args, **more)

    monkeypatch.setattr(layer, "__call__", counted)
    before = MeasurementStore(folder).stamp()
    events = run(engine, cancelled, kinds=(PromptKind.CHAT,))
    assert cancelled.is_set()
    assert all(isinstance(event, TrialProgress) for event in events)
    assert count <= 2 * at + 10  # the forward that was queued, and drafts on their way
    assert MeasurementStore(folder).stamp() == before


def test_the_model_answers_after_a_measurement_as_before(engine: Engine) -> None:
    before = engine_runs.text_of(engine_runs.run(engine, temperature=0.0))
    measured(engine, kinds=(PromptKind.CHAT,), depths=(1,))
    assert engine_runs.text_of(engine_runs.run(engine, temperature=0.0)) == before


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"pairs": 2}, ErrorKind.BAD_REQUEST, "take 3 or more"),
        ({"context": 513}, ErrorKind.CONTEXT_OVERFLOW, "reads at most 512"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_a_sentence(
    engine: Engine, changes: dict[str, Any], kind: ErrorKind, words: str
) -> None:
    with pytest.raises(EngineError) as caught:
        run(engine, threading.Event(), **changes)
    check_error(caught, kind, words)


def test_a_context_beyond_the_memory_is_refused_but_not_the_usual_one(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual one was judged when the model was loaded, perhaps anyway."""
    monkeypatch.setattr(memory_fit.Fit, "verdict", memory_fit.MemoryVerdict.TOO_BIG)
    monkeypatch.setattr(memory_fit, "CONTEXT", 100)
    with pytest.raises(EngineError) as caught:
        run(engine, threading.Event())
    check_error(caught, ErrorKind.TOO_BIG, "160 tokens of context", "Measure with fewer")
    monkeypatch.setattr(memory_fit, "CONTEXT", 160)
    assert measured(engine, kinds=(PromptKind.CHAT,), depths=(1,)).context == 160


def test_a_model_that_nothing_drafts_for_is_refused_with_its_note(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path, head=False)
    engine = Engine()
    info = engine_runs.load(engine, tmp_path)
    with pytest.raises(EngineError) as caught:
        run(engine, threading.Event())
    check_error(caught, ErrorKind.UNSUPPORTED, info.drafter_note)


def test_without_a_model_nothing_is_measured() -> None:
    with pytest.raises(EngineError) as caught:
        run(Engine(), threading.Event())
    check_error(caught, ErrorKind.NO_MODEL)
