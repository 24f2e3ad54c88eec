"""The app's side of the engine process: starts it, exchanges messages, detects its loss, ends it. Imports no Qt."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import typing
from pathlib import Path
from typing import IO, Self

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.channel import Channel
from mtplx_engine.ipc.protocol import Command, Event, Heartbeat, Shutdown

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

_EXIT_S = 1.5  # for the process to exit by itself
_REAP_S = 0.5
_OUTPUT_LIMIT = 1_000_000  # bytes

_HOST = (sys.executable, "-I", "-m", "mtplx_engine.host")


class EngineClient:
    """One engine process, from its start to its end.

    `send` may be called from any thread; `read`, `close` and `kill` belong to one. File descriptor and log folder are
    added to `command`.

    Args:
        silence_s: The process counts as lost after so many seconds without a message, not even a heartbeat.
        start_s: The same before its first event: a cold disk is slow.

    Raises:
        EngineError: ENGINE_LOST, when the process cannot be started.
    """

    def __init__(
        self,
        log_dir: Path,
        command: Sequence[str] = _HOST,
        *,
        silence_s: float = 15.0,
        start_s: float = 60.0,
    ) -> None:
        self._silence_s = silence_s
        ours, theirs = socket.socketpair()
        try:
            with theirs, _open_output(log_dir) as output:
                # Inherits the environment as it is: its variables may guard the BLAS against wrong results.
                self._process = subprocess.Popen(
                    [*command, str(theirs.fileno()), str(log_dir)],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,  # Ctrl-C in a terminal is for the app, which then ends the engine
                )
        except OSError as error:
            ours.close()
            raise EngineError(
                ErrorKind.ENGINE_LOST,
                f"The engine could not be started ({error.strerror}). Installing MTPLX again may help.",
                repr(error),
            ) from error
        self._channel = Channel(ours)
        self._heard_at = time.monotonic()
        self._patience_s = start_s

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        """Return the file descriptor that becomes readable when `read` has an event."""
        return self._channel.fileno()

    def send(self, command: Command) -> None:
        """Queue a command; never blocks. Once the process is gone it is dropped: `read` reports that."""
        self._channel.send(command)

    def read(self, timeout: float) -> Event | None:
        """Return the next event, or None when none came within `timeout` seconds.

        Heartbeats are returned only when they report the memory of the process.

        Raises:
            EngineError: ENGINE_LOST, when the process exited or has been silent for too long; INTERNAL, when
                it sent something that is no event. Either way this client can only be closed.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                message = self._channel.receive(max(0.0, deadline - time.monotonic()))
            except EOFError:
                raise self._exit_error() from None
            if message is None:
                self._check_silence()
                return None
            self._heard_at = time.monotonic()
            self._patience_s = self._silence_s
            if message != Heartbeat():
                return typing.cast("Event", message)

    def close(self) -> None:
        """Ask the process to exit, wait for at most 1.5 s, then kill it. A second call does nothing."""
        if self._process.returncode is None:
            self._channel.send(Shutdown())
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT_S)
        self.kill()

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: do not wait longer
                self._process.wait(_REAP_S)
        self._channel.close(flush_s=0)

    def _check_silence(self) -> None:
        silence = time.monotonic() - self._heard_at
        if silence > self._patience_s:
            raise EngineError(ErrorKind.ENGINE_LOST, f"The engine has not answered for {silence:.0f} seconds.")

    def _exit_error(self) -> EngineError:
        try:
            code = self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            return EngineError(ErrorKind.ENGINE_LOST, "The engine closed its connection.")
        if code >= 0:
            return EngineError(ErrorKind.ENGINE_LOST, f"The engine ended by itself (exit code {code}).")
        if -code == signal.SIGKILL:
            return EngineError(
                ErrorKind.ENGINE_LOST,
                "The engine was ended by the system (SIGKILL), as happens when memory runs out.",
            )
        return EngineError(ErrorKind.ENGINE_LOST, f"The engine crashed ({signal.Signals(-code).name}).")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RestartBudget:
    """Limits the automatic restarts of a lost engine to `limit` within `window_s` seconds of the monotonic `clock`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, limit: int = 3, window_s: float = 600.0) -> None:
        self.limit = limit
        self.window_s = window_s
        self._clock = clock
        self._spent: list[float] = []

    def spend(self) -> bool:
        """Count a restart and return True, or return False when none is left."""
        now = self._clock()
        self._spent = [at for at in self._spent if now - at < self.window_s]
        if len(self._spent) >= self.limit:
            return False
        self._spent.append(now)
        return True

    def refill(self) -> None:
        """Forget all restarts, after the user started the engine."""
        self._spent.clear()


def _open_output(log_dir: Path) -> IO[bytes]:
    """Open the file for stdout and stderr: crash reports of native code. Truncates it when it has grown.

    Discards the output where no file can be written.
    """
    path = log_dir / "engine-output.log"
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        grown = path.exists() and path.stat().st_size > _OUTPUT_LIMIT
        return path.open("wb" if grown else "ab")
    except OSError:
        return Path(os.devnull).open("wb")
