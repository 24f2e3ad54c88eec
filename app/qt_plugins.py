"""Leads Qt to its plugins, whatever the folder that the program is in is called."""

from __future__ import annotations

from pathlib import Path

import PySide6
from PySide6.QtCore import QCoreApplication


def find() -> None:
    """Tell Qt where its plugins are; to be called before there is an application.

    PySide tells it with a line of settings in which `,`, `;`, `"` and a backslash mean something else, and without the
    plugin for the screen Qt ends the process.
    """
    folder = Path(PySide6.__file__).parent / "Qt" / "plugins"
    if folder.is_dir():  # a distribution's own Qt has them elsewhere, and finds them
        QCoreApplication.addLibraryPath(str(folder))
