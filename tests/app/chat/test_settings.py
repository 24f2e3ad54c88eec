"""Presets: kept by name, applied to any chat, and kept over a restart."""

from __future__ import annotations

import json

import pytest

from app.chat.settings import (
    NAME_LIMIT,
    ChatSettings,
    Preset,
    clean_name,
    find_preset,
    with_preset,
    with_renamed_preset,
    without_preset,
)
from app.storage.settings import SettingsFile
from mtplx_engine.config import SamplerConfig

CALM = ChatSettings(system_prompt="Be brief.", sampler=SamplerConfig(temperature=0.2), drafting=2, thinking=False)


def test_a_preset_leaves_the_model_and_the_beginning_of_a_chat_alone():
    (preset,) = with_preset((), "Calm", ChatSettings(model="a", reads_from="m1", system_prompt="Be brief."))
    applied = preset.applied_to(ChatSettings(model="b", reads_from="m2", max_tokens=9))
    assert applied == ChatSettings(model="b", reads_from="m2", system_prompt="Be brief.", preset="Calm")
    assert preset.fits(applied)
    assert not preset.fits(ChatSettings(system_prompt="Be long."))


def test_names_are_unique_whatever_their_capitals():
    presets = with_preset(with_preset((), "calm", CALM), "Bold", ChatSettings())
    assert [preset.name for preset in presets] == ["Bold", "calm"]
    presets = with_preset(presets, "Calm", ChatSettings(max_tokens=5))
    assert [preset.name for preset in presets] == ["Bold", "Calm"]
    assert find_preset(presets, "CALM").settings.max_tokens == 5
    presets = with_renamed_preset(presets, "bold", "CALM")
    assert [(preset.name, preset.settings) for preset in presets] == [("CALM", ChatSettings())]
    assert without_preset(presets, "calm") == ()
    with pytest.raises(KeyError):
        with_renamed_preset((), "gone", "new")


@pytest.mark.parametrize(
    ("typed", "name"),
    [("  a \n b ", "a b"), ("x" * 99, "x" * NAME_LIMIT), (" \t", ""), ("x" * 39 + " yz", "x" * 39)],
)
def test_what_is_typed_becomes_a_name(typed, name):
    assert clean_name(typed) == name
    if name:
        assert Preset(clean_name(name), CALM).name == name
    else:
        with pytest.raises(ValueError, match="no name"):
            Preset(name, CALM)


def test_presets_survive_a_restart_and_a_damaged_file(tmp_path):
    SettingsFile(tmp_path).change(presets=with_preset((), "Calm", CALM), new_chat_preset="Calm")
    again = SettingsFile(tmp_path).value
    assert again.presets == (Preset("Calm", CALM),)
    assert again.new_chat_preset == "Calm"
    path = tmp_path / "window.json"
    body = json.loads(path.read_bytes())
    body["presets"][0]["settings"]["sampler"]["temperature"] = 99
    path.write_text(json.dumps(body))
    assert SettingsFile(tmp_path).value.presets == ()
    assert SettingsFile(tmp_path).value.new_chat_preset == "Calm"
