"""The `mtplx` command: parse, run, exit codes."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import importlib.metadata
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import NoReturn

from mtplx_engine import paths
from mtplx_engine.cli import (
    bench,
    chat,
    check,
    doctor,
    generate,
    inspect,
    models,
    options,
    pull,
    remove,
    search,
    tune,
    verify,
)
from mtplx_engine.cli.output import Console
from mtplx_engine.cli.session import NewEngine, find_model, new_engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.util.formatting import ProgressLine


def end(code: int) -> NoReturn:
    """End this process after what Python does at its end, and before what C++ does.

    mlx keeps a thread for each stream, which the destructors of its library may find running; then they abort a
    process that has done all it was asked for.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001 - nothing public runs them
    for stream in (sys.stdout, sys.stderr):
        # Who reads has gone, or the stream is closed; `main` has told whatever can be told.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130

_BENCH_SUMMARY = "measure what drafting gains on this machine"


def main(arguments: list[str] | None = None, new_engine: NewEngine = new_engine) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: The command line, by default the process's.
        new_engine: Makes the engine.
    """
    _open_missing_streams()
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help(sys.stderr)
        return WRONG_USE
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark instead of ending the answer.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = _run(parsed, new_engine)
        sys.stdout.flush()  # here, where a full disk can still be told
        return code
    except EngineError as error:
        _tell_program(parsed, error.kind, str(error))
        return _say(str(error), WRONG_USE if error.kind is ErrorKind.BAD_REQUEST else FAILED)
    except KeyboardInterrupt:
        _tell_program(parsed, "interrupted", "Ctrl-C was pressed.")
        return _say("", INTERRUPTED)
    except BrokenPipeError:
        _drop_output()  # who reads has enough
        return FAILED
    except OSError as error:
        # What is still buffered must not fail again when Python exits.
        _drop_output()
        return _say(f"Reading or writing failed: {error.strerror or error}.", FAILED)
    except BaseException as error:  # noqa: BLE001 - tokenizers and mlx raise what is no Exception
        sentence = _fault(error, parsed.data_dir)
        _tell_program(parsed, ErrorKind.INTERNAL, sentence)
        return _say(sentence, FAILED)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="mtplx", description="Chat with local language models, made fast by their own drafting heads."
    )
    parser.add_argument("--version", action="version", version=importlib.metadata.version("mtplx"))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in (chat, generate, tune, check, models, inspect, search, pull, verify, remove, doctor):
        command = commands.add_parser(
            module.__name__.rpartition(".")[2],
            help=module.SUMMARY,
            description=module.SUMMARY.capitalize() + ".",
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
    command = commands.add_parser("bench", help=_BENCH_SUMMARY, description=_BENCH_SUMMARY.capitalize() + ".")
    options.add_model(command)
    options.add_json(command)
    bench.add_arguments(command)
    return parser


def _run(parsed: argparse.Namespace, new_engine: NewEngine) -> int:
    code: int
    for module in (chat, generate, tune, check, models):
        if parsed.command == module.__name__.rpartition(".")[2]:
            code = module.run(parsed, new_engine)
            return code
    for module in (inspect, search, pull, verify, remove, doctor):
        if parsed.command == module.__name__.rpartition(".")[2]:
            code = module.run(parsed)
            return code
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        folder = find_model(parsed.model, paths.data_dir(parsed.data_dir), line)
    return bench.run(parsed, str(folder))


def _open_missing_streams() -> None:
    """Put the null device where a shell has closed a standard stream, which Python makes None."""
    null = Path(os.devnull)
    sys.stdin = sys.stdin or null.open(encoding="utf-8")
    sys.stdout = sys.stdout or null.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or null.open("w", encoding="utf-8")


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_program(parsed: argparse.Namespace, kind: str, message: str) -> None:
    """Tell who reads JSON why there is none of what was asked for."""
    if getattr(parsed, "json", False):
        Console(sys.stdout).event(event="failed", kind=kind, message=message)


def _say(message: str, code: int) -> int:
    if message:
        Console(sys.stderr).line(message)
    return code


def _fault(error: BaseException, data_dir: str | None) -> str:
    """Note a fault of ours where a bug report can take it from, and return the sentence about it."""
    log = paths.log_dir(data_dir) / "command.log"
    words = f"{type(error).__name__}: {error}"[:200]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(traceback.format_exception(error)))
    except OSError:
        return f"MTPLX failed ({words}). This is a fault in the program; please report it."
    return f"MTPLX failed ({words}). This is a fault in the program; please report it with {log}."


if __name__ == "__main__":
    end(main())
