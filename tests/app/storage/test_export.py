"""Statistics and measurements are exported as CSV or JSON, whole or not at all, without formulas."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from app.storage import export
from app.storage.errors import StoreError
from app.storage.export import write_history
from tests.support.figures import DAY, figures, month

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from app.chat.metrics import AnswerRecord


ANSWERS = (
    figures(),
    figures({"decode_s": None, "ttft_s": None, "drafted": 0, "verify_steps": 0}, model="Ünter"),
)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_json_holds_everything_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert write_history(path, ANSWERS) == 2
    body = json.loads(path.read_text(encoding="utf-8"))
    assert (body["format"], body["version"]) == ("mtplx-history", 1)
    first, second = body["answers"]
    assert first == {
        "ended": "2026-03-14T09:00:00.000+00:00",
        "day": "2026-03-14",
        "model": "Toy",
        "revision": "abc123",
        "quantization": "4-bit, group 64",
        "speed_key": "key",
        "backend": "CPU, float32, OpenBLAS",
        "chip": "Toy chip",
        "memory": 16 << 30,
        "system": "Linux 6.1",
        "sampler": "temperature=0.7",
        "reason": "end",
        "version": "0.1.0",
        "prompt_tokens": 200,
        "cached_tokens": 50,
        "emitted": 101,
        "verify_steps": 40,
        "plain_steps": 1,
        "drafted": 80,
        "accepted": 60,
        "accepted_at": [35, 25],
        "ttft_s": 0.5,
        "prefill_s": 0.25,
        "decode_s": 2.0,
        "decode_tokens": 100,
        "depth": "auto",
        "drafter": "mtp",
        "context_bucket": 1024,
        "mean_drafted_depth": 2.0,
        "acceptance_rate": 0.75,
        "mean_acceptance_length": 2.5,
        "prefill_tps": 600.0,
        "decode_tps": 50.0,
    }
    unknown = (
        "ttft_s",
        "decode_s",
        "mean_drafted_depth",
        "acceptance_rate",
        "mean_acceptance_length",
        "decode_tps",
    )
    assert [second[name] for name in unknown] == [None] * 6


def test_a_table_has_the_same_and_leaves_empty_what_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert write_history(path, ANSWERS) == 2
    first, second = rows(path)
    assert list(first) == list(export.history_record(ANSWERS[0]))
    assert (first["accepted_at"], first["decode_tps"], first["ended"]) == (
        "35 25",
        "50.0",
        "2026-03-14T09:00:00.000+00:00",
    )
    assert (second["model"], second["decode_s"], second["acceptance_rate"]) == ("Ünter", "", "")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x","y")', "=cmd|' /C calc'!A0"])
def test_no_cell_is_a_formula(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.csv"
    write_history(path, [figures(model=name, quantization=name, sampler=name)])
    (row,) = rows(path)
    assert row["model"] == row["quantization"] == row["sampler"] == f"'{name}"
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row.values())


def test_a_name_stays_one_cell_where_semicolons_part_cells(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_history(path, [figures(model="a;=1+1")])
    with path.open(newline="", encoding="utf-8") as file:
        cells = [cell for line in csv.reader(file, delimiter=";") for cell in line]
    assert not any(cell.startswith("=") for cell in cells)


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_nothing_is_a_file_too(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    assert write_history(path, ()) == 0
    assert rows(path) == [] if suffix == ".csv" else json.loads(path.read_text())["answers"] == []


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_what_breaks_off_leaves_the_former_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_text("before")

    def broken() -> Iterator[AnswerRecord]:
        yield from month(DAY)
        raise StoreError("gone")

    with pytest.raises(StoreError, match="gone"):
        write_history(path, broken())
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="could not be exported") as refused:
        write_history(tmp_path / "no folder" / "x.csv", ANSWERS)
    assert str(tmp_path / "no folder") in refused.value.info.message


def test_figures_are_taken_one_by_one(tmp_path: Path) -> None:
    """A history of years is never held at once."""
    path, seen = tmp_path / "x.json", []

    def watched() -> Iterator[AnswerRecord]:
        for number in range(2000):
            (partial,) = tmp_path.iterdir()
            seen.append(partial.stat().st_size)
            yield figures({"emitted": number + 100})

    write_history(path, watched())
    assert 0 < seen[1000] < seen[-1]
