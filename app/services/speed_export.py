"""Measurements as a file, with everything that they depend on."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from app.services.csv_lines import csv_lines
from app.services.store_error import StoreError
from app.translate import tr
from mtplx_engine import durable, results

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_engine.measurement import Measurement

FORMAT: Final = "mtplx-measurement"
_VERSION: Final = 1


def write_measurement(path: Path, measurement: Measurement) -> None:
    """Write a measurement to a file, which then holds its former content or all of the new one.

    A file with the suffix ".csv" is a table of the runs, any other one is JSON.

    Raises:
        StoreError: It could not be written.
    """
    text = "".join(csv_lines(rows(measurement))) if path.suffix.lower() == ".csv" else _json(measurement)
    try:
        durable.replace_file(path, text.encode(errors="replace"))
    except OSError as error:
        raise StoreError(
            tr("The measurement could not be exported to {path}: {error}. Choose another place.").format(
                path=path, error=error.strerror or error
            ),
            repr(error),
        ) from error


def rows(measurement: Measurement) -> Iterator[dict[str, Any]]:
    """Return a record for each run, which says as well what was measured, where and when; None is not known."""
    subject = dataclasses.asdict(measurement.subject)
    shared = {
        "taken": _moment(measurement),
        **subject,
        "context": measurement.context,
        "temperature": measurement.temperature,
        **_named("before", measurement),
        **_named("after", measurement),
    }
    for run in measurement.runs:
        body = dataclasses.asdict(run)
        stats = body.pop("stats")
        del stats["depth"]  # that of the run is a number
        del stats["drafter"]
        derived = {"decode_tps": run.stats.decode_tps, "prefill_tps": run.stats.prefill_tps}
        yield {**shared, **body, "kind": run.kind.value, **stats, **derived}


def _json(measurement: Measurement) -> str:
    found = results.of(measurement)
    body = {
        "format": FORMAT,
        "version": _VERSION,
        "taken": _moment(measurement),
        "winner": found.winner,
        "results": [_result(result) for result in found.depths],
        "measurement": dataclasses.asdict(measurement),
    }
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def _result(result: results.DepthResult) -> dict[str, Any]:
    """Return what the runs of a depth were reduced to, which the window shows."""
    derived = {
        "verdict": result.verdict,
        "mean_acceptance_length": result.mean_length,
        "acceptance_rate": result.acceptance_rate,
        "predicted": result.predicted,
    }
    return {**dataclasses.asdict(result), **derived}


def _moment(measurement: Measurement) -> str:
    return datetime.fromtimestamp(measurement.taken_ms / 1000, UTC).isoformat(timespec="seconds")


def _named(name: str, measurement: Measurement) -> dict[str, Any]:
    conditions = dataclasses.asdict(getattr(measurement, name))
    return {f"{field}_{name}": value for field, value in conditions.items()}
