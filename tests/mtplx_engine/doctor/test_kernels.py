"""The doctor's self-tests pass where all is right, and see what each of them is for."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import pytest

from mtplx_engine import backend
from mtplx_engine.cache.layers import PlainCache
from mtplx_engine.doctor import kernels
from mtplx_engine.doctor.environment import CheckResult
from mtplx_engine.models.target import Target
from tests.support import faults

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
    def half(left: mx.array, weights: mx.array, scales: mx.array, biases: mx.array, **how: object) -> mx.array:
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


def test_a_state_that_keeps_refused_tokens_is_seen(monkeypatch: pytest.MonkeyPatch, targets: list[Target]) -> None:
    faults.state_of_refused_drafts(monkeypatch)
    check = kernels.rollback(targets, POLICY)
    assert check.verdict is CheckResult.FAILED
    assert "--depth 0" in check.detail


def test_keys_that_stay_are_seen(monkeypatch: pytest.MonkeyPatch, targets: list[Target]) -> None:
    monkeypatch.setattr(PlainCache, "trim", lambda self, surplus: None)
    assert kernels.rollback(targets[:1], POLICY).verdict is CheckResult.FAILED
