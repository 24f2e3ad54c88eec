"""One download on its own thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.hub import download
from mtplx_engine.hub.errors import MOVED, CancelledError, CancelToken, HubError
from mtplx_engine.util.files import JsonStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mtplx_engine.hub.download import Download
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.plan import DownloadPlan
    from mtplx_engine.hub.transfer import TransferStats


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

    plan: DownloadPlan
    present: int
    error: BaseException | None = None


class DownloadJob:
    """Fetches a model. `run` belongs to a thread of its own, everything else may be called from any.

    Args:
        plan: What is installed.
        data_dir: The data folder.
        connect: Returns the way to the hub.
    """

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
        """What is fetched now."""
        return self._plan

    @property
    def tally(self) -> TransferStats | None:
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
            with download.kept_awake():
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
        from mtplx_engine.hub.http import Retries

        retries = Retries(hold_s=_HOLD_S, patience_s=_PATIENCE_S)
        begun = Download(self._plan, self._data_dir, self._connect(), retries)
        with self._lock:
            if self._stopped:
                raise CancelledError
            self._download = begun
        return begun


_NAME, _FORMAT, _GOING = "downloads.json", 1, "going"


@dataclass(frozen=True, slots=True)
class Begun:
    """A download that was begun.

    Attributes:
        plan: What is to be installed.
        present: Bytes of it that are there.
        going: Whether it was under way when the program was quit.
    """

    plan: DownloadPlan
    present: int
    going: bool


class DownloadFolder:
    """Belongs to the program that runs; the command has downloads of its own in it.

    Args:
        data_dir: The data folder.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._kept = JsonStore(data_dir / _NAME, _FORMAT)

    def open(self) -> tuple[Begun, ...]:
        """Delete what is too old, and return the other ones."""
        # The start of the program needs none of it.
        from mtplx_engine.hub import download, plan

        plan.sweep_plans(self._data_dir)
        going = self._kept.get(_GOING)
        # What is killed later is to stay paused.
        self._kept.drop(_GOING)
        return tuple(
            Begun(
                found, download.present(self._data_dir, found), isinstance(going, list) and found.id in going
            )
            for found in plan.unfinished_plans(self._data_dir)
        )

    def note(self, plan: DownloadPlan) -> DownloadPlan:
        """Remember a download that has not begun; return its plan with the folder that it goes to from now on.

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
        """Delete what has arrived.

        Raises:
            HubError: BUSY, while another program fetches it.
        """
        from mtplx_engine.hub import download

        download.discard(self._data_dir, plan)

    def note_going(self, plan_ids: Iterable[str]) -> None:
        """Remember which ones are to go on by themselves at the next start."""
        self._kept.put(_GOING, list(plan_ids))
