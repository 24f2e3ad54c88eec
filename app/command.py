"""A command of a menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QKeySequence

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu


def add_command(
    menu: QMenu,
    text: str,
    *keys: QKeySequence.StandardKey | str,
    role: QAction.MenuRole = QAction.MenuRole.NoRole,
) -> QAction:
    """Add a command to a menu and return it.

    Args:
        menu: Where it goes.
        text: What it is called.
        keys: Its keys, the first one is shown.
        role: Where a Mac puts it; Qt would guess that from words like "Settings".
    """
    action = menu.addAction(text)
    action.setMenuRole(role)
    action.setShortcuts([QKeySequence(key) for key in keys])
    return action
