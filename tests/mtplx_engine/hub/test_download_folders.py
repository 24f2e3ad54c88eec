"""Downloads and the folder that new models go to: begun there, kept there, with the room of that disk."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.hub import download, plan, remote_inspect
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.retries import Retries
from mtplx_engine.models import library, manifest
from mtplx_engine.models.folders import InstallFolders
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_engine.hub.plan import DownloadPlan


REPO, NAME = "makers/model", "makers--model"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "original").iterdir()}
    with running(FakeHub({REPO: FakeRepo(files)})) as hub:
        yield hub


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def disk(tmp_path: Path, data: Path) -> Path:
    folder = tmp_path / "disk" / "models"
    folder.mkdir(parents=True)
    InstallFolders(data).choose(folder)
    return folder


def asked(hub: FakeHub) -> DownloadPlan:
    return remote_inspect.plan_download(HubConnection(hub.endpoint), REPO)


def fetch(hub: FakeHub, data: Path, wanted: DownloadPlan) -> Path:
    return Download(wanted, data, HubConnection(hub.endpoint), Retries(limit=2, first_s=0.001)).run()


def interrupt(hub: FakeHub, data: Path, wanted: DownloadPlan) -> None:
    hub.faults.append(Fault(lambda handler, *_: handler.reply(404), "model.safetensors"))
    with pytest.raises(HubError):
        fetch(hub, data, wanted)
    hub.faults.clear()


def test_a_new_model_goes_where_it_was_chosen(hub: FakeHub, data: Path, disk: Path) -> None:
    folder = fetch(hub, data, plan.placed(data, asked(hub)))
    assert folder == disk / NAME
    assert manifest.read_manifest(folder)
    assert not paths.models_dir(data).exists()
    assert [model.path for model in library.installed_models(data)] == [folder]


def test_what_was_begun_keeps_its_place(hub: FakeHub, data: Path, disk: Path) -> None:
    interrupt(hub, data, plan.placed(data, asked(hub)))
    InstallFolders(data).choose(None)
    assert plan.placed(data, asked(hub)).home == str(disk)
    (begun,) = plan.unfinished_plans(data)
    assert begun.id == NAME
    assert download.present(data, begun) > 0
    hub.asked.clear()
    assert fetch(hub, data, begun) == disk / NAME
    assert [item.name for item in hub.asked] == ["model.safetensors"]


def test_a_later_version_takes_the_place_of_the_one_that_is_installed(hub: FakeHub, data: Path, disk: Path) -> None:
    folder = fetch(hub, data, plan.placed(data, asked(hub)))
    InstallFolders(data).choose(None)
    hub.repos[REPO].commit = "e" * 40
    assert fetch(hub, data, plan.placed(data, asked(hub))) == folder
    assert len(library.installed_models(data)) == 1


def test_where_a_disk_should_be_nothing_is_made(hub: FakeHub, data: Path, disk: Path) -> None:
    wanted = plan.placed(data, asked(hub))
    interrupt(hub, data, wanted)
    away = disk.parent.with_name("away")
    disk.parent.rename(away)
    for act in (
        lambda: plan.placed(data, asked(hub)),
        lambda: fetch(hub, data, wanted),
    ):
        with pytest.raises(HubError, match="Connect its disk") as raised:
            act()
        assert raised.value.problem is HubErrorKind.NOT_CONNECTED
    download.discard(data, wanted)
    assert plan.unfinished_plans(data) == ()
    assert plan.sweep_plans(data) == ()
    assert not disk.parent.exists()
    assert not paths.models_dir(data).exists()
    away.rename(disk.parent)
    assert fetch(hub, data, plan.unfinished_plans(data)[0]).is_dir()


def test_the_room_of_the_right_disk_counts(
    hub: FakeHub, data: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is none in the data folder, and enough on the disk; then the other way round."""
    usage = shutil.disk_usage(disk)
    full, empty = usage._replace(free=0), usage._replace(free=1 << 40)
    monkeypatch.setattr(plan.shutil, "disk_usage", lambda path: empty if disk in (path, *path.parents) else full)
    wanted = plan.placed(data, asked(hub))
    assert fetch(hub, data, wanted).is_dir()
    shutil.rmtree(disk / NAME)
    monkeypatch.setattr(plan.shutil, "disk_usage", lambda path: full if disk in (path, *path.parents) else empty)
    with pytest.raises(HubError) as raised:
        fetch(hub, data, wanted)
    assert raised.value.problem is HubErrorKind.DISK_FULL


def test_old_remains_are_swept_everywhere(hub: FakeHub, data: Path, disk: Path) -> None:
    for home in ("", str(disk)):
        plan.staging(data, "old", home).mkdir(parents=True)
    assert plan.sweep_plans(data, now_s=1e12) == ("old", "old")
