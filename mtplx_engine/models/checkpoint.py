"""Reads and checks a model folder before anything of it is loaded; imports no mlx, numpy or transformers.

What passes holds no code and no pickles, asks for none, and its sizes, shapes and ids add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import (
    chat_template,
    completeness,
    draft_vocabulary,
    folder_safety,
    head_source,
    hub_cache,
    json_file,
    manifest,
    model_config,
    tokenizer_ids,
    weight_files,
)
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.manifest import HeadBinding, Manifest
    from mtplx_engine.models.safetensors_header import TensorSpec


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model folder that was found sound.

    Attributes:
        folder: Where its weights are.
        name: Name for people.
        config: The parsed config.json, a nested text_config laid flat.
        tensors: The model's own tensors, by name; those of its head are not among them.
        head: Its drafting head, None without one.
        manifest: What an installer of ours noted of it, or of the pair that it is in; None in other folders.
    """

    folder: Path
    name: str
    config: dict[str, Any]
    tensors: Mapping[str, TensorSpec]
    head: HeadSource | None
    manifest: Manifest | None

    @property
    def total_bytes(self) -> int:
        """Bytes of all tensors, the head's included."""
        return sum(spec.size for spec in self.tensors.values()) + (self.head.size if self.head else 0)


def check(folder: Path, *, tokenizer: bool = True) -> Checkpoint:
    """Read what a model folder says of itself and check that it is safe and sound.

    Args:
        folder: The folder.
        tokenizer: Whether to look into its tokenizer, which must be there in any case, and behind the headers of its
            weight files.

    Raises:
        EngineError: NOT_FOUND, when no model is there; REFUSED, when it is unsafe, damaged or incomplete;
            UNSUPPORTED, when its architecture is not on our list.
    """
    pair = manifest.read_pair(folder)
    if pair is not None:
        folder = _target_of(*pair)
    if not folder.is_dir():
        raise EngineError(ErrorKind.NOT_FOUND, f"There is no folder {folder}; check the path.")
    _check_has_config(folder)
    try:
        return _check(folder, pair, tokenizer=tokenizer)
    except OSError as error:
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{folder} cannot be read: {error.strerror}. Make it readable or choose another model.",
            repr(error),
        ) from error


def check_settings(folder: Path) -> None:
    """Check what can be known of a model folder while its weights are not there yet.

    Raises:
        EngineError: As for `check`.
    """
    _check_has_config(folder)
    folder_safety.check_files(folder)
    folder_safety.check_json(folder)
    config = model_config.flat(json_file.read(folder / model_config.NAME, model_config.MAX_BYTES))
    model_config.check(config)
    _check_tokenizer(folder, config["vocab_size"], read=True)


def _check_has_config(folder: Path) -> None:
    if not (folder / model_config.NAME).exists():
        raise EngineError(
            ErrorKind.NOT_FOUND,
            f"{folder} holds no model: it has no config.json. Choose the folder that has one.",
        )


def _target_of(pair: Manifest, binding: HeadBinding) -> Path:
    """Return where the model of a pair is; its head must be in its place too."""
    for part in (Path(binding.target), Path(binding.folder)):
        if not part.is_dir():
            raise EngineError(
                ErrorKind.NOT_FOUND,
                f'"{pair.name}" is joined from two folders, and {part} is not there. Put it back, or join them '
                "where they are now (mtplx models join).",
            )
    return Path(binding.target)


def _check(folder: Path, pair: tuple[Manifest, HeadBinding] | None, *, tokenizer: bool) -> Checkpoint:
    folder_safety.check_files(folder)
    inner = (path.parent for path in folder.glob(f"*/{model_config.NAME}"))
    for part in (folder, *filter(head_source.is_head_only, inner)):
        folder_safety.check_json(part)
    if pair is not None:
        apart = Path(pair[1].folder)
        folder_safety.check_files(apart)
        folder_safety.check_json(apart)
    if head_source.is_head_only(folder):
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{folder.name} holds a drafting head and no model of its own. Join it with the model that it was made "
            f"for (mtplx models join MODEL {folder.name}), and load the pair.",
        )
    written = json_file.read(folder / model_config.NAME, model_config.MAX_BYTES)
    config = model_config.flat(written)
    model_config.check(config)
    noted = manifest.read(folder)
    missing = manifest.missing(folder, noted) if noted else weight_files.missing(folder)
    if missing:
        count = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise refused(
            hub_cache.title(folder),
            f"is incomplete: {missing[0]}{count} is missing or not what was installed",
        )
    every = weight_files.tensors(folder)
    noted = pair[0] if pair else noted
    head = head_source.find(folder, config, every, noted.binding if noted else None)
    in_head = {(item.path, item.name) for item in head.locations} if head else set()
    weight_files.check_promised(folder, every.keys() | {name for _, name in in_head})
    tensors = {name: spec for name, spec in every.items() if (folder / spec.file, name) not in in_head}
    _check_tokenizer(folder, _embedding_rows(tensors, config), read=tokenizer)
    completeness.check_trunk(folder, written, tensors)
    if head and not head.problem:
        problem = completeness.head_problem(config, head, tensors) or draft_vocabulary.problem(
            head.draft_vocabulary, config["vocab_size"], data=tokenizer
        )
        head = replace(head, problem=problem)
    return Checkpoint(
        folder=folder,
        name=noted.name if noted else hub_cache.title(folder),
        config=config,
        tensors=tensors,
        head=head,
        manifest=noted,
    )


def _embedding_rows(tensors: Mapping[str, TensorSpec], config: dict[str, Any]) -> int:
    """Return below which number token ids are safe to look up."""
    rows: int = config["vocab_size"]
    for name, spec in tensors.items():
        if name.endswith("embed_tokens.weight") and spec.shape:
            rows = min(rows, spec.shape[0])
    return rows


def _check_tokenizer(folder: Path, rows: int, *, read: bool) -> None:
    if not (folder / tokenizer_ids.NAME).is_file():
        raise refused(hub_cache.title(folder), f"has no {tokenizer_ids.NAME}")
    if read:
        tokenizer_ids.check(folder, rows)
        chat_template.check(folder)
