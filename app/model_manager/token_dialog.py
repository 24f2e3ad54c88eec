"""The dialog that asks for the access token of the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.i18n import tr
from app.model_manager.card import plain_label
from app.model_manager.hub_client import HubQuestion
from app.theme import CODE_PX, SMALL_PX, SPACE_M, SPACE_XL, TEXT_PX

if TYPE_CHECKING:
    from app.model_manager.hub_client import HubClient
    from app.theme import Theme
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.hub.errors import HubErrorKind


_WIDTH = 420


class TokenDialog(QDialog):
    """Asks for a token, has the hub check it, and closes when it is valid.

    Args:
        lasts: Whether a token outlasts the program.
    """

    def __init__(self, theme: Theme, hub: HubClient, host: str, *, lasts: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._hub = hub
        self._checking = False
        self.setWindowTitle(tr("Access token"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(_WIDTH)
        title = plain_label(theme.font(TEXT_PX, QFont.Weight.DemiBold))
        title.setText(tr("Access token for {host}").format(host=host))
        why = plain_label(theme.font(CODE_PX))
        why.setText(
            tr("Some models are given only to an account that accepted their licence. A token that may read is enough.")
        )
        self.field = QLineEdit()
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setAccessibleName(tr("Access token"))
        self.field.setPlaceholderText("hf_…")
        self.where = plain_label(theme.font(SMALL_PX), "secondary")
        self.where.setText(
            tr("It is kept in the keychain and sent to nobody but this hub.")
            if lasts
            else tr("This system has no keychain, so it is known only until MTPLX quits.")
        )
        self.words = plain_label(theme.font(SMALL_PX))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.check = QPushButton(tr("Check and Keep") if lasts else tr("Check and Use"))
        self.check.setDefault(True)
        self.check.setEnabled(False)
        buttons.addButton(self.check, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        self.check.clicked.connect(self._check)
        self.field.textChanged.connect(self._offer)
        hub.token_checked.connect(self._good)
        hub.failed.connect(self._bad)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_XL, SPACE_XL, SPACE_XL, SPACE_XL)
        column.setSpacing(SPACE_M)
        for widget in (title, why, self.field, self.where, self.words, buttons):
            column.addWidget(widget)

    def _offer(self) -> None:
        self.check.setEnabled(bool(self.field.text().strip()) and not self._checking)

    def _check(self) -> None:
        self._checking = True
        self._offer()
        self._say(tr("Asking the hub…"), self._theme.palette.secondary)
        self._hub.check_token(self.field.text().strip())

    def _good(self, _account: str) -> None:
        self._checking = False
        self.field.clear()
        self.accept()

    def _bad(self, question: HubQuestion, error: ErrorInfo, _problem: HubErrorKind | None) -> None:
        if question is HubQuestion.TOKEN:
            self._checking = False
            self._offer()
            self._say(error.message, self._theme.palette.slower)
            self.field.selectAll()
            self.field.setFocus()

    def _say(self, sentence: str, color: str) -> None:
        self.words.setStyleSheet(f"color: {color};")
        self.words.setText(sentence)
