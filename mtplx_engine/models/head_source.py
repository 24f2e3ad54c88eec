"""Where a model's drafting head is: among its own tensors, in a file beside them, or in a folder of its own.

Found by the tensors that are there, never by a flag or a name. Imports no mlx: it is asked before any load.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.harmless import one_line
from mtplx_engine.models import json_file, manifest, model_config, safetensors_header
from mtplx_engine.models.manifest import HeadBinding
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mtplx_engine.models.safetensors_header import TensorSpec

FILES = ("mtp.safetensors", "mtp/weights.safetensors", "model-mtp.safetensors")
DRAFT_VOCABULARY = "draft_vocab.safetensors"

PREFIXES = ("mtp.", "model.mtp.", "language_model.mtp.", "model.language_model.mtp.")
_LAYERS = ("model.layers.", "language_model.model.layers.", "model.language_model.layers.")
_LAYER = re.compile(rf"(?:{'|'.join(map(re.escape, _LAYERS))})(\d{{1,9}})\.")
# What joins embedding and hidden: a head has some of these, even a damaged one, and a layer of the trunk has none.
_JOINTS = ("fc.weight", "eh_proj.weight", "enorm.weight", "hnorm.weight")
_HEAD_ONLY_ENDINGS = ("_mtp", "_assistant")
_SAMPLED_TENSORS = 8
_SAMPLED_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Location:
    """One tensor of a head: the file, its name there, and what the file's header says of it."""

    path: Path
    name: str
    spec: TensorSpec


@dataclass(frozen=True, slots=True)
class HeadSource:
    """A drafting head that was found.

    Attributes:
        place: Where it is, for people.
        tensors: Its tensors by their names without the prefix.
        draft_vocabulary: The file with the token ids that it may draft, None for all.
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


def find(
    folder: Path,
    config: Mapping[str, Any],
    tensors: Mapping[str, TensorSpec],
    binding: HeadBinding | None = None,
) -> HeadSource | None:
    """Return the drafting head of the model in `folder`, or None when there is none.

    Args:
        folder: The model's folder, found sound.
        config: Its config.json, laid flat.
        tensors: The tensors of its weight files.
        binding: The head-only folder that the manifest names.

    Raises:
        EngineError: REFUSED, when a file that holds a head is damaged.
    """
    inside, further = _inside(folder, config, tensors), _further(folder, config, tensors)
    apart = _beside(folder, config) if binding is None else _bound(folder, config, tensors, binding)
    if apart is not None:
        files = {location.path for location in apart.tensors.values()}
        other = [location for location in (*inside.values(), *further) if location.path not in files]
        return _two(apart, other) if other else apart
    if inside:
        return HeadSource("inside the model's own files", inside, _draft_vocabulary(folder), unused=further)
    folders = sorted(
        path.parent for path in folder.glob(f"*/{model_config.NAME}") if is_head_only(path.parent)
    )
    heads = [_in_folder(found, config) for found in folders]
    return next((head for head in heads if not head.problem), heads[0] if heads else None)


def is_there(folder: Path, names: Iterable[str]) -> bool:
    """Whether a model in `folder` with tensors of these names seems to have a head; nothing else is looked at."""
    if any((folder / name).is_file() for name in FILES):
        return True
    inside = (name.startswith(PREFIXES) or name.endswith(".eh_proj.weight") for name in names)
    return any(inside) or any(is_head_only(path.parent) for path in folder.glob(f"*/{model_config.NAME}"))


def is_head_only(folder: Path) -> bool:
    """Whether `folder` holds a drafting head without the model it belongs to; false when it cannot be read."""
    kind = model_config.model_type(folder)
    return kind is not None and kind.endswith(_HEAD_ONLY_ENDINGS)


def bind(
    folder: str, config: Mapping[str, Any], tensors: Mapping[str, TensorSpec], root: Path, target: str = ""
) -> HeadBinding:
    """Return what ties a head-only folder to the model in `root`.

    Args:
        folder: The head's, as the manifest shall name it.
        config: The model's config.json, laid flat.
        tensors: The tensors of its weight files.
        root: Its folder.
        target: That folder as the manifest shall name it, empty when the manifest is in it.
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
    """Return a hash over some tensors of a model, spread over all of its names: what any training changes.

    It tells models apart and stays the same in a copy; whether a head predicts a model, it does not tell.
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
    for name in (*named, *FILES):
        if (folder / name).is_file():
            specs = safetensors_header.read(folder / name)
            return HeadSource(name, _without_prefix(folder / name, specs), _draft_vocabulary(folder))
    return None


def _two(apart: HeadSource, inside: Iterable[Location]) -> HeadSource:
    """Return both heads, none of them to be used."""
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
        raise refused(model_config.NAME, "names a drafting head that is no file of the model (mtp_file)")
    return (name,)


def _without_prefix(path: Path, specs: Mapping[str, TensorSpec]) -> dict[str, Location]:
    return {_raw(name): Location(path, name, spec) for name, spec in specs.items()}


def _raw(name: str) -> str:
    return name.removeprefix(next((prefix for prefix in PREFIXES if name.startswith(prefix)), ""))


def _inside(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, TensorSpec]
) -> dict[str, Location]:
    """Return the head among the model's tensors: below a prefix, or the layer behind the last one.

    A tensor that is below two prefixes keeps one of them, so that it is unknown to the head and not dropped. What is
    below a prefix is a head even when its main tensor lacks or is misnamed: whoever builds it will say so.
    """
    below: dict[str, Location] = {}
    for name, spec in tensors.items():
        if name.startswith(PREFIXES):
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


def _further(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, TensorSpec]
) -> tuple[Location, ...]:
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
    own = model_config.flat(json_file.read(folder / model_config.NAME, model_config.MAX_BYTES))
    tensors: dict[str, Location] = {}
    for path in sorted(folder.glob("*.safetensors")):
        if path.name != DRAFT_VOCABULARY:
            tensors |= _without_prefix(path, safetensors_header.read(path))
    differing = next(
        (key for key in ("hidden_size", "vocab_size") if own.get(key, config[key]) != config[key]), None
    )
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
    if found.problem or bind(binding.folder, config, tensors, folder, binding.target) == binding:
        return found
    advice = "join the two again" if binding.target else "install the model again"
    problem = (
        f"The drafting head in {binding.folder} was installed for other weights than these, so it is off; "
        f"{advice}."
    )
    return HeadSource(found.place, found.tensors, found.draft_vocabulary, problem)


def _draft_vocabulary(folder: Path) -> Path | None:
    path = folder / DRAFT_VOCABULARY
    if not path.is_file():
        return None
    safetensors_header.read(path)
    return path
