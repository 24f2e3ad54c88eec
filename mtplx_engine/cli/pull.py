"""`mtplx pull`: get a model from the hub, or go on with one that was begun."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.cli import options, remove, watch
from mtplx_engine.cli.output import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import download, plan, remote_inspect
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.errors import MOVED, CancelledError, HubError, HubErrorKind
from mtplx_engine.hub.plan import VersionCheck
from mtplx_engine.models import memory_fit
from mtplx_engine.util import formatting, system

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from mtplx_engine.hub.download import Unfinished
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.plan import DownloadPlan
    from mtplx_engine.hub.remote_inspect import RepoInspection


SUMMARY = "get a model from the hub"
EXAMPLES = """\
examples:
  mtplx pull mlx-community/Qwen3.5-4B-MLX-4bit
  mtplx pull OWNER/MODEL --head OWNER/HEAD
  mtplx pull OWNER/MODEL --ask-token          # a gated model
  mtplx pull OWNER/MODEL --discard            # what has arrived of it is not wanted any more
What is interrupted goes on where it was when the same command is run again, and what is damaged is repaired.
"""
_INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="OWNER/MODEL", help="a repository in MLX form")
    parser.add_argument(
        "--head",
        default="",
        metavar="OWNER/HEAD",
        help="the repository of its drafting head (default: the one that it has here, or that we know of)",
    )
    parser.add_argument(
        "--revision", default="", metavar="REV", help=f"a branch, tag or commit (default: {plan.MAIN})"
    )
    parser.add_argument(
        "--discard", action="store_true", help="delete what has arrived, in place of going on"
    )
    options.add_anyway(parser, "get a model that will not fit into memory")
    options.add_hub(parser)
    options.add_data_dir(parser)
    options.add_json(parser, "print progress and the end as JSON, an object a line")


def run(arguments: argparse.Namespace) -> int:
    """Get the model; returns the exit code.

    Raises:
        EngineError: It cannot be had.
    """
    data = paths.data_dir(arguments.data_dir)
    if arguments.discard:
        begun = download.unfinished_called(arguments.model, data)
        if begun is None:
            sentence = f"No download of {arguments.model} was begun; `mtplx models` lists those that were."
            raise EngineError(ErrorKind.NOT_FOUND, sentence)
        remove.discard(begun, data, as_json=arguments.json)
        return 0
    plan.sweep_plans(data)
    return _Pull(arguments, data, options.connect(arguments, data)).run()


class _Pull:
    """Gets one model."""

    def __init__(self, arguments: argparse.Namespace, data: Path, connection: HubConnection) -> None:
        self._arguments = arguments
        self._data = data
        self._connection = connection
        self._name = plan.folder_name(arguments.model)
        self._notes = Console(sys.stderr)

    def run(self) -> int:
        """Get it, once more when it is changed meanwhile; returns the exit code."""
        wanted = self._wanted()
        if wanted is None:
            return 0
        fetching, outcome = self._fetch(wanted)
        if isinstance(outcome, HubError) and outcome.problem in MOVED:
            again = self._wanted()
            if again is None or again == wanted:
                raise outcome
            fetching, outcome = self._fetch(again)
        if isinstance(outcome, CancelledError):
            self._tell_paused(fetching)
            return _INTERRUPTED
        if isinstance(outcome, BaseException):
            raise outcome
        self._tell_installed(fetching.plan, outcome, already=False)
        return 0

    def _fetch(self, wanted: DownloadPlan) -> tuple[Download, Path | BaseException]:
        fetching = Download(wanted, self._data, self._connection)
        return fetching, watch.run(fetching, as_json=self._arguments.json)

    def _wanted(self) -> DownloadPlan | None:
        """Return what is to be fetched, in place of what was begun otherwise; None when it is all there, which is said.

        Raises:
            EngineError: It cannot be had, or would be refused when it is loaded, or will not fit into memory.
        """
        begun, there = (
            download.unfinished_called(self._name, self._data),
            VersionCheck.find(self._data, self._name),
        )
        asked = self._asked(begun, there)
        if there is not None and not there.difference(asked, looked=False):
            self._tell_installed(asked, there.folder, already=True)
            return None
        found = options.look_at(self._connection, asked)
        wanted = found.plan
        found.check()
        for warning in found.warnings:
            self._notes.line(warning)
        if there is not None:
            difference = there.difference(wanted, looked=True)
            if not difference:
                self._tell_installed(wanted, there.folder, already=True)
                return None
            self._notes.line(difference)
        self._notes.line(f"{wanted.title}: {_what(wanted)}")
        if begun is not None:
            self._notes.line(_how_begun(begun, wanted))
        goes_on = begun is not None and begun.plan == wanted
        anyway = self._arguments.anyway or (goes_on and begun is not None and begun.plan.anyway)
        self._judge(found, anyway=anyway)
        wanted = plan.placed(self._data, dataclasses.replace(wanted, anyway=anyway))
        download.exchange(self._data, wanted)
        return wanted

    def _asked(self, begun: Unfinished | None, there: VersionCheck | None) -> DownloadPlan:
        """Return what the hub has of what was asked for; what was not said is as it was begun, or is installed."""
        head = self._arguments.head
        if not head and begun is not None:
            head = begun.plan.head.id if begun.plan.head is not None else ""
        elif not head and there is not None:
            head = there.head_repo
        revision = self._arguments.revision or (begun.plan.revision if begun is not None else plan.MAIN)
        try:
            return remote_inspect.plan_download(self._connection, self._arguments.model, revision, head)
        except HubError as error:
            if error.problem is not HubErrorKind.NOT_FOUND or revision in (
                plan.MAIN,
                self._arguments.revision,
            ):
                raise
            self._notes.line(
                f"{self._arguments.model} has no {revision} any more; what it has now is fetched."
            )
            return remote_inspect.plan_download(self._connection, self._arguments.model, plan.MAIN, head)

    def _judge(self, found: RepoInspection, *, anyway: bool) -> None:
        """Say what there is to know of a model before it is fetched.

        Raises:
            EngineError: It will not fit, and is not wanted all the same.
        """
        for sentence in (found.reason, *found.found.notes):
            self._notes.line(sentence)
        if found.found.footprint is None:
            return
        judged = memory_fit.judge_fit(found.found.footprint, memory_fit.CONTEXT, system.this_machine())
        if judged.verdict is not memory_fit.MemoryVerdict.FITS:
            state = "tight" if judged.verdict is memory_fit.MemoryVerdict.TIGHT else "too small"
            self._notes.line(f"Memory is {state}: {judged.in_words}.")
        if not anyway:
            found.check_memory(system.this_machine())

    def _tell_paused(self, fetching: Download) -> None:
        if self._arguments.json:
            done, total = fetching.tally.done, fetching.total
            Console(sys.stdout).event(event="paused", name=self._name, done=done, total=total)
        self._notes.line(
            f"Paused at {formatting.size(fetching.tally.done)} of {formatting.size(fetching.total)}; "
            "run the same command again to go on."
        )

    def _tell_installed(self, wanted: DownloadPlan, folder: Path, *, already: bool) -> None:
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


def _how_begun(begun: Unfinished, wanted: DownloadPlan) -> str:
    """Return how what was begun stands to what is wanted now."""
    former = begun.plan
    if former == wanted:
        return f"It goes on at {begun.amount}."
    if (former.target, former.taken) == (wanted.target, wanted.taken):
        was, now = (
            f"with the head of {repo}" if repo else "without" for repo in (former.head_repo, wanted.head_repo)
        )
        return f"It was begun {was} and goes on {now}; files that are the same are kept."
    return (
        f"{wanted.target.id} is not what it was when this download began (commit {former.target.revision[:7]}); files "
        "that are the same are kept."
    )


def _what(wanted: DownloadPlan) -> str:
    head = ""
    if wanted.head_repo:
        source = f", taken out of {wanted.head_repo}" if wanted.taken else ""
        head = f" with its drafting head ({formatting.size(wanted.head_size)}{source})"
    licence = wanted.target.licence or "not stated"
    return f"{formatting.size(wanted.size)}{head}, licence {licence}, commit {wanted.target.revision[:7]}"
