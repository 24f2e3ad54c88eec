"""A display variable that leads nowhere is no screen."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from app.__main__ import has_screen

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux may have no screen")

_STALE_X = {"DISPLAY": ":7077"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        (_STALE_X, False),
        ({"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": "/nowhere"}, False),
        ({"WAYLAND_DISPLAY": "wayland-9"}, False),
        ({"QT_QPA_PLATFORM": "xcb"}, False),
        ({"QT_QPA_PLATFORM": "xcb", **_STALE_X}, False),
        ({"QT_QPA_PLATFORM": "wayland-egl"}, False),
        ({"QT_QPA_PLATFORM": "offscreen"}, True),
        ({"QT_QPA_PLATFORM": "offscreen:size=800x600"}, True),
    ],
)
def test_what_the_environment_leads_to(environment: dict[str, str], expected: bool) -> None:  # noqa: FBT001
    assert has_screen(environment) is expected


@pytest.mark.parametrize("absolute", [False, True])
def test_a_wayland_server_that_listens_is_a_screen(tmp_path: Path, absolute: bool) -> None:  # noqa: FBT001
    name = str(tmp_path / "way") if absolute else "way"
    environment = {"WAYLAND_DISPLAY": name, "XDG_RUNTIME_DIR": str(tmp_path)}
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(tmp_path / "way"))
        server.listen()
        assert has_screen(environment)
    assert not has_screen(environment)


def test_what_qt_cannot_start_with_is_told_on_the_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "app", "--data-dir", str(tmp_path)]
    environment = {**os.environ, "QT_QPA_PLATFORM": "nonsense"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode != 0
    assert "nonsense" in done.stderr
