"""Whether there is a screen on Linux, found out before Qt is asked: Qt ends the process when there is none."""

from __future__ import annotations

import contextlib
import ctypes
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def has_screen(environment: Mapping[str, str]) -> bool:
    """Return whether the platform that Qt would choose has a display server that answers.

    A shell that outlived its desktop session keeps variables that lead nowhere.
    """
    chosen = environment.get("QT_QPA_PLATFORM", "").partition(":")[0].partition(";")[0]
    if chosen.startswith("wayland"):
        return _wayland_answers(environment)
    if chosen == "xcb":
        return _x_answers(environment)
    if chosen:
        return True  # a platform without a server, or one that Qt will name as unknown
    return _wayland_answers(environment) or _x_answers(environment)


def _wayland_answers(environment: Mapping[str, str]) -> bool:
    name = environment.get("WAYLAND_DISPLAY", "")
    if not name:
        return False
    path = Path(environment.get("XDG_RUNTIME_DIR", "")) / name
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _x_answers(environment: Mapping[str, str]) -> bool:
    name = environment.get("DISPLAY", "")
    if not name:
        return False
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # whether it answers cannot be said; Qt names the library that is missing
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(name.encode(), None))
    answers = not xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return answers
