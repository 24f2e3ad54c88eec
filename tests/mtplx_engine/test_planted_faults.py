"""The statistics of `test_statistics.py` see what they are for: each planted fault is wrong within 2000 answers.

A fault is planted by replacing production functions; then the same test runs on cases of the same kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine.config import SamplerConfig
from tests.support import faults, toy_answers
from tests.support.loop_case import Case, run

if TYPE_CHECKING:
    from tests.support.faults import Plant


STAGES, LEAST = (400, 1000, 2000), 1000
CASE = Case(SamplerConfig(temperature=0.7, speculative_depth=2))
COLD = Case(SamplerConfig(temperature=faults.DRAFT_TEMPERATURE, speculative_depth=2))
DEEP = Case(SamplerConfig(temperature=1.0, speculative_depth=3))
PENALISED = Case(SamplerConfig(temperature=1.0, frequency_penalty=2.0, speculative_depth=2), "distorted")


@pytest.mark.parametrize(
    ("plant", "case"),
    [
        (faults.no_residual, CASE),
        (faults.bonus_from_q, CASE),
        (faults.row_off_by_one, CASE),
        (faults.rollback_off_by_one, CASE),
        (faults.draft_temperature_ignored, COLD),
        (faults.forced_accept, CASE),
        (faults.argmax_accept, CASE),
        (faults.shared_uniform, DEEP),
        (faults.stale_key, CASE),
        (faults.penalties_blind_to_drafts, PENALISED),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_planted_fault_is_called_wrong(monkeypatch: pytest.MonkeyPatch, plant: Plant, case: Case) -> None:
    plant(monkeypatch)
    outcome = run(case, STAGES, LEAST).outcome
    print(outcome)
    assert outcome.wrong, outcome


@pytest.mark.long
@pytest.mark.parametrize("plant", [faults.state_of_refused_drafts, faults.no_residual])
def test_planted_fault_is_seen_in_the_trained_toys_answers(monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant(monkeypatch)
    config = SamplerConfig(temperature=0.4, speculative_depth=2)
    result, _ = toy_answers.run("The name of the file", config, STAGES, LEAST)
    assert result.outcome.wrong, result.outcome


@pytest.mark.long
@pytest.mark.parametrize("case", [CASE, COLD, DEEP, PENALISED], ids=["plain", "cold", "deep", "penalised"])
def test_without_a_fault_the_same_case_is_fine(case: Case) -> None:
    outcome = run(case, STAGES, LEAST).outcome
    print(outcome)
    assert not outcome.wrong, outcome
