"""The form holds a chat's settings against what the model's makers recommend."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.settings import ChatSettings
from app.inspector.form import DIALS, SettingsForm
from mtplx_engine.config import SamplerConfig
from tests.support.fake_services import MODEL

FORM = SettingsForm(ChatSettings(), MODEL)
VALUES = st.sampled_from(DIALS).flatmap(
    lambda dial: st.tuples(st.just(dial.name), st.floats(dial.low, dial.high).map(lambda x: round(x, dial.decimals)))
)


def test_untouched_form_shows_what_the_makers_recommend():
    assert FORM.sampler == MODEL.recommended
    assert FORM.changed == ()
    assert not FORM.can_reset
    assert SettingsForm(ChatSettings()).sampler == SamplerConfig()


@given(st.lists(VALUES, max_size=6))
def test_every_value_that_a_dial_allows_is_a_sampler_and_goes_back(changes):
    form = FORM
    for name, value in changes:
        form = dataclasses.replace(form, settings=form.with_value(name, value))
        assert getattr(form.sampler, name) == value
    for name in form.changed:
        form = dataclasses.replace(form, settings=form.without(name))
    assert form.settings == ChatSettings()


@pytest.mark.parametrize("dial", DIALS, ids=lambda dial: dial.name)
def test_dials_reach_both_ends_and_their_off(dial):
    for value in (dial.low, dial.high, *([] if dial.off is None else [dial.off])):
        assert getattr(SettingsForm(FORM.with_value(dial.name, value), MODEL).sampler, dial.name) == value


def test_seed_is_set_and_taken_away():
    with_seed = SettingsForm(FORM.with_value("seed", 2**63 - 1), MODEL)
    assert with_seed.sampler.seed == 2**63 - 1
    assert with_seed.changed == ("seed",)
    assert with_seed.without("seed") == ChatSettings()


def test_reset_keeps_what_the_chat_is_about():
    chosen = ChatSettings(
        model="m", system_prompt="Be brief.", preset="p", drafting=0, context=900, max_tokens=8, thinking=True
    )
    form = SettingsForm(dataclasses.replace(chosen, sampler=SamplerConfig(top_k=3), reads_from="x"), MODEL)
    assert form.can_reset
    assert form.reset() == ChatSettings(model="m", system_prompt="Be brief.", reads_from="x")


def test_context_lengths_end_at_the_window_and_hold_what_was_chosen():
    assert [size for size, _ in FORM.contexts()] == [None, 512, 1024, 2048, 4096]
    assert FORM.contexts()[0][1] == "All of the model’s: 8,192 tokens"
    chosen = SettingsForm(ChatSettings(context=3000), MODEL)
    assert (3000, "3,000 tokens") in chosen.contexts()
    assert [size for size, _ in SettingsForm(ChatSettings()).contexts()] == [None]


def test_context_has_a_price():
    model = dataclasses.replace(MODEL, token_bytes=46_080)
    assert SettingsForm(ChatSettings(), model).context_cost().startswith("Up to 377 MB of memory")
    assert SettingsForm(ChatSettings(context=2048), model).context_cost().startswith("Up to 94 MB")
    too_long = ChatSettings(context=10**6)
    assert SettingsForm(too_long, model).context_cost() == SettingsForm(ChatSettings(), model).context_cost()
    assert FORM.context_cost() == SettingsForm(ChatSettings()).context_cost() == ""


def test_depths_are_those_that_help_and_the_one_that_was_chosen():
    assert [depth for depth, _ in FORM.depths()] == [None, "auto", 0, 1, 2, 3]
    assert SettingsForm(ChatSettings(), MODEL, drafting=2).depths()[0][1] == "As in the menu: Depth 2"
    assert SettingsForm(ChatSettings(drafting=7), MODEL).depths()[-1] == (7, "Depth 7")
    plain = dataclasses.replace(MODEL, max_depth=0)
    assert [depth for depth, _ in SettingsForm(ChatSettings(), plain).depths()] == [None, "auto", 0]
