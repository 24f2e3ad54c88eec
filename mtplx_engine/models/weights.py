"""Load a model's weights by mlx-lm's own classes, lazily, and strict about every tensor's name, shape and type."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.utils import load_model

from mtplx_engine.models import config_checks, hub_cache, stored_tensors
from mtplx_engine.models.config_checks import is_size
from mtplx_engine.models.families.registry import trunk_for
from mtplx_engine.models.json_files import refused
from mtplx_engine.models.stored_tensors import FLOATING, Want

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from mlx import nn

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.head_source import Location

    Arrays = dict[str, mx.array]


_DTYPES = {
    mx.bool_: "BOOL",
    mx.uint8: "U8",
    mx.uint16: "U16",
    mx.uint32: "U32",
    mx.uint64: "U64",
    mx.int8: "I8",
    mx.int16: "I16",
    mx.int32: "I32",
    mx.int64: "I64",
    mx.float16: "F16",
    mx.bfloat16: "BF16",
    mx.float32: "F32",
    mx.float64: "F64",
}
# Parts of mlx-lm's tensor names, and of the names in files as published.
_PUBLISHED = (
    ("switch_mlp.gate_proj.weight", "experts.gate_up_proj"),
    ("switch_mlp.up_proj.weight", "experts.gate_up_proj"),
    ("switch_mlp.down_proj.weight", "experts.down_proj"),
    ("switch_mlp.", "experts.0."),
    ("embed_q.", "kv_b_proj."),
    ("unembed_out.", "kv_b_proj."),
)
_FUSED = ("experts.gate_up_proj", "experts.down_proj")
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_MOST_SUSPECTS = 256
_WORD_BITS = 32


class MismatchError(ValueError):
    """Tensors are not those of a module; the message names them in one clause."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """Type of an array, as safetensors spells it, and its shape."""

    dtype: str
    shape: tuple[int, ...]


def load(checkpoint: Checkpoint) -> nn.Module:
    """Return mlx-lm's model with the weights of a checked folder; none of their bytes is read yet.

    Raises:
        EngineError: REFUSED, when weights and configuration do not fit together.
    """
    folder, config = checkpoint.folder, checkpoint.config
    locations = checkpoint.head.locations if checkpoint.head else ()
    in_head = frozenset(location.name for location in locations if _is_read(location, folder))
    model, arguments = trunk_for(config).model_classes(config)
    try:
        loaded, _ = load_model(folder, lazy=True, get_model_classes=lambda **_: (_strict(model, in_head), arguments))
    except MismatchError as error:
        raise stored_tensors.misfit(folder, str(error)) from error
    except Exception as error:  # numbers that contradict each other may raise anything
        _check_settings(arguments, config, error)
        if mismatch := _tensor_without_width(model, arguments, config):
            raise stored_tensors.misfit(folder, mismatch) from error
        raise refused(
            hub_cache.title(folder),
            "has a setting in its config.json that this version cannot use",
            details=repr(error),
        ) from error
    module: nn.Module = loaded
    return module


def check(module: nn.Module, weights: Mapping[str, mx.array], spell: Callable[[str], str] = str) -> None:
    """Check names, shapes and types of a module's tensors; `spell` turns a name into that of the file.

    Raises:
        MismatchError: They are not the module's.
    """
    found = kinds(weights)
    wanted = {name: _want(array) for name, array in parameters(module).items()}
    for name in [name for name in wanted if name.endswith(".biases")]:
        scales = found.get(f"{name.removesuffix('biases')}scales")
        if scales and scales.dtype in FLOATING:
            wanted[name] = wanted[name]._replace(dtypes=frozenset({scales.dtype}))
    if text := stored_tensors.tensor_mismatch(wanted, found, spell):
        raise MismatchError(text)


def kinds(weights: Mapping[str, mx.array]) -> dict[str, Kind]:
    return {name: Kind(_DTYPES.get(array.dtype, str(array.dtype)), array.shape) for name, array in weights.items()}


def parameters(module: nn.Module) -> Arrays:
    return cast("Arrays", dict(tree_flatten(module.parameters())))  # type: ignore[no-untyped-call]


class Spelling:
    """Maps names of converted tensors back to the file's; tensors that were only renamed are the same objects.

    Args:
        raw: The file's tensors; no reference to them is kept.
        converted: The same after the `sanitize` of mlx-lm or the conversion of one of our families.
    """

    def __init__(self, raw: Mapping[str, mx.array], converted: Mapping[str, mx.array]) -> None:
        names = {id(array): name for name, array in raw.items()}
        self._raw = frozenset(raw)
        self._spelled = {own: names[id(array)] for own, array in converted.items() if id(array) in names}
        self._is_fused = any(name.endswith(_FUSED) for name in raw)
        self._patterns = {_NUMBER.sub("#", name) for name in raw}

    def __call__(self, own: str) -> str:
        """Return the file's name of a tensor, derived from its neighbours' where it was computed or is missing."""
        if own in self._spelled or own in self._raw:
            return self._spelled.get(own, own)
        like = self._like(own)
        published = (like.replace(part, other) for part, other in _PUBLISHED if part in like)
        return next(
            (
                name
                for name in published
                if _NUMBER.sub("#", name) in self._patterns or (self._is_fused and name.endswith(_FUSED))
            ),
            like,
        )

    def _like(self, own: str) -> str:
        parts = own.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            path, rest = ".".join(parts[:cut]), ".".join(parts[cut:])
            for other, name in self._spelled.items():
                tail = other.removeprefix(f"{path}.")
                if tail != other and f".{name}".endswith(f".{tail}"):
                    return name.removesuffix(tail) + rest
        return own


def _strict(model: type[nn.Module], left_out: frozenset[str]) -> type[nn.Module]:
    """Return a subclass that drops the tensors `left_out`, a head's, and raises `MismatchError` for misfits."""
    spelling = Spelling({}, {})

    class Strict(model):  # type: ignore[misc, valid-type]
        def sanitize(self, weights: Arrays) -> Arrays:
            nonlocal spelling
            raw = {name: array for name, array in weights.items() if name not in left_out}
            convert = getattr(super(), "sanitize", dict)
            try:
                converted: Arrays = convert(dict(raw))
            except Exception as error:
                if text := _culprit(convert, raw, error):
                    raise MismatchError(text) from error
                raise
            spelling = Spelling(raw, converted)
            _check_packing(self, converted, spelling)
            return converted

        def load_weights(self, weights: Iterable[tuple[str, mx.array]], strict: bool = True) -> nn.Module:  # noqa: FBT001, FBT002 - as mlx calls it
            check(self, dict(weights), spelling)
            loaded: nn.Module = super().load_weights(weights, strict)
            return loaded

    return Strict


def _check_packing(module: nn.Module, weights: Arrays, spell: Callable[[str], str]) -> None:
    """Check sizes that mlx divides by when it packs a module, as a zero ends the process; raises `MismatchError`."""
    found = kinds(weights)
    for name, array in parameters(module).items():
        stored, scales = found.get(name), found.get(f"{name.removesuffix('.weight')}.scales")
        shape, ok = array.shape, 0 not in array.shape
        if ok and stored and scales:
            groups, words = (kind.shape[-1] if kind.shape else 0 for kind in (scales, stored))
            ok = 0 < groups <= shape[-1] and shape[-1] % groups == 0 and words * _WORD_BITS % shape[-1] == 0
        if not ok:
            raise MismatchError(
                f"{spell(name)} has the shape {list(stored.shape if stored else ())} instead of {list(shape)}"
            )


def _culprit(convert: Callable[[Arrays], Arrays], raw: Arrays, error: Exception) -> str:
    """Say which tensor keeps mlx-lm from converting the others; empty when that cannot be told.

    Found by trial: with a tensor of zeros in the shape of its counterpart in another layer, the conversion succeeds.
    """
    if isinstance(error, MismatchError | ValueError) and any(name in str(error) for name in raw):
        return str(error)
    if isinstance(error, KeyError) and isinstance(error.args[0], str):
        return f"{error.args[0]} is missing"
    alike: dict[str, list[str]] = {}
    for name in raw:
        alike.setdefault(_NUMBER.sub("#", name), []).append(name)
    suspects = (
        (name, other)
        for names in alike.values()
        for other in {(raw[name].shape, raw[name].dtype): name for name in names}.values()
        for name in names
        if (raw[name].shape, raw[name].dtype) != (raw[other].shape, raw[other].dtype)
    )
    for (name, other), _ in zip(suspects, range(_MOST_SUSPECTS), strict=False):
        like = mx.zeros(raw[other].shape, raw[other].dtype)
        try:
            convert({**raw, name: like})
        except Exception:  # noqa: BLE001, S112 - it was another one
            continue
        return stored_tensors.tensor_mismatch({name: _want(like)}, kinds({name: raw[name]}))
    return ""


def _want(array: mx.array) -> Want:
    dtype = _DTYPES.get(array.dtype, str(array.dtype))
    return Want(array.shape, FLOATING if dtype in FLOATING else frozenset({dtype}))


def _check_settings(arguments: type, config: Mapping[str, Any], error: Exception) -> None:
    """Raise REFUSED, if a setting of config.json that is missing or no size kept mlx-lm from building the model."""
    for field in dataclasses.fields(arguments) if dataclasses.is_dataclass(arguments) else ():
        value, is_number = config.get(field.name), field.type in (int, "int")
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if field.name == "text_config":  # laid flat
            continue
        if is_required and (field.name not in config or (is_number and value is None)):
            raise refused(config_checks.CONFIG_NAME, f"does not say {field.name}", details=repr(error)) from error
        if value is not None and is_number and not is_size(value):
            raise refused(
                config_checks.CONFIG_NAME,
                f"says {field.name} is {str(value)[:20]!r}, but it must be a whole number",
                details=repr(error),
            ) from error


def _tensor_without_width(model: Any, arguments: Any, config: Mapping[str, Any]) -> str:
    """Say in one clause which tensor a setting of 0 leaves without numbers; empty when no such setting is to blame.

    It is to blame when the model can be built with 1 and with 2 in its place, and some shapes then differ.
    """
    for setting in [name for name, value in config.items() if type(value) is int and value == 0]:
        try:
            one, two = (parameters(model(arguments.from_dict({**config, setting: size}))) for size in (1, 2))
        except Exception:  # noqa: BLE001, S112 - it was another one
            continue
        for name, array in one.items() if one.keys() == two.keys() else ():
            if array.shape != two[name].shape:
                return f"{name} has no width, since {setting} is 0"
    return ""


def _is_read(location: Location, folder: Path) -> bool:
    return location.path.parent == folder and location.path.match("model*.safetensors")
