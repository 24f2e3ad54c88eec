"""The `mtplx` command: parses, runs, and turns failures into a sentence and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine import backend, paths
from mtplx_engine.cli import chat, hub, inspect, measure, models, options
from mtplx_engine.cli.exit import end
from mtplx_engine.cli.options import Command
from mtplx_engine.cli.output import Console
from mtplx_engine.doctor import report
from mtplx_engine.doctor.environment import failed
from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from mtplx_engine.cli.options import NewEngine
    from mtplx_engine.host import EngineProtocol


FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130


def new_engine() -> EngineProtocol:
    """Return the real engine; imports mlx, so the BLAS of this process is chosen first."""
    backend.prepare()
    from mtplx_engine import engine

    return engine.Engine()


def main(arguments: list[str] | None = None, new_engine: NewEngine = new_engine) -> int:
    """Run a command line, by default the process's, and return its exit code."""
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
        code: int = parsed.run(parsed, new_engine)
        sys.stdout.flush()  # here, where a full disk can still be told
        return code
    except EngineError as error:
        _print_failure(parsed, error.kind, str(error))
        return WRONG_USE if error.kind is ErrorKind.BAD_REQUEST else FAILED
    except KeyboardInterrupt:
        _print_failure(parsed, "interrupted", "Ctrl-C was pressed.", quiet=True)
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()  # the reader has enough
        return FAILED
    except OSError as error:
        # What is still buffered must not fail again when Python exits.
        _discard_output()
        Console(sys.stderr).line(f"Reading or writing failed: {error.strerror or error}.")
        return FAILED
    except BaseException as error:  # noqa: BLE001 - tokenizers and mlx raise what is no Exception
        _print_failure(parsed, ErrorKind.INTERNAL, _log_fault(error, parsed.data_dir))
        return FAILED


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mtplx", description="Chat with local language models, made fast by their own drafting heads."
    )
    parser.add_argument("--version", action="version", version=importlib.metadata.version("mtplx"))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        subparser = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.summary.capitalize() + ".",
            epilog=command.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", action="store_true", help="only what has to be right where MTPLX is an app")
    options.add_data_dir(parser)
    options.add_json(parser)


def _run_doctor(arguments: argparse.Namespace, _new_engine: NewEngine) -> int:
    data, console = paths.data_dir(arguments.data_dir), Console(sys.stdout)
    checks = report.examine_bundle(data) if arguments.bundle else report.examine(data)
    if arguments.json:
        console.json(report.as_json(checks))
    else:
        console.text(report.render(checks))
    return 1 if failed(checks) else 0


_DOCTOR = Command(
    name="doctor",
    summary="test this machine, and print a report with nothing private in it",
    examples="""\
examples:
  mtplx doctor
  mtplx doctor --json > report.json
exit code: 0 when no check failed, 1 otherwise
""",
    add_arguments=_add_doctor_arguments,
    run=_run_doctor,
)
COMMANDS = (
    chat.CHAT,
    chat.GENERATE,
    measure.TUNE,
    measure.CHECK,
    models.MODELS,
    inspect.INSPECT,
    hub.SEARCH,
    hub.PULL,
    models.VERIFY,
    models.REMOVE,
    _DOCTOR,
    measure.BENCH,
)
"""In the order of the help."""


def _open_missing_streams() -> None:
    """Put the null device where a shell has closed a standard stream, which Python makes None."""
    null = Path(os.devnull)
    sys.stdin = sys.stdin or null.open(encoding="utf-8")
    sys.stdout = sys.stdout or null.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or null.open("w", encoding="utf-8")


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_failure(parsed: argparse.Namespace, kind: str, message: str, *, quiet: bool = False) -> None:
    """Say why there is no result: with --json on stdout, and on stderr unless `quiet`."""
    if getattr(parsed, "json", False):
        Console(sys.stdout).event(event="failed", kind=kind, message=message)
    if not quiet:
        Console(sys.stderr).line(message)


def _log_fault(error: BaseException, data_dir: str | None) -> str:
    """Write the traceback of a fault of ours into a file for bug reports, and return a sentence about it."""
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
