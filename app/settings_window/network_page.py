"""Where models come from, and how to get there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit

from app.settings_window.page import Page
from app.translate import tr
from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.services.hub_access import HubAccess
    from app.theme import Theme


class NetworkPage(Page):
    """The hub's address and the proxy; the command `mtplx` uses the same ones.

    Signals:
        changed: Another hub is asked from now on, or in another way.
    """

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
        """Show what is set."""
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
        """Use what is typed, or say why not; then it stays to be corrected."""
        typed = self._access.default.but(self.hub.text().strip(), self.proxy.text().strip())
        if typed == self._access.settings:
            self.fault.setText("")
            return
        fault = ""
        try:
            self._access.set_settings(typed)
        except EngineError as error:
            fault = error.info.message
            if error.kind is not ErrorKind.STORAGE:  # of the password, which is known for now
                self.fault.setText(fault)
                return
        except OSError as error:
            words = tr("This could not be kept: {reason}. Make the data folder writable.")
            self.fault.setText(words.format(reason=error.strerror))
            return
        self.show_settings()
        self.fault.setText(fault)
        self.changed.emit()
