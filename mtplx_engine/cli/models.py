"""`mtplx models`: what there is, where models are looked for, which is the default, and which heads are joined."""

from __future__ import annotations

import contextlib
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from mtplx_engine import paths
from mtplx_engine.cli import options, output
from mtplx_engine.cli.output import Console
from mtplx_engine.cli.session import open_session
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import download
from mtplx_engine.hub import plan as plans
from mtplx_engine.models import inspection, library, pairing
from mtplx_engine.models.folders import InstallFolders, UserFolders
from mtplx_engine.models.inspection import Inspections
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.cli.session import NewEngine
    from mtplx_engine.hub.download import Unfinished
    from mtplx_engine.models.folders import InstalledModel
    from mtplx_engine.models.inspection import Grade


SUMMARY = "list the models, add folders of them, choose the default, join a model with its head"
EXAMPLES = """\
examples:
  mtplx models
  mtplx models --json
  mtplx models add /Volumes/Disk/models    # used where they are, never changed
  mtplx models forget /Volumes/Disk/models
  mtplx models folder /Volumes/Disk/mtplx  # where new ones go; `usual` for the data folder
  mtplx models default qwen-4b             # `starter` for the one that comes with MTPLX
  mtplx models join ~/models/Qwen3.5-4B-MLX-4bit ~/models/Qwen3.5-4B-MTP-4bit --name qwen-4b
  mtplx models split qwen-4b
"""
_HEADINGS = ("NAME", "SIZE", "HEAD", "TIER", "USED", "FOLDER")
_STARTER = "starter"
_USUAL = "usual"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    options.add_data_dir(parser)
    options.add_json(parser, "print one JSON object instead of text, whatever the action")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    join = actions.add_parser("join", help="make one model of a model and the folder of its drafting head")
    join.add_argument("target", metavar="MODEL", help="an installed model or a model folder")
    join.add_argument("head", metavar="HEAD", help="a folder with only a drafting head, used where it is")
    join.add_argument(
        "--name", default="", help="what the pair is called (default: the model's name and +mtp)"
    )
    options.add_anyway(join, "try the pair although it will not fit into memory")
    split = actions.add_parser("split", help="forget a joined pair; both folders stay as they are")
    split.add_argument("name", metavar="NAME", help="the pair")
    add = actions.add_parser("add", help="look for models in a folder too, on another disk for one")
    forget = actions.add_parser("forget", help="look there no more; nothing in it is touched")
    for action in (add, forget):
        action.add_argument("folder", metavar="FOLDER", help="a folder with models in it, or a model's own")
    folder = actions.add_parser("folder", help="show or choose the folder that new models go to")
    folder.add_argument(
        "folder", metavar="FOLDER", nargs="?", help=f"an existing folder, on any disk, or {_USUAL}"
    )
    default = actions.add_parser("default", help="choose the model that is taken when none is named")
    default.add_argument("name", metavar="NAME", help=f"a model, or {_STARTER}")
    for action in (join, split, add, forget, folder, default):
        options.add_data_dir(action, again=True)
        options.add_json(action, again=True)


def run(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    """Do what was asked; returns the exit code.

    Raises:
        EngineError: Model and head cannot be joined, or there is no such model or folder.
    """
    console, data = Console(sys.stdout), paths.data_dir(arguments.data_dir)
    if arguments.action is None:
        _list(console, data, as_json=arguments.json)
        return 0
    joins = arguments.action == "join"
    done = _join(data, arguments, new_engine) if joins else _DO[arguments.action](arguments, data)
    if arguments.json:
        console.json(done.facts)
    else:
        console.line(done.sentence)
    return 0


class _Done(NamedTuple):
    """What was done: for people, and for programs."""

    sentence: str
    facts: dict[str, Any]


def _split(arguments: argparse.Namespace, data: Path) -> _Done:
    folder = library.resolve_model(arguments.name, data)
    pairing.split(folder)
    sentence = f"{folder.name} is forgotten; its model and its head are where they were."
    return _Done(sentence, {"name": folder.name})


def _add(arguments: argparse.Namespace, data: Path) -> _Done:
    found = UserFolders(data).add(paths.folder(arguments.folder))
    count = f"{len(found)} models" if len(found) > 1 else "1 model"
    names = [model.name for model in found]
    return _Done(f"{count} there: {', '.join(names)}", {"models": names})


def _forget(arguments: argparse.Namespace, data: Path) -> _Done:
    folder = paths.folder(arguments.folder)
    library.forget_model(folder, data)
    sentence = f"{arguments.folder} is forgotten; everything in it is as it was."
    return _Done(sentence, {"folder": str(folder)})


def _folder(arguments: argparse.Namespace, data: Path) -> _Done:
    homes = InstallFolders(data)
    if arguments.folder is not None:
        homes.choose(None if arguments.folder == _USUAL else paths.folder(arguments.folder))
    there = homes.is_there(homes.current)
    state = "" if there else ", which is not connected"
    return _Done(f"New models go to {homes.current}{state}.", {"folder": str(homes.current), "there": there})


def _choose(arguments: argparse.Namespace, data: Path) -> _Done:
    folder = None if arguments.name == _STARTER else library.resolve_model(arguments.name, data)
    if folder is not None:
        inspection.check(folder)
    ModelPreferences(data).set_default(folder)
    facts = {"name": arguments.name, "path": str(folder) if folder is not None else None}
    return _Done(f"{arguments.name} is the default now.", facts)


_DO: dict[str, Callable[[argparse.Namespace, Path], _Done]] = {
    "split": _split,
    "add": _add,
    "forget": _forget,
    "folder": _folder,
    "default": _choose,
}


def _join(data: Path, arguments: argparse.Namespace, new_engine: NewEngine) -> _Done:
    target, head = library.resolve_model(arguments.target, data), library.head_folder(arguments.head, data)
    folder = pairing.join(target, head, data, arguments.name)
    _try(folder, data, new_engine, anyway=arguments.anyway)
    sentence = f"{folder.name} is ready: mtplx chat --model {folder.name}"
    return _Done(sentence, {"name": folder.name, "path": str(folder)})


def _try(folder: Path, data: Path, new_engine: NewEngine, *, anyway: bool) -> None:
    """Load a pair once, so that the head is tried on the model; it stays joined only when it can draft."""
    with contextlib.ExitStack() as undo:
        undo.callback(pairing.split, folder)
        info = open_session(str(folder), "", data, new_engine, anyway=anyway).info
        if info.drafter == "mtp":
            undo.pop_all()
            return
    raise EngineError(ErrorKind.UNSUPPORTED, f"{info.drafter_note} Nothing was joined.")


def _list(console: Console, data: Path, *, as_json: bool) -> None:
    found, habits, inspections = library.installed_models(data), ModelPreferences(data), Inspections(data)
    grades = [inspections.grade(model.path) if model.complete and model.there else None for model in found]
    begun = download.find_unfinished(data)
    if as_json:
        bodies = [_as_json(model, grade, habits) for model, grade in zip(found, grades, strict=True)]
        downloads = [_begun_as_json(item, data) for item in begun]
        console.json({"models": bodies, "downloads": downloads, "folder": str(InstallFolders(data).current)})
    elif found or begun:
        rows = [_row(model, grade, habits) for model, grade in zip(found, grades, strict=True)]
        for line in output.table_lines([_HEADINGS, *rows, *(_begun_row(item, data) for item in begun)]):
            console.line(line)
    else:
        console.line("No model is installed; `mtplx chat` sets up the starter model.")


def _row(model: InstalledModel, grade: Grade | None, habits: ModelPreferences) -> tuple[str, ...]:
    used = habits.last_used(model.path)
    state = grade.tier if grade else "incomplete"
    state = state if model.there else "not connected"
    return (
        model.name,
        formatting.size(model.size),
        "mtp" if model.has_head else "none",
        f"{state}, default" if model.path == habits.default() else state,
        "never" if used is None else f"{datetime.fromtimestamp(used, UTC).astimezone():%Y-%m-%d}",
        str(model.path),
    )


def _begun_row(begun: Unfinished, data: Path) -> tuple[str, ...]:
    plan = begun.plan
    return (
        plan.id,
        formatting.size(plan.size),
        "mtp" if plan.head_repo else "none",
        f"{_state(begun)}, {begun.amount}",
        "never",
        str(plans.staging(data, plan.id, plan.home)),
    )


def _begun_as_json(begun: Unfinished, data: Path) -> dict[str, Any]:
    plan = begun.plan
    return {
        "name": plan.id,
        "title": plan.title,
        "repo": plan.target.id,
        "path": str(plans.staging(data, plan.id, plan.home)),
        "state": _state(begun),
        "done": begun.present,
        "total": plan.size,
    }


def _state(begun: Unfinished) -> str:
    return "downloading" if begun.running else "paused"


def _as_json(model: InstalledModel, grade: Grade | None, habits: ModelPreferences) -> dict[str, Any]:
    return {
        "name": model.name,
        "title": model.title,
        "path": str(model.path),
        "size": model.size,
        "has_head": model.has_head,
        "complete": model.complete,
        "place": model.place or None,
        "there": model.there,
        "tier": grade.tier if grade else None,
        "reason": grade.reason if grade else None,
        "loads": bool(grade and grade.loads),
        "default": model.path == habits.default(),
        "last_used": habits.last_used(model.path),
    }
