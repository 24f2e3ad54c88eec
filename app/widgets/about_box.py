"""What the program is, in which version, and under which licence."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, qVersion

from app.translate import tr
from app.widgets.message_box import MessageBox
from mtplx_engine import paths

if TYPE_CHECKING:
    from PySide6.QtGui import QPixmap
    from PySide6.QtWidgets import QWidget


class AboutBox(MessageBox):
    """Icon, name, version and licences: Qt's asks to be named where the program names its own."""

    def __init__(self, icon: QPixmap, parent: QWidget) -> None:
        what = tr(
            "Chat with language models on your own computer, made fast by their own multi-token-prediction heads."
        )
        terms = tr("No account, no telemetry. Apache-2.0.")
        qt = tr("Made with Qt {qt} and PySide6, which are used under the LGPL 3.0.").format(qt=qVersion())
        more = [what, terms, qt]
        if (bundle := paths.bundle()) is not None:
            folder = bundle / "Contents" / "Resources" / "licences"
            more.append(tr("The licences of all parts are in {folder}.").format(folder=folder))
        super().__init__(f"MTPLX {importlib.metadata.version('mtplx')}", "\n\n".join(more), parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("About MTPLX"))
        self.setIconPixmap(icon)
