"""A download that the person or a program watches: how far it is, and Ctrl-C pauses it."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from mtplx_engine.cli import output
from mtplx_engine.cli.output import Console
from mtplx_engine.hub import download, transfer_stats
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.hub.download import Download


_TICK_S, _JSON_TICK_S = 0.2, 1.0


def run(fetching: Download, *, as_json: bool) -> Path | BaseException:
    """Run a download and show how far it is; the Mac stays awake meanwhile.

    Returns:
        The model's folder, or why there is none.
    """
    pace = transfer_stats.Speed()
    with contextlib.ExitStack() as stack:
        stack.enter_context(download.kept_awake())
        show = _in_lines_of_json if as_json else _on_one_line(stack)

        def tick() -> None:
            pace.note(time.monotonic(), fetching.tally.fetched)
            show(fetching, pace)

        return output.on_thread(fetching.run, fetching.stop, tick, _JSON_TICK_S if as_json else _TICK_S)


def _on_one_line(stack: contextlib.ExitStack) -> Callable[[Download, transfer_stats.Speed], None]:
    line = stack.enter_context(contextlib.closing(ProgressLine(sys.stderr)))
    return lambda fetching, pace: line(fetching.tally.done / max(fetching.total, 1), _phase(fetching, pace))


def _in_lines_of_json(fetching: Download, pace: transfer_stats.Speed) -> None:
    tally = fetching.tally
    body: dict[str, object] = {"event": "progress", "done": tally.done, "total": fetching.total}
    if (waiting := tally.waiting) is not None:
        body |= {"event": "waiting", "reason": waiting.cause}
        body |= {"asked": waiting.asked, "seconds": round(waiting.seconds(time.time()), 1)}
    else:
        body |= {"bytes_s": pace.bytes_s, "seconds_left": pace.seconds_left(fetching.total - tally.done)}
    Console(sys.stdout).event(**body)


def _phase(fetching: Download, pace: transfer_stats.Speed) -> str:
    tally = fetching.tally
    amount = f"{formatting.size(tally.done)} of {formatting.size(fetching.total)}"
    if (waiting := tally.waiting) is not None:
        return f"{waiting.in_words(time.time())}, {amount}"
    parts = [amount]
    if pace.bytes_s:
        parts.append(f"{formatting.size(round(pace.bytes_s))}/s")
    left = pace.seconds_left(fetching.total - tally.done)
    if left is not None:
        parts.append(f"{formatting.duration(left)} left")
    return f"Downloading, {', '.join(parts)}"
