"""How much of a machine's memory models can take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import limits
from mtplx_engine.models import machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("memory", "share"), [(8, 16 / 3), (24, 16), (36, 27), (128, 96)])
def test_macos_gives_metal_its_own_share(memory: int, share: float) -> None:
    found = machine.mac(memory << 30, ask=lambda _: None)
    assert found.limit == pytest.approx(share * (1 << 30), rel=1e-6)
    assert (found.memory, found.packed, found.item, found.chunk) == (
        memory << 30,
        True,
        2,
        limits.METAL_CHUNK,
    )
    assert machine.mac(memory << 30, ask=lambda _: 0).limit == found.limit  # as it was never set


def test_the_person_may_have_set_another(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    found = machine.mac(16 << 30, ask=lambda name: asked.append(name) or 12_000)
    assert (found.limit, asked) == (12_000 << 20, ["iogpu.wired_limit_mb"])
    monkeypatch.setattr(sys, "platform", "darwin")
    assert machine.this().packed


def test_elsewhere_all_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    found = machine.this()
    assert found.limit == found.memory > 1 << 28
    assert (found.packed, found.item, found.chunk) == (False, 4, limits.CPU_CHUNK)


def test_a_number_that_nobody_keeps_is_none() -> None:
    assert machine.sysctl("no.such.name") is None


def test_the_processor_is_named_where_the_system_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    listed = tmp_path / "cpuinfo"
    listed.write_text(
        "processor\t: 0\nmodel name\t: Made Up 3000: fast\nprocessor\t: 1\nmodel name\t: Other\n"
    )
    assert machine.chip(listed) == "Made Up 3000: fast"
    listed.write_text("processor\t: 0\nBogoMIPS\t: 50\n")
    assert machine.chip(listed) == ""
    assert machine.chip(tmp_path / "nothing") == ""
