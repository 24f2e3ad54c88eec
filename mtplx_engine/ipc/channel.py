"""Messages as JSON lines over a socket, decoded strictly into the dataclasses of the protocol."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import queue
import select
import socket
import threading
import time
import typing
from collections import deque

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import Message
from mtplx_engine.util.files import build
from mtplx_engine.util.formatting import replace_surrogates

_TYPES: dict[str, type] = {cls.__name__: cls for cls in typing.get_args(Message)}


def encode(message: Message) -> bytes:
    """Return `message` as one line of JSON, newline included. Raises ValueError when a float is NaN or infinite.

    Lone surrogates are replaced by U+FFFD: they cannot be UTF-8 and would fail at the far end.
    """
    body = {"type": type(message).__name__, **dataclasses.asdict(message)}
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return replace_surrogates(text).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message in one line of JSON; raises EngineError INTERNAL when it is none of this protocol."""
    try:
        body = json.loads(line.decode())
        cls = _TYPES[body.pop("type")]
        return typing.cast("Message", build(cls, body))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EngineError(
            ErrorKind.INTERNAL,
            "The app and its engine do not understand each other; restart MTPLX.",
            repr(error),
        ) from error


_CHUNK = 1 << 16


class Channel:
    """Sends messages from any thread without blocking, receives on one thread.

    A separate thread writes to the socket, since a peer that is slow to read would block the sender: a prompt may be
    megabytes long and the engine may be in the middle of a forward.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._unread: deque[bytes] = deque()
        self._partial: list[bytes] = []
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="channel-writer", daemon=True)
        self._writer.start()

    def fileno(self) -> int:
        """Return the file descriptor that becomes readable when a message arrives or the peer exits."""
        return self._socket.fileno()

    def send(self, message: Message) -> None:
        """Queue `message`. Once the peer is gone it is dropped; `receive` reports that. Raises as `encode`."""
        self._unsent.put(encode(message))

    def receive(self, timeout: float) -> Message | None:
        """Return the next message, or None when none came within `timeout` seconds.

        Raises:
            EOFError: The peer is gone and everything it sent has been returned.
            EngineError: INTERNAL, when the peer sent something that is no message.
        """
        deadline = time.monotonic() + timeout
        while not self._unread:
            remaining = max(0.0, deadline - time.monotonic())
            if not self._poll.poll(remaining * 1000):
                return None
            self._fill()
        return decode(self._unread.popleft())

    def stop_receiving(self) -> None:
        """Make `receive` raise EOFError at once, from any thread; sending still works."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RD)

    def close(self, flush_s: float) -> None:
        """Send the queued messages, for at most `flush_s` seconds, and close. A second call does nothing."""
        self._unsent.put(None)
        self._writer.join(flush_s)
        with contextlib.suppress(OSError):  # not connected any more; otherwise it unblocks a writer that is stuck
            self._socket.shutdown(socket.SHUT_RDWR)
        self._writer.join()
        self._socket.close()

    def _fill(self) -> None:
        try:
            chunk = self._socket.recv(_CHUNK)
        except ConnectionError:  # the peer died with our bytes unread
            chunk = b""
        if not chunk:
            raise EOFError
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._unread.append(b"".join([*self._partial, line]))
            self._partial.clear()
        if rest:
            self._partial.append(rest)

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # the peer is gone: `receive` reports it, once
            while (line := self._unsent.get()) is not None:
                self._socket.sendall(line)
