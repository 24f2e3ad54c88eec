"""The downloads of the window in a process of its own, which tells how far it is and may be killed at any point.

Arguments: address of the hub, repository, data folder, bytes of a segment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from app.model_manager.downloads import Downloads
from mtplx_engine.hub import partial, remote_inspect
from mtplx_engine.hub.http import HubConnection

if TYPE_CHECKING:
    from app.model_manager.downloads import DownloadRow


def main() -> int:
    """Run."""
    endpoint, repo_id, data, segment = sys.argv[1:]
    partial.SEGMENT = int(segment)
    program = QCoreApplication(sys.argv[:1])
    downloads = Downloads(Path(data), lambda: HubConnection(endpoint))

    def tell(row: DownloadRow) -> None:
        os.write(1, b"%d\n" % row.done)

    downloads.changed.connect(tell)
    downloads.enqueue(remote_inspect.plan_download(HubConnection(endpoint), repo_id))
    return program.exec()


if __name__ == "__main__":
    sys.exit(main())
