"""Ctrl-C, `kill`, and a terminal that goes away end the program as Quit does."""

from __future__ import annotations

import signal
import socket

from PySide6.QtCore import QObject, QSocketNotifier, Signal

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class UnixSignals(QObject):
    """Turns the signals that ask a process to end into one of Qt's.

    Signals:
        end_requested: SIGINT, SIGTERM or SIGHUP came.
    """

    end_requested = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # Python runs its handlers only between bytecodes, and Qt's loop may run none for hours: the byte that the
        # interpreter writes into a socket wakes the loop.
        self._near, self._far = socket.socketpair()
        for end in (self._near, self._far):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._near.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        # What was started to be left alone (nohup) is.
        ours = [number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN]
        self._former = {number: signal.signal(number, _nothing) for number in ours}
        self._former_descriptor = signal.set_wakeup_fd(self._far.fileno())

    def close(self) -> None:
        """Give the signals back to whom they were before."""
        signal.set_wakeup_fd(self._former_descriptor)
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._notifier.setEnabled(False)
        self._near.close()
        self._far.close()

    def _read(self) -> None:
        self._near.recv(64)
        self.end_requested.emit()


def _nothing(_number: int, _frame: object) -> None:
    """Handle a signal by waking the loop, which has happened already."""
