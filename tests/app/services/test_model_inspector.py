"""Installed models are inspected one after the other, and a broken one is no end of it."""

from __future__ import annotations

import pytest

from app.services.model_inspector import ModelInspector
from mtplx_engine.models.inspection import Tier
from tests.support import model_folder


@pytest.fixture
def inspector(qapp, tmp_path):
    made = ModelInspector(tmp_path)
    yield made
    made.close()
    made.deleteLater()


def test_each_sound_folder_is_told_of(inspector, tmp_path, qtbot):
    told = []
    inspector.inspected.connect(lambda folder, found: told.append((folder.name, found.tier)))
    good, bad = tmp_path / "good", tmp_path / "bad"
    for folder in (good, bad):
        folder.mkdir()
        model_folder.write(folder)
    (bad / "model.safetensors").write_bytes(b"nothing")
    inspector.inspect((tmp_path / "gone", bad, good))
    qtbot.waitUntil(lambda: [name for name, _ in told] == ["bad", "good"])
    assert dict(told)["bad"] is Tier.REFUSED
    assert dict(told)["good"] in (Tier.UNVERIFIED, Tier.NO_HEAD)


def test_after_the_end_nothing_is_told(inspector, tmp_path, qtbot):
    model_folder.write(tmp_path)
    inspector.inspect((tmp_path, tmp_path))
    with qtbot.assertNotEmitted(inspector.inspected, wait=50):
        inspector.close()
