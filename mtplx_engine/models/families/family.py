"""The interfaces of a model family, and parts that families share: head module, embedding and output head, experts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import mlx.core as mx
from mlx import nn

from mtplx_engine.models.manifest import Concat, Wiring

if TYPE_CHECKING:
    from collections.abc import Mapping


class Trunk(Protocol):
    """A model family as plain decoding needs it; `config` is always config.json with a nested text_config laid flat."""

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:
        """Return model and argument class for `mlx_lm.utils.load_model`; it gets no tensors of the head."""
        ...

    def ends(self, model: nn.Module) -> EmbeddingAndHead:
        """Return embedding, final norm and output head of a model."""
        ...

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        """Forward tokens [M]; returns [M, H] before the norm of `ends`."""
        ...


class Family(Trunk, Protocol):
    """A model family with its drafting heads.

    Head tensors have two sets of names: "raw" are the file's without their prefix, the others are those of the
    head's parameters.
    """

    def head_weights(self, raw: Mapping[str, mx.array], config: Mapping[str, Any]) -> dict[str, mx.array]:
        """Rename raw tensors to the head's names and stack or split experts; unknown ones keep their name.

        Raises:
            ValueError: Experts do not belong together; the message names one.
        """
        ...

    def wiring(self, shapes: Mapping[str, tuple[int, ...]]) -> Wiring:
        """Return the published wiring of a head, given names and shapes of its target's tensors."""
        ...

    def new_head(self, config: Mapping[str, Any], wiring: Wiring) -> MTPHead:
        """Make a head whose weights are still to be loaded."""
        ...


Projection = Callable[[mx.array], mx.array]
"""From hiddens [m, H] to logits [m, D]."""


@dataclass(frozen=True, slots=True)
class EmbeddingAndHead:
    """Embedding, final norm and output head of a model: its own modules, no copies.

    Attributes:
        embedding: nn.Embedding or its quantized form.
        output: nn.Linear, its quantized form, or `embedding` itself when they are tied.
    """

    embedding: nn.Module
    norm: nn.Module
    output: nn.Module

    def logits(self, hidden: mx.array) -> mx.array:
        """Project hiddens [M, H] after the final norm to [M, V]."""
        tied = self.output is self.embedding
        rows: mx.array = self.output.as_linear(hidden) if tied else self.output(hidden)
        return rows

    def projection(self, ids: mx.array | None) -> Projection:
        """Return `logits` restricted to the sorted token ids [D], or to none; packed rows stay packed."""
        head = self.output
        if ids is None:
            return self.logits
        rows = head.weight[ids]
        if not isinstance(head, nn.QuantizedEmbedding | nn.QuantizedLinear):
            mx.eval(rows)
            return lambda hidden: hidden @ rows.T
        scales, biases = head.scales[ids], None if head.biases is None else head.biases[ids]
        mx.eval(rows, scales, biases)
        settings = {"group_size": head.group_size, "bits": head.bits, "mode": head.mode}
        return lambda hidden: mx.quantized_matmul(hidden, rows, scales, biases, **settings)


class MTPHead(nn.Module):
    """An MTP head: a decoder layer of its target's kind over fc(concat(norm(embedding), norm(hidden))).

    See DeepSeek-V3, arXiv:2412.19437, section 2.2. Families define how its keys and values are made.

    Args:
        block: Decoder layer of mlx-lm: has `self_attn` and `input_layernorm`, is called with (inputs, mask, cache).
        size: H.
    """

    def __init__(self, block: nn.Module, size: int, eps: float, wiring: Wiring) -> None:
        super().__init__()
        self.pre_fc_norm_embedding = nn.RMSNorm(size, eps=eps)
        self.pre_fc_norm_hidden = nn.RMSNorm(size, eps=eps)
        self.fc = nn.Linear(2 * size, size, bias=False)
        self.layers = [block]
        self.norm = nn.RMSNorm(size, eps=eps)
        self._concat = wiring.concat

    def inputs(self, embedded: mx.array, hidden: mx.array) -> mx.array:
        """Join embeddings of the tokens t+1 and hiddens of t, both [m, H], into block inputs [1, m, H]."""
        halves = [self.pre_fc_norm_embedding(embedded), self.pre_fc_norm_hidden(hidden)]
        if self._concat is Concat.HIDDEN_FIRST:
            halves.reverse()
        fused: mx.array = self.fc(mx.concatenate(halves, axis=-1))[None]
        return fused

    def __call__(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns the hiddens [m, H] that the next step takes."""
        hidden: mx.array = self.norm(self.block_output(inputs, cache))
        return hidden

    def block_output(self, inputs: mx.array, cache: Any) -> mx.array:
        """Run the block over inputs [1, m, H]; returns [m, H] before the head's norm."""
        mask = cache.make_mask(inputs.shape[1], return_array=False, window_size=None)
        hidden: mx.array = self.layers[0](inputs, mask, cache)[0]
        return hidden

    def readout(self, hidden: mx.array) -> mx.array:
        """Turn hiddens [m, H] of `__call__` into the output head's input; here they are that already."""
        return hidden

    def remember(self, inputs: mx.array, cache: Any) -> None:
        """Append only keys and values of inputs [1, m, H] to the cache, which is all that later steps need."""
        block = self.layers[0]
        cache.update_and_fetch(*self.keys_values(block.input_layernorm(inputs), cache.offset))

    def keys_values(self, normed: mx.array, offset: int) -> tuple[mx.array, mx.array]:
        """Return keys and values as the attention caches them, of normed inputs [1, m, H] from position `offset`."""
        raise NotImplementedError


_NUMBERED = re.compile(r"^(.*mlp\.)experts\.(\d+)\.((?:gate|up|down)_proj\.\w+)$")
_FUSED = re.compile(r"^(.*mlp\.)experts\.(gate_up|down)_proj$")


def stacked(weights: Mapping[str, mx.array], count: int) -> dict[str, mx.array]:
    """Return tensors with the `count` numbered experts of a layer stacked to `switch_mlp` and fused ones split.

    Raises:
        ValueError: An expert is missing or unknown, has another shape or dtype than the first, or a fused array
            cannot be split; the message names it.
    """
    result: dict[str, mx.array] = {}
    numbered: dict[tuple[str, str], dict[int, str]] = {}
    for name, array in weights.items():
        if match := _NUMBERED.match(name):
            numbered.setdefault((match[1], match[3]), {})[int(match[2])] = name
        elif match := _FUSED.match(name):
            if array.ndim != 3 or array.shape[1] % 2:
                raise ValueError(
                    f"{name} has the shape {list(array.shape)} instead of three dimensions, the second one even"
                )
            result |= _split(match[1], match[2], array)
        else:
            result[name] = array
    for (prefix, projection), names in numbered.items():
        _check_numbered(names, count, weights)
        result[f"{prefix}switch_mlp.{projection}"] = mx.stack([weights[names[number]] for number in range(count)])
    return result


def _split(prefix: str, projection: str, array: mx.array) -> dict[str, mx.array]:
    """Name the parts of a fused array [E, rows, columns]; gate and up rows lie one after the other in one of them."""
    if projection == "down":
        return {f"{prefix}switch_mlp.down_proj.weight": array}
    gate, up = mx.split(array, 2, axis=-2)
    return {f"{prefix}switch_mlp.gate_proj.weight": gate, f"{prefix}switch_mlp.up_proj.weight": up}


def _check_numbered(names: Mapping[int, str], count: int, weights: Mapping[str, mx.array]) -> None:
    """Check that experts 0 to `count` - 1 and no others are there and alike; the ValueError names one."""
    some = min(names)
    missing = next((number for number in range(count) if number not in names), None)
    if missing is not None:
        name = names[some].replace(f".experts.{some}.", f".experts.{missing}.")
        raise ValueError(f"{name} is missing")
    if unknown := sorted(names.keys() - range(count)):
        raise ValueError(f"{names[unknown[0]]} is unknown, there are {count} experts")
    first = weights[names[0]]
    for name in names.values():
        if weights[name].shape != first.shape or weights[name].dtype != first.dtype:
            raise ValueError(
                f"{name} has the shape {list(weights[name].shape)}, but the first expert has {list(first.shape)}"
            )
