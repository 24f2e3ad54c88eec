"""The downloads that are on the disk, finished or not; every call here may wait for the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.json_store import JsonStore

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mtplx_engine.hub.plan import Plan

_NAME, _FORMAT, _GOING = "downloads.json", 1, "going"


@dataclass(frozen=True, slots=True)
class Begun:
    """A download that was begun.

    Attributes:
        plan: What is to be installed.
        present: Bytes of it that are there.
        going: Whether it was under way when the program was quit.
    """

    plan: Plan
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

        plan.sweep(self._data_dir)
        going = self._kept.get(_GOING)
        # What is killed later is to stay paused.
        self._kept.drop(_GOING)
        return tuple(
            Begun(
                found, download.present(self._data_dir, found), isinstance(going, list) and found.id in going
            )
            for found in plan.unfinished(self._data_dir)
        )

    def note(self, plan: Plan) -> Plan:
        """Remember a download that has not begun; return its plan with the folder that it goes to from now on.

        Raises:
            HubError: The disk does not take it, or is not there.
        """
        from mtplx_engine.hub import answers
        from mtplx_engine.hub import plan as plans

        wanted = plans.placed(self._data_dir, plan)
        try:
            plans.write(plans.staging(self._data_dir, wanted.id, wanted.home), wanted)
        except OSError as error:
            raise answers.disk_failure(error, plan.title) from error
        return wanted

    def discard(self, plan: Plan) -> None:
        """Delete what has arrived.

        Raises:
            HubError: BUSY, while another program fetches it.
        """
        from mtplx_engine.hub import download

        download.discard(self._data_dir, plan)

    def note_going(self, plan_ids: Iterable[str]) -> None:
        """Remember which ones are to go on by themselves at the next start."""
        self._kept.put(_GOING, list(plan_ids))
