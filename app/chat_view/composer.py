"""The message field with its buttons and attachment chips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.chat.metrics import Reading, live_text, live_tooltip
from app.chat_view.attachments import AttachmentChips
from app.chat_view.message_edit import MessageEdit, outline
from app.i18n import tr
from app.stylesheet import restyle
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S
from app.widgets.buttons import IconButton
from app.widgets.feedback import ContextRing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.chat.conversation import Attachment
    from app.chat.prompt import ContextUse
    from app.theme import Theme
    from mtplx_engine.ipc.protocol import DepthChosen


_SEND_SIDE = 32


class Composer(QFrame):
    """The message field with its files, the live chip and the button that sends, and stops while an answer is written.

    Attributes:
        edit: The field.
        chips: The files that go with the message.
        clip: The button that attaches files.
        chip: The live figures.
        ring: How full the context window is.
        button: Send, or Stop.

    Signals:
        submitted(str, tuple): A message is to be sent, with its files; it is not blank, or has some.
        stop_requested: The answer is to be stopped.
        attach_requested: Files are to be chosen.
        draft_changed: The text is another one, or the files are.
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
        self.chip.setFont(theme.figures_font(SMALL_PX))
        self.chip.setAccessibleName(tr("Speed"))
        self.button = IconButton(
            theme, "send", tr("Send"), color="on_accent", size=20, side=_SEND_SIDE, parent=self
        )
        self.button.setObjectName("send")
        self.button.clicked.connect(self._press)
        row = QHBoxLayout()
        row.setSpacing(SPACE_M)
        row.addWidget(self.clip)
        row.addStretch(1)
        row.addWidget(self.chip)
        row.addWidget(self.ring)
        row.addWidget(self.button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_M, SPACE_S, SPACE_S)
        layout.setSpacing(SPACE_S)
        layout.addWidget(self.chips)
        layout.addWidget(self.edit)
        layout.addLayout(row)
        QWidget.setTabOrder(self.edit, self.clip)
        QWidget.setTabOrder(self.clip, self.ring)
        QWidget.setTabOrder(self.ring, self.button)
        self._refresh()

    def text(self) -> str:
        """Return what has been typed."""
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Replace what has been typed, the cursor at its end."""
        self.edit.set_text(text)

    def set_attachments(self, attachments: Sequence[Attachment]) -> None:
        """Let other files go with the message."""
        self.chips.set_attachments(attachments)
        self._note_draft()

    def set_use(self, use: ContextUse | None) -> None:
        """Show how full the context window is; None while nobody can say."""
        self.ring.setVisible(use is not None)
        if use is not None:
            self.ring.set_share(use.share, use.words(), use.tooltip())
            self.chips.set_tokens(use.files)

    def set_busy(self, *, busy: bool) -> None:
        """Turn Send into Stop in the same place, and back."""
        self._busy = busy
        if not busy:
            self.chip.clear()
        self._refresh()

    def set_reading(self, reading: Reading | None, depth: DepthChosen | None = None) -> None:
        """Show the live figures, None while there is too little to measure; and in the tooltip the draft depth."""
        if self._busy:
            self.chip.setText(live_text(reading))
            self.chip.setToolTip(live_tooltip(reading, depth))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Outline the whole card while its field has the focus."""
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
