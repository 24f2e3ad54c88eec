"""The composer: message field, attached files, context ring, live speed, Send and Stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from app.chat.metrics import Reading, live_text, live_tooltip
from app.chat_view.attachments import AttachmentChips
from app.chat_view.message_edit import MessageEdit, outline
from app.i18n import tr
from app.stylesheet import restyle
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S
from app.widgets.buttons import IconButton
from app.widgets.feedback import ContextRing
from app.widgets.layouts import hbox, vbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.chat.conversation import Attachment
    from app.chat.prompt import ContextUse
    from app.theme import Theme
    from mtplx_engine.ipc.protocol import DepthChosen


_SEND_SIDE = 32


class Composer(QFrame):
    """The message field with its files and buttons.

    Attributes:
        clip: The button that attaches files.
        chip: Live speed of the answer.
        button: Send; Stop while an answer is generated.

    Signals:
        submitted(str, tuple[Attachment, ...]): A message with text or files is to be sent.
        draft_changed: The text or the files have changed.
    """

    submitted = Signal(str, object)
    stop_requested = Signal()
    attach_requested = Signal()
    draft_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._busy = False
        self.edit = MessageEdit(self)
        self.edit.installEventFilter(self)
        self.edit.textChanged.connect(self._note_draft)
        self.edit.submitted.connect(self._submit)
        self.setFocusProxy(self.edit)
        self.chips = AttachmentChips(theme, self, removable=True)
        self.chips.changed.connect(self._note_draft)
        self.clip = IconButton(theme, "clip", tr("Attach files"), size=20, side=_SEND_SIDE, parent=self)
        self.clip.setObjectName("clip")
        self.clip.clicked.connect(self.attach_requested)
        self.ring = ContextRing(theme, self)
        self.ring.hide()
        self.chip = QLabel(self)
        self.chip.setTextFormat(Qt.TextFormat.PlainText)
        self.chip.setProperty("tone", "secondary")
        self.chip.setFont(theme.tabular_font(SMALL_PX))
        self.chip.setAccessibleName(tr("Speed"))
        self.button = IconButton(theme, "send", tr("Send"), color="on_accent", size=20, side=_SEND_SIDE, parent=self)
        self.button.setObjectName("send")
        self.button.clicked.connect(self._press)
        buttons = hbox(self.clip, 1, self.chip, self.ring, self.button, spacing=SPACE_M)
        margins = (SPACE_L, SPACE_M, SPACE_S, SPACE_S)
        vbox(self.chips, self.edit, buttons, parent=self, margins=margins, spacing=SPACE_S)
        QWidget.setTabOrder(self.edit, self.clip)
        QWidget.setTabOrder(self.clip, self.ring)
        QWidget.setTabOrder(self.ring, self.button)
        self._refresh()

    def text(self) -> str:
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        self.edit.set_text(text)

    def set_attachments(self, attachments: Sequence[Attachment]) -> None:
        self.chips.set_attachments(attachments)
        self._note_draft()

    def set_use(self, use: ContextUse | None) -> None:
        """Show how full the context window is; None while that is not known."""
        self.ring.setVisible(use is not None)
        if use is not None:
            self.ring.set_share(use.share, use.words(), use.tooltip())
            self.chips.set_tokens(use.files)

    def set_busy(self, *, busy: bool) -> None:
        """Turn Send into Stop, and back."""
        self._busy = busy
        if not busy:
            self.chip.clear()
        self._refresh()

    def set_reading(self, reading: Reading | None, depth: DepthChosen | None = None) -> None:
        """Show the live speed, None while there is too little to measure; the tooltip has the draft depth."""
        if self._busy:
            self.chip.setText(live_text(reading))
            self.chip.setToolTip(live_tooltip(reading, depth))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.edit:
            outline(self, event)
        return super().eventFilter(watched, event)

    def _submit(self) -> None:
        if not self._busy and self._has_draft():
            self.submitted.emit(self.text(), self.chips.attachments)

    def _press(self) -> None:
        if self._busy:
            self.stop_requested.emit()
        else:
            self._submit()

    def _has_draft(self) -> bool:
        return bool(self.chips.attachments) or not self.edit.is_blank()

    def _note_draft(self) -> None:
        self._refresh()
        self.draft_changed.emit()

    def _refresh(self) -> None:
        self.button.setEnabled(self._busy or self._has_draft())
        if self._busy == bool(self.button.property("stopping")):
            return
        self.button.setProperty("stopping", self._busy)
        if self._busy:
            self.button.set_face("stop", tr("Stop"), "window")
        else:
            self.button.set_face("send", tr("Send"), "on_accent")
        restyle(self.button)
