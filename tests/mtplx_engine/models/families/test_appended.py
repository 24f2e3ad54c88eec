"""DeepSeek-V3 and GLM: trunk and head from either layout, packed or not, and a head that follows its description."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.utils import load_model

from mtplx_engine import backend
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, head_builder, inspection, loader, probe
from mtplx_engine.models.families.registry import family_for
from mtplx_engine.models.inspection import ProbeMemory
from mtplx_engine.models.manifest import Wiring
from tests.support.appended_reference import Reference
from tests.support.checkpoints import deepseek_v3, glm4_moe, glm4_moe_lite, shards
from tests.support.checkpoints.family_case import check_same, load, numbers, write
from tests.support.tiny_chat import PROMPT, Chat, Spelling

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel
    from tests.support.checkpoints.appended import Tiny


TINIES = {module.TINY.config["model_type"]: module.TINY for module in (deepseek_v3, glm4_moe, glm4_moe_lite)}
CARRIES_NORMED = {"deepseek_v3": False, "glm4_moe": True, "glm4_moe_lite": True}

families = pytest.mark.parametrize("tiny", TINIES.values(), ids=TINIES.keys())


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LoadedModel]:
    """Each family's checkpoint, unpacked and in the original layout."""
    folders = {name: tmp_path_factory.mktemp(name) for name in TINIES}
    for name, tiny in TINIES.items():
        write(folders[name], tiny, tiny.original(tiny.converted(), repeats=True))
    return {name: load(folder) for name, folder in folders.items()}


@families
@pytest.mark.parametrize(("bits", "group_size"), [(None, 0), *itertools.product((4, 8), (32, 64))], ids=str)
def test_both_layouts_hold_the_same_model(tiny: Tiny, bits: int | None, group_size: int, tmp_path: Path) -> None:
    converted, settings = tiny.converted(), {}
    packed = converted
    if bits:
        packed, converted = shards.pack(converted, bits, group_size)
        settings = {"quantization": {"bits": bits, "group_size": group_size}}
    write(tmp_path / "original", tiny, tiny.original(converted, repeats=True))
    write(tmp_path / "converted", tiny, packed, **settings)
    check_same(numbers(load(tmp_path / "original")), numbers(load(tmp_path / "converted")))


@families
def test_weights_may_stay_packed(tiny: Tiny, tmp_path: Path) -> None:
    packed, _ = shards.pack(tiny.converted(), 4, 32)
    write(tmp_path, tiny, packed, quantization={"bits": 4, "group_size": 32})
    policy = dataclasses.replace(backend.policy(), keep_quantized=True)
    kept = loader.load_checkpoint(checkpoint.check(tmp_path), policy, lambda *_: None)
    for expected, got in zip(numbers(load(tmp_path)), numbers(kept), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-3)


@families
def test_the_head_follows_its_published_description(tiny: Tiny, loaded: dict[str, LoadedModel]) -> None:
    family = tiny.config["model_type"]
    hidden, _, distributions, drafts = numbers(loaded[family])
    tensors = {name: np.array(array) for name, array in tiny.original(tiny.converted(), repeats=False).items()}
    reference = Reference(tiny.config, tensors, carries_normed=CARRIES_NORMED[family])
    logits = reference.draft_logits(hidden[:-1], PROMPT[1:], drafts)
    expected = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(np.log(distributions), expected, atol=1e-4)
    other = dataclasses.replace(reference, carries_normed=not CARRIES_NORMED[family])
    wrong = other.draft_logits(hidden[:-1], PROMPT[1:], drafts)
    assert abs(wrong - logits)[0].max() == 0
    assert (abs(wrong - logits)[1:].max(axis=-1) > 1e-2).all()


@families
def test_the_trunk_is_that_of_mlx_lm(tiny: Tiny, loaded: dict[str, LoadedModel], tmp_path: Path) -> None:
    trunk = {name: array for name, array in tiny.converted().items() if not name.startswith(tiny.head_prefix)}
    stock, _ = load_model(write(tmp_path, tiny, trunk))
    _, logits, _, _ = numbers(loaded[tiny.config["model_type"]])
    np.testing.assert_allclose(logits, np.array(stock(mx.array([PROMPT]))[0]), atol=1e-4)


@families
def test_its_head_can_be_tried(tiny: Tiny, loaded: dict[str, LoadedModel]) -> None:
    model = loaded[tiny.config["model_type"]]
    checked = checkpoint.check(model.path)
    assert checked.head
    family = family_for(checked.config)
    tokens = mx.array([(7 * place * place + place) % model.target.vocabulary for place in range(40)], mx.int32)
    verdict = probe.probe(
        family,
        checked.config,
        model.target.model,
        head_builder.read(checked.head),
        published=family.wiring({}),
        tokens=tokens,
        policy=backend.policy(),
    )
    assert len(verdict.agreement) == 3
    assert 0 <= verdict.score <= 1


@families
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_greedy_answers_are_those_of_plain_decoding(tiny: Tiny, depth: int, loaded: dict[str, LoadedModel]) -> None:
    model = loaded[tiny.config["model_type"]]
    model = dataclasses.replace(model, tokenizer=Spelling(), end_ids=frozenset())
    plain = Chat(model).answer(depth=0, max_tokens=14)
    for right in range(depth + 1):
        chat = Chat(model, right=(right,))
        assert chat.answer(depth=depth, max_tokens=14) == plain
        assert any(cycle.accepted == right for cycle in chat.cycles if cycle.drafted == depth)
        chat.check()


@families
def test_a_head_may_leave_out_what_it_repeats(tiny: Tiny, tmp_path: Path) -> None:
    tensors = tiny.converted()
    write(tmp_path / "with", tiny, tiny.original(tensors, repeats=True))
    write(tmp_path / "without", tiny, tiny.original(tensors, repeats=False))
    with_repeats, without = numbers(load(tmp_path / "with")), numbers(load(tmp_path / "without"))
    np.testing.assert_array_equal(without.distributions, with_repeats.distributions)


@families
@pytest.mark.parametrize("short", ["embed_tokens.weight", "shared_head.head.weight"])
def test_a_head_with_ends_of_its_own_is_off(tiny: Tiny, short: str, tmp_path: Path) -> None:
    tensors = tiny.original(tiny.converted(), repeats=True)
    name = tiny.head_prefix + short
    model = load(write(tmp_path, tiny, tensors | {name: tensors[name] * 1.01}))
    assert model.new_drafter is None
    assert f"does not share {short} with its model" in model.drafter_note


@families
@pytest.mark.parametrize("layout", ["original", "converted"])
def test_every_tensor_of_the_head_must_be_there(tiny: Tiny, layout: str) -> None:
    tensors = tiny.converted()
    if layout == "original":
        tensors = tiny.original(tensors, repeats=False)
    prefix = tiny.head_prefix
    raw = {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
    family = family_for(tiny.config)

    def build(changed: Mapping[str, mx.array]) -> None:
        head_builder.build_head(family, tiny.config, changed, Wiring(), backend.policy())

    build(raw)
    for name, array in raw.items():
        others = {other: raw[other] for other in raw if other != name}
        with pytest.raises(head_builder.HeadMismatchError, match="missing"):
            build(others)
        with pytest.raises(head_builder.HeadMismatchError):
            build({**raw, name: mx.concatenate([array, array])})
    with pytest.raises(head_builder.HeadMismatchError, match=r"stray\.weight is unknown"):
        build({**raw, "stray.weight": raw["enorm.weight"]})
    with pytest.raises(head_builder.HeadMismatchError, match=r"experts\.9"):
        build({**raw, "mlp.experts.9.up_proj.weight": raw["eh_proj.weight"]})


def test_a_repository_of_its_own_holds_the_same_head(tmp_path: Path) -> None:
    tiny = TINIES["glm4_moe_lite"]
    tensors, head = tiny.converted(), tmp_path / "with" / "mtp"
    trunk, apart = tiny.apart(tensors)
    write(tmp_path / "without", tiny, tensors)
    write(head.parent, tiny, trunk)
    write(head, tiny, apart, model_type="glm4_moe_lite_mtp")
    check_same(numbers(load(tmp_path / "without")), numbers(load(head.parent)))


def test_kimi_k2_is_deepseek_v3_by_another_name(loaded: dict[str, LoadedModel], tmp_path: Path) -> None:
    tiny = TINIES["deepseek_v3"]
    write(tmp_path, tiny, tiny.original(tiny.converted(), repeats=True), model_type="kimi_k2")
    check_same(numbers(loaded["deepseek_v3"]), numbers(load(tmp_path)))


def test_fp8_weights_are_unpacked_in_trunk_and_head(tmp_path: Path) -> None:
    tiny = TINIES["deepseek_v3"]
    packed, unpacked = shards.pack_fp8(tiny.original(tiny.converted(), repeats=True))
    settings = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    write(tmp_path / "packed", tiny, packed, **settings)
    write(tmp_path / "unpacked", tiny, unpacked)
    check_same(numbers(load(tmp_path / "unpacked")), numbers(load(tmp_path / "packed")))


@families
@pytest.mark.parametrize("gone", ["eh_proj.weight", "enorm.weight", "mlp.gate.weight"])
def test_a_damaged_head_is_off_and_its_model_is_not(tiny: Tiny, gone: str, tmp_path: Path) -> None:
    tensors = tiny.converted()
    del tensors[tiny.head_prefix + gone]
    model = load(write(tmp_path, tiny, tensors))
    assert model.new_drafter is None
    assert "does not fit this model" in model.drafter_note
    assert "is missing" in model.drafter_note


@families
def test_a_layer_too_many_is_no_head(tiny: Tiny, tmp_path: Path) -> None:
    """A trunk that is longer than its config.json says would lose its last layer without a word."""
    tensors = tiny.converted()
    layer = {name.replace("layers.1.", "layers.2."): array for name, array in tensors.items() if "layers.1." in name}
    trunk = {name: array for name, array in tensors.items() if not name.startswith(tiny.head_prefix)}
    write(tmp_path, tiny, trunk | layer)
    with pytest.raises(EngineError, match=r"model\.layers\.2\..* is unknown") as caught:
        load(tmp_path)
    assert caught.value.kind is ErrorKind.REFUSED


@families
def test_a_second_head_is_not_dropped_without_a_word(tiny: Tiny, tmp_path: Path) -> None:
    tensors = tiny.converted()
    second = f"model.layers.{tiny.config['num_hidden_layers'] + 1}.enorm.weight"
    write(tmp_path, tiny, tensors | {second: tensors["model.norm.weight"]})
    with pytest.raises(EngineError) as caught:
        load(tmp_path)
    assert caught.value.kind is ErrorKind.REFUSED
    assert f"{second} is unknown" in str(caught.value)


@families
def test_the_bias_of_the_router_keeps_its_precision(tiny: Tiny) -> None:
    prefix, tensors = tiny.head_prefix, tiny.converted()
    raw = {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
    policy = dataclasses.replace(backend.policy(), dtype="bfloat16")
    head = head_builder.build_head(family_for(tiny.config), tiny.config, raw, Wiring(), policy)
    assert head.layers[0].mlp.gate.e_score_correction_bias.dtype == mx.float32
    assert head.layers[0].mlp.gate.weight.dtype == mx.bfloat16


@families
def test_of_several_drafting_layers_the_first_is_used(tiny: Tiny, tmp_path: Path) -> None:
    tensors = tiny.original(tiny.converted(), repeats=True)
    number = tiny.config["num_hidden_layers"]
    further = {
        name.replace(f"layers.{number}.", f"layers.{number + 1}."): 2 * array
        for name, array in tensors.items()
        if name.startswith(tiny.head_prefix)
    }
    one = write(tmp_path / "one", tiny, tensors, num_nextn_predict_layers=1)
    two = write(tmp_path / "two", tiny, tensors | further, num_nextn_predict_layers=2)
    check_same(numbers(load(two)), numbers(load(one)))
    notes = {folder: inspection.inspect(folder, ProbeMemory(tmp_path)).notes for folder in (one, two)}
    assert [*notes[two]] == [
        *notes[one],
        "It has several drafting layers, of which this version uses the first.",
    ]
