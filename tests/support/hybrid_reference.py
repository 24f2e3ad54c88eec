"""The head of Qwen3-Next and Qwen3.5 in plain NumPy and float64, from its published description.

Takes the published layout. Every step is computed over the whole sequence, with nothing cached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.appended_reference import mix, rotate_halves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Reference:
    """The head of one checkpoint.

    Attributes:
        config: Settings of the language model.
        head: Tensors below `mtp.`.
        embedding: [V, H].
        output: [V, H].
    """

    config: Mapping[str, Any]
    head: Mapping[str, Array]
    embedding: Array
    output: Array

    def draft_logits(self, hidden: Array, tokens: Sequence[int], drafts: Sequence[int]) -> Array:
        """Return the logits [k, V] from which k drafts are chosen.

        Args:
            hidden: [n, H] of the target after its final norm.
            tokens: The n tokens behind those positions.
            drafts: The k tokens that were drafted then.
        """
        hidden, known = hidden.astype(np.float64), list(tokens)
        rows = []
        for draft in drafts:
            halves = [
                self._norm(self.embedding.astype(np.float64)[known], "pre_fc_norm_embedding"),
                self._norm(hidden, "pre_fc_norm_hidden"),
            ]
            x = np.concatenate(halves, axis=-1) @ self._matrix("fc").T
            x = x + self._attention(self._norm(x, "layers.0.input_layernorm"))
            x = x + self._feed_forward(self._norm(x, "layers.0.post_attention_layernorm"))
            carried = self._norm(x[-1], "norm")
            rows.append(self.output.astype(np.float64) @ carried)
            hidden = np.concatenate([hidden, [carried]])
            known.append(draft)
        return np.stack(rows)

    def _attention(self, x: Array) -> Array:
        width, heads = self.config["head_dim"], self.config["num_attention_heads"]
        both = (x @ self._matrix("layers.0.self_attn.q_proj").T).reshape(len(x), heads, 2, width)
        queries, gate = both[:, :, 0], both[:, :, 1].reshape(len(x), -1)
        keys, values = (
            (x @ self._matrix(f"layers.0.self_attn.{name}").T).reshape(len(x), -1, width)
            for name in ("k_proj", "v_proj")
        )
        angles = self._angles(len(x))
        queries = rotate_halves(self._norm(queries, "layers.0.self_attn.q_norm"), angles)
        keys = rotate_halves(self._norm(keys, "layers.0.self_attn.k_norm"), angles)
        group = heads // keys.shape[1]
        keys, values = np.repeat(keys, group, axis=1), np.repeat(values, group, axis=1)
        mixed = mix(np.einsum("ihd,jhd->hij", queries, keys) / math.sqrt(width), values)
        return (mixed * _sigmoid(gate)) @ self._matrix("layers.0.self_attn.o_proj").T

    def _angles(self, length: int) -> Array:
        rope = self.config.get("rope_parameters", self.config)
        width = int(self.config["head_dim"] * rope["partial_rotary_factor"])
        return np.arange(length)[:, None] * rope["rope_theta"] ** -(np.arange(0, width, 2) / width)

    def _feed_forward(self, x: Array) -> Array:
        if "num_experts" not in self.config:
            return self._mlp("layers.0.mlp", x)
        return np.stack([self._experts(row) for row in x])

    def _experts(self, row: Array) -> Array:
        scores = self._matrix("layers.0.mlp.gate") @ row
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        chosen = np.argsort(-shares)[: self.config["num_experts_per_tok"]]
        weights = shares[chosen] / shares[chosen].sum()
        routed = sum(
            weight * self._mlp(f"layers.0.mlp.experts.{expert}", row)
            for weight, expert in zip(weights, chosen, strict=True)
        )
        gate = _sigmoid(self._matrix("layers.0.mlp.shared_expert_gate") @ row)
        return routed + gate * self._mlp("layers.0.mlp.shared_expert", row)

    def _mlp(self, path: str, x: Array) -> Array:
        gate, up = (x @ self._matrix(f"{path}.{name}").T for name in ("gate_proj", "up_proj"))
        return (gate * _sigmoid(gate) * up) @ self._matrix(f"{path}.down_proj").T

    def _norm(self, x: Array, name: str) -> Array:
        scale = np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.config["rms_norm_eps"])
        return x / scale * (1 + self._matrix(name))

    def _matrix(self, name: str) -> Array:
        """Return a weight; of fused experts the part of one."""
        path, _, expert = name.partition(".experts.")
        fused = f"{path}.experts.gate_up_proj"
        if not expert or fused not in self.head:
            return self.head[f"{name}.weight"].astype(np.float64)
        number, projection = expert.split(".")
        if projection == "down_proj":
            return self.head[f"{path}.experts.down_proj"][int(number)].astype(np.float64)
        halves = np.split(self.head[fused][int(number)].astype(np.float64), 2)
        return halves[projection == "up_proj"]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))
