"""`python -m app`: the window where there is a screen, the terminal chat elsewhere."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.errors import EngineError

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
        return True  # cannot be known; Qt names the missing library
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(name.encode(), None))
    answers = not xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return answers


def main() -> int:
    parser = argparse.ArgumentParser(prog="mtplx-app", description="Chat with a language model on this computer.")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="keep chats and models in DIR")
    options = parser.parse_args()
    try:
        data_dir, log_dir = paths.data_dir(options.data_dir), paths.log_dir(options.data_dir)
    except EngineError as error:
        parser.error(str(error))
    if sys.platform.startswith("linux") and not has_screen(os.environ):
        _become_terminal_chat(options.data_dir and data_dir)
    from app.program import run

    return run(data_dir, log_dir)


def _become_terminal_chat(data_dir: Path | None) -> None:
    print("There is no screen here, so this is the chat in the terminal.", flush=True)  # noqa: T201
    command = [sys.executable, "-m", "mtplx_engine.cli.main", "chat"]
    if data_dir is not None:
        command += ["--data-dir", str(data_dir)]
    os.execv(sys.executable, command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    sys.exit(main())
