"""One download in the list of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.services.download_row import DownloadRow
from mtplx_engine.hub.speed import Speed

if TYPE_CHECKING:
    from app.services.download_row import DownloadState
    from mtplx_engine.hub.plan import Plan


class DownloadItem:
    """What the list keeps of a download.

    Attributes:
        plan: What is installed.
        row: As people see it.
        noted: Whether the folder of downloads knows of it.
        present: Bytes that were there before its job began to count.
        speed: How fast its job is.
        failures: Of its jobs, in a row, without a byte in between.
    """

    def __init__(self, plan: Plan, state: DownloadState, present: int, *, noted: bool) -> None:
        self.plan = plan
        self.row = DownloadRow(plan.id, plan.title, state, present, plan.size)
        self.noted = noted
        self.present = present
        self.speed = Speed()
        self.failures = 0
