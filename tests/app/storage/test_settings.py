"""Settings survive a restart, and a damaged file costs only what is damaged in it."""

from __future__ import annotations

import json

import pytest

from app.storage.settings import Settings, SettingsFile, WindowGeometry


def test_kept_over_a_restart(tmp_path):
    first = SettingsFile(tmp_path / "not" / "there yet")
    assert first.value == Settings()
    first.change(place=WindowGeometry(1, 2, 900, 700), drafting=3, last_chat="abc")
    first.change(sidebar=False)
    again = SettingsFile(tmp_path / "not" / "there yet").value
    assert again == Settings(WindowGeometry(1, 2, 900, 700), sidebar=False, drafting=3, last_chat="abc")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000])
def test_unreadable_file_gives_defaults_and_is_replaced(tmp_path, content):
    (tmp_path / "window.json").write_bytes(content)
    settings = SettingsFile(tmp_path)
    assert settings.value == Settings()
    settings.change(drafting=0)
    assert SettingsFile(tmp_path).value.drafting == 0


def test_each_field_stands_for_itself(tmp_path):
    body = {
        "place": {"x": "left"},
        "sidebar": False,
        "drafting": True,
        "last_chat": "abc",
        "from a later version": 1,
    }
    (tmp_path / "window.json").write_text(json.dumps(body))
    assert SettingsFile(tmp_path).value == Settings(sidebar=False, last_chat="abc")


@pytest.mark.parametrize(
    "field",
    [
        {"drafting": 99},
        {"drafting": -1},
        {"place": {"x": 10**20, "y": 0, "width": 800, "height": 600}},
        {"place": {"x": 0, "y": 0, "width": -(10**9), "height": 600}},
    ],
)
def test_a_number_out_of_range_counts_for_nothing(tmp_path, field):
    (tmp_path / "window.json").write_text(json.dumps({"sidebar": False, **field}))
    assert SettingsFile(tmp_path).value == Settings(sidebar=False)


def test_folder_that_cannot_be_written_keeps_the_choice_for_now(tmp_path):
    (tmp_path / "file").write_text("in the way")
    settings = SettingsFile(tmp_path / "file")
    settings.change(drafting=2)
    assert settings.value.drafting == 2
