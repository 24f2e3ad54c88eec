"""Downloads two models at once to a disk that has no room for both, in a process of its own; prints what came of it.

Arguments: address of the hub, folder of the disk, "checked" or "unchecked" (whether it is looked at the room before),
repositories.
"""

from __future__ import annotations

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mtplx_engine.hub import download, plan, repository
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.errors import HubError
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.plan import DownloadPlan, folder_name
from mtplx_engine.models import manifest


def outcome(wanted: Download) -> str:
    """Return the problem of a download, "" for none."""
    try:
        wanted.run()
    except HubError as error:
        return f"{error.problem.name}: {error}"
    return ""


def main() -> None:
    """Run both, make room for the first that did not arrive, and run that again."""
    endpoint, disk, checked, *repos = sys.argv[1:]
    plan._SPARE = 0
    if checked == "unchecked":
        plan.check_room = lambda *_: None
    data, connection = Path(disk), HubConnection(endpoint)
    plans = [DownloadPlan(folder_name(name), name, repository.read_repo(connection, name)) for name in repos]
    with ThreadPoolExecutor(2) as pool:
        first = list(pool.map(outcome, (Download(each, data, connection) for each in plans)))
    late = next(each for each, problem in zip(plans, first, strict=True) if problem)
    for other in plans:
        if other is not late:
            download.discard(data, other)
            shutil.rmtree(data / "models" / other.id, ignore_errors=True)
    second = outcome(Download(late, data, connection))
    folder = data / "models" / late.id
    noted = manifest.read_manifest(folder)
    wrong = manifest.differing_files(folder, noted, lambda *_: None) if noted else None
    print(json.dumps({"first": first, "second": second, "wrong": wrong}))


if __name__ == "__main__":
    main()
