"""The channel keeps messages whole, never blocks a sender, and tells when the peer is gone."""

from __future__ import annotations

import dataclasses
import json
import socket
import threading
import types
import typing
from enum import Enum
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.errors import EngineError, ErrorInfo, ErrorKind
from mtplx_engine.ipc.channel import Channel, decode, encode
from mtplx_engine.ipc.protocol import Cancel, Failed, Generate, Heartbeat, Load, LoadProgress, Message, Tokens

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


TYPES = typing.get_args(Message)
WHOLE = st.integers(-(2**70), 2**70)
REAL = st.floats(allow_nan=False, allow_infinity=False)
SAMPLERS = st.builds(
    SamplerConfig,
    temperature=st.floats(0, 5),
    top_p=st.floats(0, 1),
    top_k=st.integers(0, 10**6),
    logit_bias=st.lists(st.tuples(st.integers(0, 2**31 - 1), st.floats(-100, 100)), max_size=3).map(tuple),
    seed=st.none() | st.integers(0, 2**63 - 1),
    speculative_depth=st.just("auto") | st.integers(0, 8),
    draft_core=st.sampled_from(["stock", "mtp", "off"]),
)


def values(hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    """Values of a message field's type, text without lone surrogates."""
    args = typing.get_args(hint)
    if hint is SamplerConfig:
        return SAMPLERS
    if dataclasses.is_dataclass(hint):
        fields = typing.get_type_hints(hint)
        return st.builds(hint, **{name: values(item) for name, item in fields.items()})
    if typing.get_origin(hint) is typing.Literal:
        return st.sampled_from(args)
    if typing.get_origin(hint) is tuple:
        return st.lists(values(args[0]), max_size=4).map(tuple)
    if typing.get_origin(hint) in {types.UnionType, typing.Union}:
        return st.one_of([values(arg) for arg in args])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    text = st.text(st.characters(codec="utf-8"), max_size=20)
    return {bool: st.booleans(), int: WHOLE, float: REAL, str: text, types.NoneType: st.none()}[hint]


@pytest.mark.parametrize("cls", TYPES)
def test_every_message_comes_back_as_it_was_sent(cls: type) -> None:
    @given(values(cls))
    def comes_back(message: Message) -> None:
        line = encode(message)
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert decode(line) == message

    comes_back()


@given(st.text(st.characters(categories=["Cs", "Ll"]), min_size=1, max_size=8))
def test_lone_surrogates_are_replaced_and_the_rest_is_kept(text: str) -> None:
    message = decode(encode(Generate(1, (ChatMessage("user", text),), SamplerConfig())))
    assert isinstance(message, Generate)
    assert message.messages[0].content == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_cannot_hold_is_not_sent(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode(LoadProgress(number, "reading"))


LOAD = {"type": "Load", "model": "m", "data_dir": "/d"}
TOKENS = {
    "type": "Tokens",
    "generation": 1,
    "token_ids": [1, 2],
    "text": "a",
    "drafted": 1,
    "accepted": 1,
    "at_s": 0.5,
}
GENERATE = {"type": "Generate", "generation": 1, "messages": [], "sampler": {}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (LOAD, Load("m", "/d")),
        (TOKENS, Tokens(1, (1, 2), "a", 1, 1, 0.5)),
        (TOKENS | {"at_s": 2}, Tokens(1, (1, 2), "a", 1, 1, 2.0)),
        (GENERATE, Generate(1, (), SamplerConfig())),
        ({"type": "Heartbeat"}, Heartbeat()),
        (
            {"type": "Failed", "error": {"kind": "internal", "message": "x"}},
            Failed(ErrorInfo(ErrorKind.INTERNAL, "x")),
        ),
    ],
)
def test_missing_fields_get_their_defaults(body: dict[str, object], message: Message) -> None:
    assert decode(json.dumps(body).encode()) == message


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        None,
        "Load",
        {"type": "Nothing"},
        {"type": ["Load"]},
        {"type": "Load"},
        LOAD | {"extra": 1},
        LOAD | {"model": 5},
        LOAD | {"model": None},
        {"type": "Cancel", "generation": "1"},
        {"type": "Cancel", "generation": True},
        {"type": "Cancel", "generation": 1.0},
        TOKENS | {"token_ids": "12"},
        TOKENS | {"token_ids": {"1": 2}},
        TOKENS | {"token_ids": ["1"]},
        TOKENS | {"text": ["a"]},
        TOKENS | {"at_s": "0.5"},
        TOKENS | {"at_s": True},
        TOKENS | {"at_s": 10**400},
        {"type": "Failed", "error": {"kind": "odd", "message": "x"}},
        {"type": "Failed", "error": ["internal", "x"]},
        GENERATE | {"messages": [{"role": "user"}]},
        GENERATE | {"messages": [["user", "hello"]]},
        GENERATE | {"sampler": {"temperature": -1}},
        GENERATE | {"sampler": {"draft_core": "other"}},
        GENERATE | {"sampler": {"logit_bias": [[1]]}},
        GENERATE | {"sampler": {"logit_bias": [[1, 2.0, 3]]}},
        GENERATE | {"max_tokens": "5"},
        GENERATE | {"stop": "end"},
    ],
    ids=str,
)
def test_what_is_not_exactly_a_message_is_refused(body: object) -> None:
    with pytest.raises(EngineError) as caught:
        decode(json.dumps(body).encode())
    assert caught.value.kind in {ErrorKind.INTERNAL, ErrorKind.BAD_REQUEST}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_outside_json_are_refused(number: str) -> None:
    with pytest.raises(EngineError):
        decode(b'{"type":"LoadProgress","phase":"x","fraction":%s}' % number.encode())


@given(st.binary())
def test_junk_never_raises_anything_else(junk: bytes) -> None:
    with pytest.raises(EngineError):
        decode(junk)


def assert_sound_or_refused(line: bytes) -> None:
    try:
        message = decode(line)
    except EngineError:
        return
    assert type(decode(encode(message))) is type(message)


JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted({name for cls in TYPES for name in typing.get_type_hints(cls)})


@given(
    st.sampled_from([cls.__name__ for cls in TYPES]),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6),
)
def test_json_of_the_wrong_shape_never_raises_anything_else(name: str, fields: dict[str, object]) -> None:
    assert_sound_or_refused(json.dumps({"type": name} | fields).encode())


@given(st.one_of([values(cls) for cls in TYPES]), st.data())
def test_a_damaged_line_never_raises_anything_else(message: Message, data: st.DataObject) -> None:
    line = encode(message)
    at = data.draw(st.integers(0, len(line) - 1))
    damaged = line[:at] + data.draw(st.binary(max_size=3)) + line[at + 1 :]
    assert_sound_or_refused(damaged)


@pytest.mark.parametrize(
    "junk", [b"[" * 100_000, b'{"type":' * 100_000, b"9" * 10_000, b"\xff\xfe{}", b"\xef\xbb\xbf{}"]
)
def test_hostile_json_is_refused(junk: bytes) -> None:
    with pytest.raises(EngineError):
        decode(junk)


def test_a_cancel_reads_as_documented() -> None:
    assert encode(Cancel(7)) == b'{"type":"Cancel","generation":7}\n'
