"""`mtplx pull`: get a model from the hub, or go on with one that was begun."""

from __future__ import annotations

import contextlib
import getpass
import json
import sys
import time
from typing import TYPE_CHECKING

from mtplx_engine import paths, words
from mtplx_engine.cli import asking, ctrl_c, options
from mtplx_engine.cli.console import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import awake, download, look, plan, proxy, settings, speed
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.problem import CancelledError
from mtplx_engine.hub.secret import system_keychain
from mtplx_engine.hub.token import TokenStore
from mtplx_engine.models import fit, machine, manifest
from mtplx_engine.models.homes import Homes
from mtplx_engine.progress import ProgressLine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt
    from mtplx_engine.hub.look import Look
    from mtplx_engine.hub.plan import Plan
    from mtplx_engine.progress import Report

SUMMARY = "get a model from the hub"
EXAMPLES = """\
examples:
  mtplx pull mlx-community/Qwen3.5-4B-MLX-4bit
  mtplx pull OWNER/MODEL --head OWNER/HEAD
  mtplx pull OWNER/MODEL --ask-token          # a gated model
What is interrupted goes on where it was when the same command is run again.
"""
_TICK_S, _JSON_TICK_S = 0.2, 1.0
_INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="OWNER/MODEL", help="a repository in MLX form")
    parser.add_argument(
        "--head",
        default="",
        metavar="OWNER/HEAD",
        help="the repository of its drafting head (default: the one that we know of)",
    )
    parser.add_argument("--revision", default="main", metavar="REV", help="a branch, tag or commit")
    options.add_anyway(parser, "get a model that will not fit into memory")
    options.add_hub(parser)
    options.add_data_dir(parser)
    options.add_json(parser, "print progress and the end as JSON, an object a line")


def run(arguments: argparse.Namespace) -> int:
    """Get the model; returns the exit code.

    Raises:
        EngineError: It cannot be had.
    """
    console, data = Console(sys.stdout), paths.data_dir(arguments.data_dir)
    connection = connect(arguments, data)
    plan.sweep(data)
    asked = look.plan(connection, arguments.model, arguments.revision, arguments.head)
    if folder := _installed(asked, data):
        _tell(console, asked, folder, as_json=arguments.json)
        return 0
    wanted = _begun(asked, data) or _begin(connection, asked, data, anyway=arguments.anyway)
    fetching = Download(wanted, data, connection)
    folder_or_error = _watch(fetching, as_json=arguments.json)
    if isinstance(folder_or_error, CancelledError):
        Console(sys.stderr).line(
            f"Paused at {words.size(fetching.tally.done)} of {words.size(fetching.total)}; run the same "
            "command again to go on."
        )
        return _INTERRUPTED
    if isinstance(folder_or_error, BaseException):
        raise folder_or_error
    _tell(console, wanted, folder_or_error, as_json=arguments.json)
    return 0


def connect(arguments: argparse.Namespace, data: Path) -> Connection:
    """Return the way to the hub that the options and the settings give."""
    found = settings.read(data)
    if arguments.endpoint:
        found = settings.HubSettings(arguments.endpoint, found.proxy)
    connection = found.connection(None)
    keychain = system_keychain()
    store = TokenStore(connection.host, keychain)
    if arguments.ask_token:
        store.set(getpass.getpass(f"Access token of {connection.host}: "))
    password = proxy.store(found.proxy, keychain)
    return found.connection(store.get(), password.get() if password is not None else None)


def look_at(connection: Connection, wanted: Plan) -> Look:
    """Look at what would be installed; Ctrl-C ends that.

    Raises:
        EngineError: The hub does not let us.
        KeyboardInterrupt: Ctrl-C was pressed.
    """

    def work(interrupt: Interrupt, report: Report) -> Look:
        report(0.0, "Looking at it")
        return look.at(connection, wanted, interrupt)

    return asking.ask(work)


def _begun(asked: Plan, data: Path) -> Plan | None:
    """Return the plan of a download that was begun and is still what the hub has; None otherwise."""
    found = plan.begun(data, asked.id)
    if found is None:
        return None
    if found.asked == asked:
        Console(sys.stderr).line(f"{found.title}: {_what(found)}")
        return found
    Console(sys.stderr).line(
        f"{asked.target.id} is not what it was when this download began (commit {found.target.revision[:7]}); files "
        "that are the same are kept."
    )
    return None


def _begin(connection: Connection, asked: Plan, data: Path, *, anyway: bool) -> Plan:
    """Look at a model and judge it; return what is to be fetched, in place of what was begun otherwise."""
    found = look_at(connection, asked)
    Console(sys.stderr).line(f"{found.plan.title}: {_what(found.plan)}")
    _judge(found, anyway=anyway)
    wanted = plan.placed(data, found.plan)
    download.exchange(data, wanted)
    return wanted


def _judge(found: Look, *, anyway: bool) -> None:
    """Say what there is to know of a model before it is fetched.

    Raises:
        EngineError: It would be refused when it is loaded, or it will not fit and `anyway` was not given.
    """
    found.check()
    notes = Console(sys.stderr)
    for sentence in (found.found.reason, *found.found.notes, *found.warnings):
        notes.line(sentence)
    if found.found.footprint is None:
        return
    here = machine.this()
    judged = fit.judge(found.found.footprint, fit.CONTEXT, here)
    if judged.verdict is not fit.Verdict.FITS:
        notes.line(
            f"Memory is {'tight' if judged.verdict is fit.Verdict.TIGHT else 'too small'}: {judged.in_words}."
        )
    if judged.verdict is fit.Verdict.TOO_BIG and not anyway:
        raise EngineError(
            ErrorKind.TOO_BIG,
            f"{found.plan.title} will not fit into this machine's memory, so it was not fetched. Choose a smaller "
            "model, or get it anyway (--anyway).",
        )


def _installed(wanted: Plan, data: Path) -> Path | None:
    """Return the folder of the model when this very one is installed and whole."""
    for home in Homes(data).all():
        folder = home / wanted.id
        noted = manifest.read(folder)
        is_it = noted is not None and noted.source.endswith(f"@{wanted.target.revision}")
        if noted and is_it and manifest.is_complete(folder, noted):
            return folder
    return None


def _watch(fetching: Download, *, as_json: bool) -> Path | BaseException:
    """Run a download and show how far it is; Ctrl-C stops it, and the Mac stays awake."""
    pace = speed.Speed()
    with contextlib.ExitStack() as stack:
        stack.enter_context(awake.kept())
        show = _in_lines_of_json if as_json else _on_one_line(stack)

        def tick() -> None:
            pace.note(time.monotonic(), fetching.tally.fetched)
            show(fetching, pace)

        return ctrl_c.on_thread(fetching.run, fetching.stop, tick, _JSON_TICK_S if as_json else _TICK_S)


def _on_one_line(stack: contextlib.ExitStack) -> Callable[[Download, speed.Speed], None]:
    line = stack.enter_context(contextlib.closing(ProgressLine(sys.stderr)))
    return lambda fetching, pace: line(fetching.tally.done / max(fetching.total, 1), _phase(fetching, pace))


def _in_lines_of_json(fetching: Download, pace: speed.Speed) -> None:
    tally = fetching.tally
    body: dict[str, object] = {"event": "progress", "done": tally.done, "total": fetching.total}
    if (waiting := tally.waiting) is not None:
        body |= {"event": "waiting", "reason": waiting.cause}
        body |= {"asked": waiting.asked, "seconds": round(waiting.seconds(time.time()), 1)}
    else:
        body |= {"bytes_s": pace.bytes_s, "seconds_left": pace.seconds_left(fetching.total - tally.done)}
    Console(sys.stdout).line(json.dumps(body))


def _phase(fetching: Download, pace: speed.Speed) -> str:
    tally = fetching.tally
    amount = f"{words.size(tally.done)} of {words.size(fetching.total)}"
    if (waiting := tally.waiting) is not None:
        return f"{waiting.in_words(time.time())}, {amount}"
    parts = [amount]
    if pace.bytes_s:
        parts.append(f"{words.size(round(pace.bytes_s))}/s")
    left = pace.seconds_left(fetching.total - tally.done)
    if left is not None:
        parts.append(f"{words.duration(left)} left")
    return f"Downloading, {', '.join(parts)}"


def _what(wanted: Plan) -> str:
    head = ""
    if wanted.head_repo:
        source = f", taken out of {wanted.head_repo}" if wanted.taken else ""
        head = f" with its drafting head ({words.size(wanted.head_size)}{source})"
    licence = wanted.target.licence or "not stated"
    return f"{words.size(wanted.size)}{head}, licence {licence}, commit {wanted.target.revision[:7]}"


def _tell(console: Console, wanted: Plan, folder: Path, *, as_json: bool) -> None:
    if as_json:
        found = {
            "event": "installed",
            "name": wanted.id,
            "title": wanted.title,
            "path": str(folder),
            "size": wanted.size,
        }
        console.line(json.dumps({**found, "revision": wanted.target.revision}))
    else:
        console.line(f"{wanted.id} is ready: mtplx chat --model {wanted.id}")
