"""Where new models go, chosen without waiting; and downloads that follow or keep their place."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from app.model_manager.downloads import Downloads, DownloadState
from app.model_manager.model_library import ModelsFolder
from mtplx_engine import paths
from mtplx_engine.hub import plan, remote_inspect
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.models import library
from mtplx_engine.models.folders import InstallFolders
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot


REPO, NAME = "makers/model", "makers--model"


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def folder(qtbot: QtBot, data: Path) -> Iterator[ModelsFolder]:
    made = ModelsFolder(data)
    yield made
    made.close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "original").iterdir()}
    with running(FakeHub({REPO: FakeRepo(files)})) as hub:
        yield hub


@pytest.fixture
def downloads(qtbot: QtBot, data: Path, hub: FakeHub) -> Iterator[Downloads]:
    made = Downloads(data, lambda: HubConnection(hub.endpoint))
    yield made
    made.close()


def test_it_is_chosen_kept_and_given_up(qtbot: QtBot, folder: ModelsFolder, data: Path, disk: Path) -> None:
    assert (folder.path, folder.is_usual) == (paths.models_dir(data), True)
    assert folder.free_bytes == pytest.approx(shutil.disk_usage(disk).free, rel=0.1)
    with qtbot.waitSignal(folder.changed):
        folder.choose(disk)
    assert (folder.path, folder.is_usual, folder.is_there) == (disk, False, True)
    assert ModelsFolder(data).path == disk
    disk.rename(disk.with_name("away"))
    assert (folder.path, folder.is_there, folder.free_bytes) == (disk, False, None)
    with qtbot.waitSignal(folder.changed):
        folder.choose(None)
    assert folder.is_usual


def test_why_it_cannot_be_is_said(qtbot: QtBot, folder: ModelsFolder, disk: Path) -> None:
    with qtbot.waitSignal(folder.failed) as said:
        folder.choose(disk / "nowhere")
    assert "There is no folder" in said.args[0]
    assert folder.is_usual


def test_a_download_goes_to_the_chosen_folder(
    qtbot: QtBot, downloads: Downloads, hub: FakeHub, data: Path, disk: Path
) -> None:
    InstallFolders(data).choose(disk)
    with qtbot.waitSignal(downloads.installed):
        downloads.enqueue(remote_inspect.plan_download(HubConnection(hub.endpoint), REPO))
    assert library.resolve_model(NAME, data) == disk / NAME


def test_without_the_disk_it_waits_and_another_folder_helps(
    qtbot: QtBot, downloads: Downloads, hub: FakeHub, data: Path, disk: Path
) -> None:
    InstallFolders(data).choose(disk)
    disk.rename(disk.with_name("away"))
    downloads.enqueue(remote_inspect.plan_download(HubConnection(hub.endpoint), REPO))
    qtbot.waitUntil(lambda: downloads.rows()[0].state is DownloadState.FAILED)
    assert downloads.rows()[0].problem is HubErrorKind.NOT_CONNECTED
    assert not disk.exists()
    assert not paths.models_dir(data).exists()
    InstallFolders(data).choose(None)
    with qtbot.waitSignal(downloads.installed):
        downloads.resume(NAME)
    assert library.resolve_model(NAME, data) == paths.models_dir(data) / NAME


def test_what_is_cancelled_leaves_nothing_in_the_chosen_folder(
    qtbot: QtBot, downloads: Downloads, hub: FakeHub, data: Path, disk: Path
) -> None:
    """Also when that is before anybody knows where it goes."""
    InstallFolders(data).choose(disk)
    downloads.enqueue(remote_inspect.plan_download(HubConnection(hub.endpoint), REPO))
    downloads.cancel(NAME)
    qtbot.waitUntil(lambda: not downloads._tasks.busy)
    assert plan.unfinished_plans(data) == ()
    assert not plan.staging(data, NAME, str(disk)).exists()


def test_what_was_begun_on_a_disk_goes_on_there_at_the_next_start(
    qtbot: QtBot, downloads: Downloads, hub: FakeHub, data: Path, disk: Path
) -> None:
    InstallFolders(data).choose(disk)
    wanted = plan.placed(data, remote_inspect.plan_download(HubConnection(hub.endpoint), REPO))
    plan.write_plan(plan.staging(data, NAME, wanted.home), wanted)
    InstallFolders(data).choose(None)
    downloads.open()
    qtbot.waitUntil(lambda: bool(downloads.rows()))
    with qtbot.waitSignal(downloads.installed):
        downloads.resume(NAME)
    assert library.resolve_model(NAME, data) == disk / NAME
