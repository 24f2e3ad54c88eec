"""`python -m app`: opens the chat window, or the terminal chat where there is no screen."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
from pathlib import Path

from mtplx_engine import paths
from mtplx_engine.errors import EngineError


def main() -> int:
    """Start the program; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="mtplx-app", description="Chat with a language model on this computer."
    )
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="keep chats and models in DIR")
    options = parser.parse_args()
    try:
        data_dir, log_dir = paths.data_dir(options.data_dir), paths.log_dir(options.data_dir)
    except EngineError as error:
        parser.error(str(error))
    if not _has_screen():
        _become_terminal_chat(options.data_dir and data_dir)
    from app.application import run

    return run(data_dir, log_dir)


def _has_screen() -> bool:
    # Qt ends the process when it finds no display, before any handler of ours could say why.
    if not sys.platform.startswith("linux"):
        return True
    if os.environ.get("QT_QPA_PLATFORM") or os.environ.get("WAYLAND_DISPLAY"):
        return True
    return bool(os.environ.get("DISPLAY")) and _x_server_answers()


def _x_server_answers() -> bool:
    """Whether DISPLAY names a server that is there: a shell that outlived its session keeps a stale one."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # whether it is there cannot be said; Qt names the library that is missing
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    answers = not xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return answers


def _become_terminal_chat(data_dir: Path | None) -> None:
    print("There is no screen here, so this is the chat in the terminal.", flush=True)  # noqa: T201
    command = [sys.executable, "-m", "mtplx_engine.cli.main", "chat"]
    if data_dir is not None:
        command += ["--data-dir", str(data_dir)]
    os.execv(sys.executable, command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    sys.exit(main())
