"""Files that are attached to a message: their limits, their chips, and where they are dropped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.chat.conversation import Attachment, clean_text
from app.i18n import tr
from app.theme import SMALL_PX, SPACE_S, SPACE_XS
from app.widgets.buttons import IconButton
from app.widgets.layouts import FlowLayout
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QMimeData
    from PySide6.QtGui import QResizeEvent

    from app.theme import Theme


MAX_FILES = 10  # of a message
LONGEST_PASTE = 100_000  # characters; a field takes seconds to lay out some millions


def as_file(text: str) -> Attachment:
    """Return a text that is too long for a field as an attachment."""
    text = clean_text(text)
    return Attachment(tr("Pasted text"), len(text.encode()), text)


def too_many() -> str:
    """Return the message that there is no room for another file."""
    return tr("A message takes {count} files at most.").format(count=MAX_FILES)


_ICON = 16
_NAME_WIDTH = 220


class AttachmentChip(QFrame):
    """A file's name, its size, and its tokens once they are counted."""

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
            label.setFont(theme.tabular_font(SMALL_PX))
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
            remove = tr("Remove {name}").format(name=attachment.name)
            self.close_button = IconButton(theme, "close", remove, size=12, side=20, parent=self)
            self.close_button.clicked.connect(self.removed)
            row.addWidget(self.close_button)
        self.set_tokens(None)
        theme.restyling.add(self._tint)
        self._tint()

    def words(self) -> str:
        """Return the text behind the name."""
        return self._size.text()

    def set_tokens(self, tokens: int | None) -> None:
        """Show the number of tokens of the file; None while it is not known."""
        size = formatting.size(self.attachment.size)
        if tokens is not None:
            size += " · " + tr("{count} tokens").format(count=f"{tokens:,}")
        self._size.setText(size)
        self.setAccessibleName(f"{self.attachment.name}, {size}")

    def _tint(self) -> None:
        scale = max(round(self.devicePixelRatioF()), 1)
        self._icon.setPixmap(self._theme.icons.pixmap("file", self._theme.palette.secondary, _ICON, scale))


class AttachmentChips(QWidget):
    """A row of chips that wraps, hidden while it is empty; `changed` tells that a file was removed."""

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
        return tuple(chip.attachment for chip in self._chips)

    @property
    def chips(self) -> tuple[AttachmentChip, ...]:
        return tuple(self._chips)

    def set_attachments(self, attachments: Sequence[Attachment]) -> None:
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
        """Show the tokens of each file; counts of another number of files are out of date and ignored."""
        if len(counts) == len(self._chips):
            for chip, tokens in zip(self._chips, counts, strict=True):
                chip.set_tokens(tokens)
            self._claim_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._claim_room()

    def _claim_room(self) -> None:
        self.setMinimumHeight(self._flow.heightForWidth(self.width()) if self._chips else 0)

    def _remove(self, chip: AttachmentChip) -> None:
        self.set_attachments([each.attachment for each in self._chips if each is not chip])
        self.changed.emit()


def local_files(data: QMimeData) -> list[Path]:
    """Return the local files of dropped or pasted data; none when there is a remote URL among them."""
    urls = data.urls()
    return [Path(url.toLocalFile()) for url in urls] if all(url.isLocalFile() for url in urls) else []


class FileDrop(QObject):
    """Accepts files that are dropped on a widget, wherever no child of it does: `dropped` carries a list[Path]."""

    dropped = Signal(object)

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        area.setAcceptDrops(True)
        area.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent | QDragEnterEvent):
            files = local_files(event.mimeData())
            if files:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop:
                    self.dropped.emit(files)
                return True
        return super().eventFilter(watched, event)
