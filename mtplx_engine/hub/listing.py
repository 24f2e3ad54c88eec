"""Whether a repository can be a model, or a drafting head, by the names and sizes of its files alone."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from mtplx_engine import words
from mtplx_engine.harmless import one_line
from mtplx_engine.hub import names
from mtplx_engine.hub.problem import HubError, Problem
from mtplx_engine.models import model_config, weight_files

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mtplx_engine.hub.repo import Repo

MOST_BYTES: Final = 128 << 20
"""More than this no file has that is not weights; it is what a tokenizer may have, which is the largest of them."""

_ADAPTERS = ("adapter_config.json", "adapter_model.safetensors", "adapters.safetensors", "adapters.npz")
_PIPELINE = "model_index.json"
_OTHER_KINDS = {"datasets": "a data set", "spaces": "a space, which is a program,"}
_LONGEST = 100
_MOST_NAMED = 3
# By the ends of names, the first that is found; what holds weights in any form comes before mere data.
_FORMS: Mapping[str, str] = {
    ".gguf": "GGUF files, which are for other programs",
    ".mlpackage": "Core ML files, which are for other programs",
    ".mlmodel": "Core ML files, which are for other programs",
    ".bin": "PyTorch files, which can run code when they are read",
    ".pt": "PyTorch files, which can run code when they are read",
    ".pth": "PyTorch files, which can run code when they are read",
    ".ckpt": "PyTorch files, which can run code when they are read",
    ".onnx": "ONNX files, which are for other programs",
    ".h5": "TensorFlow files, which are for other programs",
    ".msgpack": "Flax files, which are for other programs",
    ".npz": "NumPy files, which can run code when they are read",
    ".parquet": "data and no weights",
    ".arrow": "data and no weights",
    ".jsonl": "data and no weights",
    ".csv": "data and no weights",
}


def check_name(repo_id: str) -> None:
    """Refuse the name of what is no repository of a model.

    Raises:
        HubError: NO_MODEL.
    """
    kind = _OTHER_KINDS.get(repo_id.partition("/")[0])
    if kind and repo_id.count("/") > 1:
        raise HubError(
            Problem.NO_MODEL, f"{one_line(repo_id, _LONGEST)} is {kind} and no model. Choose a model."
        )


def check_model(repo: Repo) -> None:
    """Refuse a repository that can be no model, before anything of it is fetched.

    Raises:
        HubError: NO_MODEL; UNSAFE, when a file is larger than any honest one.
    """
    if problem := _kind(repo, weight_files.is_one):
        raise HubError(Problem.NO_MODEL, f"{repo.id} {problem}. Choose another model.")
    if problem := _oversize(repo):
        raise HubError(Problem.UNSAFE, f"{repo.id} cannot be fetched: {problem}. Choose another model.")


def check_head(repo: Repo) -> None:
    """Refuse a repository that can be no drafting head of its own, before anything of it is fetched.

    Raises:
        HubError: UNFIT_HEAD.
    """
    if problem := _kind(repo, names.is_weights):
        raise HubError(
            Problem.UNFIT_HEAD, f"{repo.id} is no drafting head: it {problem}. Choose another one."
        )
    if problem := _oversize(repo):
        raise HubError(Problem.UNFIT_HEAD, f"{repo.id} cannot be fetched: {problem}. Choose another head.")


def _oversize(repo: Repo) -> str:
    """Return which file is larger than any honest one; "" when none is."""
    for file in repo.files:
        if file.size > MOST_BYTES and not names.is_weights(file.name):
            return (
                f"its {file.name} is larger than {words.size(MOST_BYTES)} ({words.size(file.size)}), which no honest "
                "one is"
            )
    return ""


def _kind(repo: Repo, is_weights: Callable[[str], bool]) -> str:
    """Return why it is nothing in MLX form, as a predicate; "" when it may be."""
    ours = {file.name for file in repo.files}
    every = ours | set(repo.left_out)
    has_config, has_weights = model_config.NAME in ours, any(map(is_weights, ours))
    if has_config and has_weights:
        return ""
    if any(name in every for name in _ADAPTERS):
        return "is an adapter (LoRA), which changes another model and is none itself"
    if _PIPELINE in every:
        return "holds a pipeline of several models, as for pictures, and no language model"
    if not has_weights and (form := _form(every)):
        return f"holds no model in MLX form: it has {form}"
    if folders := _models_below(every):
        return f"holds no model of its own, but models in folders ({_named(folders)}), which are not fetched"
    if has_weights:
        return f"holds no model: it has weights and no {model_config.NAME}"
    if has_config:
        return "holds no model: it has no weights (model*.safetensors)"
    return f"holds no model: it has only {_named(sorted(every))}" if every else "is empty"


def _form(every: Collection[str]) -> str:
    paths = [PurePosixPath(name) for name in every]
    endings = {part.suffix.lower() for path in paths for part in (path, *path.parents)}
    return next((form for ending, form in _FORMS.items() if ending in endings), "")


def _models_below(every: Collection[str]) -> list[str]:
    """Return the folders that have a configuration or weights of their own."""
    paths = (PurePosixPath(name) for name in every)
    below = (path for path in paths if len(path.parts) > 1)
    return sorted(
        {
            str(path.parent)
            for path in below
            if path.name == model_config.NAME or weight_files.is_one(path.name)
        }
    )


def _named(found: list[str]) -> str:
    more = len(found) - _MOST_NAMED
    return ", ".join(found[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
