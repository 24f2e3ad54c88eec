"""A head that is one more decoder layer, in plain NumPy and float64, from its published description.

Takes the original layout. Every step is computed over the whole sequence, with nothing cached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Reference:
    """The head of one checkpoint.

    Attributes:
        config: Its config.json.
        tensors: All tensors, in the original layout.
        carries_normed: Whether the next step takes the output of `shared_head.norm`, or what goes into it.
    """

    config: Mapping[str, Any]
    tensors: Mapping[str, Array]
    carries_normed: bool

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
            block = self._block(self._joined(hidden, known))[-1]
            normed = self._norm(block, "shared_head.norm")
            rows.append(self.tensors["lm_head.weight"].astype(np.float64) @ normed)
            hidden = np.concatenate([hidden, [normed if self.carries_normed else block]])
            known.append(draft)
        return np.stack(rows)

    def _joined(self, hidden: Array, tokens: list[int]) -> Array:
        embedded = self.tensors["model.embed_tokens.weight"].astype(np.float64)[tokens]
        halves = [self._norm(embedded, "enorm"), self._norm(hidden, "hnorm")]
        return np.concatenate(halves, axis=-1) @ self._weight("eh_proj").T

    def _block(self, x: Array) -> Array:
        attend = self._latent_attention if "kv_lora_rank" in self.config else self._grouped_attention
        x = x + attend(self._norm(x, "input_layernorm"))
        return x + self._experts(self._norm(x, "post_attention_layernorm"))

    def _latent_attention(self, x: Array) -> Array:
        config, heads = self.config, self.config["num_attention_heads"]
        plain, rank = config["qk_nope_head_dim"], config["kv_lora_rank"]
        inner_eps = 1e-6 if config["model_type"] == "deepseek_v3" else config["rms_norm_eps"]
        low = self._norm(x @ self._weight("self_attn.q_a_proj").T, "self_attn.q_a_layernorm", inner_eps)
        queries = (low @ self._weight("self_attn.q_b_proj").T).reshape(len(x), heads, -1)
        compressed = x @ self._weight("self_attn.kv_a_proj_with_mqa").T
        latents = self._norm(compressed[:, :rank], "self_attn.kv_a_layernorm", inner_eps)
        unpacked = (latents @ self._weight("self_attn.kv_b_proj").T).reshape(len(x), heads, -1)
        keys, values = unpacked[..., :plain], unpacked[..., plain:]
        angles, stretch = _angles(config, config["qk_rope_head_dim"], len(x))
        shared = _rotate_pairs(compressed[:, None, rank:], angles)
        rotated = _rotate_pairs(queries[..., plain:], angles)
        scores = np.einsum("ihd,jhd->hij", queries[..., :plain], keys)
        scores += np.einsum("ihd,jd->hij", rotated, shared[:, 0])
        mixed = mix(scores * stretch**2 / math.sqrt(queries.shape[-1]), values)
        return mixed @ self._weight("self_attn.o_proj").T

    def _grouped_attention(self, x: Array) -> Array:
        config, width = self.config, self.config["head_dim"]
        projected = [
            (x @ self._weight(f"self_attn.{name}").T + self._tensor(f"self_attn.{name}.bias")).reshape(
                len(x), -1, width
            )
            for name in ("q_proj", "k_proj", "v_proj")
        ]
        queries, keys, values = projected
        rotary = int(width * config["partial_rotary_factor"])
        angles, _ = _angles(config, rotary, len(x))
        queries = rotate_halves(self._norm(queries, "self_attn.q_norm"), angles)
        keys = rotate_halves(self._norm(keys, "self_attn.k_norm"), angles)
        group = queries.shape[1] // keys.shape[1]
        keys, values = np.repeat(keys, group, axis=1), np.repeat(values, group, axis=1)
        mixed = mix(np.einsum("ihd,jhd->hij", queries, keys) / math.sqrt(width), values)
        return mixed @ self._weight("self_attn.o_proj").T

    def _experts(self, x: Array) -> Array:
        return np.stack([self._experts_of(row) for row in x])

    def _experts_of(self, row: Array) -> Array:
        config = self.config
        affinity = 1 / (1 + np.exp(-self._weight("mlp.gate") @ row))
        biased = affinity + self._tensor("mlp.gate.e_score_correction_bias")
        groups = biased.reshape(config["n_group"], -1)
        best_two = np.sort(groups, axis=1)[:, -2:].sum(axis=1)
        allowed = np.argsort(-best_two)[: config["topk_group"]]
        masked = np.full_like(groups, -np.inf)
        masked[allowed] = groups[allowed]
        chosen = np.argsort(-masked.ravel())[: config["num_experts_per_tok"]]
        weights = affinity[chosen] / affinity[chosen].sum() * config["routed_scaling_factor"]
        routed = sum(
            weight * self._mlp(f"mlp.experts.{expert}", row) for weight, expert in zip(weights, chosen, strict=True)
        )
        return routed + self._mlp("mlp.shared_experts", row)

    def _mlp(self, path: str, row: Array) -> Array:
        gate, up = (self._weight(f"{path}.{name}") @ row for name in ("gate_proj", "up_proj"))
        return self._weight(f"{path}.down_proj") @ (gate / (1 + np.exp(-gate)) * up)

    def _norm(self, x: Array, name: str, eps: float | None = None) -> Array:
        eps = self.config["rms_norm_eps"] if eps is None else eps
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * self._weight(name)

    def _weight(self, name: str) -> Array:
        return self._tensor(f"{name}.weight")

    def _tensor(self, name: str) -> Array:
        return self.tensors[f"model.layers.{self.config['num_hidden_layers']}.{name}"].astype(np.float64)


def _angles(config: Mapping[str, Any], width: int, length: int) -> tuple[Array, float]:
    """Return the rotation [length, width / 2] of each position, and how much YaRN stretches queries and keys."""
    exponents = np.arange(0, width, 2) / width
    frequencies = config["rope_theta"] ** -exponents
    stretch = 1.0
    if config["rope_scaling"]:
        scaling = config["rope_scaling"]
        # Turns that each frequency makes over the original window; few turns are slowed down by the factor.
        window = scaling["original_max_position_embeddings"]

        def dimension(turns: float) -> float:
            return width * math.log(window / (turns * 2 * math.pi)) / (2 * math.log(config["rope_theta"]))

        low = max(math.floor(dimension(scaling["beta_fast"])), 0)
        high = min(math.ceil(dimension(scaling["beta_slow"])), width - 1)
        slowed = np.clip((np.arange(width // 2) - low) / max(high - low, 0.001), 0, 1)
        frequencies = frequencies * (1 - slowed) + frequencies / scaling["factor"] * slowed
        stretch = 0.1 * scaling["mscale_all_dim"] * math.log(scaling["factor"]) + 1
    return np.arange(length)[:, None] * frequencies, stretch


def _rotate_pairs(x: Array, angles: Array) -> Array:
    """Rotate neighbours of x [n, heads, width] together."""
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)[:, None]
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


def rotate_halves(x: Array, angles: Array) -> Array:
    """Rotate the first 2 r numbers of x [n, heads, width], number i with number i + r; leave the others."""
    count = angles.shape[1]
    turned = (x[..., :count] + 1j * x[..., count : 2 * count]) * np.exp(1j * angles)[:, None]
    return np.concatenate([turned.real, turned.imag, x[..., 2 * count :]], axis=-1)


def mix(scores: Array, values: Array) -> Array:
    """Attend causally: scores [heads, n, n], values [n, heads, d]; returns [n, heads * d]."""
    scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return np.einsum("hij,jhd->ihd", shares, values).reshape(len(values), -1)
