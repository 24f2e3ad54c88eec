"""`mtplx search` and `mtplx pull`: models at the hub, and their downloads."""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import sys
import time
from typing import TYPE_CHECKING, Any

from mtplx_engine import paths
from mtplx_engine.cli import options, output
from mtplx_engine.cli.options import Command
from mtplx_engine.cli.output import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import (
    api,
    catalogue,
    credentials,
    download,
    plan,
    remote_inspect,
    search,
    settings,
    transfer_stats,
)
from mtplx_engine.hub.credentials import TokenStore, system_keychain
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.errors import MOVED, ON_THE_WAY, CancelledError, CancelToken, HubError, HubErrorKind
from mtplx_engine.hub.plan import VersionCheck
from mtplx_engine.models import memory_fit
from mtplx_engine.models.memory_fit import MemoryVerdict
from mtplx_engine.util import formatting, system
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeVar

    from mtplx_engine.cli.options import NewEngine
    from mtplx_engine.hub.catalogue import Entry
    from mtplx_engine.hub.download import Unfinished
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.plan import DownloadPlan
    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.hub.search import Hit
    from mtplx_engine.util.formatting import Report

    _T = TypeVar("_T")


def add_hub(parser: argparse.ArgumentParser) -> None:
    """Declare how the hub is reached: --endpoint and --ask-token."""
    parser.add_argument("--endpoint", default="", metavar="URL", help="a mirror, in place of the hub that is set")
    parser.add_argument(
        "--ask-token", action="store_true", help="ask for an access token; the keychain keeps it on a Mac"
    )


def connect(arguments: argparse.Namespace, data: Path) -> HubConnection:
    """Return the connection that options and settings give, or else the environment of the hub's own programs.

    Raises:
        EngineError: BAD_REQUEST, when an address is none, or no token was entered.
    """
    found = settings.read_settings(data)
    if arguments.endpoint:
        found = settings.HubSettings(arguments.endpoint, found.proxy)
    connection = found.connection(None)
    keychain = system_keychain()
    store = TokenStore(connection.host, keychain)
    if arguments.ask_token:
        store.set(_ask_token(connection.host))
    password = credentials.store_proxy(found.proxy, keychain)
    token = store.get() or api.login(connection.endpoint)
    return found.connection(token, password.get() if password is not None else None)


def _ask_token(host: str) -> str:
    try:
        return getpass.getpass(f"Access token of {host}: ")
    except EOFError:  # Ctrl-D
        return ""


def inspect_repo(connection: HubConnection, wanted: DownloadPlan) -> RepoInspection:
    """Inspect a repository before it is downloaded; Ctrl-C ends that with KeyboardInterrupt."""

    def work(cancel: CancelToken, report: Report) -> RepoInspection:
        report(0.0, "Looking at it")
        return remote_inspect.inspect_repo(connection, wanted, cancel)

    return _cancellable(work)


def _cancellable(work: Callable[[CancelToken, Report], _T]) -> _T:
    """Return what `work` returns; Ctrl-C sets its token, and its progress is shown on stderr."""
    cancel = CancelToken()
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        outcome = output.on_thread(lambda: work(cancel, line), cancel.set)
    if isinstance(outcome, CancelledError):
        raise KeyboardInterrupt from outcome
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


_HEADINGS = ("MODEL", "KIND", "DOWNLOADS", "UPDATED", "HEAD")
_GB = 1_000_000_000
# Keys of a model in JSON, recommended or found.
_UNKNOWN: dict[str, Any] = dict.fromkeys(
    ("id", "title", "good_for", "head", "model_type", "downloads", "likes", "gated", "updated", "size")
)


def _add_search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of a model's name")
    parser.add_argument(
        "--max-gb",
        type=options.above_0,
        metavar="N",
        help="only models of at most N GB, their drafting heads included",
    )
    add_hub(parser)
    options.add_data_dir(parser)
    options.add_json(parser)


def _run_search(arguments: argparse.Namespace, _new_engine: NewEngine) -> int:
    console = Console(sys.stdout)
    if not arguments.words and arguments.max_gb is None:
        _recommend(console, as_json=arguments.json)
        return 0
    connection = connect(arguments, paths.data_dir(arguments.data_dir))
    found = search.search(connection, " ".join(arguments.words))
    if found.odd:
        entries = "1 entry that makes" if found.odd == 1 else f"{found.odd} entries that make"
        Console(sys.stderr).line(f"{connection.host} lists {entries} no sense; left out.")
    hits, sizes = found.hits, None
    if arguments.max_gb is not None:
        sizes = _sizes(connection, hits, round(arguments.max_gb * _GB))
        hits = tuple(hit for hit in hits if hit.id in sizes)
    if arguments.json:
        console.json({"models": [_hit_as_json(hit, sizes) for hit in hits]})
    elif hits:
        headings = (*_HEADINGS, "SIZE") if sizes else _HEADINGS
        for line in output.table_lines([headings, *(_hit_row(hit, sizes) for hit in hits)]):
            console.line(line)
    else:
        more = "" if arguments.max_gb is None else f" and at most {arguments.max_gb:g} GB"
        console.line(f"{connection.host} has no model in MLX form with these words{more}; try fewer.")
    return 0


def _sizes(connection: HubConnection, hits: tuple[Hit, ...], most: int) -> dict[str, int]:
    """Return sizes in bytes of the models of at most `most` bytes; refusals of the hub are printed on stderr."""
    sizes: dict[str, int] = {}
    refused = []

    def work(cancel: CancelToken, report: Report) -> None:
        for index, hit in enumerate(hits):
            report(index / len(hits), f"Asking for sizes, {hit.id}")
            try:
                size = remote_inspect.plan_download(connection, hit.id, interrupt=cancel).size
            except HubError as error:
                if error.problem in ON_THE_WAY:
                    raise
                refused.append(str(error))
                continue
            if size <= most:
                sizes[hit.id] = size

    _cancellable(work)
    for sentence in refused:
        Console(sys.stderr).line(sentence)
    return sizes


def _recommend(console: Console, *, as_json: bool) -> None:
    entries = catalogue.entries()
    if as_json:
        console.json({"models": [_UNKNOWN | _entry_as_json(entry) for entry in entries]})
        return
    rows = [(entry.target, entry.title, entry.good_for) for entry in entries]
    for line in output.table_lines([("MODEL", "NAME", "GOOD FOR"), *rows]):
        console.line(line)


def _entry_as_json(entry: Entry) -> dict[str, Any]:
    return {"id": entry.target, "title": entry.title, "good_for": entry.good_for, "head": entry.head or None}


def _hit_as_json(hit: Hit, sizes: dict[str, int] | None) -> dict[str, Any]:
    """Return a hit with the same keys as a recommendation, null for what is unknown."""
    entry = catalogue.entry_of(hit.id)
    size = sizes[hit.id] if sizes else None
    return _UNKNOWN | (_entry_as_json(entry) if entry else {}) | dataclasses.asdict(hit) | {"size": size}


def _hit_row(hit: Hit, sizes: dict[str, int] | None) -> tuple[str, ...]:
    entry = catalogue.entry_of(hit.id)
    kind = f"{hit.model_type or 'unknown'}{', gated' if hit.gated else ''}"
    cells = (hit.id, kind, f"{hit.downloads:,}", hit.updated, entry.head if entry else "")
    return (*cells, formatting.size(sizes[hit.id])) if sizes else cells


SEARCH = Command(
    name="search",
    summary="look for models on the hub",
    examples="""\
examples:
  mtplx search                # the models that we recommend; no network needed
  mtplx search qwen3.5 4b
  mtplx search qwen --max-gb 6     # the hub is asked for the size of each
  mtplx search qwen --json
""",
    add_arguments=_add_search_arguments,
    run=_run_search,
)

_INTERRUPTED = 130
_TICK_S, _JSON_TICK_S = 0.2, 1.0


def _add_pull_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="OWNER/MODEL", help="a repository in MLX form")
    parser.add_argument(
        "--head",
        default="",
        metavar="OWNER/HEAD",
        help="the repository of its drafting head (default: the one that it has here, or that we know of)",
    )
    parser.add_argument("--revision", default="", metavar="REV", help=f"a branch, tag or commit (default: {plan.MAIN})")
    parser.add_argument("--discard", action="store_true", help="delete what has arrived, in place of going on")
    options.add_anyway(parser, "get a model that will not fit into memory")
    add_hub(parser)
    options.add_data_dir(parser)
    options.add_json(parser, "print progress and the end as JSON, an object a line")


def _run_pull(arguments: argparse.Namespace, _new_engine: NewEngine) -> int:
    data = paths.data_dir(arguments.data_dir)
    if arguments.discard:
        unfinished = download.unfinished_called(arguments.model, data)
        if unfinished is None:
            sentence = f"No download of {arguments.model} was begun; `mtplx models` lists those that were."
            raise EngineError(ErrorKind.NOT_FOUND, sentence)
        discard(unfinished, data, as_json=arguments.json)
        return 0
    plan.sweep_plans(data)
    return _Pull(arguments, data, connect(arguments, data)).run()


def discard(unfinished: Unfinished, data: Path, *, as_json: bool) -> None:
    """Delete what has arrived of a model, and say so; raise HubError (BUSY) while a program downloads it."""
    download.discard(data, unfinished.plan)
    console, name = Console(sys.stdout), unfinished.plan.id
    if as_json:
        path = plan.staging(data, name, unfinished.plan.home)
        console.event(event="discarded", name=name, path=str(path), freed=unfinished.present)
    else:
        console.line(f"What had arrived of {name} ({unfinished.amount}) is deleted.")


class _Pull:
    """One run of `mtplx pull`: plans, checks, downloads, and prints how it went."""

    def __init__(self, arguments: argparse.Namespace, data: Path, connection: HubConnection) -> None:
        self._arguments = arguments
        self._data = data
        self._connection = connection
        self._name = plan.folder_name(arguments.model)
        self._notes = Console(sys.stderr)

    def run(self) -> int:
        """Download the model, again when the hub changed it meanwhile; returns the exit code."""
        wanted = self._plan()
        if wanted is None:
            return 0
        running, outcome = self._download(wanted)
        if isinstance(outcome, HubError) and outcome.problem in MOVED:
            again = self._plan()
            if again is None or again == wanted:
                raise outcome
            running, outcome = self._download(again)
        if isinstance(outcome, CancelledError):
            self._print_paused(running)
            return _INTERRUPTED
        if isinstance(outcome, BaseException):
            raise outcome
        self._print_installed(running.plan, outcome, already=False)
        return 0

    def _download(self, wanted: DownloadPlan) -> tuple[Download, Path | BaseException]:
        running = Download(wanted, self._data, self._connection)
        return running, _watch(running, as_json=self._arguments.json)

    def _plan(self) -> DownloadPlan | None:
        """Return what is to be downloaded, in place of an earlier plan; None when it is installed, which is printed."""
        unfinished = download.unfinished_called(self._name, self._data)
        installed = VersionCheck.find(self._data, self._name)
        asked = self._asked(unfinished, installed)
        if installed is not None and not installed.difference(asked, looked=False):
            self._print_installed(asked, installed.folder, already=True)
            return None
        found = inspect_repo(self._connection, asked)
        wanted = found.plan
        found.check()
        for warning in found.warnings:
            self._notes.line(warning)
        if installed is not None:
            difference = installed.difference(wanted, looked=True)
            if not difference:
                self._print_installed(wanted, installed.folder, already=True)
                return None
            self._notes.line(difference)
        self._notes.line(f"{wanted.title}: {_contents(wanted)}")
        anyway = self._arguments.anyway
        if unfinished is not None:
            self._notes.line(_continuation(unfinished, wanted))
            anyway = anyway or (unfinished.plan == wanted and unfinished.plan.anyway)
        self._judge(found, anyway=anyway)
        wanted = plan.placed(self._data, dataclasses.replace(wanted, anyway=anyway))
        download.exchange(self._data, wanted)
        return wanted

    def _asked(self, unfinished: Unfinished | None, installed: VersionCheck | None) -> DownloadPlan:
        """Return the hub's plan; options that were not given are as the download was begun, or as it is installed."""
        head = self._arguments.head
        if not head and unfinished is not None:
            # Not `head_repo`: a head that was taken out of another repository is found by itself again.
            head = unfinished.plan.head.id if unfinished.plan.head is not None else ""
        elif not head and installed is not None:
            head = installed.head_repo
        revision = self._arguments.revision or (unfinished.plan.revision if unfinished else plan.MAIN)
        try:
            return remote_inspect.plan_download(self._connection, self._arguments.model, revision, head)
        except HubError as error:
            asked_for = revision in (plan.MAIN, self._arguments.revision)
            if asked_for or error.problem is not HubErrorKind.NOT_FOUND:
                raise
            self._notes.line(f"{self._arguments.model} has no {revision} any more; what it has now is fetched.")
            return remote_inspect.plan_download(self._connection, self._arguments.model, plan.MAIN, head)

    def _judge(self, found: RepoInspection, *, anyway: bool) -> None:
        """Print the verdict on a model before its download; raise EngineError if it will not fit and not `anyway`."""
        for sentence in (found.reason, *found.found.notes):
            self._notes.line(sentence)
        if found.found.footprint is None:
            return
        fit = memory_fit.judge_fit(found.found.footprint, memory_fit.CONTEXT, system.this_machine())
        if fit.verdict is not MemoryVerdict.FITS:
            state = "tight" if fit.verdict is MemoryVerdict.TIGHT else "too small"
            self._notes.line(f"Memory is {state}: {fit.in_words}.")
        if not anyway:
            found.check_memory(system.this_machine())

    def _print_paused(self, running: Download) -> None:
        if self._arguments.json:
            done, total = running.tally.done, running.total
            Console(sys.stdout).event(event="paused", name=self._name, done=done, total=total)
        self._notes.line(
            f"Paused at {formatting.size(running.tally.done)} of {formatting.size(running.total)}; "
            "run the same command again to go on."
        )

    def _print_installed(self, wanted: DownloadPlan, folder: Path, *, already: bool) -> None:
        console = Console(sys.stdout)
        if not self._arguments.json:
            state = "is installed already" if already else "is ready"
            console.line(f"{wanted.id} {state}: mtplx chat --model {wanted.id}")
            return
        console.event(
            event="installed",
            already=already,
            name=wanted.id,
            title=wanted.title,
            path=str(folder),
            size=wanted.size,
            revision=wanted.target.revision,
        )


def _continuation(unfinished: Unfinished, wanted: DownloadPlan) -> str:
    """Return how a download that was begun stands to the plan of now."""
    former = unfinished.plan
    if former == wanted:
        return f"It goes on at {unfinished.amount}."
    if (former.target, former.taken) == (wanted.target, wanted.taken):
        was, now = (f"with the head of {repo}" if repo else "without" for repo in (former.head_repo, wanted.head_repo))
        return f"It was begun {was} and goes on {now}; files that are the same are kept."
    return (
        f"{wanted.target.id} is not what it was when this download began (commit {former.target.revision[:7]}); files "
        "that are the same are kept."
    )


def _contents(wanted: DownloadPlan) -> str:
    head = ""
    if wanted.head_repo:
        source = f", taken out of {wanted.head_repo}" if wanted.taken else ""
        head = f" with its drafting head ({formatting.size(wanted.head_size)}{source})"
    licence = wanted.target.licence or "not stated"
    return f"{formatting.size(wanted.size)}{head}, licence {licence}, commit {wanted.target.revision[:7]}"


def _watch(running: Download, *, as_json: bool) -> Path | BaseException:
    """Run a download and print its progress; return the model's folder, or the error.

    The Mac stays awake meanwhile, and Ctrl-C pauses the download.
    """
    speed = transfer_stats.Speed()
    with contextlib.ExitStack() as stack:
        stack.enter_context(download.kept_awake())
        show = _print_progress if as_json else _progress_line(stack)

        def tick() -> None:
            speed.note(time.monotonic(), running.tally.fetched)
            show(running, speed)

        return output.on_thread(running.run, running.stop, tick, _JSON_TICK_S if as_json else _TICK_S)


def _progress_line(stack: contextlib.ExitStack) -> Callable[[Download, transfer_stats.Speed], None]:
    line = stack.enter_context(contextlib.closing(ProgressLine(sys.stderr)))
    return lambda running, speed: line(running.tally.done / max(running.total, 1), _phase(running, speed))


def _print_progress(running: Download, speed: transfer_stats.Speed) -> None:
    tally = running.tally
    body: dict[str, object] = {"event": "progress", "done": tally.done, "total": running.total}
    if (waiting := tally.waiting) is not None:
        body |= {"event": "waiting", "reason": waiting.cause}
        body |= {"asked": waiting.asked, "seconds": round(waiting.seconds(time.time()), 1)}
    else:
        body |= {"bytes_s": speed.bytes_s, "seconds_left": speed.seconds_left(running.total - tally.done)}
    Console(sys.stdout).event(**body)


def _phase(running: Download, speed: transfer_stats.Speed) -> str:
    tally = running.tally
    amount = f"{formatting.size(tally.done)} of {formatting.size(running.total)}"
    if (waiting := tally.waiting) is not None:
        return f"{waiting.in_words(time.time())}, {amount}"
    parts = [amount]
    if speed.bytes_s:
        parts.append(f"{formatting.size(round(speed.bytes_s))}/s")
    left = speed.seconds_left(running.total - tally.done)
    if left is not None:
        parts.append(f"{formatting.duration(left)} left")
    return f"Downloading, {', '.join(parts)}"


PULL = Command(
    name="pull",
    summary="get a model from the hub",
    examples="""\
examples:
  mtplx pull mlx-community/Qwen3.5-4B-MLX-4bit
  mtplx pull OWNER/MODEL --head OWNER/HEAD
  mtplx pull OWNER/MODEL --ask-token          # a gated model
  mtplx pull OWNER/MODEL --discard            # what has arrived of it is not wanted any more
What is interrupted goes on where it was when the same command is run again, and what is damaged is repaired.
""",
    add_arguments=_add_pull_arguments,
    run=_run_pull,
)
