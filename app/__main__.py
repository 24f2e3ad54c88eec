"""`python -m app`: opens the chat window, or the terminal chat where there is no screen."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from app.screen import has_screen
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
