"""Offers to measure the first model that was fetched, once, when nobody is in the middle of something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Signal

from app.translate import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.widgets.undo_toast import UndoToast
    from mtplx_engine.protocol import ModelInfo


class SpeedOffer(QObject):
    """Waits until the main window is looked at, and says it there.

    Signals:
        accepted(str): The model in a folder is to be measured.
    """

    accepted = Signal(str)

    def __init__(self, window: QWidget, toast: UndoToast) -> None:
        super().__init__(window)
        self._window = window
        self._toast = toast
        self._model: ModelInfo | None = None
        window.installEventFilter(self)

    def offer(self, model: ModelInfo) -> None:
        """Offer to measure a model, if it drafts."""
        if model.max_depth:
            self._model = model
            self._say()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Say what waits to be said, when the window comes to the front."""
        if event.type() == QEvent.Type.WindowActivate:
            self._say()
        return super().eventFilter(watched, event)

    def _say(self) -> None:
        model = self._model
        if model is None or not self._window.isActiveWindow():
            return
        self._model = None
        words = tr(
            "{model} is ready. How much faster is it here when it drafts? Measuring takes a minute or two."
        )
        self._toast.offer(
            words.format(model=model.name), tr("Measure"), lambda: self.accepted.emit(model.path)
        )
