"""One running instance per data folder, and Unix signals as signals of Qt."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import socket
from typing import TYPE_CHECKING

from PySide6.QtCore import QLockFile, QObject, QSocketNotifier, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

if TYPE_CHECKING:
    from pathlib import Path


_LOCK_NAME = "app.lock"
_ANSWER_MS = 3000
_ANSWER = b"raised\n"


class SingleInstance(QObject):
    """Lock of a data folder, held until the process ends in whatever way.

    Signals:
        raise_requested: A second instance was started; the window is to come to the front.
    """

    raise_requested = Signal()

    def __init__(self, data_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir = data_dir
        self._lock = QLockFile(str(data_dir / _LOCK_NAME))
        # Held as long as its process lives, however long that is; the lock of a dead one is taken over.
        self._lock.setStaleLockTime(0)
        # The socket's name has a length limit, the folder's has none.
        self._name = "mtplx-" + hashlib.sha256(str(data_dir.resolve()).encode()).hexdigest()[:24]
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)

    def acquire(self) -> bool:
        """Return whether this process got the lock; if so, listen for other instances.

        Raises:
            OSError: The folder is not writable.
        """
        self._data_dir.mkdir(parents=True, exist_ok=True)
        if not self._lock.tryLock(0):
            if self._lock.error() != QLockFile.LockError.LockFailedError:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self._lock.fileName())
            return False
        # Only a process that died can have left the name behind: the lock is ours.
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)
        return True

    def raise_other(self) -> bool:
        """Ask the other instance to raise its window; return whether it has answered.

        The system accepts the connection for a process that hangs, so being connected proves nothing.
        """
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        answered = socket.waitForConnected(_ANSWER_MS) and socket.waitForReadyRead(_ANSWER_MS)
        socket.disconnectFromServer()
        return answered

    def release(self) -> None:
        self._server.close()
        self._lock.unlock()

    def _accept(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.write(_ANSWER)
            socket.flush()
            self.raise_requested.emit()


_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class UnixSignals(QObject):
    """Turns SIGINT, SIGTERM and SIGHUP, which ask a process to end, into a signal of Qt."""

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
        # A signal that is ignored from the start (nohup) stays ignored.
        ours = [number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN]
        self._former = {number: signal.signal(number, _nothing) for number in ours}
        self._former_descriptor = signal.set_wakeup_fd(self._far.fileno())

    def close(self) -> None:
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
    """Do nothing: the wake-up byte has woken the loop already."""
