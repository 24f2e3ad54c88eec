"""Downloads a model in a process of its own, which tells how far it is and may be killed at any point.

Arguments: address of the hub, repository, data folder, bytes of a segment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mtplx_engine.hub import partial, repo
from mtplx_engine.hub.connection import Connection
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.plan import Plan, folder_name
from mtplx_engine.hub.retry import Retries


class Told(Download):
    """Writes down the number of bytes as often as it changes."""

    def _received(self, count: int) -> None:
        super()._received(count)
        os.write(1, b"%d\n" % self.done)


def main() -> None:
    """Run."""
    endpoint, repo_id, data, segment = sys.argv[1:]
    partial.SEGMENT = int(segment)
    connection = Connection(endpoint)
    plan = Plan(folder_name(repo_id), repo_id, repo.read(connection, repo_id))
    Told(plan, Path(data), connection, Retries(first_s=0.01)).run()


if __name__ == "__main__":
    main()
