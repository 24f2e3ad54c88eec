"""Sizes of a model's caches, from its config.json: what each layer stores per token and in total. Imports no mlx."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.config import CACHE_STEP, WINDOW_GRAIN
from mtplx_engine.models.config_checks import CONFIG_NAME, is_size
from mtplx_engine.models.json_files import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


# mlx-lm's defaults for settings that a config.json lacks.
LATENT_DEFAULTS = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}
QWEN3_5_DEFAULTS = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "linear_num_value_heads": 64,
    "linear_num_key_heads": 16,
    "linear_key_head_dim": 192,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 4,
}
QWEN3_NEXT_DEFAULTS = {"full_attention_interval": 4}


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers with the same cache.

    Attributes:
        numbers: Numbers that each stores per token, keys and values together.
        window: Tokens that each stores, 0 for all.
    """

    count: int
    numbers: int
    window: int = 0

    def room(self, context: int, chunk: int) -> int:
        """Return the capacity in tokens of a layer's buffers, after `context` tokens in forwards of `chunk`."""
        grown = _up(context)
        if not self.window:
            return grown
        return min(grown, self.window + WINDOW_GRAIN + _up(chunk)) + CACHE_STEP


@dataclass(frozen=True, slots=True)
class CacheLayout:
    """The caches of all layers.

    Attributes:
        layers: Those that store numbers per token.
        tail: Numbers in the convolution tails of all recurrent layers, in the type of activations.
        state: Numbers in the states of all recurrent layers, in float32.
    """

    layers: tuple[Layers, ...]
    tail: int = 0
    state: int = 0

    @property
    def a_token(self) -> int:
        """Numbers per token in a layer with full attention, as that of a drafting head has."""
        return max((layers.numbers for layers in self.layers if not layers.window), default=0)

    @property
    def growth(self) -> int:
        """Numbers that all layers store for one more token; those with a window do not grow."""
        return sum(layers.count * layers.numbers for layers in self.layers if not layers.window)

    def a_layer(self, context: int) -> int:
        """Return the numbers in the buffers of a layer with full attention after `context` tokens."""
        return self.a_token * _up(context)

    def numbers(self, context: int, chunk: int) -> int:
        """Return the numbers in the buffers of all layers after `context` tokens in forwards of `chunk`."""
        return sum(layers.count * layers.numbers * layers.room(context, chunk) for layers in self.layers)

    def fixed(self, item: int) -> int:
        """Return the bytes of recurrent layers, which do not grow with the context; activations have `item` bytes."""
        return self.tail * item + self.state * 4

    def snapshot(self, context: int, item: int) -> int:
        """Return the bytes of one cache checkpoint: all state that cannot be restored by trimming."""
        windows = (layers for layers in self.layers if layers.window)
        return self.fixed(item) + item * sum(
            layers.count * layers.numbers * min(context, layers.window + WINDOW_GRAIN) for layers in windows
        )


def cache_layout_of(config: Mapping[str, Any]) -> CacheLayout:
    """Return the cache layout of a model with this config.json, checked and laid flat.

    Raises:
        EngineError: REFUSED, when a setting is missing or out of range.
    """
    return _LAYOUTS.get(config["model_type"], _grouped)(config)


class _Sizes:
    """Checked access to a config.json laid flat; `defaults` are mlx-lm's own for settings that are missing.

    Numbers and lists of another kind than asked for raise EngineError REFUSED.
    """

    def __init__(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self._values = {**defaults, **config}

    def __getitem__(self, name: str) -> int:
        """Return a whole number, which must be there."""
        value = self.get(name)
        if value is None:
            raise refused(CONFIG_NAME, f"does not say {name}")
        return value

    def get(self, name: str) -> int | None:
        """Return a number, or None where there is none."""
        value = self._values.get(name)
        if value is None:
            return None
        if not is_size(value):
            raise refused(CONFIG_NAME, f"says {name} is {str(value)[:20]!r}, but it must be a whole number")
        number: int = value
        return number

    def period(self, name: str) -> int:
        """Return a number that counts layers off, at least 1."""
        value = self[name]
        if not value:
            raise refused(CONFIG_NAME, f"says {name} is 0, but it must be at least 1")
        return value

    def is_on(self, name: str) -> bool:
        return bool(self._values.get(name))

    def items(self, name: str) -> list[Any]:
        """Return a list, empty where there is none."""
        value = self._values.get(name) or []
        if not isinstance(value, list):
            raise refused(CONFIG_NAME, f"says {name} is {str(value)[:20]!r}, but it must be a list")
        return value


def _up(tokens: int) -> int:
    return -(-tokens // CACHE_STEP) * CACHE_STEP


def _pair(sizes: _Sizes, heads: str = "num_key_value_heads", width: str = "head_dim") -> int:
    """Return the numbers of keys and values per token of grouped heads."""
    queries = sizes["num_attention_heads"]
    each = sizes.get(width) or sizes["hidden_size"] // queries
    count = sizes.get(heads)
    return 2 * each * (queries if count is None else count)


def _grouped(config: Mapping[str, Any]) -> CacheLayout:
    """Full attention in every layer, or a sliding window in those that `layer_types` names."""
    sizes = _Sizes(config, {})
    types = sizes.items("layer_types") or ["full_attention"] * sizes["num_hidden_layers"]
    return _mixed(types, _pair(sizes), _pair(sizes), sizes.get("sliding_window"))


def _mixed(types: list[Any], full: int, sliding: int, window: int | None) -> CacheLayout:
    slid = types.count("sliding_attention") if window else 0
    return CacheLayout((Layers(len(types) - slid, full), Layers(slid, sliding, window or 0)))


def _latent(config: Mapping[str, Any]) -> CacheLayout:
    sizes = _Sizes(config, LATENT_DEFAULTS)
    numbers = sizes["kv_lora_rank"] + sizes["qk_rope_head_dim"]
    return CacheLayout((Layers(sizes["num_hidden_layers"], numbers),))


def _indexed(config: Mapping[str, Any]) -> CacheLayout:
    """Latents, and beside them the keys of an index, which are stored twice."""
    sizes = _Sizes(config, {**LATENT_DEFAULTS, "index_head_dim": 128})
    numbers = sizes["kv_lora_rank"] + sizes["qk_rope_head_dim"] + 2 * sizes["index_head_dim"]
    return CacheLayout((Layers(sizes["num_hidden_layers"], numbers),))


def _gated_delta(defaults: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], CacheLayout]:
    def layout(config: Mapping[str, Any]) -> CacheLayout:
        sizes = _Sizes(config, defaults)
        layers = sizes["num_hidden_layers"]
        full = layers // sizes.period("full_attention_interval")
        heads, width = sizes["linear_num_value_heads"], sizes["linear_key_head_dim"]
        channels = 2 * sizes["linear_num_key_heads"] * width + heads * sizes["linear_value_head_dim"]
        tail = max(sizes["linear_conv_kernel_dim"] - 1, 0) * channels
        state = heads * sizes["linear_value_head_dim"] * width
        recurrent = layers - full
        return CacheLayout((Layers(full, _pair(sizes)),), recurrent * tail, recurrent * state)

    return layout


def _gemma4(config: Mapping[str, Any]) -> CacheLayout:
    """The last layers share caches of earlier ones; keys of full attention are wider, and may be the values too."""
    defaults = {
        "head_dim": 256,
        "global_head_dim": 512,
        "num_key_value_heads": 1,
        "num_kv_shared_layers": 20,
        "sliding_window": 512,
        "sliding_window_pattern": 5,
    }
    sizes = _Sizes(config, defaults)
    count, period = sizes["num_hidden_layers"], sizes.period("sliding_window_pattern")
    types = sizes.items("layer_types") or [
        "sliding_attention" if (number + 1) % period else "full_attention" for number in range(count)
    ]
    few = sizes.is_on("attention_k_eq_v") and sizes.get("num_global_key_value_heads")
    heads = "num_global_key_value_heads" if few else "num_key_value_heads"
    width = "global_head_dim" if sizes["global_head_dim"] else "head_dim"
    own = types[: max(count - sizes["num_kv_shared_layers"], 0)]
    return _mixed(own, _pair(sizes, heads, width), _pair(sizes), sizes["sliding_window"])


def _mimo_v2(config: Mapping[str, Any]) -> CacheLayout:
    sizes = _Sizes(config, {})
    slid = sizes.items("hybrid_layer_pattern").count(1)
    full = sizes["num_key_value_heads"] * (sizes["head_dim"] + sizes["v_head_dim"])
    sliding = sizes["swa_num_key_value_heads"] * (sizes["swa_head_dim"] + sizes["swa_v_head_dim"])
    window = sizes["sliding_window_size"]
    return CacheLayout((Layers(sizes["num_hidden_layers"] - slid, full), Layers(slid, sliding, window)))


def _step3p5(config: Mapping[str, Any]) -> CacheLayout:
    sizes = _Sizes(config, {"sliding_window": 512})
    types = sizes.items("layer_types") or [
        "full_attention" if number % 2 else "sliding_attention" for number in range(sizes["num_hidden_layers"])
    ]
    full = _pair(sizes, "num_attention_groups")
    other = config.get("attention_other_setting")
    sliding = _pair(_Sizes({**config, **other}, {}), "num_attention_groups") if isinstance(other, dict) else full
    return _mixed(types, full, sliding, sizes["sliding_window"])


def _nemotron_h(config: Mapping[str, Any]) -> CacheLayout:
    """Attention, Mamba and feed-forward blocks by a pattern, of letters or of words."""
    sizes = _Sizes(config, {})
    pattern = config.get("hybrid_override_pattern")
    blocks = list(pattern) if isinstance(pattern, str) else sizes.items("hybrid_override_pattern")
    blocks = blocks or sizes.items("layers_block_type") or sizes.items("layer_types")
    attention = sum(block in ("*", "attention", "full_attention") for block in blocks)
    mamba = sum(block in ("M", "mamba", "conv", "linear_attention") for block in blocks)
    inner = sizes["mamba_num_heads"] * sizes["mamba_head_dim"]
    channels = inner + 2 * sizes["n_groups"] * sizes["ssm_state_size"]
    tail = max(sizes["conv_kernel"] - 1, 0) * channels
    state = inner * sizes["ssm_state_size"]
    return CacheLayout((Layers(attention, _pair(sizes)),), mamba * tail, mamba * state)


_QWEN3_5 = _gated_delta(QWEN3_5_DEFAULTS)
_LAYOUTS: Mapping[str, Callable[[Mapping[str, Any]], CacheLayout]] = {
    "deepseek_v3": _latent,
    "deepseek_v32": _indexed,
    "gemma4": _gemma4,
    "gemma4_text": _gemma4,
    "glm4_moe_lite": _latent,
    "glm_moe_dsa": _indexed,
    "kimi_k2": _latent,
    "mimo_v2_flash": _mimo_v2,
    "nemotron_h": _nemotron_h,
    "qwen3_5": _QWEN3_5,
    "qwen3_5_moe": _QWEN3_5,
    "qwen3_next": _gated_delta(QWEN3_NEXT_DEFAULTS),
    "step3p5": _step3p5,
}
"""By config.json's `model_type`; the others store keys and values of grouped heads."""
