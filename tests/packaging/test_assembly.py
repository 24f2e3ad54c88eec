"""What stops a build, and what it then leaves as it was; a whole build is `make check-app`'s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_bundle import runtime
from mtplx_bundle.assembly import Order, assemble
from mtplx_bundle.layout import LINUX
from tests.support.tiny_app import put

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def order(tmp_path: Path) -> Order:
    """For a release, of a Python whose library is newer than its modules."""
    prefix = tmp_path / "python"
    put(prefix / "lib" / LINUX.python_library, b"\0 /build/Python-3.11.9\0 ")
    put(prefix / "include" / "python3.11" / "patchlevel.h", b'#define PY_VERSION "3.11.7"\n')
    for name in (*runtime.running().names, "lib-dynload/_ssl.so"):
        put(prefix / "lib" / "python3.11" / name, b"")
    return Order(LINUX, tmp_path / "app", tmp_path / "cache", tmp_path / "starter", prefix, "Developer ID: Ann")


def test_a_release_has_one_python(order):
    with pytest.raises(runtime.UnfitPythonError, match=r"is Python 3\.11\.9, the modules in Python are of 3\.11\.7"):
        assemble(order, lambda _: None)


def test_a_build_that_fails_leaves_the_last_app_where_it_is(order):
    last = put(order.folder / "MTPLX.app" / "Contents" / "Info.plist", b"the last one")
    with pytest.raises(runtime.UnfitPythonError):
        assemble(order, lambda _: None)
    assert last.read_bytes() == b"the last one"
