"""`mtplx models`, `mtplx verify` and `mtplx remove`: the installed models, their folders and their files."""

from __future__ import annotations

import contextlib
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from mtplx_engine import paths
from mtplx_engine.cli import hub, options, output
from mtplx_engine.cli.chat import open_session
from mtplx_engine.cli.options import Command
from mtplx_engine.cli.output import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import download
from mtplx_engine.hub import plan as plans
from mtplx_engine.models import inspection, library, manifest, pairing
from mtplx_engine.models.folders import InstallFolders, UserFolders
from mtplx_engine.models.inspection import Inspections
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.cli.options import NewEngine
    from mtplx_engine.hub.download import Unfinished
    from mtplx_engine.models.folders import InstalledModel
    from mtplx_engine.models.inspection import Grade
    from mtplx_engine.models.manifest import Manifest


_HEADINGS = ("NAME", "SIZE", "HEAD", "TIER", "USED", "FOLDER")
_STARTER = "starter"
_USUAL = "usual"


def _add_models_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_data_dir(parser)
    options.add_json(parser, "print one JSON object instead of text, whatever the action")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    join = actions.add_parser("join", help="make one model of a model and the folder of its drafting head")
    join.add_argument("target", metavar="MODEL", help="an installed model or a model folder")
    join.add_argument("head", metavar="HEAD", help="a folder with only a drafting head, used where it is")
    join.add_argument("--name", default="", help="what the pair is called (default: the model's name and +mtp)")
    options.add_anyway(join, "try the pair although it will not fit into memory")
    split = actions.add_parser("split", help="forget a joined pair; both folders stay as they are")
    split.add_argument("name", metavar="NAME", help="the pair")
    add = actions.add_parser("add", help="look for models in a folder too, on another disk for one")
    forget = actions.add_parser("forget", help="look there no more; nothing in it is touched")
    for action in (add, forget):
        action.add_argument("folder", metavar="FOLDER", help="a folder with models in it, or a model's own")
    folder = actions.add_parser("folder", help="show or choose the folder that new models go to")
    folder.add_argument("folder", metavar="FOLDER", nargs="?", help=f"an existing folder, on any disk, or {_USUAL}")
    default = actions.add_parser("default", help="choose the model that is taken when none is named")
    default.add_argument("name", metavar="NAME", help=f"a model, or {_STARTER}")
    for action in (join, split, add, forget, folder, default):
        options.add_data_dir(action, again=True)
        options.add_json(action, again=True)


def _run_models(arguments: argparse.Namespace, new_engine: NewEngine) -> int:
    console, data = Console(sys.stdout), paths.data_dir(arguments.data_dir)
    if arguments.action is None:
        _list(console, data, as_json=arguments.json)
        return 0
    if arguments.action == "join":
        done = _join(arguments, data, new_engine)
    else:
        done = _ACTIONS[arguments.action](arguments, data)
    if arguments.json:
        console.json(done.facts)
    else:
        console.line(done.sentence)
    return 0


class _Done(NamedTuple):
    """Outcome of an action: a sentence for users, and plain data for programs."""

    sentence: str
    facts: dict[str, Any]


def _join(arguments: argparse.Namespace, data: Path, new_engine: NewEngine) -> _Done:
    """Join a model and a head, and load the pair once; it stays joined only when the head can draft."""
    target, head = library.resolve_model(arguments.target, data), library.head_folder(arguments.head, data)
    folder = pairing.join(target, head, data, arguments.name)
    with contextlib.ExitStack() as undo:
        undo.callback(pairing.split, folder)
        info = open_session(str(folder), "", data, new_engine, anyway=arguments.anyway).info
        if info.drafter != "mtp":
            raise EngineError(ErrorKind.UNSUPPORTED, f"{info.drafter_note} Nothing was joined.")
        undo.pop_all()
    sentence = f"{folder.name} is ready: mtplx chat --model {folder.name}"
    return _Done(sentence, {"name": folder.name, "path": str(folder)})


def _split(arguments: argparse.Namespace, data: Path) -> _Done:
    folder = library.resolve_model(arguments.name, data)
    pairing.split(folder)
    sentence = f"{folder.name} is forgotten; its model and its head are where they were."
    return _Done(sentence, {"name": folder.name})


def _add_folder(arguments: argparse.Namespace, data: Path) -> _Done:
    found = UserFolders(data).add(paths.folder(arguments.folder))
    count = f"{len(found)} models" if len(found) > 1 else "1 model"
    names = [model.name for model in found]
    return _Done(f"{count} there: {', '.join(names)}", {"models": names})


def _forget_folder(arguments: argparse.Namespace, data: Path) -> _Done:
    folder = paths.folder(arguments.folder)
    library.forget_model(folder, data)
    sentence = f"{arguments.folder} is forgotten; everything in it is as it was."
    return _Done(sentence, {"folder": str(folder)})


def _choose_folder(arguments: argparse.Namespace, data: Path) -> _Done:
    folders = InstallFolders(data)
    if arguments.folder is not None:
        folders.choose(None if arguments.folder == _USUAL else paths.folder(arguments.folder))
    current = folders.current
    there = folders.is_there(current)
    state = "" if there else ", which is not connected"
    return _Done(f"New models go to {current}{state}.", {"folder": str(current), "there": there})


def _choose_default(arguments: argparse.Namespace, data: Path) -> _Done:
    folder = None if arguments.name == _STARTER else library.resolve_model(arguments.name, data)
    if folder is not None:
        inspection.check(folder)
    ModelPreferences(data).set_default(folder)
    facts = {"name": arguments.name, "path": str(folder) if folder is not None else None}
    return _Done(f"{arguments.name} is the default now.", facts)


_ACTIONS: dict[str, Callable[[argparse.Namespace, Path], _Done]] = {
    "split": _split,
    "add": _add_folder,
    "forget": _forget_folder,
    "folder": _choose_folder,
    "default": _choose_default,
}


def _list(console: Console, data: Path, *, as_json: bool) -> None:
    preferences, inspections = ModelPreferences(data), Inspections(data)
    models = [
        (model, inspections.grade(model.path) if model.complete and model.there else None)
        for model in library.installed_models(data)
    ]
    unfinished = download.find_unfinished(data)
    if as_json:
        bodies = [_model_as_json(model, grade, preferences) for model, grade in models]
        downloads = [_download_as_json(item, data) for item in unfinished]
        console.json({"models": bodies, "downloads": downloads, "folder": str(InstallFolders(data).current)})
    elif models or unfinished:
        rows = [_model_row(model, grade, preferences) for model, grade in models]
        rows += [_download_row(item, data) for item in unfinished]
        for line in output.table_lines([_HEADINGS, *rows]):
            console.line(line)
    else:
        console.line("No model is installed; `mtplx chat` sets up the starter model.")


def _model_row(model: InstalledModel, grade: Grade | None, preferences: ModelPreferences) -> tuple[str, ...]:
    used = preferences.last_used(model.path)
    state = grade.tier if grade else "incomplete"
    state = state if model.there else "not connected"
    return (
        model.name,
        formatting.size(model.size),
        "mtp" if model.has_head else "none",
        f"{state}, default" if model.path == preferences.default() else state,
        "never" if used is None else f"{datetime.fromtimestamp(used, UTC).astimezone():%Y-%m-%d}",
        str(model.path),
    )


def _model_as_json(model: InstalledModel, grade: Grade | None, preferences: ModelPreferences) -> dict[str, Any]:
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
        "default": model.path == preferences.default(),
        "last_used": preferences.last_used(model.path),
    }


def _download_row(unfinished: Unfinished, data: Path) -> tuple[str, ...]:
    plan = unfinished.plan
    return (
        plan.id,
        formatting.size(plan.size),
        "mtp" if plan.head_repo else "none",
        f"{_state(unfinished)}, {unfinished.amount}",
        "never",
        str(plans.staging(data, plan.id, plan.home)),
    )


def _download_as_json(unfinished: Unfinished, data: Path) -> dict[str, Any]:
    plan = unfinished.plan
    return {
        "name": plan.id,
        "title": plan.title,
        "repo": plan.target.id,
        "path": str(plans.staging(data, plan.id, plan.home)),
        "state": _state(unfinished),
        "done": unfinished.present,
        "total": plan.size,
    }


def _state(unfinished: Unfinished) -> str:
    return "downloading" if unfinished.running else "paused"


MODELS = Command(
    name="models",
    summary="list the models, add folders of them, choose the default, join a model with its head",
    examples="""\
examples:
  mtplx models
  mtplx models --json
  mtplx models add /Volumes/Disk/models    # used where they are, never changed
  mtplx models forget /Volumes/Disk/models
  mtplx models folder /Volumes/Disk/mtplx  # where new ones go; `usual` for the data folder
  mtplx models default qwen-4b             # `starter` for the one that comes with MTPLX
  mtplx models join ~/models/Qwen3.5-4B-MLX-4bit ~/models/Qwen3.5-4B-MTP-4bit --name qwen-4b
  mtplx models split qwen-4b
""",
    add_arguments=_add_models_arguments,
    run=_run_models,
)


def _add_verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="NAME", help="an installed model")
    options.add_data_dir(parser)
    options.add_json(parser)


def _run_verify(arguments: argparse.Namespace, _new_engine: NewEngine) -> int:
    folder = library.resolve_model(arguments.model, paths.data_dir(arguments.data_dir))
    installed = manifest.read_manifest(folder)
    if installed is None or not installed.files:
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{folder.name or folder} was not installed by MTPLX, so its checksums are not known; see mtplx inspect.",
        )
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        wrong = manifest.differing_files(folder, installed, line)
    console, count = Console(sys.stdout), len(installed.files)
    if arguments.json:
        console.json({"name": folder.name, "files": count, "wrong": list(wrong)})
    elif wrong:
        console.line(f"{len(wrong)} of {count} files are not as they were: {', '.join(wrong)}")
        console.line(_repair(installed))
    else:
        console.line(f"All {count} files of {folder.name} are as they were downloaded.")
    return 1 if wrong else 0


def _repair(installed: Manifest) -> str:
    source = plans.read_origin(installed.source)
    if source is None:
        return "Remove the model (mtplx remove) and set it up again."
    return f"Get only these again with: mtplx pull {source.repo}"


VERIFY = Command(
    name="verify",
    summary="check an installed model's files against their checksums",
    examples="""\
examples:
  mtplx verify mlx-community--Qwen3.5-4B-MLX-4bit
exit code: 0 when every byte is as it was downloaded, 1 otherwise
""",
    add_arguments=_add_verify_arguments,
    run=_run_verify,
)


def _add_remove_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="NAME", help="a model or a download, as `mtplx models` lists it")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options.add_data_dir(parser)
    options.add_json(parser, "print one JSON object instead of text, and do not ask")


def _run_remove(arguments: argparse.Namespace, _new_engine: NewEngine) -> int:
    data, console = paths.data_dir(arguments.data_dir), Console(sys.stdout)
    unfinished = download.unfinished_called(arguments.model, data)
    try:
        model = library.find_model(arguments.model, data)
    except EngineError as error:
        if error.kind is not ErrorKind.NOT_FOUND or unfinished is None:
            raise
        hub.discard(unfinished, data, as_json=arguments.json)
        return 0
    asks = sys.stdin.isatty() and console.terminal and not arguments.json
    if not model.place and not (arguments.yes or _is_sure(model, arguments.model, console, asks=asks)):
        console.line("Nothing was deleted.")
        return 1
    freed = library.remove_model(model.path, data)
    if arguments.json:
        console.json({"name": model.name, "path": str(model.path), "freed": freed})
    else:
        console.line(f"{model.name} is deleted; {formatting.size(freed)} are free again.")
    return 0


def _is_sure(model: InstalledModel, typed: str, console: Console, *, asks: bool) -> bool:
    """Return the user's answer; where nobody can be asked, any but the model's own name is a BAD_REQUEST."""
    if asks:
        console.line(f"Delete {model.name} ({formatting.size(model.size)}, in {model.path.parent})? y for yes:")
        return sys.stdin.readline().strip().casefold() in ("y", "yes")
    if typed in (model.name, os.fspath(model.path)):
        return True
    raise EngineError(
        ErrorKind.BAD_REQUEST,
        f"{typed} is {model.name}, in {model.path.parent}. Nothing was deleted: give that name, or add --yes.",
    )


REMOVE = Command(
    name="remove",
    summary="delete an installed model, or what has arrived of one",
    examples="""\
examples:
  mtplx remove mlx-community--Qwen3.5-4B-MLX-4bit
  mtplx remove mlx-community--Qwen3.5-4B-MLX-4bit --yes    # without being asked
  mtplx remove OWNER--MODEL                                # a download that is paused
Only what MTPLX installed is ever deleted, never models of your own.
""",
    add_arguments=_add_remove_arguments,
    run=_run_remove,
)
