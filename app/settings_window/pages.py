"""The pages of the Settings window: their common grid, and the five pages."""

from __future__ import annotations

import html
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.settings import find_preset
from app.i18n import tr
from app.storage.settings import LARGEST_TEXT_PX, SMALLEST_TEXT_PX, Appearance, SendKey
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, TEXT_PX
from app.widgets.buttons import ChoiceButton
from app.widgets.labels import ElidedLabel
from mtplx_engine.config import MAX_DEPTH
from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from PySide6.QtGui import QAction

    from app.model_manager.hub_client import HubAccess
    from app.model_manager.model_library import ModelsFolder
    from app.storage.settings import Settings
    from app.theme import Theme
    from mtplx_engine.config import Depth


_LABEL_WIDTH, _FIELD_WIDTH = 150, 340
_FIELD_HEIGHT, _LINE = 28, 18
_FAULT_LINES = 3


class Page(QWidget):
    """A grid of labels and fields, in the order in which they are added."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(SPACE_XL, SPACE_XL, SPACE_XL, SPACE_XL)
        self._grid.setHorizontalSpacing(SPACE_M)
        self._grid.setVerticalSpacing(SPACE_L)
        self._grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
        self._grid.setColumnMinimumWidth(1, _FIELD_WIDTH)
        self._grid.setColumnStretch(1, 1)
        self._cells: list[QVBoxLayout] = []

    def add_choice(self, name: str) -> ChoiceButton:
        button = ChoiceButton(self._theme, name, self)
        button.setMaximumWidth(_FIELD_WIDTH)
        self.add_widget(name, button)
        return button

    def add_switch(self, name: str, text: str) -> QCheckBox:
        box = QCheckBox(text, self)
        box.setMinimumHeight(_FIELD_HEIGHT)
        box.setAccessibleName(text)
        self.add_widget(name, box)
        return box

    def add_text(self, name: str, text: str) -> None:
        self.add_widget(name, self._label(text))

    def add_buttons(self, *titles: str) -> tuple[QPushButton, ...]:
        """Add a row of buttons without a label."""
        body = QWidget(self)
        row = QHBoxLayout(body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_S)
        buttons = tuple(QPushButton(title, self) for title in titles)
        for button in buttons:
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            row.addWidget(button)
        row.addStretch(1)
        self.add_widget("", body)
        return buttons

    def add_note(self, text: str) -> None:
        """Add a sentence under the last field."""
        label = self._label(text)
        label.setProperty("tone", "secondary")
        label.setFont(self._theme.font(SMALL_PX))
        self._cells[-1].addWidget(label)

    def add_fault(self) -> QLabel:
        """Add an empty label for an error, high enough that the layout stays when it is set."""
        label = self._label("")
        label.setProperty("tone", "bad")
        label.setMinimumHeight(label.fontMetrics().lineSpacing() * _FAULT_LINES)
        self.add_widget("", label)
        return label

    def end(self) -> None:
        """Finish the page; the rest of it stays empty."""
        self._grid.setRowStretch(len(self._cells), 1)

    def add_widget(self, name: str, widget: QWidget) -> None:
        """Add any other widget as a field."""
        label = QLabel(f"{name}:" if name else "", self)
        label.setProperty("tone", "secondary")
        label.setBuddy(widget)
        label.setFixedHeight(_LINE if isinstance(widget, QLabel) else _FIELD_HEIGHT)
        cell = QVBoxLayout()
        cell.setSpacing(SPACE_XS)
        cell.addWidget(widget)
        row = len(self._cells)
        self._cells.append(cell)
        self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        self._grid.addLayout(cell, row, 1, Qt.AlignmentFlag.AlignTop)

    def _label(self, text: str) -> QLabel:
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label


class ChatsPage(Page):
    """The folder of the chats and its backups."""

    def __init__(self, theme: Theme, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._folder = folder
        self.add_text(tr("Kept in"), str(folder))
        self.add_note(tr("On this computer only. While MTPLX runs, no other program should open the file."))
        self.show_folder, self.export = self.add_buttons(tr("Show Folder"), tr("Export All Chats…"))
        self.show_folder.clicked.connect(self._open_folder)
        self.add_text(tr("Backups"), tr("One each day, the last seven are kept"))
        self.add_note(tr("Beside the chats, in the folder “backups”. Each is opened and checked when it is made."))
        self.end()

    def follow(self, export: QAction) -> None:
        """Connect the export button to an action of the menus, and enable it with that."""
        self.export.clicked.connect(export.trigger)
        self.export.setEnabled(export.isEnabled())
        export.enabledChanged.connect(self.export.setEnabled)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder)))


class GeneralPage(Page):
    """Send key, appearance, size of messages, tint, motion; `changed` has a field of `Settings` and its new value."""

    changed = Signal(str, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.send_key = self.add_choice(tr("Send a message with"))
        self.add_note(tr("The other one of the two is a new line; so is Shift-Return."))
        self.appearance = self.add_choice(tr("Appearance"))
        self.text_px = self.add_choice(tr("Size of messages"))
        self.tint = self.add_switch(tr("Answers"), tr("Tint what was drafted"))
        self.add_note(tr("Shows which words the model had drafted ahead, and kept."))
        self.motion = self.add_switch(tr("Motion"), tr("Reduce motion"))
        self.add_note(tr("Nothing moves by itself while an answer is on its way."))
        self.end()
        self.send_key.chosen.connect(lambda key: self.changed.emit("send_key", key))
        self.appearance.chosen.connect(lambda look: self.changed.emit("appearance", look))
        self.text_px.chosen.connect(lambda pixels: self.changed.emit("text_px", pixels))
        self.tint.clicked.connect(lambda tinted: self.changed.emit("tint", tinted))
        self.motion.clicked.connect(lambda reduced: self.changed.emit("reduced_motion", reduced))

    def show_settings(self, settings: Settings) -> None:
        command = "⌘" if sys.platform == "darwin" else tr("Ctrl-")
        keys = (
            (SendKey.RETURN, tr("Return")),
            (SendKey.CTRL_RETURN, tr("{command}Return").format(command=command)),
        )
        self.send_key.set_choices(keys, settings.send_key)
        appearances = (
            (Appearance.SYSTEM, tr("As the system")),
            (Appearance.LIGHT, tr("Light")),
            (Appearance.DARK, tr("Dark")),
        )
        self.appearance.set_choices(appearances, settings.appearance)
        self.text_px.set_choices(_sizes(), settings.text_px)
        self.tint.setChecked(settings.tint)
        self.motion.setChecked(settings.reduced_motion)


def _sizes() -> tuple[tuple[int, str], ...]:
    def name(pixels: int) -> str:
        text = tr("{size} (usual)") if pixels == TEXT_PX else tr("{size}")
        return text.format(size=pixels)

    return tuple((pixels, name(pixels)) for pixels in range(SMALLEST_TEXT_PX, LARGEST_TEXT_PX + 1))


_IDLE_MINUTES = (5, 15, 30, 60, 180, 0)


class ModelsPage(Page):
    """Draft depth, preset of new chats, unloading of an idle model, and folder of new models.

    `changed` has a field of `Settings` and its new value.
    """

    changed = Signal(str, object)

    def __init__(self, theme: Theme, folder: ModelsFolder, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._folder = folder
        self.drafting = self.add_choice(tr("Drafting"))
        self.add_note(tr("Never changes what the model would say, only how fast. Automatic measures on this computer."))
        self.preset = self.add_choice(tr("New chats begin with"))
        self.add_note(tr("Presets are made in the inspector of a chat: View, Show Inspector."))
        self.idle = self.add_choice(tr("Unload when idle"))
        self.add_note(tr("The model's memory is free again; the next question loads it by itself."))
        self._add_folder()
        self.end()
        self.idle.chosen.connect(lambda minutes: self.changed.emit("idle_minutes", minutes))
        self.drafting.chosen.connect(lambda depth: self.changed.emit("drafting", depth))
        self.preset.chosen.connect(lambda name: self.changed.emit("new_chat_preset", name))

    def _add_folder(self) -> None:
        self.place = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.place.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.add_widget(tr("New models go to"), self.place)
        self.add_note(tr("What is installed elsewhere stays there and is used from there, on another disk as well."))
        self.choose, self.usual, self.show_folder = self.add_buttons(
            tr("Choose…"), tr("Use the Usual One"), tr("Show Folder")
        )
        self.choose.clicked.connect(self._ask)
        self.usual.clicked.connect(lambda: self._folder.choose(None))
        self.show_folder.clicked.connect(self._open_folder)
        self.fault = self.add_fault()
        self._folder.changed.connect(self._show_folder)
        self._folder.failed.connect(self.fault.setText)

    def _ask(self) -> None:
        found = QFileDialog.getExistingDirectory(self, tr("Folder for new models"), str(self._folder.path))
        if found:
            self._folder.choose(Path(found))

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder.path)))

    def _show_folder(self) -> None:
        there = self._folder.is_there
        self.place.setText(str(self._folder.path))
        self.place.setToolTip(f"<p>{html.escape(str(self._folder.path))}</p>")
        self.usual.setEnabled(not self._folder.is_usual)
        self.show_folder.setEnabled(there)
        self.fault.setText("" if there else tr("This folder is not connected at the moment."))

    def show_settings(self, settings: Settings) -> None:
        self._show_folder()
        self.drafting.set_choices(_depths(), settings.drafting)
        names = [(preset.name, preset.name) for preset in settings.presets]
        preset = find_preset(settings.presets, settings.new_chat_preset)
        self.preset.set_choices([("", tr("What the model recommends")), *names], preset.name if preset else "")
        self.idle.set_choices(
            [(minutes, _after(minutes)) for minutes in _IDLE_MINUTES],
            settings.idle_minutes,
            _after(settings.idle_minutes),
        )


def _after(minutes: int) -> str:
    return tr("After {minutes} minutes").format(minutes=minutes) if minutes else tr("Never")


def _depths() -> tuple[tuple[Depth, str], ...]:
    deeper = ((depth, tr("Depth {depth}").format(depth=depth)) for depth in range(1, MAX_DEPTH + 1))
    return (("auto", tr("Automatic")), (0, tr("Off")), *deeper)


class NetworkPage(Page):
    """Address of the hub and proxy; the command `mtplx` uses them too."""

    changed = Signal()

    def __init__(self, theme: Theme, access: HubAccess, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._access = access
        self.hub = self._field(tr("Models come from"))
        self.add_note(tr("Hugging Face, or the address of a mirror of it, which sees what you look for."))
        self.proxy = self._field(tr("Proxy"))
        self.proxy.setPlaceholderText(tr("What the system is set to"))
        kept = tr("A password in its address goes to the keychain, and is not shown again.")
        forgotten = tr("A password in its address is in no file; MTPLX knows it until it quits.")
        self.add_note(kept if access.lasts else forgotten)
        self.fault = self.add_fault()
        self.end()

    def show_settings(self) -> None:
        settings = self._access.settings
        default = self._access.default.endpoint
        self.hub.setPlaceholderText(default)
        self.hub.setText("" if settings.endpoint == default else settings.endpoint)
        self.proxy.setText(settings.proxy)  # without its password
        self.fault.setText("")

    def _field(self, name: str) -> QLineEdit:
        field = QLineEdit(self)
        field.setAccessibleName(name)
        field.editingFinished.connect(self._set)
        self.add_widget(name, field)
        return field

    def _set(self) -> None:
        """Use the typed address and proxy, or show why not; refused text stays in the field."""
        typed = self._access.default.but(self.hub.text().strip(), self.proxy.text().strip())
        if typed == self._access.settings:
            self.fault.setText("")
            return
        fault = ""
        try:
            self._access.set_settings(typed)
        except EngineError as error:
            fault = error.info.message
            if error.kind is not ErrorKind.STORAGE:  # which is about storing the password only
                self.fault.setText(fault)
                return
        except OSError as error:
            text = tr("This could not be kept: {reason}. Make the data folder writable.")
            self.fault.setText(text.format(reason=error.strerror))
            return
        self.show_settings()
        self.fault.setText(fault)
        self.changed.emit()


class PrivacyPage(Page):
    """A statement about privacy; it has no settings."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.add_text(tr("Your chats"), tr("Stay on this computer: no account, no telemetry."))
        self.add_text(tr("Connections"), tr("None, but for fetching a model, and that only when you ask for it."))
        self.add_text(
            tr("Answers"),
            tr("Load nothing, neither pictures nor pages. A link opens only after you have seen where it leads."),
        )
        self.add_text(tr("Logs"), tr("Hold no text of your chats. Show Logs in the Help menu opens their folder."))
        self.add_text(
            tr("Figures"),
            tr(
                "Of each answer its speed and counts are kept, without any text, also when its chat is deleted. "
                "Delete them in the Speed window under History."
            ),
        )
        self.end()
