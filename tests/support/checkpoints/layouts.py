"""Tiny trunks in every layout that mlx-lm reads: converted, as published, and packed in all ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten

from mtplx_engine.models.families.registry import family_for
from tests.support.checkpoints import deepseek_v3, glm4_moe, glm4_moe_lite, hybrid, shards

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Tensors = dict[str, mx.array]


LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "vocab_size": 264,
}
TINIES: dict[str, Any] = {
    tiny.config["model_type"]: tiny
    for tiny in (
        hybrid.QWEN3_5,
        hybrid.QWEN3_5_MOE,
        hybrid.QWEN3_NEXT,
        deepseek_v3.TINY,
        glm4_moe.TINY,
        glm4_moe_lite.TINY,
    )
}
CONFIGS: dict[str, dict[str, Any]] = {"llama": LLAMA} | {name: dict(tiny.config) for name, tiny in TINIES.items()}
DTYPES = {
    mx.float32: "F32",
    mx.float16: "F16",
    mx.bfloat16: "BF16",
    mx.uint32: "U32",
    mx.uint8: "F8_E4M3",
    mx.int32: "I32",
}


class Spec(NamedTuple):
    """What a header says of a tensor."""

    dtype: str
    shape: tuple[int, ...]


def specs(tensors: Mapping[str, mx.array]) -> dict[str, Spec]:
    return {name: Spec(DTYPES[array.dtype], array.shape) for name, array in tensors.items()}


def trunk_of(config: Mapping[str, Any]) -> nn.Module:
    model, arguments = family_for(config).model_classes(config)
    return model(arguments.from_dict(config))


def parameters(module: nn.Module) -> Tensors:
    return dict(tree_flatten(module.parameters()))


class Layout(NamedTuple):
    """A trunk in one layout: its config.json and tensors."""

    config: Mapping[str, Any]
    tensors: Tensors


def converted(name: str) -> Layout:
    return Layout(CONFIGS[name], parameters(trunk_of(CONFIGS[name])))


def untied(name: str) -> Layout:
    config = CONFIGS[name] | {"tie_word_embeddings": False}
    return Layout(config, parameters(trunk_of(config)))


def with_rotary_frequencies(name: str) -> Layout:
    stray = {"model.layers.0.self_attn.rotary_emb.inv_freq": mx.zeros(8)}
    return converted(name)._replace(tensors=converted(name).tensors | stray)


def original(name: str) -> Layout:
    tiny = TINIES[name]
    published = (
        tiny.original(tiny.converted())
        if isinstance(tiny, hybrid.Tiny)
        else tiny.original(tiny.converted(), repeats=False)
    )
    return Layout(CONFIGS[name], without_head(name, published))


def numbered(name: str) -> Layout:
    tiny = TINIES[name]
    return Layout(CONFIGS[name], without_head(name, tiny.original(tiny.converted(), "numbered")))


def without_head(name: str, tensors: Tensors) -> Tensors:
    behind = getattr(TINIES[name], "head_prefix", "mtp.")
    return {tensor: array for tensor, array in tensors.items() if not tensor.startswith(behind)}


def packed(bits: int, group_size: int, mode: str = "affine") -> Callable[[str], Layout]:
    def make(name: str) -> Layout:
        settings = {"bits": bits, "group_size": group_size, "mode": mode}
        model = trunk_of(CONFIGS[name])
        nn.quantize(model, **settings)
        return Layout(CONFIGS[name] | {"quantization": settings}, parameters(model))

    return make


def mixed(name: str) -> Layout:
    """Most in 4 bits, some in 8, some not at all, and the settings say of these alone which."""
    model = trunk_of(CONFIGS[name])
    eight = {"bits": 8, "group_size": 32}
    own: dict[str, Any] = {}

    def choose(path: str, module: nn.Module) -> Any:
        if not hasattr(module, "to_quantized"):
            return False
        if path.endswith(("down_proj", "gate")):
            own[path] = eight
        elif path.endswith("o_proj"):
            own[path] = False
        return own.get(path, True)

    nn.quantize(model, 64, 4, class_predicate=choose)
    settings = {"bits": 4, "group_size": 64, **own}
    return Layout(CONFIGS[name] | {"quantization": settings}, parameters(model))


def in_fp8(name: str) -> Layout:
    tensors, _ = shards.pack_fp8(original(name).tensors)
    return Layout(CONFIGS[name] | {"quantization_config": {"quant_method": "fp8"}}, tensors)


def in_int4(name: str) -> Layout:
    """The experts as Kimi-K2's are published."""
    tensors: Tensors = {}
    for tensor, array in original(name).tensors.items():
        if ".experts." not in tensor:
            tensors[tensor] = array
            continue
        words, scales, _ = mx.quantize(array.astype(mx.bfloat16), group_size=32, bits=4)
        tensors[f"{tensor}_packed"] = words.view(mx.int32)
        tensors[f"{tensor}_scale"] = scales
        tensors[f"{tensor}_shape"] = mx.array(array.shape, mx.int32)
    settings = {"quant_method": "compressed-tensors", "format": "pack-quantized"}
    return Layout(CONFIGS[name] | {"quantization_config": settings}, tensors)


def with_joined_latents(name: str) -> Layout:
    """As older conversions are: packed, but keys and values in one matrix, and experts by number."""
    tensors: Tensors = {}
    for tensor, array in original(name).tensors.items():
        if tensor.endswith((".kv_b_proj.weight", "up_proj.weight", "down_proj.weight", ".o_proj.weight")):
            stem = tensor.removesuffix("weight")
            names = (f"{stem}{part}" for part in ("weight", "scales", "biases"))
            tensors |= dict(zip(names, mx.quantize(array, group_size=32, bits=8), strict=True))
        else:
            tensors[tensor] = array
    return Layout(CONFIGS[name] | {"quantization": {"bits": 8, "group_size": 32}}, tensors)


WIDE = [
    *((converted, name) for name in CONFIGS),
    *((original, name) for name in TINIES),
    *((packed(4, 32), name) for name in CONFIGS),
    (numbered, "qwen3_5_moe"),
    (in_fp8, "deepseek_v3"),
    (in_int4, "deepseek_v3"),
    (with_joined_latents, "deepseek_v3"),
    (with_joined_latents, "glm4_moe_lite"),
]
EVERY = [
    *WIDE,
    (untied, "llama"),
    (with_rotary_frequencies, "llama"),
    (with_rotary_frequencies, "deepseek_v3"),
    *((mixed, name) for name in CONFIGS),
    *((packed(*settings), "llama") for settings in ((3, 64), (4, 32, "mxfp4"), (8, 32, "mxfp8"), (4, 16, "nvfp4"))),
]
