"""Choosing, saving, renaming and deleting the presets of chat settings."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QInputDialog, QMenu, QToolButton, QWidget

from app.chat.settings import (
    ChatSettings,
    clean_name,
    find_preset,
    with_preset,
    with_renamed_preset,
    without_preset,
)
from app.i18n import tr
from app.theme import SPACE_XS
from app.widgets.buttons import ChoiceButton, IconButton

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.chat.settings import Preset
    from app.storage.settings import SettingsFile
    from app.theme import Theme


class PresetBar(QWidget):
    """The preset of the shown chat, and a menu of actions on it; presets are stored in the settings file.

    `choice` shows the preset that the chat's settings came from.

    Signals:
        changed(ChatSettings): New settings for the chat.
        deleted(Preset): A preset was deleted; `restore` undoes it.
    """

    changed = Signal(object)
    deleted = Signal(object)
    listed = Signal()

    def __init__(self, theme: Theme, file: SettingsFile, parent: QWidget) -> None:
        super().__init__(parent)
        self._file = file
        self._settings = ChatSettings()
        self.choice = ChoiceButton(theme, tr("Preset"), self)
        self.choice.chosen.connect(self._choose)
        self.more = IconButton(theme, "more", tr("What to do with presets"), parent=self)
        self.more.setObjectName("menuIcon")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.more)
        self.save = menu.addAction(tr("Save Changes"), lambda: self._save_as(self._settings.preset))
        self.save_as = menu.addAction(tr("Save as New Preset…"), lambda: self._ask(tr("New Preset"), "", self._save_as))
        self.rename = menu.addAction(
            tr("Rename…"), lambda: self._ask(tr("Rename Preset"), self._settings.preset, self._rename)
        )
        menu.addSeparator()
        self.delete = menu.addAction(tr("Delete Preset"), self._delete)
        self.more.setMenu(menu)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_XS)
        row.addWidget(self.choice, 1)
        row.addWidget(self.more)

    def show_settings(self, settings: ChatSettings) -> None:
        """Show the preset of a chat's settings, and whether they were changed since."""
        self._settings = settings
        preset = self._preset()
        names = [(item.name, item.name) for item in self._file.value.presets]
        edited = preset is not None and not preset.fits(settings)
        text = tr("{name} (changed)").format(name=preset.name) if preset and edited else ""
        self.choice.set_choices([("", tr("None")), *names], preset.name if preset else "", text)
        self.save.setEnabled(edited)
        self.rename.setEnabled(preset is not None)
        self.delete.setEnabled(preset is not None)

    def restore(self, preset: Preset) -> None:
        self._store(with_preset(self._file.value.presets, preset.name, preset.settings))
        self.show_settings(self._settings)

    def _preset(self) -> Preset | None:
        return find_preset(self._file.value.presets, self._settings.preset) if self._settings.preset else None

    def _choose(self, name: str) -> None:
        preset = find_preset(self._file.value.presets, name)
        if preset is not None:
            self.changed.emit(preset.applied_to(self._settings))
        else:
            self.changed.emit(ChatSettings(model=self._settings.model, reads_from=self._settings.reads_from))

    def _save_as(self, name: str) -> None:
        self._store(with_preset(self._file.value.presets, name, self._settings))
        self._apply_name(name)

    def _rename(self, name: str) -> None:
        self._store(with_renamed_preset(self._file.value.presets, self._settings.preset, name))
        self._apply_name(name)

    def _apply_name(self, name: str) -> None:
        settings = dataclasses.replace(self._settings, preset=name)
        self.changed.emit(settings)
        self.show_settings(settings)

    def _delete(self) -> None:
        preset = self._preset()
        if preset is not None:
            self._store(without_preset(self._file.value.presets, preset.name))
            self.show_settings(self._settings)
            self.deleted.emit(preset)

    def _store(self, presets: tuple[Preset, ...]) -> None:
        self._file.change(presets=presets)
        self.listed.emit()

    def _ask_new(self) -> None:
        self._ask(tr("New Preset"), "", self._save_as)

    def _ask_rename(self) -> None:
        self._ask(tr("Rename Preset"), self._settings.preset, self._rename)

    def _ask(self, title: str, name: str, then: Callable[[str], None]) -> None:
        def take(typed: str) -> None:
            name = clean_name(typed)
            if name:
                then(name)

        dialog = QInputDialog(self.window())
        dialog.setWindowTitle(title)
        dialog.setLabelText(tr("Name (a preset that has it is replaced)"))
        dialog.setTextValue(name)
        dialog.textValueSelected.connect(take)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
