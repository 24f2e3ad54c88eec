"""Both ways of decoding answer the same prompt with the same number of tokens, and greedily with the same ones."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.bench.methods import MlxLm, Ours
from mtplx_engine.engine import Engine
from tests.support import engine_runs, tiny_folder

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.config import DrafterKind


IDS = [3, 4, 5, 3, 4]
TOKENS = 20
NEVER = threading.Event()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder: Path = tmp_path_factory.mktemp("bench")
    tiny_folder.write(folder)
    engine = Engine()
    engine_runs.load(engine, folder)
    return engine


@pytest.mark.parametrize(("drafter", "depth"), [(None, 0), ("mtp", 3), ("prompt_lookup", 3)])
def test_greedy_answers_are_mlx_lms_and_end_at_the_limit_only(
    engine: Engine, drafter: DrafterKind | None, depth: int
) -> None:
    plain = MlxLm(engine).run(0, IDS, 0.0, TOKENS, NEVER)
    ours = Ours(engine, drafter, depth).run(0, IDS, 0.0, TOKENS, NEVER)
    assert len(plain.tokens) == TOKENS
    assert ours.tokens == plain.tokens
    assert not set(ours.tokens) & engine.model.end_ids


def test_the_prompt_is_read_anew_each_time_and_the_engines_clock_counts(engine: Engine) -> None:
    ours = Ours(engine, "mtp", 2)
    for _ in range(2):
        run = ours.run(0, IDS, 0.7, TOKENS, NEVER)
        assert run is not None
        assert run.stats.cached_tokens == 0
        assert run.stats.decode_tokens < TOKENS
        assert run.stats.decode_s < run.wall_s


def test_a_prompts_answer_repeats(engine: Engine) -> None:
    ours = Ours(engine, "mtp", 2)
    assert ours.run(1, IDS, 0.7, TOKENS, NEVER).tokens == ours.run(1, IDS, 0.7, TOKENS, NEVER).tokens
    assert ours.run(1, IDS, 0.7, TOKENS, NEVER).tokens != ours.run(2, IDS, 0.7, TOKENS, NEVER).tokens


def test_drafter_and_depth_are_the_name(engine: Engine) -> None:
    assert Ours(engine).name == "depth 0"
    assert Ours(engine, "prompt_lookup", 3).name == "prompt_lookup depth 3"
