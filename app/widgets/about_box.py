"""What the program is, in which version, and under which licence."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from app.translate import tr
from app.widgets.message_box import MessageBox

if TYPE_CHECKING:
    from PySide6.QtGui import QPixmap
    from PySide6.QtWidgets import QWidget


class AboutBox(MessageBox):
    """Icon, name, version and licence."""

    def __init__(self, icon: QPixmap, parent: QWidget) -> None:
        what = tr(
            "Chat with language models on your own computer, made fast by their own multi-token-prediction heads."
        )
        terms = tr("No account, no telemetry. Apache-2.0.")
        super().__init__(f"MTPLX {importlib.metadata.version('mtplx')}", f"{what}\n\n{terms}", parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("About MTPLX"))
        self.setIconPixmap(icon)
