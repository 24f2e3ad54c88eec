"""The figures of answers as a file, for spreadsheets and for programs."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from app.services.csv_lines import csv_lines
from app.services.store_error import StoreError
from app.translate import tr
from mtplx_engine import durable
from mtplx_engine.measurement import context_bucket

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from app.chat.figures import AnswerFigures

FORMAT: Final = "mtplx-history"
_VERSION: Final = 1


def write_figures(path: Path, figures: Iterable[AnswerFigures]) -> int:
    """Write figures to a file, which then holds its former content or all of the new one; return of how many answers.

    A file with the suffix ".csv" is a table, any other one is JSON. Only a few of the figures are held at once.

    Raises:
        StoreError: It could not be written, or the figures could not be read.
    """
    count = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal count
        for each in figures:
            count += 1
            yield record(each)

    parts = csv_lines if path.suffix.lower() == ".csv" else _json
    try:
        with durable.replaced(path) as file:
            for part in parts(counted()):
                file.write(part.encode(errors="replace"))
    except OSError as error:
        raise StoreError(
            tr("The history could not be exported to {path}: {error}. Choose another place.").format(
                path=path, error=error.strerror or error
            ),
            repr(error),
        ) from error
    return count


def record(figures: AnswerFigures) -> dict[str, Any]:
    """Return everything that is known of an answer under the names that a file has for it; None is not known."""
    body = dataclasses.asdict(figures)
    stats = body.pop("stats")
    del stats["seed"]  # repeats nothing without the text
    del stats["waited_s"]  # is in the time to the first word
    ended = datetime.fromtimestamp(body.pop("ended_ms") / 1000, UTC)
    body |= {"day": figures.day.isoformat(), "reason": figures.reason.value}
    derived = {
        "context_bucket": context_bucket(figures.stats.prompt_tokens + figures.stats.emitted),
        "mean_drafted_depth": _share(figures.stats.drafted, figures.stats.verify_steps),
        "acceptance_rate": figures.stats.acceptance_rate,
        "mean_acceptance_length": figures.stats.mean_acceptance_length,
        "prefill_tps": figures.stats.prefill_tps,
        "decode_tps": figures.stats.decode_tps,
    }
    return {"ended": ended.isoformat(timespec="milliseconds"), **body, **stats, **derived}


def _json(records: Iterator[dict[str, Any]]) -> Iterator[str]:
    yield f'{{"format": "{FORMAT}", "version": {_VERSION}, "answers": ['
    between = "\n"
    for each in records:
        yield between + json.dumps(each, ensure_ascii=False)
        between = ",\n"
    yield "\n]}\n"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
