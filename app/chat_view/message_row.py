"""Base class of the rows of the transcript, and the footer with their actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication
from PySide6.QtWidgets import QLabel, QMenu, QWidget

from app.chat.generation import RowAction, RowState
from app.i18n import tr
from app.theme import SMALL_PX, SPACE_S
from app.widgets.buttons import IconButton
from app.widgets.layouts import hbox, vbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QAction, QPaintEvent

    from app.chat.conversation import Message
    from app.theme import Theme


class MessageRow(QWidget):
    """A message above its actions, which are visible while the pointer is on the row.

    Attributes:
        footer: The actions; subclasses make it.

    Signals:
        chosen(RowAction, str): An action was chosen for the message with this id.
    """

    chosen = Signal(object, str)
    footer: RowFooter

    def __init__(self, theme: Theme, message: Message, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.message = message
        self.state = RowState()
        self._layout = vbox(parent=self, spacing=SPACE_S)

    @property
    def silent(self) -> bool:
        """Whether the row has nothing but the actions to show."""
        return False

    def set_state(self, state: RowState) -> None:
        self.state = state
        self.footer.set_state(state)

    def copy(self) -> None:
        """Copy the message: a question as it was typed, an answer as its markdown."""
        QGuiApplication.clipboard().setText(self.message.text)
        self.footer.say_copied()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.footer.reveal(shown=True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.footer.reveal(shown=self.silent)

    def _choose(self, action: RowAction) -> None:
        if action is RowAction.COPY:
            self.copy()
        else:
            self.chosen.emit(action, self.message.id)


_HEIGHT = 28
_COPIED_MS = 1500
_ICONS = {
    RowAction.COPY: "copy",
    RowAction.EDIT: "edit",
    RowAction.REGENERATE: "regenerate",
    RowAction.RESUME: "continue",
    RowAction.DELETE: "trash",
    RowAction.PREVIOUS: "chevron-left",
    RowAction.NEXT: "chevron-right",
}


class QuietButton(IconButton):
    """A button that keeps its room, and is painted only while the pointer is on its row or it has the focus."""

    revealed = False

    def __init__(self, theme: Theme, icon: str, label: str, parent: QWidget) -> None:
        super().__init__(theme, icon, label, parent=parent)
        self.setObjectName("quietIcon")

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.isEnabled() and (self.revealed or self.hasFocus()):
            super().paintEvent(event)


class RowFooter(QWidget):
    """Buttons for the actions of a row, at fixed positions; visible with the pointer on the row or with the focus.

    The arrows between the versions of a message are visible always: they show that there are others.

    Args:
        actions: The actions with a button, from left to right.
        more: The actions in a menu behind the last button.
        lasting: Actions whose buttons, behind the others, are visible as long as they are offered; so are the others
            then, since a button alone would float in the middle of the footer.

    Signals:
        chosen(RowAction): A button was pressed, or an entry of the menu.
        models_wanted(QMenu): This menu is about to open; it is to hold the models that could answer instead.
    """

    chosen = Signal(object)
    models_wanted = Signal(object)

    def __init__(
        self,
        theme: Theme,
        actions: Sequence[RowAction],
        labels: dict[RowAction, str],
        parent: QWidget,
        *,
        more: Sequence[RowAction] = (),
        lasting: Sequence[RowAction] = (),
        right: bool = False,
    ) -> None:
        super().__init__(parent)
        self._labels = labels
        self._entries: dict[RowAction, QAction] = {}
        self._buttons: dict[RowAction, IconButton] = {}
        self._lasting = tuple(lasting)
        self._revealed = self._has_lasting = False
        self._place = QLabel(self)
        self._place.setTextFormat(Qt.TextFormat.PlainText)
        self._place.setProperty("tone", "tertiary")
        self._place.setFont(theme.tabular_font(SMALL_PX))
        self.setFixedHeight(_HEIGHT)
        self.row = hbox(parent=self, spacing=0)
        if right:
            self.row.addStretch(1)
        self.arrows = self._add_arrows(theme)
        for action in actions:
            self._buttons[action] = self._quiet_button(theme, action)
            self._buttons[action].setProperty("side", "right" if right else "left")
            self.row.addWidget(self._buttons[action])
        self.more = self._more_button(theme, more) if more else None
        if self.more:
            self.row.addWidget(self.more)
        for action in lasting:
            self._buttons[action] = self._lasting_button(theme, action)
            self.row.addWidget(self._buttons[action])

    def button(self, action: RowAction) -> IconButton:
        return self._buttons[action]

    def stops(self) -> tuple[QWidget, ...]:
        """Return the buttons from left to right."""
        steady = [button for action, button in self._buttons.items() if action not in self._lasting]
        lasting = [self._buttons[action] for action in self._lasting]
        return (*steady, *([self.more] if self.more else []), *lasting)

    def set_state(self, state: RowState) -> None:
        for action, button in self._buttons.items():
            button.setEnabled(action in state.offers)
            if action in self._lasting:
                button.setVisible(action in state.offers)
        self._has_lasting = any(action in state.offers for action in self._lasting)
        self._reveal()
        for action, entry in self._entries.items():
            entry.setVisible(action in state.offers)
        self.arrows.setVisible(state.place.of > 1)
        self._place.setText(f"{state.place.number}/{state.place.of}")
        self._place.setAccessibleName(
            tr("Version {number} of {of}").format(number=state.place.number, of=state.place.of)
        )

    def reveal(self, *, shown: bool) -> None:
        """Show the quiet buttons, or hide them unless a lasting one is visible."""
        self._revealed = shown
        self._reveal()

    def _reveal(self) -> None:
        for button in (*self._buttons.values(), self.more):
            if isinstance(button, QuietButton):
                button.revealed = self._revealed or self._has_lasting
                button.update()

    def say_copied(self) -> None:
        button, label = self._buttons[RowAction.COPY], self._labels[RowAction.COPY]
        button.set_face("check", tr("Copied"))
        timer = QTimer(self, singleShot=True, interval=_COPIED_MS)  # a child of the row, unlike QTimer.singleShot's
        timer.timeout.connect(lambda: button.set_face("copy", label))
        timer.timeout.connect(timer.deleteLater)
        timer.start()

    def _quiet_button(self, theme: Theme, action: RowAction) -> QuietButton:
        button = QuietButton(theme, _ICONS[action], self._labels[action], self)
        button.clicked.connect(lambda: self.chosen.emit(action))
        return button

    def _more_button(self, theme: Theme, actions: Sequence[RowAction]) -> QuietButton:
        button = QuietButton(theme, "more", tr("More"), self)
        menu = QMenu(button)
        for action in actions:
            if action is RowAction.OTHER_MODEL:
                models = menu.addMenu(self._labels[action])
                models.aboutToShow.connect(lambda models=models: self.models_wanted.emit(models))
                self._entries[action] = models.menuAction()
                continue
            entry = menu.addAction(self._labels[action])
            entry.triggered.connect(lambda _=False, action=action: self.chosen.emit(action))
            self._entries[action] = entry
        button.clicked.connect(lambda: menu.popup(button.mapToGlobal(button.rect().bottomLeft())))
        return button

    def _lasting_button(self, theme: Theme, action: RowAction) -> IconButton:
        button = IconButton(theme, _ICONS[action], self._labels[action], parent=self)
        button.clicked.connect(lambda: self.chosen.emit(action))
        button.hide()
        return button

    def _add_arrows(self, theme: Theme) -> QWidget:
        arrows = QWidget(self)
        for action, label in (
            (RowAction.PREVIOUS, tr("Previous version")),
            (RowAction.NEXT, tr("Next version")),
        ):
            button = IconButton(theme, _ICONS[action], label, parent=arrows)
            button.clicked.connect(lambda _=False, action=action: self.chosen.emit(action))
            self._buttons[action] = button
        previous = self._buttons[RowAction.PREVIOUS]
        hbox(previous, self._place, self._buttons[RowAction.NEXT], parent=arrows, spacing=0)
        previous.setObjectName("quietIcon")  # aligns its arrow with the text
        arrows.hide()
        self.row.addWidget(arrows)
        return arrows
