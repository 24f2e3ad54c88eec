from __future__ import annotations

import pytest

from mtplx_bundle import twin
from tests.support.tiny_app import put


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("home/.local/share/MTPLX/chats/chats.db", True),
        ("home/.local/state/MTPLX/log/app.log", True),
        ("tmp/mlx/kernel.so", True),
        ("output.log", True),
        ("home/.cache/fontconfig/x", False),
        ("home/.local/share/other", False),
        ("home/.local/share/MTPLX2", False),
    ],
)
def test_what_is_written_elsewhere_is_a_fault(tmp_path, name, allowed):
    put(tmp_path / name, b"x")
    assert twin.outside(tmp_path) == ([] if allowed else [f"{name} was written"])
