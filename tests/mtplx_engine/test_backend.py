"""The policy of this machine, the choice of BLAS by process, and the policies of Macs by name of their GPU."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mtplx_engine import backend

_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the BLAS is chosen on Linux only")
_REPORT = """
import json, sys
from mtplx_engine import backend
{prepare}
import mlx.core as mx
policy = backend.policy()
product = (mx.ones((3, 64)) @ mx.ones((64, 5))).tolist()
maps = open("/proc/self/maps").read()
print(json.dumps([policy.blas, policy.description, policy.prefill_chunk, policy.width_multiple,
                  product == [[64.0] * 5] * 3, "libopenblas" in maps]))
"""


def report(prepare: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", _REPORT.format(prepare=prepare)], capture_output=True, text=True, check=True
    )
    result: list[object] = json.loads(done.stdout)
    return result


@_LINUX
def test_openblas_is_put_in_front_when_it_is_prepared() -> None:
    assert report("backend.prepare()") == ["openblas", "CPU, float32, OpenBLAS", 64, 4, True, True]


@_LINUX
@pytest.mark.parametrize("prepare", ["", "backend.prepare(openblas=False)"])
def test_otherwise_the_wheels_own_blas_stays(prepare: str) -> None:
    assert report(prepare) == ["stock", "CPU, float32, reference BLAS", 16, 1, True, False]


@_LINUX
def test_preparing_after_mlx_is_too_late() -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        report("import mlx.core; backend.prepare()")
    assert "before mlx is imported" in caught.value.stderr


@pytest.mark.parametrize(
    ("architecture", "dtype"),
    [
        ("applegpu_g13s", "float16"),
        ("applegpu_g14d", "float16"),
        ("applegpu_g15g", "bfloat16"),
        ("applegpu_g17s", "bfloat16"),
        ("something else", "bfloat16"),
    ],
)
def test_macs_keep_quantized_weights_and_the_oldest_run_in_float16(architecture: str, dtype: str) -> None:
    policy = backend.metal_policy(architecture)
    assert policy.keep_quantized
    assert policy.dtype == dtype
    assert policy.description == f"Metal, {dtype}"
    assert policy.width_multiple == 1
