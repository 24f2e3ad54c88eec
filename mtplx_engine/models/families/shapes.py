"""The parts that models are made of, as the names and shapes of their tensors in mlx-lm's layout. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models import model_config
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Shapes = dict[str, tuple[int, ...]]

_LARGEST = 2**31 - 1


class Sizes:
    """The numbers in a config.json that shapes depend on.

    Args:
        config: The parsed file, or the part of it that describes the language model.
        defaults: What mlx-lm takes for numbers that it does not say.
    """

    def __init__(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self._values = {**defaults, **config}

    def __getitem__(self, name: str) -> int:
        """Return a number.

        Raises:
            EngineError: REFUSED, when it is missing or not a whole one.
        """
        value = self.get(name)
        if value is None:
            raise refused(model_config.NAME, f"does not say {name}")
        return value

    def get(self, name: str) -> int | None:
        """Return a number, or None where there is none; raises as above."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
            raise refused(
                model_config.NAME, f"says {name} is {str(value)[:20]!r}, but it must be a whole number"
            )
        return value

    def period(self, name: str) -> int:
        """Return a number that counts layers off, at least 1; raises as above."""
        value = self[name]
        if not value:
            raise refused(model_config.NAME, f"says {name} is 0, but it must be at least 1")
        return value

    def says(self, name: str) -> bool:
        """Whether a switch is on."""
        return bool(self._values.get(name))

    def items(self, name: str) -> list[Any]:
        """Return a list, empty where there is none.

        Raises:
            EngineError: REFUSED, when it is something else.
        """
        value = self._values.get(name) or []
        if not isinstance(value, list):
            raise refused(model_config.NAME, f"says {name} is {str(value)[:20]!r}, but it must be a list")
        return value


def under(path: str, shapes: Mapping[str, tuple[int, ...]]) -> Shapes:
    """Put `path` before every name."""
    return {f"{path}.{name}": shape for name, shape in shapes.items()}


def linear(matrices: Mapping[str, tuple[int, int]], *, bias: bool = False) -> Shapes:
    """Return linear layers by name and (rows, columns)."""
    weights: Shapes = {f"{name}.weight": shape for name, shape in matrices.items()}
    return weights | ({f"{name}.bias": (rows,) for name, (rows, _) in matrices.items()} if bias else {})


def norms(width: int, *names: str) -> Shapes:
    """Return norms over `width` numbers."""
    return {f"{name}.weight": (width,) for name in names}


def mlp(size: int, inner: int, *, bias: bool = False) -> Shapes:
    """Return a gated feed-forward layer."""
    matrices = {"gate_proj": (inner, size), "up_proj": (inner, size), "down_proj": (size, inner)}
    return linear(matrices, bias=bias)


def experts(count: int, size: int, inner: int) -> Shapes:
    """Return so many feed-forward layers, each projection of all of them in one array."""
    return under("switch_mlp", {name: (count, *shape) for name, shape in mlp(size, inner).items()})


def block(size: int, attention: Mapping[str, tuple[int, ...]], feed_forward: Shapes) -> Shapes:
    """Return a decoder layer; `attention` has its own name before its tensors'."""
    ends = norms(size, "input_layernorm", "post_attention_layernorm")
    return {**ends, **attention, **under("mlp", feed_forward)}


def language_model(size: int, vocabulary: int, blocks: Iterable[Shapes], *, tied: bool) -> Shapes:
    """Return a model of these decoder layers; `tied` when the embedding is the output head too."""
    shapes: Shapes = {"model.embed_tokens.weight": (vocabulary, size)}
    for number, layer in enumerate(blocks):
        shapes |= under(f"model.layers.{number}", layer)
    shapes["model.norm.weight"] = (size,)
    return shapes if tied else shapes | {"lm_head.weight": (vocabulary, size)}


def head(size: int, layer: Shapes) -> Shapes:
    """Return a drafting head with this decoder layer."""
    ends = norms(size, "pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")
    return {**ends, **linear({"fc": (size, 2 * size)}), **under("layers.0", layer)}
