"""The reports of `mtplx tune` and `mtplx bench` on known measurements, and nothing that they do not bear out."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mtplx_engine.bench.benchmark import BenchmarkRuns, Entry
from mtplx_engine.bench.matrix import summarise
from mtplx_engine.bench.report import render_report, render_table
from mtplx_engine.measure.measurement import MeasuredRun, PromptKind
from mtplx_engine.stats import DecodeStats
from mtplx_engine.util.system import Power, SystemState
from tests.support.measurements import SUBJECT, measurement, run
from tests.support.scripted_method import Clock, ScriptedMethod


def line(text: str, start: str) -> str:
    return next(" ".join(each.split()) for each in text.splitlines() if each.strip().startswith(start))


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ((1.55, 1.625, 1.7), ("1.62x faster", "38 % less waiting in chats up to 1k tokens (chat)")),
        ((1.0002, 1.0003, 1.004), ("Less than 1 % faster", "In chats up to 1k tokens (chat)")),
        (
            (0.6, 0.6, 0.61),
            (
                "0.60x: slower",
                "67 % more waiting in chats up to 1k tokens (chat); drafting is turned off there.",
            ),
        ),
        ((0.95, 1.0, 1.04), ("No clear difference, 1.00x (0.95–1.04x)", "Some answers came faster")),
        ((3.0, 3.0), ("Too few pairs, 3.00x (3.00–3.00x)", "So few pairs say little.")),
    ],
)
def test_the_headline_is_that_of_the_window_with_its_range(ratios: tuple[float, ...], said: tuple[str, str]) -> None:
    lines = render_report(measurement(*ratios)).splitlines()
    at = lines.index("") + 1
    assert lines[at] == said[0]
    assert lines[at + 1].startswith(said[1])
    assert lines[at + 2].startswith(f"Whole request at depth 3: {ratios[0]:.2f}"[:-1])


def test_only_slower_at_every_depth_is_said_to_turn_drafting_off() -> None:
    slower, unclear = measurement(0.6, 0.6, 0.61), measurement(0.3, 0.4, 1.01, depth=4)
    both = dataclasses.replace(slower, runs=(*slower.runs, *(each for each in unclear.runs if each.depth)))
    text = render_report(both)
    assert "0.60x: slower" in text
    assert "turned off" not in text


def test_answers_of_different_length_have_no_headline() -> None:
    short = run(0, 2, decode_s=0.1)
    short = dataclasses.replace(short, stats=dataclasses.replace(short.stats, emitted=20))
    whole = dataclasses.replace(measurement(1.0), runs=(run(0, 0, decode_s=0.5), short))
    text = render_report(whole)
    assert "cannot be compared" in text
    assert line(text, "depth 2").endswith("too few pairs")


def test_a_row_says_what_was_measured_with_its_sample() -> None:
    text = render_report(measurement(2.0, 2.0, 2.0))
    assert line(text, "depth 3 ") == ("depth 3 2.00x (2.00..2.00) 2.50x 2.609 of 4 69 0.696 0.522 0.391 3/3 faster")
    assert line(text, "plain decoding") == (
        "plain decoding: 120.0 tok/s, 8.33 ms a token; prompts at 1000 tok/s; 400 MB of memory at most"
    )
    assert line(text, "memory at most") == "memory at most: 430 MB with drafting, 400 MB without (30 MB more)"
    assert line(text, "depth 3:") == (
        "depth 3: 2.6 of 4 tokens per step; plain 8.33 ms, drafted 9.09 ms; "
        "expected 2.39x, measured 2.50x in writing alone"
    )


def test_shares_of_few_steps_are_put_in_doubt() -> None:
    assert "(2.609 of 4)" in render_report(measurement(2.0, 2.0))
    assert "(2.609" not in render_report(measurement(2.0, 2.0, 2.0))


def test_kinds_are_told_apart_where_there_are_several() -> None:
    kinds = (PromptKind.CHAT, PromptKind.LANGUAGE)
    text = render_report(measurement(1.2, 0.5, 1.3, 0.6, 1.4, 0.7, kinds=kinds))
    assert line(text, "chat   ") == "chat 1.30x (1.20..1.40) faster"
    assert line(text, "another language  ") == "another language 0.60x (0.50..0.70) slower"
    assert "by kind" not in render_report(measurement(1.2, 1.3, 1.4))


@pytest.mark.parametrize(("ratio", "shown"), [(None, False), (1.04, False), (0.96, False), (1.06, True), (0.94, True)])
def test_others_plain_decoding_is_told_only_where_it_differs(ratio: float | None, *, shown: bool) -> None:
    text = render_report(measurement(2.0, 2.0, 2.0, cross_check=ratio))
    assert ("as fast as mlx-lm does" in text) is shown


def test_what_verifying_costs_is_in_plain_forwards() -> None:
    text = render_report(measurement(2.0, 2.0, 2.0))
    assert line(text, "256 ") == "256 1.00 1.11 1.22 1.33 1.44 1.55 1.66 1.77 7.5 ms 1.1 ms"
    assert "a forward over" not in render_report(dataclasses.replace(measurement(2.0), curves=()))


def test_what_is_not_known_is_not_said() -> None:
    nowhere = dataclasses.replace(SUBJECT, revision="", chip="", memory=0)
    unknown = SystemState()
    text = render_report(measurement(2.0, 2.0, 2.0, subject=nowhere, before=unknown, after=unknown))
    first, second = text.splitlines()[:2]
    assert first == "Toy · float32 · drafter mtp"
    assert second == "CPU, float32, OpenBLAS · TestOS 1 · MTPLX 0.1.0"
    assert "before: load unknown, power unknown; after: load unknown, power unknown" in text


def test_conditions_that_hold_a_machine_back_are_told() -> None:
    pressed = SystemState(load=2.25, power=Power.BATTERY, low_power=True, thermal="serious")
    text = render_report(measurement(2.0, 2.0, 2.0, after=pressed))
    assert "before: load 0.4, mains, nominal; after: load 2.2, battery, low-power mode, serious" in text
    assert "Measured under pressure: low-power mode, on battery, heat: serious." in text
    assert "pressure" not in render_report(measurement(2.0, 2.0, 2.0))


def test_without_a_verify_step_there_are_no_figures_instead_of_zeros() -> None:
    plain = run(0, 0, decode_s=0.5)
    idle = run(0, 2, decode_s=0.5)
    idle = dataclasses.replace(idle, stats=dataclasses.replace(idle.stats, verify_steps=0, drafted=0, plain_steps=60))
    text = render_report(dataclasses.replace(measurement(1.0), runs=(plain, idle)))
    assert line(text, "depth 2 ") == "depth 2 1.00x (1.00..1.00) 1.00x too few pairs"
    assert "expected" not in text


# ---------------------------------------------------------------- mtplx bench

STATS = DecodeStats(verify_steps=20, drafted=60, accepted=12, accepted_at=(8, 3, 1))


def summaries(seconds: tuple[float, ...], stats: DecodeStats = STATS) -> list[dict[str, Any]]:
    """Of mlx-lm, which takes a second for each prompt, and of a drafter."""
    base, ours = (
        ScriptedMethod("mlx-lm", Clock(), cycle_s=1),
        ScriptedMethod("mtp depth 3", Clock(), cycle_s=1, depth=3),
    )
    entries = [
        Entry(method.name, (1, 2), scripted_run(at, method.depth, s, counted))
        for method, times, counted in ((base, (1.0,) * len(seconds), DecodeStats()), (ours, seconds, stats))
        for at, s in enumerate(times)
    ]
    return summarise(BenchmarkRuns(tuple(entries)), [base, ours])["summary"]


def scripted_run(pair: int, depth: int, seconds: float, stats: DecodeStats) -> MeasuredRun:
    stats = dataclasses.replace(stats, emitted=48, decode_s=seconds, decode_tokens=47)
    return MeasuredRun(pair, "chat-1", PromptKind.CHAT, depth, seconds, stats, 0, identical=True if depth else None)


def bench_report(whole: list[dict[str, Any]], **kinds: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "model": "M",
        "draft_model": "",
        "backend": "CPU",
        "machine": "Linux",
        "cores": 2,
        "load": 0.25,
        "prompts": 9,
        "tokens": 48,
        "tables": {"0": {"summary": whole, "kinds": kinds}},
    }


def table_row(text: str, heading: str = "temperature 0") -> str:
    """Return the drafter's row under a heading."""
    below = text[text.index(heading) :].splitlines()
    return next(line for line in below if line.startswith("mtp depth 3"))


def test_a_row_of_the_table_says_what_was_measured() -> None:
    found = table_row(render_table(bench_report(summaries((0.8, 0.5, 0.4)))))
    assert " ".join(found.split()) == (
        "mtp depth 3 94.0 2.00x (1.25..2.50) 2.00x 1.600 of 4 60 0.400 0.150 0.050 3/3 faster"
    )


def test_each_kind_has_its_own_verdict_if_it_has_three_prompts() -> None:
    text = render_table(
        bench_report(
            summaries((0.8,) * 9),
            chat=summaries((1.1, 1.2, 1.3)),
            code=summaries((0.9, 1.0, 1.1)),
            copy=summaries((0.2, 0.2)),
        )
    )
    verdicts = ["chat prompts", "code prompts", "copy prompts"]
    assert table_row(text).endswith("  faster")
    assert [
        table_row(text, heading).partition("2/2" if "copy" in heading else "3/3")[2].strip() for heading in verdicts
    ] == [
        "slower",
        "no clear difference",
        "too few pairs",
    ]


def test_figures_of_few_verify_steps_are_put_in_doubt() -> None:
    few = dataclasses.replace(STATS, verify_steps=16)
    assert "1.750 of 4" in table_row(render_table(bench_report(summaries((1.0,) * 4, few))))
    assert "(1.750 of 4)" in table_row(render_table(bench_report(summaries((1.0,) * 3, few))))


def test_a_drafter_that_found_nothing_to_draft_has_no_figures_instead_of_zeros() -> None:
    found = table_row(render_table(bench_report(summaries((1.0, 1.0, 1.0), DecodeStats(plain_steps=48)))))
    assert " ".join(found.split()) == "mtp depth 3 47.0 1.00x (1.00..1.00) 1.00x 3/3 no clear difference"


def test_conditions_and_the_draft_model_are_told() -> None:
    both = {**bench_report(summaries((0.5, 0.5, 0.5))), "draft_model": "the model itself"}
    text = render_table({**both, "stock": both})
    assert "load before: 0.2 on 2 cores" in text
    assert "draft model: the model itself" in text
    assert text.count("temperature 0, CPU") == 2
    assert "as the wheel comes: 2.00x (two processes)" in text


@pytest.mark.parametrize(
    ("own", "wheel", "said"),
    [
        ((0.5,) * 3, (1.0,) * 3, True),
        ((2.0,) * 3, (1.0,) * 3, True),
        ((0.5,), (1.0,) * 3, False),
        ((0.5,) * 3, (1.0,), False),
        ((0.5, 0.9, 1.1), (1.0,) * 3, False),
    ],
)
def test_two_processes_are_compared_where_prompts_bear_it_out(
    own: tuple[float, ...], wheel: tuple[float, ...], *, said: bool
) -> None:
    text = render_table({**bench_report(summaries(own)), "stock": bench_report(summaries(wheel))})
    assert ("our fastest against mlx-lm as the wheel comes" in text) is said
