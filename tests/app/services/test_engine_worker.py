"""A readable descriptor is read on the notifier's thread, as often as there is data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import QMetaMethod, QObject

from app.services.engine_worker import Readable

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def test_it_reads_as_long_as_something_is_there(qtbot: QtBot) -> None:
    receiving, sending = os.pipe()
    parent, got = QObject(), bytearray()
    notifier = Readable(receiving, lambda: got.extend(os.read(receiving, 1)), parent)
    os.write(sending, b"one")
    qtbot.waitUntil(lambda: got == b"one")
    os.write(sending, b"two")
    qtbot.waitUntil(lambda: got == b"onetwo")
    notifier.setEnabled(False)
    for descriptor in (receiving, sending):
        os.close(descriptor)


def test_it_needs_no_connection(qtbot: QtBot) -> None:
    receiving, sending = os.pipe()
    parent = QObject()
    notifier = Readable(receiving, lambda: None, parent)
    assert not notifier.isSignalConnected(QMetaMethod.fromSignal(notifier.activated))
    notifier.setEnabled(False)
    for descriptor in (receiving, sending):
        os.close(descriptor)
