"""The presets of the inspector: which one holds, and what can be done with it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QInputDialog, QMenu, QToolButton, QWidget

from app.chat.chat_settings import ChatSettings
from app.chat.presets import clean_name, find, removed, renamed, saved
from app.theme import SPACE_XS
from app.translate import tr
from app.widgets.choice_button import ChoiceButton
from app.widgets.icon_button import IconButton

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.chat.presets import Preset
    from app.services.settings import SettingsFile
    from app.theme import Theme


class PresetBar(QWidget):
    """Chooses, saves, renames and deletes presets, which it keeps in the settings file.

    Attributes:
        choice: The preset that the chat's settings came from.
        save, save_as, rename, delete: What its menu offers.

    Signals:
        changed(ChatSettings): The chat is to have these settings.
        deleted(Preset): It is gone, and can be brought back with `restore`.
        listed: The presets are others now.
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
        self.save = menu.addAction(tr("Save Changes"), self._save)
        self.save_as = menu.addAction(tr("Save as New Preset…"), self._ask_new)
        self.rename = menu.addAction(tr("Rename…"), self._ask_rename)
        menu.addSeparator()
        self.delete = menu.addAction(tr("Delete Preset"), self._delete)
        self.more.setMenu(menu)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_XS)
        row.addWidget(self.choice, 1)
        row.addWidget(self.more)

    def show_settings(self, settings: ChatSettings) -> None:
        """Say which preset the settings of a chat are, or were before they were changed."""
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
        """Bring back a preset that was deleted."""
        self._keep(saved(self._file.value.presets, preset.name, preset.settings))
        self.show_settings(self._settings)

    def _preset(self) -> Preset | None:
        return find(self._file.value.presets, self._settings.preset) if self._settings.preset else None

    def _choose(self, name: str) -> None:
        preset = find(self._file.value.presets, name)
        if preset is not None:
            self.changed.emit(preset.applied_to(self._settings))
        else:
            kept = self._settings
            self.changed.emit(ChatSettings(model=kept.model, reads_from=kept.reads_from))

    def _save(self) -> None:
        self._save_as(self._settings.preset)

    def _save_as(self, name: str) -> None:
        self._keep(saved(self._file.value.presets, name, self._settings))
        self._call(name)

    def _rename_to(self, name: str) -> None:
        self._keep(renamed(self._file.value.presets, self._settings.preset, name))
        self._call(name)

    def _call(self, name: str) -> None:
        """Say that the chat's settings are those of the preset `name`."""
        settings = dataclasses.replace(self._settings, preset=name)
        self.changed.emit(settings)
        self.show_settings(settings)

    def _delete(self) -> None:
        preset = self._preset()
        if preset is not None:
            self._keep(removed(self._file.value.presets, preset.name))
            self.show_settings(self._settings)
            self.deleted.emit(preset)

    def _keep(self, presets: tuple[Preset, ...]) -> None:
        self._file.change(presets=presets)
        self.listed.emit()

    def _ask_new(self) -> None:
        self._ask(tr("New Preset"), "", self._save_as)

    def _ask_rename(self) -> None:
        self._ask(tr("Rename Preset"), self._settings.preset, self._rename_to)

    def _ask(self, title: str, name: str, then: Callable[[str], None]) -> None:
        dialog = QInputDialog(self.window())
        dialog.setWindowTitle(title)
        dialog.setLabelText(tr("Name (a preset that has it is replaced)"))
        dialog.setTextValue(name)
        dialog.textValueSelected.connect(lambda typed: _take(typed, then))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _take(typed: str, then: Callable[[str], None]) -> None:
    name = clean_name(typed)
    if name:
        then(name)
