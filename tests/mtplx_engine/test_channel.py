"""The channel keeps messages whole, never blocks a sender, and tells when the peer is gone."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.channel import Channel
from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.errors import EngineError
from mtplx_engine.protocol import Cancel, Generate, Heartbeat

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = Generate(1, (ChatMessage("user", "x" * 5_000_000),), SamplerConfig())


@pytest.fixture
def pair() -> Iterator[tuple[Channel, Channel]]:
    left, right = (Channel(sock) for sock in socket.socketpair())
    yield left, right
    left.close(0)
    right.close(0)


@pytest.fixture
def raw() -> Iterator[tuple[socket.socket, Channel]]:
    ours, theirs = socket.socketpair()
    channel = Channel(theirs)
    with ours:
        yield ours, channel
    channel.close(0)


def test_messages_arrive_in_order_and_whole(pair: tuple[Channel, Channel]) -> None:
    left, right = pair
    sent = [Cancel(1), LONG, Heartbeat(), Cancel(2)]
    for message in sent:
        left.send(message)
    assert [right.receive(10) for _ in sent] == sent
    assert right.receive(0) is None


def test_five_megabytes_to_a_peer_that_does_not_read_do_not_block(pair: tuple[Channel, Channel]) -> None:
    left, right = pair
    left.send(LONG)
    left.send(Cancel(1))
    assert left.receive(0) is None  # the sender got here, with nothing read at the far end
    assert right.receive(10) == LONG
    assert right.receive(10) == Cancel(1)


def test_a_message_split_at_any_byte_is_joined(raw: tuple[socket.socket, Channel]) -> None:
    ours, channel = raw
    for byte in b'{"type":"Cancel","generation":5}':
        ours.sendall(bytes([byte]))
        assert channel.receive(0) is None
    ours.sendall(b'\n{"type":"Heartbeat"}\n{"type"')
    assert channel.receive(5) == Cancel(5)
    assert channel.receive(5) == Heartbeat()
    assert channel.receive(0) is None


def test_what_was_sent_before_the_end_is_still_received(pair: tuple[Channel, Channel]) -> None:
    left, right = pair
    left.send(Cancel(1))
    left.close(5)
    assert right.receive(5) == Cancel(1)
    with pytest.raises(EOFError):
        right.receive(5)
    right.send(Cancel(2))  # goes nowhere, and says nothing


def test_a_close_gives_up_on_a_peer_that_does_not_read(pair: tuple[Channel, Channel]) -> None:
    left, _ = pair
    left.send(LONG)
    left.close(0.05)
    left.close(0.05)
    assert not left._writer.is_alive()


def test_junk_is_an_engine_error_and_the_next_line_is_read(raw: tuple[socket.socket, Channel]) -> None:
    ours, channel = raw
    ours.sendall(b'\xff\x00\n\n{"type":"Cancel","generation":5}\n')
    for _ in range(2):
        with pytest.raises(EngineError):
            channel.receive(5)
    assert channel.receive(5) == Cancel(5)


def test_stop_receiving_wakes_the_reader_and_sending_goes_on(pair: tuple[Channel, Channel]) -> None:
    left, right = pair
    threading.Timer(0.05, left.stop_receiving).start()
    with pytest.raises(EOFError):
        left.receive(60)
    left.send(Cancel(1))
    assert right.receive(5) == Cancel(1)
