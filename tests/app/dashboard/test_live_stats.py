"""The live figures of scripted answers whose true figures are known, in every state, and the words for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.metrics import LiveMeter
from app.dashboard import live_panel
from app.dashboard.live_stats import SECONDS, STALE_S, LiveState, LiveStats, RateWindow
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.ipc.protocol import DepthChosen, DepthReason, Failed, Finished, PrefillProgress
from mtplx_engine.stats import DecodeStats, FinishReason
from mtplx_engine.util.system import Power, SystemState

START = 1000.0  # what the clock shows when the first token comes


def write(figures, kept, *, generation=1, drafted=3, every=0.05, start=START, meter=None):
    """Let an answer accept so many tokens in each cycle; return when the last one came."""
    meter = meter or LiveMeter()
    for index, accepted in enumerate(kept):
        meter.add(at_s=2.0 + index * every, tokens=1 + accepted, drafted=drafted, accepted=accepted)
        figures.follow(generation, meter, start + index * every)
    return start + (len(kept) - 1) * every


def finish(figures, now, *, generation=1, **stats):
    figures.finish(Finished(generation, FinishReason.END, DecodeStats(**stats)), now)


def fail(figures, now, generation=1):
    figures.fail(Failed(ErrorInfo(ErrorKind.NON_FINITE, "It broke."), generation), now)


def test_nothing_is_known_before_the_first_answer():
    reading = LiveStats().reading(START)
    assert reading.state is LiveState.NO_DATA
    assert (reading.speed, reading.depth, reading.prompt, reading.footprint) == (None, None, None, None)
    assert set(reading.speeds) == {None}
    tiles = (
        live_panel.speed_tile(reading),
        live_panel.length_tile(reading.stats),
        live_panel.acceptance_tile(reading.stats),
    )
    assert [tile.value for tile in tiles] == ["–", "–", "–"]
    assert live_panel.memory_text(reading.footprint) == "–"


def test_an_answer_of_known_figures():
    # 200 cycles in 9.95 s, each drafts 3 and keeps 3, 1, 0, 2 in turn: 2.5 tokens a step, half of the drafts kept.
    figures = LiveStats()
    now = write(figures, [3, 1, 0, 2] * 50)
    reading = figures.reading(now)
    assert reading.state is LiveState.LIVE
    assert reading.speed == pytest.approx(50, rel=0.03)
    assert reading.stats.accepted_at == (150, 100, 50)
    assert reading.stats.verify_steps == 200
    assert live_panel.length_tile(reading.stats).value == "2.5 per step"
    assert live_panel.length_tile(reading.stats).caption == "of 4.0 at most, 200 steps"
    assert live_panel.acceptance_tile(reading.stats).value == "50 %"
    assert live_panel.acceptance_tile(reading.stats).caption == "accepted, 300 of 600 drafted"


@given(st.lists(st.integers(0, 5).flatmap(lambda k: st.tuples(st.just(k), st.integers(0, k))), min_size=1))
def test_what_was_accepted_at_each_position_sums_up(cycles):
    figures, meter = LiveStats(), LiveMeter()
    for index, (drafted, accepted) in enumerate(cycles):
        write(figures, [accepted], drafted=drafted, start=START + index, meter=meter)
    stats = figures.reading(START + len(cycles)).stats
    assert sum(stats.accepted_at) == stats.accepted == sum(accepted for _, accepted in cycles)
    assert stats.verify_steps + stats.plain_steps == len(cycles)
    assert stats.emitted == len(cycles) + stats.accepted
    assert list(stats.accepted_at) == sorted(stats.accepted_at, reverse=True)
    if stats.verify_steps:
        assert 1 <= stats.mean_acceptance_length <= 1 + stats.drafted / stats.verify_steps


@pytest.mark.parametrize(("steps", "few"), [(49, True), (50, False)])
def test_fewer_than_fifty_steps_are_few(steps, few):
    figures = LiveStats()
    stats = figures.reading(write(figures, [1] * steps)).stats
    assert live_panel.length_tile(stats).few is live_panel.acceptance_tile(stats).few is few
    assert ("only" in live_panel.length_tile(stats).caption) is few


def test_zero_acceptance_is_a_figure_and_no_drafting_is_none():
    figures = LiveStats()
    stats = figures.reading(write(figures, [0] * 60)).stats
    assert live_panel.acceptance_tile(stats).value == "0 %"
    assert live_panel.length_tile(stats).value == "1.0 per step"
    stats = figures.reading(write(figures, [0] * 60, generation=2, drafted=0)).stats
    assert live_panel.acceptance_tile(stats).value == "–"


def test_the_end_has_the_figures_of_the_engine():
    """Tokens that a stop string cut were told of, and are not credited."""
    figures = LiveStats()
    now = write(figures, [3] * 100)
    finish(
        figures,
        now,
        emitted=380,
        verify_steps=100,
        drafted=300,
        accepted=280,
        accepted_at=(95, 94, 91),
        decode_s=5.0,
        decode_tokens=376,
    )
    reading = figures.reading(now + 5)
    assert reading.state is LiveState.LAST
    assert reading.speed == pytest.approx(75.2)
    assert reading.stats.accepted == 280
    assert live_panel.state_text(reading, "Toy") == "Last answer, just now"


def test_the_last_answer_grows_old_and_belongs_to_its_model():
    figures = LiveStats()
    finish(figures, write(figures, [1] * 60), emitted=120)
    assert figures.reading(START + STALE_S - 60).state is LiveState.LAST
    later = figures.reading(START + STALE_S + 60)
    assert later.state is LiveState.STALE
    assert live_panel.state_text(later, "Toy") == "An earlier answer, 10 minutes ago"
    figures.change_model()
    assert figures.reading(START + 10).state is LiveState.STALE
    write(figures, [1], generation=2)
    assert figures.reading(START + 10).state is LiveState.LIVE


def test_an_answer_without_a_token_leaves_the_one_before_in_place():
    figures = LiveStats()
    finish(figures, write(figures, [1] * 60), emitted=120)
    figures.read_prompt(PrefillProgress(2, 10, 5000, 0), START + 20)
    fail(figures, START + 21, generation=2)
    figures.read_prompt(PrefillProgress(3, 10, 5000, 0), START + 22)
    finish(figures, START + 23, generation=3)
    reading = figures.reading(START + 24)
    assert (reading.state, reading.stats.emitted) == (LiveState.LAST, 120)


def test_an_answer_that_failed_keeps_what_was_counted():
    figures = LiveStats()
    now = write(figures, [1] * 60)
    fail(figures, now, generation=9)  # of something else
    assert figures.reading(now).state is LiveState.LIVE
    fail(figures, now)
    reading = figures.reading(now + 1)
    assert (reading.state, reading.stats.emitted) == (LiveState.LAST, 120)


# ---------------------------------------------------------------- the prompt


def test_reading_a_prompt_takes_as_long_as_it_has_taken():
    figures = LiveStats()
    figures.read_prompt(PrefillProgress(1, 1000, 9000, 1000), START)
    assert live_panel.prompt_text(figures.reading(START)) == "Reading 1,000 of 9,000 tokens"
    figures.read_prompt(PrefillProgress(1, 3000, 9000, 1000), START + 2)
    reading = figures.reading(START + 2)
    assert reading.prompt.left_s == pytest.approx(6)  # 1,000 tokens a second; those of the cache took no time
    assert live_panel.state_text(reading, "Toy") == "Reading 3,000 of 9,000 tokens, about 6 s left"
    write(figures, [1], start=START + 9)
    assert figures.reading(START + 9).prompt is None


def test_nothing_is_said_of_a_prompt_that_is_read():
    figures = LiveStats()
    figures.read_prompt(PrefillProgress(1, 9, 9, 0), START)
    assert live_panel.prompt_text(figures.reading(START)) == ""


# ---------------------------------------------------------------- the last minute


def test_the_strip_has_the_speed_of_each_second_and_gaps_between_answers():
    figures = LiveStats()
    end = write(figures, [1] * 200)  # 40 tok/s for 10 s
    finish(figures, end, emitted=400)
    end = write(figures, [0] * 100, generation=2, start=START + 30)  # 20 tok/s for 5 s
    speeds = figures.reading(end).speeds
    assert len(speeds) == SECONDS
    at = {second: speeds[second - (int(end) - SECONDS + 1)] for second in range(int(START), int(end) + 1)}
    assert [at[1000 + second] for second in range(1, 10)] == pytest.approx([40] * 9, rel=0.05)
    assert {at[1000 + second] for second in range(11, 30)} == {None}
    assert at[1034] == pytest.approx(20, rel=0.05)
    assert set(figures.reading(end + SECONDS).speeds) == {None}


def test_a_slow_model_does_not_stop_between_its_tokens():
    figures = LiveStats()
    end = write(figures, [0] * 12, every=2.5)
    speeds = figures.reading(end).speeds
    known = [speed for speed in speeds if speed is not None]
    assert known == pytest.approx([0.4] * len(known))
    assert len(known) >= 7
    assert speeds.index(known[0]) + len(known) == SECONDS  # in one piece


def test_a_wait_after_the_newest_token_is_a_gap():
    figures = LiveStats()
    end = write(figures, [1] * 100)
    assert figures.reading(end + 10).speeds[-9:] == (None,) * 9


@given(st.lists(st.tuples(st.floats(0, 30), st.none() | st.floats(0.1, 500)), max_size=30))
def test_a_minute_holds_a_minute(steps):
    minute, now = RateWindow(), 0.0
    minute.begin(now)
    for wait, speed in steps:
        now += wait
        minute.write(now, speed)
        assert not minute.is_due(now)
        assert len(minute.speeds(now)) == SECONDS
        assert minute.speeds(now)[-1] == speed or speed is None
    assert len(minute._speeds) <= SECONDS
    assert set(minute.speeds(now + SECONDS)) == {None}


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        (None, "–"),
        (SystemState(), "–"),
        (SystemState(power=Power.MAINS, thermal="nominal"), "mains"),
        (SystemState(power=Power.BATTERY, low_power=True), "battery, low-power mode"),
        (SystemState(power=Power.MAINS, thermal="slowed to 80 %"), "mains, slowed to 80 %"),
    ],
)
def test_power_is_told_as_far_as_it_is_known(conditions, words):
    assert live_panel.power_text(conditions) == words


def test_memory_and_depth_are_told_when_the_engine_has_told_them():
    figures = LiveStats()
    chosen = DepthChosen(1, 2, DepthReason.FASTEST, 1.4)
    figures.choose_depth(chosen)
    figures.set_footprint(4_200_000_000)
    reading = figures.reading(START)
    assert reading.depth is chosen
    assert live_panel.memory_text(reading.footprint) == "4.2 GB"
    figures.set_footprint(None)
    assert figures.reading(START).footprint is None
