"""An engine has one model or none, and says what it has."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

import mlx.core as mx
import pytest

from mtplx_engine.config import SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind, LoadCancelledError
from mtplx_engine.ipc.protocol import Generate
from mtplx_engine.models import checkpoint, memory_fit
from mtplx_engine.util import system
from tests.support import tiny_folder
from tests.support.engine_runs import HELLO, NEVER_ENDS, check_error, load, run, tokens_of
from tests.support.tiny_chat import SetAtCheck
from tests.support.tiny_folder import WINDOW

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.util.formatting import Report


def test_the_info_of_a_loaded_model(tiny_path: Path) -> None:
    engine = Engine()
    info = load(engine, tiny_path)
    assert (info.name, info.path, info.context_window) == (
        tiny_path.name,
        str(tiny_path),
        WINDOW,
    )
    assert (info.drafter, info.drafter_note, info.max_depth) == ("mtp", "", 8)
    assert info.recommended == SamplerConfig(temperature=0.6)
    assert info.backend == "CPU, float32, reference BLAS"
    found = checkpoint.check(tiny_path)
    here = system.this_machine()
    footprint = memory_fit.measure_footprint(found.config, found.tensors, found.head, here)
    longer = [memory_fit.judge_fit(footprint, context, here).cache for context in (256, 512)]
    assert info.token_bytes == (longer[1] - longer[0]) // 256 > 0
    assert not info.thinking_switch


def test_an_installed_model_is_found_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "tiny-chat"
    folder.mkdir(parents=True)
    tiny_folder.write(folder)
    info = Engine().load("tiny-chat", tmp_path, lambda *_: None, threading.Event())
    assert info.path == str(folder)


def test_loading_can_be_cancelled_at_every_step(tiny_path: Path) -> None:
    def noting(fractions: list[float]) -> Report:
        return lambda fraction, _: fractions.append(fraction)

    engine = Engine()
    steps: list[float] = []
    engine.load(str(tiny_path), tiny_path, noting(steps), threading.Event())
    assert steps[0] == 0.0
    assert steps == sorted(steps)
    for count in range(len(steps)):
        seen: list[float] = []
        with pytest.raises(LoadCancelledError):
            engine.load(str(tiny_path), tiny_path, noting(seen), SetAtCheck(count))
        assert seen == steps[:count]
        with pytest.raises(EngineError) as caught:
            run(engine)
        check_error(caught, ErrorKind.NO_MODEL, "choose one")
    load(engine, tiny_path)
    assert run(engine)[-1].stats.emitted == 12


def test_a_model_that_does_not_load_leaves_none(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    for model, kind in [(str(tmp_path), ErrorKind.REFUSED), ("no-such-model", ErrorKind.NOT_FOUND)]:
        with pytest.raises(EngineError) as caught:
            engine.load(model, tmp_path, lambda *_: None, threading.Event())
        check_error(caught, kind)
        with pytest.raises(EngineError) as caught:
            run(engine)
        check_error(caught, ErrorKind.NO_MODEL, "choose one")


def test_unloading_returns_the_memory(tiny_path: Path) -> None:
    engine = Engine()
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    load(engine, tiny_path)
    run(engine, speculative_depth=2)
    assert mx.get_active_memory() > before + 500_000
    engine.unload()
    assert mx.get_active_memory() <= before + 10_000
    with pytest.raises(EngineError) as caught:
        run(engine)
    check_error(caught, ErrorKind.NO_MODEL)
    engine.unload()  # twice is no error


def test_an_answer_that_was_left_open_never_reaches_another_model(engine: Engine, tmp_path: Path) -> None:
    sampler = SamplerConfig(temperature=0, logit_bias=NEVER_ENDS, speculative_depth=2)
    left_open = engine.generate(Generate(1, HELLO, sampler, max_tokens=50), threading.Event())
    for _ in range(8):
        next(left_open)
    tiny_folder.write(tmp_path, seed=9)
    load(engine, tmp_path)
    left_open.close()
    events = run(engine, temperature=0, speculative_depth=2)
    assert events[-1].stats.cached_tokens == 0
    engine.forget()
    assert tokens_of(run(engine, temperature=0, speculative_depth=2)) == tokens_of(events)
