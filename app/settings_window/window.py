"""The Settings window: tabs with a page each; every change takes effect at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from app.i18n import tr
from app.settings_window.pages import ChatsPage, GeneralPage, ModelsPage, NetworkPage, PrivacyPage
from app.theme import CODE_PX, SPACE_S, SPACE_XS

if TYPE_CHECKING:
    from pathlib import Path

    from app.model_manager.hub_client import HubAccess
    from app.model_manager.model_library import ModelsFolder
    from app.storage.settings import SettingsFile
    from app.theme import Theme


_ICON, _TAB_WIDTH, _TAB_HEIGHT = 20, 84, 52


class SettingsWindow(QWidget):
    """Shows and stores the settings."""

    changed = Signal()

    def __init__(
        self, theme: Theme, file: SettingsFile, chats_dir: Path, access: HubAccess, folder: ModelsFolder
    ) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self._theme = theme
        self._file = file
        self.setObjectName("settingsWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.general = GeneralPage(theme)
        self.chats = ChatsPage(theme, chats_dir)
        self.models = ModelsPage(theme, folder)
        self.network = NetworkPage(theme, access)
        self.privacy = PrivacyPage(theme)
        self._pages = QStackedWidget(self)
        self._tabs = QButtonGroup(self)
        self._icons = ("settings", "chats", "model", "network", "privacy")
        bar = QWidget(self)
        bar.setObjectName("settingsTabs")
        bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(bar)
        row.setContentsMargins(SPACE_S, SPACE_S, SPACE_S, SPACE_S)
        row.setSpacing(SPACE_XS)
        row.addStretch(1)
        names = (tr("General"), tr("Chats"), tr("Models"), tr("Network"), tr("Privacy"))
        for index, (name, page) in enumerate(zip(names, self._all(), strict=True)):
            self._pages.addWidget(page)
            self._tabs.addButton(self._tab(name, bar), index)
            row.addWidget(self._tabs.button(index))
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(bar)
        layout.addWidget(self._pages, 1)
        self._tabs.idToggled.connect(self._turn)
        self.general.changed.connect(self._change)
        self.models.changed.connect(self._change)
        for key in ("Ctrl+W", "Esc"):
            QShortcut(QKeySequence(key), self).activated.connect(self.close)
        theme.changed.connect(self._tint)
        self._tint()
        self._tabs.button(0).setChecked(True)
        hint = self.sizeHint()
        self.setFixedSize(hint.width(), max(hint.height(), self.heightForWidth(hint.width())))

    def open_page(self, page: QWidget | None = None) -> None:
        """Show the window in front, at a page or the current one."""
        self.refresh()
        if page is not None:
            self._tabs.button(self._all().index(page)).setChecked(True)
        self._tabs.checkedButton().setFocus()  # or the first one would have it
        self.show()
        self.raise_()
        self.activateWindow()

    def refresh(self) -> None:
        self.general.show_settings(self._file.value)
        self.models.show_settings(self._file.value)
        self.network.show_settings()

    def _all(self) -> tuple[QWidget, ...]:
        return (self.general, self.chats, self.models, self.network, self.privacy)

    def _change(self, name: str, value: object) -> None:
        self._file.change(**{name: value})
        self.refresh()
        self.changed.emit()

    def _turn(self, index: int, checked: bool) -> None:  # noqa: FBT001 - as the signal has it
        if checked:
            self._pages.setCurrentIndex(index)
            self.setWindowTitle(self._tabs.button(index).text())
            self._tint()

    def _tab(self, name: str, bar: QWidget) -> QToolButton:
        tab = QToolButton(bar)
        tab.setObjectName("settingsTab")
        tab.setText(name)
        tab.setAccessibleName(name)
        tab.setCheckable(True)
        tab.setFont(self._theme.font(CODE_PX))
        tab.setIconSize(QSize(_ICON, _ICON))
        tab.setFixedSize(_TAB_WIDTH, _TAB_HEIGHT)
        tab.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        tab.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return tab

    def _tint(self) -> None:
        palette = self._theme.palette
        for index, icon in enumerate(self._icons):
            tab = self._tabs.button(index)
            color = palette.accent if tab.isChecked() else palette.secondary
            tab.setIcon(self._theme.icons.icon(icon, color, palette.tertiary, _ICON))
