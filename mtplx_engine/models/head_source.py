"""Find the MTP head of a checkpoint, and read its draft vocabulary. Imports no mlx.

A head is among the model's own tensors (below a prefix, or the layer behind the last one), in a file of its own beside
them, or in a head-only folder: one inside the model's folder, or one that the manifest binds to the model.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import sys
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.models import config_checks, manifest, safetensors_header
from mtplx_engine.models.json_files import refused
from mtplx_engine.models.manifest import HeadBinding
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mtplx_engine.models.safetensors_header import TensorSpec


HEAD_FILES = ("mtp.safetensors", "mtp/weights.safetensors", "model-mtp.safetensors")
DRAFT_VOCABULARY = "draft_vocab.safetensors"

HEAD_PREFIXES = ("mtp.", "model.mtp.", "language_model.mtp.", "model.language_model.mtp.")
_LAYERS = ("model.layers.", "language_model.model.layers.", "model.language_model.layers.")
_LAYER = re.compile(rf"(?:{'|'.join(map(re.escape, _LAYERS))})(\d{{1,9}})\.")
# They join embedding and hidden: a head has some of these, even a damaged one, and a layer of the trunk has none.
_JOINTS = ("fc.weight", "eh_proj.weight", "enorm.weight", "hnorm.weight")
_HEAD_ONLY_ENDINGS = ("_mtp", "_assistant")
_SAMPLED_TENSORS = 8
_SAMPLED_BYTES = 4096
_VOCABULARY_TENSOR = "draft_vocab"
_ARRAY_CODES = {"U16": "H", "I16": "h", "U32": "I", "I32": "i", "U64": "Q", "I64": "q"}


@dataclass(frozen=True, slots=True)
class Location:
    """One tensor of a head: its file, its name there, and its entry in the file's header."""

    path: Path
    name: str
    spec: TensorSpec


@dataclass(frozen=True, slots=True)
class HeadSource:
    """The drafting head of a checkpoint.

    Attributes:
        place: Where it is, as shown to the user.
        tensors: Its tensors by their names without the prefix.
        draft_vocabulary: The file with the token ids that it can draft, None for all.
        problem: Why it must not be used, one sentence; empty when nothing speaks against it.
        unused: Tensors of further heads in the model's own files.
    """

    place: str
    tensors: Mapping[str, Location]
    draft_vocabulary: Path | None = None
    problem: str = ""
    unused: tuple[Location, ...] = ()

    @property
    def locations(self) -> tuple[Location, ...]:
        """All tensors that are not the model's, used or not."""
        return (*self.tensors.values(), *self.unused)

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(location.spec.size for location in self.tensors.values())


def find_head(
    folder: Path,
    config: Mapping[str, Any],
    tensors: Mapping[str, TensorSpec],
    binding: HeadBinding | None = None,
) -> HeadSource | None:
    """Return the drafting head of the checked model in `folder`, or None when there is none.

    `config` is laid flat, `tensors` are those of its weight files, and `binding` is from its manifest.

    Raises:
        EngineError: REFUSED, when a file that holds a head is damaged.
    """
    inside, further = _inside(folder, config, tensors), _further(folder, config, tensors)
    apart = _beside(folder, config) if binding is None else _bound(folder, config, tensors, binding)
    if apart is not None:
        files = {location.path for location in apart.tensors.values()}
        other = [location for location in (*inside.values(), *further) if location.path not in files]
        return _both(apart, other) if other else apart
    if inside:
        return HeadSource("inside the model's own files", inside, _draft_vocabulary(folder), unused=further)
    heads = [_in_folder(found, config) for found in head_only_folders(folder)]
    return next((head for head in heads if not head.problem), heads[0] if heads else None)


def has_head(folder: Path, names: Iterable[str]) -> bool:
    """Whether a model in `folder` with tensors of these names seems to have a head, by names alone."""
    if any((folder / name).is_file() for name in HEAD_FILES):
        return True
    inside = (name.startswith(HEAD_PREFIXES) or name.endswith(".eh_proj.weight") for name in names)
    return any(inside) or bool(head_only_folders(folder))


def head_only_folders(folder: Path) -> list[Path]:
    """Return the sorted head-only folders directly inside the folder of a model."""
    inner = (path.parent for path in folder.glob(f"*/{config_checks.CONFIG_NAME}"))
    return sorted(filter(is_head_only, inner))


def is_head_only(folder: Path) -> bool:
    """Whether `folder` holds a drafting head without the model it belongs to; false when it cannot be read."""
    kind = config_checks.model_type(folder)
    return kind is not None and kind.endswith(_HEAD_ONLY_ENDINGS)


def bind_head(
    folder: str, config: Mapping[str, Any], tensors: Mapping[str, TensorSpec], root: Path, target: str = ""
) -> HeadBinding:
    """Return the binding of a head-only folder to the model in `root`, its config.json laid flat.

    `folder` and `target` are the head's and the model's folder as the manifest shall name them; `target` is empty when
    the manifest is in it.
    """
    return HeadBinding(
        folder=folder,
        hidden_size=config["hidden_size"],
        vocabulary=config["vocab_size"],
        layers=config["num_hidden_layers"],
        target_sha256=target_fingerprint(root, tensors),
        target=target,
    )


def target_fingerprint(folder: Path, tensors: Mapping[str, TensorSpec]) -> str:
    """Return a hash over samples of some tensors, spread over all names, so that any training changes it.

    It tells models apart and is the same for a copy; it does not tell whether a head predicts a model.
    """
    names = sorted(tensors)
    digest = hashlib.sha256()
    for name in names[:: max(1, len(names) // _SAMPLED_TENSORS)]:
        spec = tensors[name]
        digest.update(f"{name} {spec.dtype} {spec.shape}\n".encode())
        with (folder / spec.file).open("rb") as file:
            digest.update(safetensors_header.sample_tensor(file, spec, (0,), _SAMPLED_BYTES))
    return digest.hexdigest()


def _beside(folder: Path, config: Mapping[str, Any]) -> HeadSource | None:
    """Return the head in a file of its own, the one that config.json names first."""
    named = _named_in(config)
    if named and not (folder / named[0]).is_file():
        problem = f"Its config.json names the drafting head {named[0]}, which is not there, so it is off."
        return HeadSource(named[0], {}, None, problem)
    for name in (*named, *HEAD_FILES):
        if (folder / name).is_file():
            specs = safetensors_header.read(folder / name)
            return HeadSource(name, _without_prefix(folder / name, specs), _draft_vocabulary(folder))
    return None


def _both(apart: HeadSource, inside: Iterable[Location]) -> HeadSource:
    """Return the union of two heads, with the reason why neither is used."""
    problem = apart.problem or (
        f"It has two drafting heads, {apart.place} and one inside its own files, so both are off; take the first "
        "one away to use the second."
    )
    place = f"{apart.place} and inside the model's own files"
    return HeadSource(place, {}, None, problem, (*apart.locations, *inside))


def _named_in(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the file that config.json names, if it does."""
    extra = config.get("mlx_lm_extra_tensors")
    name = extra.get("mtp_file") if isinstance(extra, dict) else None
    if name is None:
        return ()
    if not isinstance(name, str) or not manifest.is_inside(name) or not name.endswith(".safetensors"):
        raise refused(config_checks.CONFIG_NAME, "names a drafting head that is no file of the model (mtp_file)")
    return (name,)


def _without_prefix(path: Path, specs: Mapping[str, TensorSpec]) -> dict[str, Location]:
    return {_raw(name): Location(path, name, spec) for name, spec in specs.items()}


def _raw(name: str) -> str:
    return name.removeprefix(next((prefix for prefix in HEAD_PREFIXES if name.startswith(prefix)), ""))


def _inside(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, TensorSpec]) -> dict[str, Location]:
    """Return the head among the model's tensors: below a prefix, or the layer behind the last one.

    A tensor that is below two prefixes keeps one of them, so that it is unknown to the head and not dropped. Tensors
    below a prefix are a head even when its main tensor is missing or misnamed: building it will report that.
    """
    below: dict[str, Location] = {}
    for name, spec in tensors.items():
        if name.startswith(HEAD_PREFIXES):
            raw = _raw(name)
            below[name if raw in below else raw] = Location(folder / spec.file, name, spec)
    if below:
        return below
    for prefix in (f"{layers}{config['num_hidden_layers']}." for layers in _LAYERS):
        found = {
            name.removeprefix(prefix): Location(folder / spec.file, name, spec)
            for name, spec in tensors.items()
            if name.startswith(prefix)
        }
        if any(joint in found for joint in _JOINTS):
            return found
    return {}


def _further(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, TensorSpec]) -> tuple[Location, ...]:
    """Return the tensors of the layers behind the head's that config.json counts too: they draft for later tokens."""
    count, last = config.get("num_nextn_predict_layers"), config["num_hidden_layers"]
    found = []
    for name, spec in tensors.items():
        match = _LAYER.match(name)
        if match and isinstance(count, int) and last < int(match[1]) < last + count:
            found.append(Location(folder / spec.file, name, spec))
    return tuple(found)


def _in_folder(folder: Path, config: Mapping[str, Any]) -> HeadSource:
    """Return the head of a head-only folder, with the reason when its sizes are not those of the model."""
    own = config_checks.read_config(folder)
    tensors: dict[str, Location] = {}
    for path in sorted(folder.glob("*.safetensors")):
        if path.name != DRAFT_VOCABULARY:
            tensors |= _without_prefix(path, safetensors_header.read(path))
    differing = next((key for key in ("hidden_size", "vocab_size") if own.get(key, config[key]) != config[key]), None)
    problem = ""
    if differing:
        problem = (
            f"The drafting head in {folder.name} was made for a model with {differing} "
            f"{one_line(str(own[differing]), 20)}, but this one has {config[differing]}, so it is off."
        )
    return HeadSource(f"the folder {folder.name}", tensors, _draft_vocabulary(folder), problem)


def _bound(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, TensorSpec], binding: HeadBinding
) -> HeadSource:
    """Return the head that the manifest names, with the reason when it was bound to another model."""
    found = _in_folder(folder / binding.folder, config)
    if found.problem or bind_head(binding.folder, config, tensors, folder, binding.target) == binding:
        return found
    advice = "join the two again" if binding.target else "install the model again"
    problem = (
        f"The drafting head in {binding.folder} was installed for other weights than these, so it is off; {advice}."
    )
    return HeadSource(found.place, found.tensors, found.draft_vocabulary, problem)


def _draft_vocabulary(folder: Path) -> Path | None:
    path = folder / DRAFT_VOCABULARY
    if not path.is_file():
        return None
    safetensors_header.read(path)
    return path


def read_draft_vocabulary(path: Path, vocabulary: int) -> array[int]:
    """Return the sorted ids [D] in a safetensors file, all below `vocabulary`.

    Raises:
        EngineError: REFUSED, when the file is damaged.
        ValueError: It holds no such ids; the text is a predicate that says why.
    """
    spec = _vocabulary_spec(path, vocabulary)
    ids = array(_ARRAY_CODES[spec.dtype])
    with path.open("rb") as file:
        file.seek(spec.begin)
        ids.frombytes(file.read(spec.size))
    if sys.byteorder == "big":
        ids.byteswap()
    if ids[0] < 0 or ids[-1] >= vocabulary or not all(a < b for a, b in itertools.pairwise(ids)):
        raise ValueError(f"does not hold sorted token ids below {vocabulary}")
    return ids


def draft_vocabulary_problem(path: Path | None, vocabulary: int, *, data: bool) -> str:
    """Return why a head with such a file must not be used, one sentence; empty when nothing speaks against it.

    `data` says whether the file's data are there, and not only its header.

    Raises:
        EngineError: REFUSED, when the file is damaged.
    """
    if path is None:
        return ""
    try:
        (read_draft_vocabulary if data else _vocabulary_spec)(path, vocabulary)
    except ValueError as error:
        return f"The list of tokens that the drafting head may draft, {path.name}, {error}, so the head is off."
    return ""


def _vocabulary_spec(path: Path, vocabulary: int) -> TensorSpec:
    spec = safetensors_header.read(path).get(_VOCABULARY_TENSOR)
    if spec is None:
        raise ValueError(f"has no tensor {_VOCABULARY_TENSOR}")
    if spec.dtype not in _ARRAY_CODES:
        raise ValueError(f"has the type {spec.dtype} and not whole numbers")
    if len(spec.shape) != 1 or not 1 <= spec.shape[0] <= vocabulary:
        raise ValueError(f"has the shape {list(spec.shape)} and is no list of up to {vocabulary} ids")
    return spec
