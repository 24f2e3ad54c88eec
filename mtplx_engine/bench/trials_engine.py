"""The engine with what only trials need: measuring its speed, and checking that drafting is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.bench import exactness, measuring
from mtplx_engine.engine import Engine
from mtplx_engine.trials import Measured

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from mtplx_engine.trials import Checked, CheckExactness, Measure, TrialProgress


class TrialsEngine(Engine):
    """An engine that measures and checks the model that it has loaded."""

    def measure(self, request: Measure, cancelled: threading.Event) -> Iterator[TrialProgress | Measured]:
        """Measure, and keep what was measured; see `measuring.measure`.

        Raises:
            EngineError: As there.
        """
        for event in measuring.measure(self, request, cancelled):
            if isinstance(event, Measured):
                self.depths.keep(event.measurement)
            yield event

    def check(self, request: CheckExactness, cancelled: threading.Event) -> Iterator[TrialProgress | Checked]:
        """Check that drafting is exact; see `exactness.check`.

        Raises:
            EngineError: As there.
        """
        yield from exactness.check(self, request, cancelled)
