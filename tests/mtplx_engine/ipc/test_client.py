"""The client and a process of its own: answers, sudden deaths, silence, orderly and disorderly ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.client import EngineClient, RestartBudget
from mtplx_engine.ipc.protocol import (
    Cancel,
    Event,
    Failed,
    Finished,
    Generate,
    Heartbeat,
    Hello,
    Load,
    Loaded,
    PrefillProgress,
    Tokens,
)
from mtplx_engine.stats import FinishReason
from tests.support.fake_host import fake_host_command
from tests.support.fake_script import Script

SECRET = "the secret question"
ROOT = Path(__file__).parents[2]
Start = Callable[..., EngineClient]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    clients: list[EngineClient] = []

    def make(script: Script, **limits: float) -> EngineClient:
        clients.append(EngineClient(tmp_path / "logs", fake_host_command(script), **limits))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def ask(generation: int, content: str = SECRET) -> Generate:
    return Generate(generation, (ChatMessage("user", content),), SamplerConfig())


def until(client: EngineClient, *kinds: type) -> Event:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        event = client.read(0.1)
        if isinstance(event, kinds):
            return event
    pytest.fail(f"no {kinds} came")


def lost(client: EngineClient) -> EngineError:
    with pytest.raises(EngineError) as caught:
        until(client, Finished)
    assert caught.value.kind is ErrorKind.ENGINE_LOST
    return caught.value


def test_a_question_is_answered(start: Start) -> None:
    client = start(Script(answer="You asked: {question}"))
    client.send(Load("model", "/data"))
    client.send(ask(1))
    hello = until(client, Hello)
    assert hello.pid == client.pid
    until(client, Loaded)
    text = ""
    while isinstance(event := until(client, Tokens, Finished), Tokens):
        text += event.text
    assert text == f"You asked: {SECRET}"


def test_heartbeats_tell_what_memory_the_process_takes(start: Start) -> None:
    client = start(Script())
    footprint = until(client, Heartbeat).footprint
    assert footprint is not None
    assert 1 << 20 < footprint < 1 << 30


BEATS = """
import socket, sys
with socket.socket(fileno=int(sys.argv[1])) as app:
    app.sendall(b'{"type": "Heartbeat"}\\n{"type": "Heartbeat", "footprint": 7}\\n{"type": "Heartbeat"}\\n')
    app.recv(1)
"""


def test_nothing_to_read_is_none_and_a_heartbeat_that_says_nothing_is_nothing(tmp_path: Path) -> None:
    beats = [sys.executable, "-c", BEATS]
    with EngineClient(tmp_path, beats) as client:
        assert client.read(20) == Heartbeat(7)
        assert client.read(0.2) is None


@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGKILL, "memory runs out"), (signal.SIGSEGV, "crashed (SIGSEGV)")]
)
def test_a_crash_is_reported_with_its_signal_after_earlier_events(
    start: Start, number: signal.Signals, words: str
) -> None:
    client = start(Script(prefill_s=60))
    client.send(Load("model", "/data"))
    client.send(ask(1))
    until(client, PrefillProgress, Loaded)
    os.kill(client.pid, number)
    assert words in lost(client).info.message


def test_every_token_before_a_crash_arrives(start: Start) -> None:
    client = start(Script(crash_after=4, accepted=(2,)))
    client.send(Load("model", "/data"))
    client.send(ask(1))
    assert [len(until(client, Tokens).token_ids) for _ in range(4)] == [1, 3, 3, 3]
    assert "SIGKILL" in lost(client).info.message


def test_an_exit_is_reported_with_its_exit_code(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    with EngineClient(tmp_path, command) as client:
        assert "exit code 3" in lost(client).info.message


def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        EngineClient(tmp_path, [str(tmp_path / "nothing")])
    assert caught.value.kind is ErrorKind.ENGINE_LOST
    assert "could not be started" in caught.value.info.message


def test_a_hanging_process_is_noticed_and_can_be_killed(start: Start) -> None:
    client = start(Script(hang_after=1), silence_s=0.3)
    client.send(Load("model", "/data"))
    client.send(ask(1))
    until(client, Tokens)
    assert "has not answered for" in lost(client).info.message
    client.kill()
    assert client._process.returncode == -signal.SIGKILL


def test_a_process_that_never_says_hello_is_noticed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with EngineClient(tmp_path, command, start_s=0.1) as client:
        assert "has not answered for" in lost(client).info.message
        client.kill()


def test_five_megabytes_to_a_busy_engine_do_not_block(start: Start) -> None:
    client = start(Script(prefill_s=60))
    client.send(Load("model", "/data"))
    client.send(ask(1))
    until(client, PrefillProgress)
    os.kill(client.pid, signal.SIGSTOP)
    client.send(ask(2, "x" * 5_000_000))
    client.send(Cancel(2))
    os.kill(client.pid, signal.SIGCONT)
    event = until(client, Finished)
    assert (event.generation, event.reason) == (2, FinishReason.CANCELLED)


@pytest.mark.parametrize(
    "script",
    [Script(), Script(load_s=60), Script(prefill_s=60), Script(deaf_after=0)],
    ids=["idle", "loading", "prefill", "deaf"],
)
def test_close_ends_and_reaps_the_process_without_killing_it(start: Start, script: Script) -> None:
    client = start(script)
    client.send(Load("model", "/data"))
    client.send(ask(1))
    until(client, Hello)
    client.close()
    assert client._process.returncode == 0
    client.close()


def test_close_kills_a_process_that_hangs(start: Start) -> None:
    client = start(Script(hang_after=1))
    client.send(Load("model", "/data"))
    client.send(ask(1))
    until(client, Tokens)
    client.close()
    assert client._process.returncode == -signal.SIGKILL


PARENT = """
import sys
from pathlib import Path
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.config import SamplerConfig, ChatMessage
from mtplx_engine.ipc.protocol import Generate, Load, Tokens, PrefillProgress
from tests.support.fake_host import Script, fake_host_command
client = EngineClient(Path(sys.argv[1]), fake_host_command(Script(deaf_after=0)))
client.send(Load("model", "/data"))
client.send(Generate(1, (ChatMessage("user", "hello"),), SamplerConfig()))
while not isinstance(client.read(20), PrefillProgress):
    pass
print(client.pid, flush=True)
while True:
    client.read(60)
"""


def test_the_process_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """Even in the middle of a forward that looks at nothing."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as parent:
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    deadline = time.monotonic() + 60
    while is_running(pid):
        assert time.monotonic() < deadline, "the engine outlived its parent"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip() not in {"", "Z"}


def test_an_engine_does_without_logs_where_there_can_be_none(start: Start, tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way of a folder")
    client = start(Script(cycle_s=0))
    client.send(Load("model", str(tmp_path)))
    client.send(ask(1))
    assert isinstance(until(client, Finished), Finished)


def test_logs_hold_kinds_and_times_and_no_prompt(start: Start, tmp_path: Path) -> None:
    client = start(Script(panic_after=1))
    client.send(Load("model", "/data"))
    client.send(ask(1))
    lost(client)
    logs = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert "Generate took" in logs["engine.log"]
    assert "Panic" in logs["engine.log"]
    assert SECRET not in "".join(logs.values())


def test_native_crashes_leave_a_report(start: Start, tmp_path: Path) -> None:
    client = start(Script())
    until(client, Hello)
    os.kill(client.pid, signal.SIGSEGV)
    lost(client)
    assert "Segmentation fault" in (tmp_path / "logs" / "engine-output.log").read_text()


def test_the_report_starts_over_when_it_has_grown(start: Start, tmp_path: Path) -> None:
    output = tmp_path / "logs" / "engine-output.log"
    output.parent.mkdir()
    output.write_bytes(b"x" * 1_000_001)
    start(Script())
    assert output.stat().st_size < 1_000_000


@pytest.mark.starter
def test_the_real_engine_answers_and_stops_in_prefill(starter_dir: Path, tmp_path: Path) -> None:
    sampler = SamplerConfig(temperature=0, speculative_depth=2)
    question = ChatMessage("user", "What is the capital of France?")
    long = ChatMessage("user", "The tide comes in. " * 1200)
    with EngineClient(tmp_path) as client:
        client.send(Load(str(starter_dir), str(starter_dir.parent.parent)))
        client.send(Generate(1, (question,), sampler, max_tokens=24))
        info = until(client, Loaded, Failed).info
        assert (info.drafter, info.context_window) == ("mtp", 8192)
        events = [until(client, Tokens, Finished, Failed)]
        while isinstance(events[-1], Tokens):
            events.append(until(client, Tokens, Finished, Failed))
        assert "Paris" in "".join(event.text for event in events)
        assert events[-1].stats.emitted == sum(len(event.token_ids) for event in events[:-1])
        client.send(Generate(2, (long,), sampler))
        until(client, PrefillProgress)
        client.send(Cancel(2))
        stopped = until(client, Finished, Tokens, Failed)
        assert (stopped.reason, stopped.stats.emitted) == (FinishReason.CANCELLED, 0)
        client.close()
        assert client._process.returncode == 0
    assert not any("France" in path.read_text() for path in tmp_path.iterdir())


def test_three_restarts_in_ten_minutes_and_no_more() -> None:
    now = 0.0
    budget = RestartBudget(lambda: now)
    assert [budget.spend() for _ in range(4)] == [True, True, True, False]
    now = 599.0
    assert not budget.spend()
    now = 600.0
    assert [budget.spend() for _ in range(4)] == [True, True, True, False]
    budget.refill()
    assert budget.spend()


def test_a_restart_that_was_refused_costs_nothing() -> None:
    now = 0.0
    budget = RestartBudget(lambda: now, limit=1, window_s=10.0)
    assert budget.spend()
    now = 9.0
    assert not budget.spend()
    now = 10.0
    assert budget.spend()
