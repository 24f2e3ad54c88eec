"""Downloads a model in a process of its own, which tells how far it is and may be killed at any point.

Arguments: address of the hub, repository, data folder, bytes of a segment. What was begun goes on.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtplx_engine.hub import partial, plan, repository
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.plan import DownloadPlan, folder_name
from mtplx_engine.hub.retries import Retries
from mtplx_engine.hub.transfer_stats import TransferStats

if TYPE_CHECKING:
    from tests.support.fake_hub import FakeHub


class Told(TransferStats):
    """Writes down the number of bytes as often as it changes."""

    def find(self, count: int) -> None:
        super().find(count)
        os.write(1, b"%d\n" % self.done)

    def receive(self, count: int) -> None:
        super().receive(count)
        os.write(1, b"%d\n" % self.done)


def take_little_ahead() -> None:
    """Bound what the system takes from the network for a process that gets no time to read: megabytes, otherwise."""
    connect = socket.create_connection

    def connect_narrowly(*args: Any, **options: Any) -> socket.socket:
        connected = connect(*args, **options)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        return connected

    socket.create_connection = connect_narrowly


def main() -> None:
    """Run."""
    take_little_ahead()
    endpoint, repo_id, data, segment = sys.argv[1:]
    partial.SEGMENT = int(segment)
    connection = HubConnection(endpoint)
    wanted = plan.read_plan(plan.staging(Path(data), folder_name(repo_id)))
    wanted = wanted or DownloadPlan(folder_name(repo_id), repo_id, repository.read_repo(connection, repo_id))
    download = Download(wanted, Path(data), connection, Retries(first_s=0.01))
    download.tally = Told()
    download.run()


def run_until(hub: FakeHub, repo_id: str, data: Path, segment: int, count: int | None) -> list[int]:
    """Run a download, kill it once it has brought `count` bytes more; return the sums of bytes that it told of."""
    command = [sys.executable, __file__, hub.endpoint, repo_id, str(data), str(segment)]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    told: list[int] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        for line in child.stdout:
            told.append(int(line))
            if count is not None and told[-1] - told[0] >= count:
                child.kill()
                break
        told += [int(line) for line in child.stdout if line.endswith(b"\n")]
    assert child.returncode in (0, -signal.SIGKILL)
    return told


if __name__ == "__main__":
    main()
