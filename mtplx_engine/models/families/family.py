"""What the engine must know of a model family. Each family is a module that offers these names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mlx.core as mx
    from mlx import nn

    from mtplx_engine.models.ends import Ends
    from mtplx_engine.models.families.head import MTPHead
    from mtplx_engine.models.wiring import Wiring


class Trunk(Protocol):
    """A model family as plain decoding needs it. `config` is always config.json with a nested text_config laid flat."""

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:
        """Return the model and its arguments for `mlx_lm.utils.load_model`; the model leaves out head tensors."""
        ...

    def ends(self, model: nn.Module) -> Ends:
        """Return embedding, final norm and output head of a model."""
        ...

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        """Forward tokens [M]; returns [M, H] before the norm of `ends`."""
        ...


class Family(Trunk, Protocol):
    """A model family with its drafting heads.

    Head tensors have two sets of names: "raw" are those of the file without their prefix, and the others are those
    of the head's own parameters.
    """

    def head_weights(self, raw: Mapping[str, mx.array], config: Mapping[str, Any]) -> dict[str, mx.array]:
        """Rename raw tensors to the head's names, stacking or splitting experts; unknown ones keep their name.

        Raises:
            ValueError: Experts do not belong together; the text names one.
        """
        ...

    def wiring(self, shapes: Mapping[str, tuple[int, ...]]) -> Wiring:
        """Return how a head found beside target tensors of these names and shapes is connected, as published."""
        ...

    def new_head(self, config: Mapping[str, Any], wiring: Wiring) -> MTPHead:
        """Make a head, its parameters not yet filled."""
        ...
