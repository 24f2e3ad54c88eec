"""What an engine without a model does, as a value that can be told to a process of its own."""

from __future__ import annotations

from dataclasses import dataclass

from mtplx_engine.errors import ErrorKind
from mtplx_engine.measure.measurement import ExactnessReport, Measurement  # noqa: TC001 - the codec reads the annotations
from tests.support.measurements import KEY, measurement, report

ANSWER = """\
# Tides

The sea rises and falls **twice a day**, because the Moon pulls harder on the near side of the Earth.

1. *Spring tides* come at full and new moon.
2. *Neap tides* come in between.

```python
def height(hours: float) -> float:
    return 2.0 * math.cos(2 * math.pi * hours / 12.42)
```

> A day at sea teaches more than a book.

Ask a harbour for `local` times.
"""

_TWICE_AS_FAST = measurement(2.0, 2.0, 2.0)
_EXACT = report()


@dataclass(frozen=True, slots=True)
class Script:
    """What the engine of `fake_host` does.

    Attributes:
        answer: Its answer to everything; `{question}` becomes the last message, `{turns}` their number.
        thinking: What it thinks first, unless it is told not to.
        count_s: Time to count a prompt.
        cycle_s: Time of one decode cycle; by the clock, so that an engine which was held up catches up.
        accepted: Accepted draft tokens of the cycles after the first, over and over; drafts are 3 long.
        load_s: Time to load, in ten steps.
        load_error: The sentence with which loading fails, unless it is to load anyway.
        load_error_kind: The kind of that failure.
        prefill_s: Time to prefill, in four steps.
        answer_error: The sentence with which each answer fails, after its first cycle.
        panic_after: Raise something that is no Exception after so many cycles, as a Rust panic does.
        crash_after: End itself with SIGKILL after so many cycles.
        hang_after: Stop everything, heartbeat included, after so many cycles.
        deaf_after: Work for a minute without looking at Cancel, after so many cycles.
        stray: Each answer begins with an event of the generation before, which is over.
        window: The context window in tokens.
        note: Why the model does not draft for itself; empty when it does.
        speed_key: Of the model, whatever it is.
        measurement: What measuring finds.
        report: What a check of exactness finds.
        trial_s: Time that either takes, in ten steps.
        trial_error: The sentence with which either fails, half-way.
    """

    answer: str = ANSWER
    thinking: str = ""
    count_s: float = 0.0
    cycle_s: float = 0.004
    accepted: tuple[int, ...] = (2, 1, 3, 0, 2)
    load_s: float = 0.0
    load_error: str = ""
    load_error_kind: str = ErrorKind.REFUSED
    prefill_s: float = 0.0
    answer_error: str = ""
    panic_after: int | None = None
    crash_after: int | None = None
    hang_after: int | None = None
    deaf_after: int | None = None
    stray: bool = False
    window: int = 8192
    note: str = ""
    speed_key: str = KEY
    measurement: Measurement = _TWICE_AS_FAST
    report: ExactnessReport = _EXACT
    trial_s: float = 0.0
    trial_error: str = ""
