"""One download on the thread that does it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.hub import awake
from mtplx_engine.hub.interrupt import Interrupt
from mtplx_engine.hub.problem import MOVED, CancelledError, HubError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.download import Download
    from mtplx_engine.hub.plan import Plan
    from mtplx_engine.hub.tally import Tally

# A longer wait gives up the place in the queue.
_HOLD_S, _PATIENCE_S = 5.0, 15.0


@dataclass(frozen=True, slots=True)
class DownloadEnd:
    """How it ended.

    Attributes:
        plan: What was installed, or was to be; another one than at the beginning when the hub has that no more.
        present: Bytes that are there.
        error: Why the model is not installed; None when it is.
    """

    plan: Plan
    present: int
    error: BaseException | None = None


class DownloadJob:
    """Fetches a model. `run` belongs to a thread of its own, everything else may be called from any.

    Args:
        plan: What is installed.
        data_dir: The data folder.
        connect: Returns the way to the hub.
    """

    def __init__(self, plan: Plan, data_dir: Path, connect: Callable[[], Connection]) -> None:
        self._plan = plan
        self._data_dir = data_dir
        self._connect = connect
        self._lock = threading.Lock()
        self._stopped = False
        self._interrupt = Interrupt()
        self._download: Download | None = None

    @property
    def plan(self) -> Plan:
        """What is fetched now."""
        return self._plan

    @property
    def tally(self) -> Tally | None:
        """How far it is, None before it began."""
        return self._download.tally if self._download is not None else None

    def stop(self) -> None:
        """End `run` at once; what has arrived stays for the next one."""
        with self._lock:
            self._stopped = True
            self._interrupt.set()
            if self._download is not None:
                self._download.stop()

    def run(self) -> DownloadEnd:
        """Fetch what is missing, and keep a Mac awake meanwhile."""
        try:
            with awake.kept():
                self._fetch()
        except BaseException as error:  # noqa: BLE001 - told with how far it came
            return DownloadEnd(self._plan, self._present(), error)
        return DownloadEnd(self._plan, self._plan.size)

    def _fetch(self) -> None:
        """Fetch it, or what the hub has in its place now."""
        try:
            self._begin().run()
        except HubError as error:
            if error.problem not in MOVED:
                raise
            from mtplx_engine.hub import renewal

            renewed = renewal.renewed(self._connect(), self._data_dir, self._plan, self._interrupt)
            if renewed is None:
                raise
            self._plan = renewed
            self._begin().run()

    def _present(self) -> int:
        from mtplx_engine.hub import download

        try:
            return download.present(self._data_dir, self._plan)
        except OSError:  # a disk that is gone
            return 0

    def _begin(self) -> Download:
        from mtplx_engine.hub.download import Download
        from mtplx_engine.hub.retry import Retries

        retries = Retries(hold_s=_HOLD_S, patience_s=_PATIENCE_S)
        begun = Download(self._plan, self._data_dir, self._connect(), retries)
        with self._lock:
            if self._stopped:
                raise CancelledError
            self._download = begun
        return begun
