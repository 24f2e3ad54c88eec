"""Families whose drafting head is one more decoder layer, numbered behind the last one of the trunk.

Its own parts are `enorm`, `hnorm` and `eh_proj`, which join embedding and hidden, and `shared_head.norm`. Some
checkpoints (GLM-4.5, not GLM-4.6) repeat the target's embedding and output head there.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from mlx_lm.models.base import BaseModelArgs, create_attention_mask

from mtplx_engine.models.ends import Ends
from mtplx_engine.models.families.appended_names import in_head, without_head
from mtplx_engine.models.families.head import MTPHead
from mtplx_engine.models.wiring import Wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import mlx.core as mx
    from mlx import nn


class AppendedModel:
    """Goes in front of one of mlx-lm's model classes."""

    def sanitize(self: Any, weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """Leave out the head, whose number some of mlx-lm's classes take to be fixed, and convert the rest."""
        trunk = without_head(weights, self.args.num_hidden_layers)
        converted: dict[str, mx.array] = super().sanitize(trunk)  # type: ignore[misc]
        return converted


class AppendedHead(MTPHead):
    """A head of this kind."""

    @property
    def cast_predicate(self) -> Callable[[str], bool]:
        """Which parameters may be cast, as for the trunk: rounding the router's bias would change its choices."""
        return lambda path: "e_score_correction_bias" not in path


@dataclasses.dataclass(frozen=True, slots=True)
class AppendedFamily:
    """A family of this kind; see `Family` for its methods.

    Attributes:
        model: The model class; it leaves out what is behind its last layer, and has the attention that the head has.
        args: The class of its arguments.
        stock: mlx-lm's own model class, whose `sanitize` converts the original layout.
        head: Makes the head from arguments and wiring. Which hidden goes into the next step is its own affair.
        array_mask: Whether attention wants its mask as an array, to add to it.
    """

    model: type[nn.Module]
    args: type[BaseModelArgs]
    stock: Any
    head: Callable[[Any, Wiring], MTPHead]
    array_mask: bool

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG002 - one for all
        """Return the model and its arguments for `load_model`."""
        return self.model, self.args

    def ends(self, model: nn.Module) -> Ends:
        """Return embedding, final norm and output head."""
        return Ends(model.model.embed_tokens, model.model.norm, model.lm_head)

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        """Forward tokens [M] through the trunk; returns [M, H] before the final norm."""
        hidden = model.model.embed_tokens(tokens[None])
        mask = create_attention_mask(hidden, layers[0], return_array=self.array_mask)
        for block, cache in zip(model.model.layers, layers, strict=True):
            hidden = block(hidden, mask, cache)
        rows: mx.array = hidden[0]
        return rows

    def head_weights(self, raw: Mapping[str, mx.array], config: Mapping[str, Any]) -> dict[str, mx.array]:
        """Rename to the head's names, unpack fp8, stack the experts, split `kv_b_proj`."""
        renamed = in_head(raw)
        args = dataclasses.replace(self.args.from_dict(config), num_hidden_layers=1)
        only_layer = {f"model.{name}": array for name, array in renamed.items()}
        try:
            converted: dict[str, mx.array] = self.stock.sanitize(SimpleNamespace(args=args), only_layer)
        except (KeyError, ValueError):
            return renamed  # experts are missing or do not fit together: the caller names what it lacks
        return {name.removeprefix("model."): array for name, array in converted.items()}

    def wiring(self, shapes: Mapping[str, tuple[int, ...]]) -> Wiring:  # noqa: ARG002 - published once
        """Return the published wiring: hiddens after the final norm, embedding first."""
        return Wiring()

    def new_head(self, config: Mapping[str, Any], wiring: Wiring) -> MTPHead:
        """Make a head for a model with this configuration."""
        return self.head(self.args.from_dict(config), wiring)
