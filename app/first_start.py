"""Self-check at the first start of a version of the app."""

from __future__ import annotations

import importlib.metadata
import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.i18n import tr
from app.services.engine_worker import EngineState
from app.services.helper_process import SelfCheck
from app.widgets.dialogs import MessageBox
from mtplx_engine import paths
from mtplx_engine.doctor.environment import Check, failed

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from app.services.engine_link import EngineLink
    from app.storage.settings import SettingsFile


_SETTLED = (EngineState.READY, EngineState.NO_MODEL, EngineState.GAVE_UP)
_log = logging.getLogger(__name__)


class FirstStart(QObject):
    """Runs the self-check once for each version, after the engine has started or has failed to; shows only failures.

    Only in the bundled app: in a checkout `mtplx doctor` does it. `sheet` shows the failed checks; None before.
    """

    def __init__(self, window: QWidget, settings: SettingsFile, link: EngineLink, data_dir: Path) -> None:
        super().__init__(window)
        self._window = window
        self._settings = settings
        self._data_dir = data_dir
        self._version = importlib.metadata.version("mtplx")
        self._check: SelfCheck | None = None
        self.sheet: MessageBox | None = None
        if paths.bundle() is not None and settings.value.checked_version != self._version:
            link.state_changed.connect(self._start_check)

    def close(self) -> None:
        if self._check is not None:
            self._check.close()
            self._check = None

    def _start_check(self, state: EngineState) -> None:
        if state in _SETTLED and self._check is None and self._settings.value.checked_version != self._version:
            self._check = SelfCheck(self._data_dir, self)
            self._check.ended.connect(self._report)
            self._check.unanswered.connect(self.close)  # the next start tries again
            self._check.start()

    def _report(self, checks: tuple[Check, ...]) -> None:
        self._settings.change(checked_version=self._version)
        for check in checks:
            _log.info("self-check: %s %s", check.name, check.verdict)
        wrong = failed(checks)
        if wrong:
            where = tr("Help, Show Logs and the command “mtplx doctor” say more.")
            more = "\n\n".join([*(f"{check.name}: {check.detail}" for check in wrong), where])
            self.sheet = MessageBox(tr("Not everything here is as MTPLX needs it."), more, self._window)
            self.sheet.setWindowTitle(paths.APP_NAME)
            self.sheet.open()
