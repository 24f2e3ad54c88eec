"""The message field with its buttons and attachment chips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.chat.metrics import Reading, live_text, live_tooltip
from app.chat_view.message_edit import MessageEdit
from app.i18n import tr
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XS
from app.widgets.buttons import IconButton
from app.widgets.feedback import ContextRing
from app.widgets.layouts import FlowLayout
from app.widgets.util import outline, restyle
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent

    from app.chat.conversation import Attachment
    from app.chat.prompt import ContextUse
    from app.theme import Theme
    from mtplx_engine.ipc.protocol import DepthChosen


_ICON = 16
_NAME_WIDTH = 220


class AttachmentChip(QFrame):
    """A file's name, its size, and its tokens once they are counted.

    Signals:
        removed: It is not to go along.
    """

    removed = Signal()

    def __init__(self, theme: Theme, attachment: Attachment, parent: QWidget, *, removable: bool) -> None:
        super().__init__(parent)
        self._theme = theme
        self.attachment = attachment
        self.setObjectName("chip")
        self._icon = QLabel(self)
        self._icon.setFixedSize(QSize(_ICON, _ICON))
        self._name = QLabel(self)
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        self._size = QLabel(self)
        self._size.setTextFormat(Qt.TextFormat.PlainText)
        self._size.setProperty("tone", "secondary")
        for label in (self._name, self._size):
            label.setFont(theme.figures_font(SMALL_PX))
        metrics = self._name.fontMetrics()
        self._name.setText(metrics.elidedText(attachment.name, Qt.TextElideMode.ElideMiddle, _NAME_WIDTH))
        self.setToolTip(attachment.name)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_S, SPACE_XS, SPACE_XS if removable else SPACE_S, SPACE_XS)
        row.setSpacing(SPACE_S)
        row.addWidget(self._icon)
        row.addWidget(self._name)
        row.addWidget(self._size)
        self.close_button: IconButton | None = None
        if removable:
            what = tr("Remove {name}").format(name=attachment.name)
            self.close_button = IconButton(theme, "close", what, size=12, side=20, parent=self)
            self.close_button.clicked.connect(self.removed)
            row.addWidget(self.close_button)
        self.set_tokens(None)
        theme.restyling.add(self._tint)
        self._tint()

    def words(self) -> str:
        """Return what the chip says after the name."""
        return self._size.text()

    def set_tokens(self, tokens: int | None) -> None:
        """Say how many tokens the file takes, once that is known."""
        size = formatting.size(self.attachment.size)
        if tokens is not None:
            size += " · " + tr("{count} tokens").format(count=f"{tokens:,}")
        self._size.setText(size)
        self.setAccessibleName(f"{self.attachment.name}, {size}")

    def _tint(self) -> None:
        scale = max(round(self.devicePixelRatioF()), 1)
        self._icon.setPixmap(self._theme.icons.pixmap("file", self._theme.palette.secondary, _ICON, scale))


class AttachmentChips(QWidget):
    """Chips side by side, in as many lines as they need; takes no room without any.

    Signals:
        changed: A file was removed.
    """

    changed = Signal()

    def __init__(
        self, theme: Theme, parent: QWidget | None = None, *, removable: bool = False, right: bool = False
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._removable = removable
        self._chips: list[AttachmentChip] = []
        self._flow = FlowLayout(self, SPACE_S, right=right)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.hide()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The files, from left to right."""
        return tuple(chip.attachment for chip in self._chips)

    @property
    def chips(self) -> tuple[AttachmentChip, ...]:
        """The chips themselves."""
        return tuple(self._chips)

    def set_attachments(self, attachments: Sequence[Attachment]) -> None:
        """Show other files."""
        for chip in self._chips:
            self._flow.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self._chips = []
        for attachment in attachments:
            chip = AttachmentChip(self._theme, attachment, self, removable=self._removable)
            chip.removed.connect(lambda chip=chip: self._remove(chip))
            self._chips.append(chip)
            self._flow.addWidget(chip)
            chip.show()
        self._claim_room()
        self.setVisible(bool(self._chips))

    def set_tokens(self, counts: Sequence[int]) -> None:
        """Say how many tokens each file takes; counts of other files are not taken."""
        if len(counts) == len(self._chips):
            for chip, tokens in zip(self._chips, counts, strict=True):
                chip.set_tokens(tokens)
            self._claim_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep all lines in sight."""
        super().resizeEvent(event)
        self._claim_room()

    def _claim_room(self) -> None:
        """Ask for the height of all lines, or a layout that is short of room would show but the first."""
        self.setMinimumHeight(self._flow.heightForWidth(self.width()) if self._chips else 0)

    def _remove(self, chip: AttachmentChip) -> None:
        self.set_attachments([each.attachment for each in self._chips if each is not chip])
        self.changed.emit()


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
