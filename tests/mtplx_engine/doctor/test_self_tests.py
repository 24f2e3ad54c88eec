"""The doctor's self-tests pass where all is right, and see what each of them is for."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import mlx.core as mx
import pytest

from mtplx_engine import backend
from mtplx_engine.cache.layers import PlainCache
from mtplx_engine.doctor import environment, kernels
from mtplx_engine.doctor.environment import CheckResult
from mtplx_engine.models.target import Target
from mtplx_engine.util.system import Power, SystemState
from tests.support import faults

if TYPE_CHECKING:
    from mtplx_engine.doctor.environment import Check


POLICY = backend.policy()


@pytest.fixture(scope="module")
def targets() -> list[Target]:
    return kernels.targets(POLICY)


# ---------------------------------------------------------------- numbers


def test_right_products_pass() -> None:
    for check in (kernels.products(POLICY), kernels.packed_products()):
        assert check.verdict is CheckResult.PASSED, check
    assert kernels.device(POLICY).detail.startswith("CPU, float32")


@pytest.mark.parametrize("off", [0.01, float("nan")])
def test_products_that_are_wrong_at_one_width_are_seen(off: float) -> None:
    def wrong(left: mx.array, right: mx.array) -> mx.array:
        return left @ right + (off * 100 if left.shape[0] == 3 else 0)

    check = kernels.products(replace(POLICY, blas="openblas"), wrong)
    assert check.verdict is CheckResult.FAILED
    assert "at 3 rows" in check.detail
    assert "OPENBLAS_CORETYPE" in check.detail


def test_packed_products_in_half_precision_are_seen() -> None:
    def half(
        left: mx.array, weights: mx.array, scales: mx.array, biases: mx.array, **how: object
    ) -> mx.array:
        plain = mx.dequantize(weights, scales, biases, group_size=64, bits=4).astype(mx.bfloat16)
        return (left.astype(mx.bfloat16) @ plain.T).astype(mx.float32)

    assert kernels.packed_products(half).verdict is CheckResult.FAILED


def test_kernels_are_stock_on_a_cpu() -> None:
    check = kernels.kernels(POLICY)
    assert (check.verdict, check.detail[:5]) == (CheckResult.UNKNOWN, "Stock")


def test_the_kernel_of_a_mac_is_held_against_plain_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    metal = replace(POLICY, device="metal")
    monkeypatch.setattr(kernels, "gated_delta_kernel", kernels.gated_delta_ops)
    assert kernels.kernels(metal).verdict is CheckResult.PASSED
    monkeypatch.setattr(
        kernels,
        "gated_delta_kernel",
        lambda *arrays: tuple(1.1 * array for array in kernels.gated_delta_ops(*arrays)),
    )
    assert kernels.kernels(metal).verdict is CheckResult.FAILED


# ---------------------------------------------------------------- decoding


def test_verifying_and_taking_back_are_right_to_the_last_bit(targets: list[Target]) -> None:
    """With the stock BLAS."""
    for check in (kernels.rows(targets, POLICY), kernels.rollback(targets, POLICY)):
        assert check.verdict is CheckResult.PASSED
        assert "to the last bit" in check.detail


def _verify_off_by(monkeypatch: pytest.MonkeyPatch, size: float) -> None:
    verify = Target.verify

    def off(self: Target, tokens: mx.array, *rest: object, **how: object) -> tuple[mx.array, mx.array]:
        hidden, logits = verify(self, tokens, *rest, **how)
        return hidden, logits + size * mx.sin(mx.arange(logits.size).reshape(logits.shape) * tokens.size)

    monkeypatch.setattr(Target, "verify", off)


@pytest.mark.parametrize(
    ("size", "verdict", "words"),
    [
        (1e-5, CheckResult.PASSED, "which is rounding"),
        (0.5, CheckResult.FAILED, "Chances differ by 0."),
        (float("nan"), CheckResult.FAILED, "Chances are no numbers"),
    ],
)
def test_rows_that_depend_on_the_width_are_seen(
    monkeypatch: pytest.MonkeyPatch, targets: list[Target], size: float, verdict: CheckResult, words: str
) -> None:
    _verify_off_by(monkeypatch, size)
    check = kernels.rows(targets, POLICY)
    assert check.verdict is verdict
    assert words in check.detail


def test_a_state_that_keeps_refused_tokens_is_seen(
    monkeypatch: pytest.MonkeyPatch, targets: list[Target]
) -> None:
    faults.state_of_refused_drafts(monkeypatch)
    check = kernels.rollback(targets, POLICY)
    assert check.verdict is CheckResult.FAILED
    assert "--depth 0" in check.detail


def test_keys_that_stay_are_seen(monkeypatch: pytest.MonkeyPatch, targets: list[Target]) -> None:
    monkeypatch.setattr(PlainCache, "trim", lambda self, surplus: None)
    assert kernels.rollback(targets[:1], POLICY).verdict is CheckResult.FAILED


# ---------------------------------------------------------------- environment


def _all_right(*checks: Check) -> bool:
    return all(check.verdict is CheckResult.PASSED for check in checks)


def test_this_environment_is_right() -> None:
    assert _all_right(
        environment.python(), environment.operating_system(), environment.packages(), environment.sqlite()
    )
    assert "mlx-lm 0.32.2" in environment.packages().detail


def test_another_python_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    assert environment.python().verdict is CheckResult.FAILED


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version

    def without_numpy(package: str) -> str:
        if package == "numpy":
            raise importlib.metadata.PackageNotFoundError(package)
        return version(package)

    monkeypatch.setattr(importlib.metadata, "version", without_numpy)
    check = environment.packages()
    assert check.verdict is CheckResult.FAILED
    assert check.detail.startswith("numpy not installed")
    assert "mlx-lm" in check.detail


@pytest.mark.parametrize("version", ["3.46.1", "3.51.2"])
def test_an_old_sqlite_is_seen(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    apsw = SimpleNamespace(sqlite_lib_version=lambda: version)
    monkeypatch.setattr(importlib, "import_module", lambda name: apsw)
    check = environment.sqlite()
    assert check.verdict is CheckResult.FAILED
    assert version in check.detail


def test_conditions_say_unknown_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.conditions, "now", SystemState)
    check = environment.circumstances()
    assert check.verdict is CheckResult.UNKNOWN
    assert check.detail == "Load unknown, power: unknown, Low Power Mode: unknown, heat: unknown."
    told = SystemState(1.25, Power.BATTERY, low_power=True, thermal="nominal")
    monkeypatch.setattr(environment.conditions, "now", lambda: told)
    check = environment.circumstances()
    assert check.verdict is CheckResult.PASSED
    assert check.detail == "Load 1.2, power: battery, Low Power Mode: on, heat: nominal."
