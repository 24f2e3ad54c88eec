"""One download on a worker thread, and which downloads go on at the next start.

The hub's modules are imported late: the start of the program needs none of them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.hub.errors import MOVED, CancelledError, CancelToken, HubError
from mtplx_engine.util.files import JsonStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mtplx_engine.hub.download import Download
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.plan import DownloadPlan
    from mtplx_engine.hub.transfer_stats import TransferStats


# A longer wait gives up the place in the queue.
_HOLD_S, _PATIENCE_S = 5.0, 15.0

_NAME, _FORMAT, _GOING = "downloads.json", 1, "going"


@dataclass(frozen=True, slots=True)
class DownloadEnd:
    """The result of a download job.

    Attributes:
        plan: What was installed, or was to be; another one than at the start when the hub no longer has that.
        present: Bytes on the disk.
        error: Why the model is not installed; None when it is.
    """

    plan: DownloadPlan
    present: int
    error: BaseException | None = None


class DownloadJob:
    """Fetches a model. `run` belongs to a thread of its own, everything else is thread-safe."""

    def __init__(self, plan: DownloadPlan, data_dir: Path, connect: Callable[[], HubConnection]) -> None:
        self._plan = plan
        self._data_dir = data_dir
        self._connect = connect
        self._lock = threading.Lock()
        self._stopped = False
        self._interrupt = CancelToken()
        self._download: Download | None = None

    @property
    def plan(self) -> DownloadPlan:
        """The plan that is fetched now."""
        return self._plan

    @property
    def tally(self) -> TransferStats | None:
        """Its progress, None before it began."""
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
        from mtplx_engine.hub import download

        try:
            with download.kept_awake():
                self._fetch()
        except BaseException as error:  # noqa: BLE001 - told with how far it came
            return DownloadEnd(self._plan, self._present(), error)
        return DownloadEnd(self._plan, self._plan.size)

    def _fetch(self) -> None:
        try:
            self._begin().run()
        except HubError as error:
            if error.problem not in MOVED:
                raise
            from mtplx_engine.hub import remote_inspect

            renewed = remote_inspect.renewed(self._connect(), self._data_dir, self._plan, self._interrupt)
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
        from mtplx_engine.hub.retries import Retries

        retries = Retries(hold_s=_HOLD_S, patience_s=_PATIENCE_S)
        begun = Download(self._plan, self._data_dir, self._connect(), retries)
        with self._lock:
            if self._stopped:
                raise CancelledError
            self._download = begun
        return begun


@dataclass(frozen=True, slots=True)
class Begun:
    """A download that an earlier run of the program began.

    Attributes:
        present: Bytes of it on the disk.
        going: Whether it was running when the program was quit.
    """

    plan: DownloadPlan
    present: int
    going: bool


class DownloadFolder:
    """The staging folders of downloads, shared with `mtplx pull`, and which of them go on at the next start."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._kept = JsonStore(data_dir / _NAME, _FORMAT)

    def open(self) -> tuple[Begun, ...]:
        """Delete downloads that are too old, and return the others."""
        from mtplx_engine.hub import download, plan

        plan.sweep_plans(self._data_dir)
        going = self._kept.get(_GOING)
        # After a crash they stay paused.
        self._kept.drop(_GOING)
        return tuple(
            Begun(found, download.present(self._data_dir, found), isinstance(going, list) and found.id in going)
            for found in plan.unfinished_plans(self._data_dir)
        )

    def note(self, plan: DownloadPlan) -> DownloadPlan:
        """Store the plan of a download that has not begun, and return it with the folder that it goes to.

        Raises:
            HubError: The disk does not take it, or is not there.
        """
        from mtplx_engine.hub import answers
        from mtplx_engine.hub import plan as plans

        wanted = plans.placed(self._data_dir, plan)
        try:
            plans.write_plan(plans.staging(self._data_dir, wanted.id, wanted.home), wanted)
        except OSError as error:
            raise answers.disk_failure(error, plan.title) from error
        return wanted

    def discard(self, plan: DownloadPlan) -> None:
        """Delete the partial files.

        Raises:
            HubError: BUSY, while another program fetches it.
        """
        from mtplx_engine.hub import download

        download.discard(self._data_dir, plan)

    def note_going(self, plan_ids: Iterable[str]) -> None:
        """Store which downloads go on by themselves at the next start."""
        self._kept.put(_GOING, list(plan_ids))
