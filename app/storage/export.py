"""Files of chats, statistics and measurements: export to JSON, CSV and text, import of chats."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from app.chat.formats import SIZE_LIMIT, UnreadableChatsError, from_json
from app.i18n import tr
from app.storage.errors import StoreError
from mtplx_engine.measure import results
from mtplx_engine.measure.measurement import context_bucket
from mtplx_engine.util import files

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping
    from pathlib import Path

    from app.chat.conversation import Conversation
    from app.chat.metrics import AnswerRecord
    from mtplx_engine.measure.measurement import Measurement


_HISTORY_FORMAT: Final = "mtplx-history"
_MEASUREMENT_FORMAT: Final = "mtplx-measurement"
_VERSION: Final = 1
# A spreadsheet runs a cell with such a start as a formula; in some locales a semicolon starts a new cell.
_FORMULA_STARTS: Final = re.compile(r"(^|;)(?=[-=+@\t\r])")


# ------------------------------------------------------------ chats


def write_chats(path: Path, text: str) -> None:
    """Replace a file by `text` atomically; `StoreError` where that fails."""
    with _failing(tr("The chats could not be exported to {path}: {error}. Choose another place."), path):
        files.replace_file(path, text.encode(errors="replace"))


def read_chats(path: Path, models: Container[str]) -> tuple[Conversation, ...]:
    """Return the chats of a JSON export; a model set in one is removed unless it is one of `models`.

    The file is untrusted, and a model can be any folder, which must not be opened because a file names it.

    Raises:
        StoreError: It cannot be read, or is no export of chats.
    """
    with _failing(tr("{path} cannot be read: {error}. Choose another file."), path), path.open("rb") as file:
        data = file.read(SIZE_LIMIT + 1)
    try:
        chats = from_json(data)
    except UnreadableChatsError as error:
        raise StoreError(str(error)) from error
    return tuple(chat if chat.settings.model in models else _without_model(chat) for chat in chats)


def _without_model(chat: Conversation) -> Conversation:
    return dataclasses.replace(chat, settings=dataclasses.replace(chat.settings, model=""))


# ------------------------------------------------------------ answer statistics


def write_history(path: Path, answers: Iterable[AnswerRecord]) -> int:
    """Write the statistics of answers, streamed, as CSV by the suffix or else JSON; return the number of answers.

    Raises:
        StoreError: The file could not be written, or the statistics could not be read.
    """
    count = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal count
        for each in answers:
            count += 1
            yield history_record(each)

    parts = _csv_lines if _is_table(path) else _history_json
    with (
        _failing(tr("The history could not be exported to {path}: {error}. Choose another place."), path),
        files.replaced(path) as file,
    ):
        for part in parts(counted()):
            file.write(part.encode(errors="replace"))
    return count


def history_record(answer: AnswerRecord) -> dict[str, Any]:
    """Return the statistics of an answer as exported; None where unknown."""
    body = dataclasses.asdict(answer)
    stats = body.pop("stats")
    del stats["seed"]  # useless without the text
    del stats["waited_s"]  # included in ttft_s
    ended = datetime.fromtimestamp(body.pop("ended_ms") / 1000, UTC)
    body |= {"day": answer.day.isoformat(), "reason": answer.reason.value}
    derived = {
        "context_bucket": context_bucket(answer.stats.prompt_tokens + answer.stats.emitted),
        "mean_drafted_depth": _share(answer.stats.drafted, answer.stats.verify_steps),
        "acceptance_rate": answer.stats.acceptance_rate,
        "mean_acceptance_length": answer.stats.mean_acceptance_length,
        "prefill_tps": answer.stats.prefill_tps,
        "decode_tps": answer.stats.decode_tps,
    }
    return {"ended": ended.isoformat(timespec="milliseconds"), **body, **stats, **derived}


def _history_json(records: Iterator[dict[str, Any]]) -> Iterator[str]:
    yield f'{{"format": "{_HISTORY_FORMAT}", "version": {_VERSION}, "answers": ['
    between = "\n"
    for each in records:
        yield between + json.dumps(each, ensure_ascii=False)
        between = ",\n"
    yield "\n]}\n"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


# ------------------------------------------------------------ measurements


def write_measurement(path: Path, measurement: Measurement) -> None:
    """Write a measurement with its conditions: a CSV table of its runs by the suffix, or else JSON.

    Raises:
        StoreError: It could not be written.
    """
    text = "".join(_csv_lines(_runs(measurement))) if _is_table(path) else _measurement_json(measurement)
    with _failing(tr("The measurement could not be exported to {path}: {error}. Choose another place."), path):
        files.replace_file(path, text.encode(errors="replace"))


def _runs(measurement: Measurement) -> Iterator[dict[str, Any]]:
    """Yield a record for each run, with subject and conditions; None where unknown."""
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
        del stats["depth"]  # the run has it as a number
        del stats["drafter"]
        derived = {"decode_tps": run.stats.decode_tps, "prefill_tps": run.stats.prefill_tps}
        yield {**shared, **body, "kind": run.kind.value, **stats, **derived}


def _measurement_json(measurement: Measurement) -> str:
    found = results.results_of(measurement)
    body = {
        "format": _MEASUREMENT_FORMAT,
        "version": _VERSION,
        "taken": _moment(measurement),
        "winner": found.winner,
        "results": [_result(result) for result in found.depths],
        "measurement": dataclasses.asdict(measurement),
    }
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def _result(result: results.DepthResult) -> dict[str, Any]:
    derived = {
        "verdict": result.verdict,
        "mean_acceptance_length": result.mean_acceptance_length,
        "acceptance_rate": result.acceptance_rate,
        "predicted": result.predicted,
    }
    return {**dataclasses.asdict(result), **derived}


def _moment(measurement: Measurement) -> str:
    return datetime.fromtimestamp(measurement.taken_ms / 1000, UTC).isoformat(timespec="seconds")


def _named(name: str, measurement: Measurement) -> dict[str, Any]:
    conditions = dataclasses.asdict(getattr(measurement, name))
    return {f"{field}_{name}": value for field, value in conditions.items()}


# ------------------------------------------------------------ files


@contextmanager
def _failing(sentence: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `StoreError` with `sentence`, filled with path and error."""
    try:
        yield
    except OSError as error:
        raise StoreError(sentence.format(path=path, error=error.strerror or error), repr(error)) from error


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _csv_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a CSV line for each record, with a header before the first."""
    line = io.StringIO(newline="")
    writer = csv.writer(line)
    head: tuple[str, ...] = ()
    for each in records:
        if not head:
            head = tuple(each)
            writer.writerow(head)
        writer.writerow(_cell(value) for value in each.values())
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _cell(value: Any) -> Any:
    """Return a value as a cell, with text that looks like a formula escaped."""
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return _FORMULA_STARTS.sub(r"\1'", value) if isinstance(value, str) else value
