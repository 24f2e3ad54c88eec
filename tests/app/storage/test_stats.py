"""Statistics of answers are stored exactly, summarised correctly, deleted securely, and never delay an answer."""

from __future__ import annotations

import dataclasses
import math
import statistics
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.metrics import measured_speed
from app.chat.validation import check_stats
from app.storage import schema
from app.storage.database import ChatDatabase
from app.storage.errors import StoreError
from app.storage.stats import (
    Choice,
    Drafted,
    Grouping,
    HistorySummary,
    Middle,
    Spread,
    TimeSaved,
    baselines,
    time_saved,
)
from mtplx_engine.measure.measurement import context_bucket
from mtplx_engine.stats import DecodeStats, FinishReason
from mtplx_engine.util.system import SystemState
from tests.support import random_chats
from tests.support.chats import NOW, chat, edit, message, stored_ids
from tests.support.disks import full_disk
from tests.support.figures import DAY, figures, month
from tests.support.measurements import PLAIN_S, SUBJECT, TOKENS, measurement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from app.chat.metrics import AnswerRecord
    from mtplx_engine.measure.measurement import Measurement


ALL = Choice()
counts = st.integers(0, 10**6)
times = st.none() | st.floats(1e-6, 1e6)


@st.composite
def answers(draw) -> AnswerRecord:
    """Return figures of every shape that an answer can have."""
    prompt, emitted, drafted = draw(counts), draw(counts), draw(counts)
    stats = DecodeStats(
        prompt_tokens=prompt,
        cached_tokens=draw(st.integers(0, prompt)),
        emitted=emitted,
        decode_tokens=draw(st.integers(0, emitted)),
        verify_steps=draw(counts),
        plain_steps=draw(counts),
        drafted=drafted,
        accepted=draw(st.integers(0, drafted)),
        accepted_at=draw(st.lists(counts, max_size=8).map(tuple)),
        ttft_s=draw(times),
        prefill_s=draw(times),
        decode_s=draw(times),
        depth=draw(st.sampled_from(["auto", "0", "8"])),
        drafter=draw(st.sampled_from(["", "mtp", "prompt_lookup"])),
    )
    return dataclasses.replace(
        figures(),
        ended_ms=draw(random_chats.times),
        day=draw(st.dates()),
        model=draw(random_chats.names),
        speed_key=draw(random_chats.names),
        reason=draw(st.sampled_from(FinishReason)),
        stats=stats,
    )


@pytest.fixture
def database(tmp_path: Path) -> Iterator[ChatDatabase]:
    with ChatDatabase(tmp_path, NOW) as database:
        yield database


def fill(database: ChatDatabase, *given: AnswerRecord) -> None:
    for each in given:
        database.figures.add(each)


# ---------------------------------------------------------------- keeping


@settings(max_examples=40)
@given(given=st.lists(answers(), max_size=5))
def test_figures_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, given) -> None:
    folder = tmp_path_factory.mktemp("chats")
    with ChatDatabase(folder, NOW) as database:
        fill(database, *given)
    with ChatDatabase(folder, NOW) as database:
        assert list(database.figures.each(ALL)) == given
        history = database.figures.read(ALL)
    assert (history.kept, history.total.answers, history.unreadable) == (len(given), len(given), 0)


def test_figures_outlive_their_chat(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, 0) as database:
        database.add_chat(chat("c"))
        database.add_message(message("m"))
        fill(database, figures())
        database.delete_chats(["c"], 1)
    with ChatDatabase(tmp_path, NOW) as database:
        assert database.figures.read(ALL).kept == 1
    assert stored_ids(tmp_path) == []


def test_nothing_in_the_table_leads_to_a_chat(database: ChatDatabase) -> None:
    columns = {row[1] for row in database._connection.execute("PRAGMA table_info(figures)")}
    kept = {each.name for each in dataclasses.fields(DecodeStats)} - {"seed", "waited_s"}
    kept |= {each.name for each in dataclasses.fields(figures())} - {"stats"}
    assert columns == kept | {"seq"}
    strict = database._connection.execute("SELECT strict FROM pragma_table_list WHERE name = 'figures'")
    assert strict.fetchall() == [(1,)]


def test_figures_that_cannot_be_written_are_lost_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with full_disk(room=10**6) as disk, ChatDatabase(tmp_path, NOW) as database:
        database.add_chat(chat("c"))
        disk.room = 0
        fill(database, figures())
        disk.room = 10**6
        database.add_message(message("m"))
        assert database.figures.read(ALL).kept == 0
    assert "statistics of an answer were not kept" in caplog.text


def test_a_table_that_is_gone_costs_no_answer(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        database.add_chat(chat("c"))
        database._connection.execute("DROP TABLE figures")
        fill(database, figures())
        database.add_message(message("m"))
        with pytest.raises(StoreError):
            database.figures.read(ALL)
    assert stored_ids(tmp_path) == ["m"]


def test_deleted_figures_are_gone(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, figures(), figures())
        database.figures.clear()
        assert database.figures.read(ALL).kept == 0
    assert edit(tmp_path, "SELECT * FROM figures") == []


def test_no_byte_of_deleted_figures_stays_in_the_file_or_its_log(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        database.add_chat(chat("c"))
        fill(database, *(figures(model=f"SecretModel{number}") for number in range(200)))
        database.figures.clear()
        database.add_message(message("m"))
        left = [path.name for path in tmp_path.iterdir() if path.is_file() and b"SecretModel" in path.read_bytes()]
        assert left == []
        assert database._connection.pragma("secure_delete") == 0
    assert stored_ids(tmp_path) == ["m"]


def test_chats_of_the_second_format_open_with_an_empty_history(tmp_path: Path) -> None:
    edit(tmp_path, schema.MIGRATIONS[0], schema.MIGRATIONS[1], "PRAGMA user_version = 2")
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, figures())
        assert database.figures.read(ALL).kept == 1
    assert len(list(tmp_path.glob("chats.format2-*.db"))) == 1


# ---------------------------------------------------------------- damage

DAMAGE = (
    "ended_ms = -1",
    "ended_ms = 9223372036854775807",
    "day = 0",
    "memory = -1",
    "day = 99999999",
    "reason = CAST(x'ff' AS TEXT)",
    "reason = ''",
    "prompt_tokens = -1",
    "emitted = 9223372036854775807",
    "cached_tokens = prompt_tokens + 1",
    "accepted = drafted + 1",
    "decode_tokens = emitted + 1",
    "ttft_s = 0",
    "prefill_s = -2.5",
    "decode_s = 9e999",
)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_passed_over_and_counted(tmp_path: Path, damage: str) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, *(figures(model=name) for name in "abc"))
    edit(tmp_path, f"UPDATE figures SET {damage} WHERE seq = 2")
    with ChatDatabase(tmp_path, NOW) as database:
        history = database.figures.read(ALL)
        assert (history.kept, history.unreadable, history.total.answers) == (2, 1, 2)
        assert [each.model for each in database.figures.each(ALL)] == ["a", "c"]
    assert edit(tmp_path, "SELECT count(*) FROM figures") == [(3,)]


@pytest.mark.parametrize("column", ["model", "speed_key", "revision", "sampler", "accepted_at", "drafter"])
@pytest.mark.parametrize("bytes_", ["ff", "00", "e280ae41", "5b5b5b"])
def test_damaged_text_costs_only_itself(tmp_path: Path, column: str, bytes_: str) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, figures())
    edit(tmp_path, f"UPDATE figures SET {column} = CAST(x'{bytes_}' AS TEXT)")
    with ChatDatabase(tmp_path, NOW) as database:
        history = database.figures.read(ALL)
        (found,) = database.figures.each(ALL)
    assert (history.kept, history.unreadable, history.total.answers) == (1, 0, 1)
    assert found.stats.decode_tps == 50
    assert "\u202e" not in found.model


def test_a_record_that_counts_holds_what_a_chat_may_hold(tmp_path: Path) -> None:
    with ChatDatabase(tmp_path, NOW) as database:
        fill(database, *month(DAY))
        for each in database.figures.each(ALL):
            check_stats(each.stats)


def test_a_record_that_cannot_be_is_counted_at_once(database: ChatDatabase) -> None:
    fill(database, figures())
    assert database.figures.read(ALL).unreadable == 0
    fill(database, figures({"ttft_s": 0.0}))
    assert (database.figures.read(ALL).kept, database.figures.read(ALL).unreadable) == (1, 1)


# ---------------------------------------------------------------- reducing


def test_medians_and_quartiles_not_best_ever(database: ChatDatabase) -> None:
    fill(database, *(figures({"decode_s": 100 / speed}) for speed in (10, 20, 30, 40, 1000)))
    assert database.figures.read(ALL).total.speed == Spread(20, 30, 40, 5)


def test_prefill_is_all_tokens_by_all_seconds(database: ChatDatabase) -> None:
    fill(
        database,
        figures({"prompt_tokens": 1000, "cached_tokens": 0, "prefill_s": 1.0}),
        figures({"prompt_tokens": 100, "cached_tokens": 90, "prefill_s": 1.0}),
        figures({"prompt_tokens": 10**6, "cached_tokens": 0, "prefill_s": None}),
        figures({"prompt_tokens": 500, "cached_tokens": 500, "prefill_s": 5.0}),
    )
    assert database.figures.read(ALL).total.prefill_tps == (1000 + 10) / 2


def test_what_was_not_measured_is_none_and_never_zero(database: ChatDatabase) -> None:
    nothing = {
        "ttft_s": None,
        "prefill_s": None,
        "decode_s": None,
        "verify_steps": 0,
        "drafted": 0,
        "accepted": 0,
    }
    fill(database, figures({**nothing, "accepted_at": ()}))
    for total in (database.figures.read(ALL).total, database.figures.read(Choice(model="none")).total):
        assert (total.speed, total.first_text, total.prefill_tps) == (None, None, None)
        assert (total.acceptance_rate, total.mean_acceptance_length) == (None, None)


def test_answers_too_short_to_have_a_speed_are_counted_without_one(database: ChatDatabase) -> None:
    fill(database, figures(), figures({"decode_tokens": 3, "decode_s": 0.001}), figures({"decode_s": 0.01}))
    total = database.figures.read(ALL).total
    assert (total.answers, total.speed) == (3, Spread(50, 50, 50, 1))


def test_days_are_those_of_the_persons_calendar(database: ChatDatabase) -> None:
    fill(database, figures(day=DAY), figures(day=DAY - timedelta(1)), figures(day=DAY))
    days = database.figures.read(ALL).days
    assert [(each.day, each.answers) for each in days] == [(DAY - timedelta(1), 1), (DAY, 2)]


def test_days_to_come_are_counted_and_not_shown(database: ChatDatabase) -> None:
    fill(
        database,
        figures(),
        figures(day=DAY + timedelta(400)),
        figures({"ttft_s": 0.0}, day=DAY + timedelta(1)),
    )
    history = database.figures.read(Choice(until=DAY))
    assert (history.total.answers, history.kept, history.later, history.unreadable) == (1, 2, 1, 1)
    assert [each.day for each in history.days] == [DAY]
    assert database.figures.read(ALL).later == 0


CHOICES = (
    (ALL, 6),
    (Choice(model="a"), 4),
    (Choice(since=DAY), 5),
    (Choice(model="a", since=DAY), 3),
    (Choice(model="'; DROP TABLE figures --"), 0),
)


@pytest.mark.parametrize(("choice", "answers"), CHOICES)
def test_what_is_not_chosen_does_not_count(database: ChatDatabase, choice: Choice, answers: int) -> None:
    fill(
        database,
        figures(model="a", day=date(2020, 1, 1)),
        *(figures(model=model) for model in "aabb"),
        figures(model="a"),
    )
    history = database.figures.read(choice)
    assert history.total.answers == answers == len(list(database.figures.each(choice)))
    assert sum(day.answers for day in history.days) == answers
    assert sum(group.summary.answers for group in history.groups) == answers
    assert sum(each.answers for each in history.drafted) == answers
    assert (history.models, history.kept, history.choice) == (("a", "b"), 6, choice)


@pytest.mark.parametrize("grouping", Grouping)
def test_groups_are_of_a_model_and_what_was_chosen(database: ChatDatabase, grouping: Grouping) -> None:
    fill(
        database,
        figures({"prompt_tokens": 1024 - 101}, model="a"),
        figures({"prompt_tokens": 1025 - 101}, model="a"),
        figures({"prompt_tokens": 99_999}, model="b"),
    )
    groups = database.figures.read(Choice(grouping=grouping)).groups
    found = {(group.model, group.bucket): group.summary.answers for group in groups}
    assert (
        found
        == {
            Grouping.NOTHING: {("a", None): 2, ("b", None): 1},
            Grouping.CONTEXT: {("a", 1024): 1, ("a", 8192): 1, ("b", None): 1},
        }[grouping]
    )


@settings(max_examples=40)
@given(given=st.lists(answers(), min_size=1, max_size=30))
def test_a_summary_agrees_with_the_definitions(tmp_path_factory: pytest.TempPathFactory, given) -> None:
    with ChatDatabase(tmp_path_factory.mktemp("chats"), NOW) as database:
        fill(database, *given)
        history = database.figures.read(ALL)
    total, stats = history.total, [each.stats for each in given]
    speeds = [speed for each in stats if (speed := measured_speed(each)) is not None]
    firsts = [each.ttft_s for each in stats if each.ttft_s is not None]
    assert (total.speed is None) == (not speeds)
    assert (total.first_text is None) == (not firsts)
    if total.speed is not None:
        # Of a single value there are no quartiles for `statistics`.
        quartiles = statistics.quantiles(speeds * (2 if len(speeds) == 1 else 1), n=4, method="inclusive")
        assert (total.speed.low, total.speed.median, total.speed.high) == pytest.approx(tuple(quartiles))
        assert total.speed.answers == len(speeds)
    if total.first_text is not None:
        assert total.first_text == Middle(pytest.approx(statistics.median(firsts)), len(firsts))
    read = [each for each in stats if each.prefill_tps is not None]
    fresh, seconds = (
        sum(each.prompt_tokens - each.cached_tokens for each in read),
        sum(each.prefill_s for each in read),
    )
    assert (total.prefill_tps is None) == (not read)
    assert total.prefill_tps is None or math.isclose(total.prefill_tps, fresh / seconds)
    assert total.verify_steps == sum(each.verify_steps for each in stats)
    assert (total.drafted, total.accepted) == (
        sum(each.drafted for each in stats),
        sum(each.accepted for each in stats),
    )
    drafted = [each for each in given if each.stats.verify_steps and each.stats.decode_s is not None]
    assert {(each.speed_key, each.bucket) for each in history.drafted} == {
        (each.speed_key, context_bucket(each.stats.prompt_tokens + each.stats.emitted)) for each in drafted
    }
    assert sum(each.tokens for each in history.drafted) == sum(each.stats.decode_tokens for each in drafted)
    assert sum(each.accepted for each in history.drafted) == sum(each.stats.accepted for each in drafted)


PLAIN = {("key", 1024): 20.0, ("key", 8192): 10.0, ("other", 1024): 50.0}


@pytest.mark.parametrize(
    ("drafted", "saved"),
    [
        ([Drafted("key", 1024, 3, 600, 20.0, 600)], TimeSaved(10.0, 3, 3)),
        ([Drafted("key", 1024, 3, 600, 45.0, 600)], TimeSaved(-15.0, 3, 3)),
        (
            [Drafted("key", 8192, 1, 600, 45.0, 600), Drafted("other", 1024, 2, 500, 12.0, 500)],
            TimeSaved(13.0, 3, 3),
        ),
        (
            [Drafted("key", 1024, 3, 600, 20.0, 600), Drafted("key", 32768, 4, 900, 1.0, 900)],
            TimeSaved(10.0, 3, 7),
        ),
        ([Drafted("key", None, 2, 600, 20.0, 600)], TimeSaved(None, 0, 2)),
        ([Drafted("", 1024, 2, 600, 20.0, 600)], TimeSaved(None, 0, 2)),
        ([], TimeSaved(None, 0, 0)),
        # 80 plain steps and 4 verify steps at 340 tok/s: the 2 drafts that were kept can have saved 0.1 s at most.
        ([Drafted("key", 1024, 1, 86, 0.25, 2)], TimeSaved(0.1, 1, 1)),
        ([Drafted("key", 1024, 1, 86, 0.25, 2), Drafted("key", 1024, 1, 60, 5.0, 9)], TimeSaved(-1.9, 2, 2)),
    ],
)
def test_only_what_has_a_baseline_counts(drafted: list[Drafted], saved: TimeSaved) -> None:
    found = time_saved(drafted, PLAIN)
    assert (found.covered, found.answers) == (saved.covered, saved.answers)
    assert found.seconds == (None if saved.seconds is None else pytest.approx(saved.seconds))


@given(
    st.lists(
        st.builds(
            Drafted,
            st.just("key"),
            st.just(1024),
            st.integers(1, 9),
            st.integers(0, 9999),
            st.floats(0.01, 1e4),
            st.integers(0, 9999),
        ),
        min_size=1,
    )
)
def test_estimates_add_up(drafted: list[Drafted]) -> None:
    whole = time_saved(drafted, PLAIN)
    parts = [time_saved([each], PLAIN) for each in drafted]
    assert whole.seconds == pytest.approx(sum(part.seconds or 0.0 for part in parts))
    assert whole.seconds <= sum(each.accepted for each in drafted) / PLAIN["key", 1024] + 1e-6
    assert whole.covered == whole.answers == sum(part.covered for part in parts)


def test_shares_of_counts_are_those_of_the_sums() -> None:
    summary = HistorySummary(2, None, None, None, verify_steps=40, drafted=80, accepted=60)
    assert (summary.acceptance_rate, summary.mean_acceptance_length) == (0.75, 2.5)


def sound(*ratios: float, **fields) -> Measurement:
    return measurement(*ratios, **{"cross_check": 1.0, **fields})


def test_baselines_are_the_plain_runs_of_each_context() -> None:
    speed = pytest.approx((TOKENS - 1) / PLAIN_S)
    found = baselines([sound(2.0, 2.0, 2.0), sound(0.5, 0.5, 0.5, context=4096), sound(2.0, context=99_999)])
    assert found == {(SUBJECT.key, 1024): speed, (SUBJECT.key, 8192): speed}
    took = [
        Drafted(SUBJECT.key, 1024, 1, 2 * (TOKENS - 1), PLAIN_S, TOKENS),
        Drafted("files that changed", 1024, 1, 99, 1.0, 50),
    ]
    assert time_saved(took, found) == TimeSaved(pytest.approx(PLAIN_S), 1, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"before": SystemState(low_power=True)},
        {"before": SystemState(load=9.2, cores=8)},
        {"after": SystemState(thermal="slowed to 80 %")},
        {"cross_check": 0.9},
        {"cross_check": 1.1},
        {"cross_check": None},
    ],
)
def test_what_was_measured_under_pressure_or_is_in_doubt_is_no_baseline(fields: dict[str, object]) -> None:
    doubtful = sound(2.0, 2.0, 2.0, **fields)
    assert baselines([doubtful]) == {}
    assert baselines([doubtful, sound(1.5, 1.5, 1.5)]) == baselines([sound(1.5, 1.5, 1.5)])
