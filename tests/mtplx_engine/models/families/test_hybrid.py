"""Qwen3-Next and Qwen3.5: trunk and head from every layout, packed or not, and a head that follows its description."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.utils import load_model

from mtplx_engine import backend
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, config_checks, head_builder, loader
from mtplx_engine.models.families.registry import family_for
from mtplx_engine.models.manifest import Norms, Wiring
from tests.support.checkpoints import hybrid, shards
from tests.support.checkpoints.family_case import check_same, load, numbers, write
from tests.support.hybrid_reference import Reference
from tests.support.tiny_chat import PROMPT, Chat, Spelling

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel
    from tests.support.checkpoints.hybrid import Experts, Tiny


TINIES = {tiny.config["model_type"]: tiny for tiny in (hybrid.QWEN3_5, hybrid.QWEN3_5_MOE, hybrid.QWEN3_NEXT)}

families = pytest.mark.parametrize("tiny", TINIES.values(), ids=TINIES.keys())


def build(tiny: Tiny, raw: Mapping[str, mx.array], wiring: Wiring | None = None) -> None:
    config = config_checks.flat_config(dict(tiny.config))
    head_builder.build_head(family_for(config), config, raw, wiring or Wiring(), backend.policy())


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LoadedModel]:
    """Each family's checkpoint, unpacked and as published."""
    models = {}
    for name, tiny in TINIES.items():
        models[name] = load(write(tmp_path_factory.mktemp(name), tiny, tiny.original(tiny.converted())))
    return models


@families
@pytest.mark.parametrize(("bits", "group_size"), [(None, 0), *itertools.product((4, 8), (32, 64))], ids=str)
def test_both_layouts_hold_the_same_model(tiny: Tiny, bits: int | None, group_size: int, tmp_path: Path) -> None:
    converted, settings = tiny.converted(), {}
    packed = converted
    if bits:
        packed, converted = shards.pack(converted, bits, group_size)
        settings = {"quantization": {"bits": bits, "group_size": group_size}}
    write(tmp_path / "original", tiny, tiny.original(converted))
    write(tmp_path / "converted", tiny, packed, **settings)
    check_same(numbers(load(tmp_path / "original")), numbers(load(tmp_path / "converted")))


@families
def test_trunk_routers_and_head_may_be_packed_differently(tiny: Tiny, tmp_path: Path) -> None:
    converted = tiny.converted()
    four, unpacked = shards.pack(converted, 4, 32)
    is_head = {name: "mtp." in name for name in {**converted, **four}}
    mixed = {name: array for name, array in four.items() if not is_head[name]}
    mixed |= {name: array for name, array in converted.items() if is_head[name]}
    plain = {name: (converted if is_head[name] else unpacked)[name] for name in converted}
    settings: dict[str, object] = {"bits": 4, "group_size": 32}
    for name in [name for name in mixed if name.endswith(".mlp.gate.weight") and not is_head[name]]:
        path = name.removesuffix(".weight")
        parts = mx.quantize(mixed[name], group_size=64, bits=8)
        mixed |= dict(zip((name, f"{path}.scales", f"{path}.biases"), parts, strict=True))
        plain[name] = mx.dequantize(*parts, group_size=64, bits=8)
        settings[path] = {"bits": 8, "group_size": 64}
    write(tmp_path / "mixed", tiny, mixed, quantization=settings)
    write(tmp_path / "plain", tiny, tiny.original(plain))
    check_same(numbers(load(tmp_path / "plain")), numbers(load(tmp_path / "mixed")))


@families
def test_weights_that_stay_packed_compute_the_same(tiny: Tiny, tmp_path: Path) -> None:
    packed, _ = shards.pack(tiny.converted(), 8, 32)
    folder = write(tmp_path, tiny, packed, quantization={"bits": 8, "group_size": 32})
    policy = dataclasses.replace(backend.policy(), keep_quantized=True)
    kept = numbers(loader.load_checkpoint(checkpoint.check(folder), policy, lambda *_: None))
    unpacked = numbers(load(folder))
    np.testing.assert_allclose(kept.logits, unpacked.logits, atol=1e-3)
    np.testing.assert_allclose(kept.distributions, unpacked.distributions, atol=1e-3)


@pytest.mark.parametrize("bits", [None, 4])
@pytest.mark.parametrize("tied", [False, True])
def test_the_output_head_can_be_asked_for_some_tokens_alone(bits: int | None, *, tied: bool, tmp_path: Path) -> None:
    """Bit for bit as in all logits, and packed rows are not unpacked for it."""
    tiny = hybrid.QWEN3_5
    tensors, settings = tiny.converted(), {}
    config = dict(tiny.config) | {"text_config": {**tiny.text, "tie_word_embeddings": tied}}
    if tied:
        del tensors["language_model.lm_head.weight"]
    if bits:
        tensors, _ = shards.pack(tensors, bits, 32)
        settings = {"quantization": {"bits": bits, "group_size": 32}}
    shards.write(tmp_path, config | settings, tensors)
    policy = dataclasses.replace(backend.policy(), keep_quantized=True)
    target = loader.load_checkpoint(checkpoint.check(tmp_path), policy, lambda *_: None).target
    hidden = target.forward(mx.array(PROMPT, mx.int32), TokenCache(target.new_layers()))
    ids = mx.array([0, 7, 8, 200, 263])
    some, every = target.projection(ids)(hidden), target.projection(None)(hidden)
    np.testing.assert_array_equal(np.array(every), np.array(target.logits(hidden)))
    np.testing.assert_array_equal(np.array(some), np.array(every[:, ids]))


@families
def test_embedding_and_output_head_may_be_one(tiny: Tiny, tmp_path: Path) -> None:
    """Small models have them tied; an untied model with two equal ones is the same model."""
    tensors = tiny.original(tiny.converted())
    embedding = next(array for name, array in tensors.items() if name.endswith("embed_tokens.weight"))
    write(tmp_path / "untied", tiny, tensors | {"lm_head.weight": embedding})
    del tensors["lm_head.weight"]
    config = dict(tiny.config) | {"tie_word_embeddings": True}
    if "text_config" in config:
        config["text_config"] = {**tiny.text, "tie_word_embeddings": True}
    shards.write(tmp_path / "tied", config, tensors)
    check_same(numbers(load(tmp_path / "untied")), numbers(load(tmp_path / "tied")))


@pytest.mark.parametrize("experts", ["numbered", "fused"])
def test_experts_may_be_numbered_or_fused(experts: Experts, loaded: dict[str, LoadedModel], tmp_path: Path) -> None:
    tiny = hybrid.QWEN3_5_MOE
    write(tmp_path, tiny, tiny.original(tiny.converted(), experts))
    check_same(numbers(loaded["qwen3_5_moe"]), numbers(load(tmp_path)))


@families
def test_the_language_model_may_stand_alone(tiny: Tiny, loaded: dict[str, LoadedModel], tmp_path: Path) -> None:
    """Text-only repositories lay the nested settings flat and have no prefix before `model.`."""
    config = config_checks.flat_config(dict(tiny.config))
    tensors = {
        name.replace("model.language_model.", "model."): array
        for name, array in tiny.original(tiny.converted()).items()
    }
    shards.write(tmp_path, config, tensors)
    check_same(numbers(loaded[config["model_type"]]), numbers(load(tmp_path)))


@families
def test_the_head_follows_its_published_description(tiny: Tiny, loaded: dict[str, LoadedModel]) -> None:
    model = loaded[tiny.config["model_type"]]
    ours = numbers(model)
    tensors = {name: np.array(array) for name, array in tiny.original(tiny.converted()).items()}
    embedding = next(array for name, array in tensors.items() if name.endswith("embed_tokens.weight"))
    reference = Reference(tiny.text, tiny.head(tensors), embedding, tensors["lm_head.weight"])
    logits = reference.draft_logits(ours.hidden[:-1], PROMPT[1:], ours.drafts)
    expected = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(np.log(ours.distributions), expected, atol=1e-4)


@families
def test_the_trunk_is_that_of_mlx_lm(tiny: Tiny, loaded: dict[str, LoadedModel], tmp_path: Path) -> None:
    trunk = {name: array for name, array in tiny.original(tiny.converted()).items() if "mtp." not in name}
    stock, _ = load_model(write(tmp_path, tiny, trunk))
    ours = numbers(loaded[tiny.config["model_type"]])
    np.testing.assert_allclose(ours.logits, np.array(stock(mx.array([PROMPT]))[0]), atol=1e-4)


@families
def test_the_layout_tells_how_gains_are_stored(tiny: Tiny) -> None:
    family = family_for(tiny.config)
    converted = tiny.converted()
    for tensors, norms in (
        (converted, Norms.PLAIN),
        (tiny.original(converted), Norms.PLUS_ONE),
    ):
        shapes = {name: array.shape for name, array in tensors.items() if "mtp." not in name}
        assert family.wiring(shapes) == Wiring(norms=norms)


@families
@pytest.mark.parametrize("layout", ["original", "converted", "packed"])
def test_every_tensor_of_the_head_must_be_there_and_fit(tiny: Tiny, layout: str) -> None:
    tensors = tiny.converted()
    if layout == "original":
        tensors = tiny.original(tensors)
    if layout == "packed":
        tensors, _ = shards.pack(tensors, 4, 32)
    raw = tiny.head(tensors)
    build(tiny, raw)
    for name, array in raw.items():
        stem = name.split(".experts.")[0].removesuffix(".scales").removesuffix(".biases")
        others = {other: raw[other] for other in raw if other != name}
        with pytest.raises(head_builder.HeadMismatchError, match=stem):
            build(tiny, others)
        wrong = array[:-1] if array.shape[0] > 1 else mx.concatenate([array, array])
        with pytest.raises(head_builder.HeadMismatchError, match=stem):
            build(tiny, {**raw, name: wrong})
        with pytest.raises(head_builder.HeadMismatchError, match=stem):
            build(tiny, {**raw, name: array.astype(mx.int32)})
    with pytest.raises(head_builder.HeadMismatchError, match=r"layers\.1\.norm\.weight is unknown"):
        build(tiny, {**raw, "layers.1.norm.weight": raw["norm.weight"]})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("layers.0.mlp.experts.2.up_proj.weight", "is missing"),
        ("layers.0.mlp.experts.4.up_proj.weight", "is unknown, there are 4 experts"),
        (
            "layers.0.mlp.experts.1.down_proj.weight",
            r"has the shape \[64, 63\], but the first expert has \[64, 64\]",
        ),
    ],
)
def test_an_expert_that_does_not_fit_is_named(name: str, message: str) -> None:
    tiny = hybrid.QWEN3_NEXT
    raw = tiny.head(tiny.original(tiny.converted()))
    if message == "is missing":
        del raw[name]
    else:
        raw[name] = raw.get(name, raw["fc.weight"])[:, :63]
    with pytest.raises(head_builder.HeadMismatchError, match=f"^{name} {message}"):
        build(tiny, raw)


@pytest.mark.parametrize("shape", [(4, 127, 64), (128, 64), ()], ids=str)
def test_fused_experts_that_cannot_be_split_are_named(shape: tuple[int, ...]) -> None:
    tiny = hybrid.QWEN3_5_MOE
    raw = tiny.head(tiny.original(tiny.converted()))
    with pytest.raises(head_builder.HeadMismatchError, match=r"experts\.gate_up_proj"):
        build(tiny, raw | {"layers.0.mlp.experts.gate_up_proj": mx.zeros(shape)})


@families
def test_a_head_where_none_is_looked_for_is_not_dropped_without_a_word(tiny: Tiny, tmp_path: Path) -> None:
    tensors = tiny.original(tiny.converted())
    write(tmp_path, tiny, tensors | {"decoder.mtp.fc.weight": tensors["mtp.fc.weight"]})
    with pytest.raises(EngineError) as caught:
        load(tmp_path)
    assert caught.value.kind is ErrorKind.REFUSED
    assert "decoder.mtp.fc.weight is unknown" in str(caught.value)


@families
@pytest.mark.parametrize("stray", ["norm.weight", "layers.1.norm.weight"])
def test_a_second_head_is_named(tiny: Tiny, stray: str, tmp_path: Path) -> None:
    tensors = tiny.original(tiny.converted())
    write(tmp_path, tiny, tensors | {f"model.mtp.{stray}": tensors["mtp.norm.weight"]})
    model = load(tmp_path)
    assert model.new_drafter is None
    assert f"{stray} is unknown" in model.drafter_note


@families
def test_a_folder_of_its_own_may_hold_the_head(tiny: Tiny, loaded: dict[str, LoadedModel], tmp_path: Path) -> None:
    """As head-only repositories are: converted, no prefix, and a configuration whose model_type ends in `_mtp`."""
    converted = tiny.converted()
    write(tmp_path, tiny, {name: array for name, array in converted.items() if "mtp." not in name})
    folder = tmp_path / "head"
    folder.mkdir()
    mx.save_safetensors(str(folder / "model.safetensors"), tiny.head(converted))
    config = {**tiny.config, "model_type": f"{tiny.config['model_type']}_mtp"}
    (folder / "config.json").write_text(json.dumps(config))
    check_same(numbers(loaded[tiny.config["model_type"]]), numbers(load(tmp_path)))


@families
def test_the_decay_keeps_its_precision(tiny: Tiny, tmp_path: Path) -> None:
    folder = write(tmp_path, tiny, tiny.converted())
    policy = dataclasses.replace(backend.policy(), dtype="bfloat16")
    model = loader.load_checkpoint(checkpoint.check(folder), policy, lambda *_: None).target.model
    layer = model.layers[0].linear_attn
    assert layer.A_log.dtype == mx.float32
    assert layer.dt_bias.dtype == mx.bfloat16


@families
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_greedy_answers_are_those_of_plain_decoding(tiny: Tiny, depth: int, loaded: dict[str, LoadedModel]) -> None:
    model = loaded[tiny.config["model_type"]]
    model = dataclasses.replace(model, tokenizer=Spelling(), end_ids=frozenset())
    length = depth + 4  # the first cycle is a whole one, and what it leaves behind is used
    plain = Chat(model).answer(depth=0, max_tokens=length)
    for right in range(depth + 1):
        chat = Chat(model, right=(right,))
        assert chat.answer(depth=depth, max_tokens=length) == plain
        assert any(cycle.accepted == right for cycle in chat.cycles if cycle.drafted == depth)
        chat.check()
