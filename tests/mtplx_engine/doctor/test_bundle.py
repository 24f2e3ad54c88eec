from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from mtplx_engine.doctor import bundle
from mtplx_engine.doctor.bundle import Gpu
from mtplx_engine.doctor.environment import CheckResult, failed
from mtplx_engine.util.system import Machine

GB = 1 << 30
RIGHT = Gpu("Apple M3", 24 * GB, (32.0,) * 1024)


class FakeKeychain:
    def __init__(self, *, returns: str | None = None, refuses: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self._returns = returns
        self._refuses = refuses

    def get_password(self, service: str, username: str) -> str | None:
        return self._returns or self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self._refuses:
            raise PermissionError("-25308")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


BROKEN = "Failed to load the default metallib."


@pytest.mark.parametrize(
    ("system", "gpu", "trouble", "verdict"),
    [
        ("darwin", RIGHT, "", CheckResult.PASSED),
        ("darwin", None, "", CheckResult.FAILED),
        ("darwin", Gpu("Apple M3", GB, (31.0, *RIGHT.product[1:])), "", CheckResult.FAILED),
        ("darwin", Gpu("Apple M3", GB, ()), "", CheckResult.FAILED),
        ("darwin", None, BROKEN, CheckResult.FAILED),
        ("linux", None, BROKEN, CheckResult.UNKNOWN),
    ],
)
def test_metal_must_compute(system, gpu, trouble, verdict):
    assert bundle.metal(system, gpu, trouble).verdict is verdict


def test_what_mlx_says_is_in_the_row(tmp_path, monkeypatch):
    def refuse() -> None:
        raise RuntimeError(BROKEN)

    monkeypatch.setattr(bundle, "this_gpu", refuse)
    monkeypatch.setattr(bundle.sys, "platform", "darwin")
    monkeypatch.setattr(bundle, "system_keychain", FakeKeychain)
    assert BROKEN in bundle.checks(tmp_path)[0].detail


def libraries(root: Path, *names: str) -> list[Path]:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return [root / "one", root / "two", root / "one"]


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        (("one/mlx/lib/libmlx.dylib", "one/mlx/lib/mlx.metallib"), CheckResult.PASSED),
        (("one/mlx/lib/libmlx.dylib",), CheckResult.FAILED),
        (("one/mlx/lib/libmlx.dylib", "two/mlx/lib/mlx.metallib"), CheckResult.FAILED),
        (
            ("one/mlx/lib/libmlx.dylib", "one/mlx/lib/mlx.metallib", "two/mlx/lib/libmlx.dylib"),
            CheckResult.FAILED,
        ),
        ((), CheckResult.FAILED),
    ],
)
def test_there_is_one_library_with_its_kernels(tmp_path, names, verdict):
    assert bundle.library("darwin", libraries(tmp_path, *names)).verdict is verdict


def test_the_library_of_this_installation_is_found():
    check = bundle.library(sys.platform, [Path(entry) for entry in sys.path])
    assert check.verdict is CheckResult.PASSED, check.detail


@pytest.mark.parametrize(
    ("chain", "verdict"),
    [
        (FakeKeychain(), CheckResult.PASSED),
        (FakeKeychain(returns="another"), CheckResult.FAILED),
        (FakeKeychain(refuses=True), CheckResult.FAILED),
        (None, CheckResult.UNKNOWN),
    ],
)
def test_the_keychain_must_give_back_what_it_got(chain, verdict):
    assert bundle.keychain(lambda: chain).verdict is verdict


def test_nothing_is_left_in_the_keychain():
    chain = FakeKeychain()
    bundle.keychain(lambda: chain)
    assert chain.kept == {}


def test_files_are_kept_and_nothing_is_left(tmp_path):
    assert bundle.files(tmp_path / "data").verdict is CheckResult.PASSED
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_that_cannot_be_is_told(tmp_path):
    (tmp_path / "file").touch()
    check = bundle.files(tmp_path / "file" / "data")
    assert check.verdict is CheckResult.FAILED
    assert str(tmp_path / "file" / "data") in check.detail


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle.shutil, "disk_usage", lambda _path: bundle.shutil._ntuple_diskusage(9, 8, 1))
    assert bundle.files(tmp_path).verdict is CheckResult.FAILED


@pytest.mark.parametrize(
    ("memory", "limit", "recommended", "verdict"),
    [
        (32, 21, 22, CheckResult.PASSED),
        (32, 21, 12, CheckResult.UNKNOWN),
        (32, 32, None, CheckResult.PASSED),
        (2, 2, None, CheckResult.FAILED),
    ],
)
def test_memory_is_reckoned_as_metal_does(memory, limit, recommended, verdict):
    this = Machine(memory * GB, limit * GB, packed=True, chunk=512)
    assert bundle.memory(this, recommended and recommended * GB).verdict is verdict


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [(255, CheckResult.FAILED), (256, CheckResult.PASSED), (resource.RLIM_INFINITY, CheckResult.PASSED)],
)
def test_enough_files_may_be_open(limit, verdict):
    assert bundle.open_files(limit).verdict is verdict


def test_this_machine_is_looked_at_without_a_fault(tmp_path):
    rows = bundle.checks(tmp_path)
    assert [row.name for row in rows] == ["Metal", "Library", "Keychain", "Files", "Memory", "Open files"]
    assert failed(rows) == ()
