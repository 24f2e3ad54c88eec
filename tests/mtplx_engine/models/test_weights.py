"""A tensor that is missing, of another shape or type, or too many is named, in the trunk and in the head."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import mlx.core as mx
import pytest

from mtplx_engine.errors import EngineError
from mtplx_engine.models import (
    checkpoint,
    config_checks,
    head_builder,
    safetensors_header,
    stored_tensors,
    weights,
)
from mtplx_engine.models.checkpoint import Checkpoint
from mtplx_engine.models.families import appended_names, family
from mtplx_engine.models.families.registry import family_for
from mtplx_engine.models.manifest import Wiring
from tests.support.checkpoints import hybrid, plain, shards
from tests.support.checkpoints.layouts import (
    CONFIGS,
    EVERY,
    TINIES,
    WIDE,
    Layout,
    Spec,
    converted,
    numbered,
    original,
    packed,
    specs,
)
from tests.support.model_folder import raw_safetensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path


TYPES = {
    "F32": mx.float32,
    "F16": mx.float16,
    "BF16": mx.bfloat16,
    "U32": mx.uint32,
    "F8_E4M3": mx.uint8,
    "I16": mx.int16,
}


def write(folder: Path, config: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Write a model whose weights are a header with a hole behind it."""
    (folder / "config.json").write_text(json.dumps(dict(config)))
    header, at = {}, 0
    for name, (dtype, shape) in found.items():
        end = at + math.prod(shape) * safetensors_header.ITEM_BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(file.write(raw_safetensors(header, 0)) + at)


def check(layout: Layout, folder: Path, found: Mapping[str, Any] | None = None) -> str:
    """Return why the layout, or other tensors than its own, are refused; empty when they are not."""
    found = specs(layout.tensors) if found is None else found
    write(folder, layout.config, found)
    config = config_checks.flat_config(dict(layout.config))
    try:
        stored_tensors.check_trunk(folder, layout.config, found)
        weights.load(Checkpoint(folder, "model", config, {}, None, None))
    except EngineError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("make", "name"), EVERY, ids=[f"{make.__name__}-{name}" for make, name in EVERY])
def test_what_mlx_lm_loads_passes(make: Callable[[str], Layout], name: str, tmp_path: Path) -> None:
    assert check(make(name), tmp_path) == ""


Specs = dict[str, Spec]


class Fault(NamedTuple):
    """One way in which the tensors of a layout do not fit: what they are then, and what the refusal names."""

    tensors: Specs
    named: str


def faults(found: Specs, tensor: str, stem: str) -> list[Fault]:
    """Return every fault of one tensor, whose refusal may name another part of the packed matrix `stem`."""
    spec, others = found[tensor], {other: found[other] for other in found if other != tensor}
    return [
        Fault(others, stem.removeprefix("lm_head")),
        Fault(found | {tensor: Spec(spec.dtype, (spec.shape[0] + 1, *spec.shape[1:]))}, stem),
        Fault(found | {tensor: Spec(spec.dtype, (*spec.shape, 1))}, stem),
        Fault(found | {tensor: Spec("I16", spec.shape)}, stem),
        Fault(others | {f"{tensor}x": spec}, f"{tensor}x"),
    ]


def wide_faults(layout: Layout) -> dict[str, list[Fault]]:
    """Return all faults of all tensors of a layout, by tensor."""
    found = specs(layout.tensors)
    is_packed = "quantization" in layout.config
    return {
        tensor: faults(found, tensor, tensor.rpartition(".")[0] if is_packed else tensor)
        for tensor in found
        if "inv_freq" not in tensor and not tensor.startswith("model.visual")
    }


def one_of_each_kind(names: Iterable[str]) -> list[str]:
    """Return one name for all that differ in the numbers of layers and experts alone."""
    return list({re.sub(r"(?<=\.)\d+(?=\.)", "#", name): name for name in names}.values())


@pytest.mark.parametrize(("make", "name"), WIDE, ids=[f"{make.__name__}-{name}" for make, name in WIDE])
def test_every_kind_of_tensor_must_be_there_in_its_shape_and_type(
    make: Callable[[str], Layout], name: str, tmp_path: Path
) -> None:
    """Each kind has one fault here, in every layout another one; all faults of all tensors are `long`."""
    layout, start = make(name), WIDE.index((make, name))
    by_tensor = wide_faults(layout)
    for number, tensor in enumerate(one_of_each_kind(by_tensor), start):
        fault = by_tensor[tensor][number % len(by_tensor[tensor])]
        assert fault.named in check(layout, tmp_path, fault.tensors), tensor


@pytest.mark.long
@pytest.mark.parametrize(("make", "name"), WIDE, ids=[f"{make.__name__}-{name}" for make, name in WIDE])
def test_every_tensor_must_be_there_in_its_shape_and_type(
    make: Callable[[str], Layout], name: str, tmp_path: Path
) -> None:
    layout = make(name)
    for tensor, ways in wide_faults(layout).items():
        for fault in ways:
            assert fault.named in check(layout, tmp_path, fault.tensors), tensor


def plain_layout(name: str, folder: Path) -> tuple[Layout, Specs]:
    """Write a model that only decodes plainly; return its layout and tensors, without those of its head."""
    tiny = plain.PLAIN[name]
    tiny.write(folder)
    written = checkpoint.weight_tensors(folder)
    found = {tensor: Spec(spec.dtype, spec.shape) for tensor, spec in written.items() if tensor != tiny.head}
    return Layout(tiny.config, {}), found


@pytest.mark.parametrize("name", plain.PLAIN)
def test_so_must_those_of_models_that_only_decode_plainly(name: str, tmp_path: Path) -> None:
    layout, found = plain_layout(name, tmp_path / "whole")
    assert check(layout, tmp_path, found) == ""
    for number, tensor in enumerate(one_of_each_kind(found)):
        fault = faults(found, tensor, tensor)[number % 5]
        assert fault.named in check(layout, tmp_path, fault.tensors), tensor


@pytest.mark.long
@pytest.mark.parametrize("name", plain.PLAIN)
def test_so_must_every_one_of_those(name: str, tmp_path: Path) -> None:
    layout, found = plain_layout(name, tmp_path / "whole")
    for tensor in found:
        for fault in faults(found, tensor, tensor):
            assert fault.named in check(layout, tmp_path, fault.tensors), tensor


def test_what_does_not_fit_is_counted(tmp_path: Path) -> None:
    layout = converted("llama")
    found = specs(layout.tensors)
    ups = [f"model.layers.{number}.mlp.up_proj.weight" for number in range(2)]
    rest = {name: spec for name, spec in found.items() if name not in ups}
    assert f": {ups[0]} is missing (and 1 more). Nothing was loaded" in check(layout, tmp_path, rest)
    turned = {name: Spec("F32", found[name].shape[::-1]) for name in ups}
    expected = f": {ups[0]} has the shape [64, 128] instead of [128, 64] (and 1 more)."
    assert expected in check(layout, tmp_path, found | turned)
    strays = {name: Spec("F32", (1,)) for name in ("a", "b", "c")}
    assert ": a is unknown (and 2 more)." in check(layout, tmp_path, found | strays)
    assert f"{ups[0]} is missing (and 1 more); a is unknown (and 2 more)." in check(layout, tmp_path, rest | strays)
    whole = found | {ups[0]: Spec("I8", found[ups[0]].shape)}
    assert f"{ups[0]} has the type I8 instead of BF16 or F16 or F32" in check(layout, tmp_path, whole)


@pytest.mark.parametrize("name", ["qwen3_5", "qwen3_5_moe"])
def test_what_is_missing_is_called_as_its_neighbours_are(name: str, tmp_path: Path) -> None:
    layout = original(name)
    found = specs(layout.tensors)
    gone = "model.language_model.layers.1.self_attn.k_norm.weight"
    del found[gone]
    assert f": {gone} is missing." in check(layout, tmp_path, found)


def test_a_tensor_under_two_names_is_there_twice(tmp_path: Path) -> None:
    layout = original("qwen3_5")
    found = specs(layout.tensors)
    name = "model.language_model.norm.weight"
    again = found | {"language_model.model.norm.weight": found[name]}
    assert f"language_model.model.norm.weight is there twice, as {name} too" in check(layout, tmp_path, again)


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("llama", {"intermediate_size": None}, "does not say intermediate_size"),
        ("llama", {"intermediate_size": "128"}, "intermediate_size is '128', but it must be a whole number"),
        ("llama", {"intermediate_size": 2**31}, "but it must be a whole number"),
        ("llama", {"text_config": "x", "intermediate_size": 1.5}, "intermediate_size is '1.5'"),
    ],
)
def test_numbers_that_cannot_be_are_said(name: str, changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    layout = converted(name)
    message = check(layout._replace(config={**layout.config, **changes}), tmp_path)
    assert message.startswith("config.json ")
    assert reason in message


@pytest.mark.parametrize(
    ("layout", "changes", "reason"),
    [
        (converted("llama"), {"layer_types": "full"}, "a setting in its config.json"),
        (original("qwen3_next"), {"decoder_sparse_step": 0}, "a setting in its config.json"),
        (original("deepseek_v3"), {"n_routed_experts": 10**9}, ".gate_proj.weight is missing"),
        (numbered("qwen3_5_moe"), {"num_experts": 10**9}, "a setting in its config.json"),
    ],
    ids=["kinds", "period", "experts", "nested experts"],
)
def test_a_setting_that_contradicts_the_weights_is_refused(
    layout: Layout, changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    config = {**layout.config, **changes}
    if "text_config" in config:
        config["text_config"] = {**config["text_config"], **changes}
    assert reason in check(layout._replace(config=config), tmp_path)


def test_more_experts_than_there_are_tensors_are_not_counted_up() -> None:
    with pytest.raises(ValueError, match=r"experts\.\d+\.\w+\.weight is missing"):
        family.stacked(numbered("qwen3_5_moe").tensors, 10**9)


def test_packed_matrices_of_no_width_are_no_error_of_ours(tmp_path: Path) -> None:
    layout = packed(4, 32)("llama")
    message = check(layout._replace(config={**layout.config, "intermediate_size": 0}), tmp_path)
    assert "model.layers.0.mlp.gate_proj.weight has no width, since intermediate_size is 0" in message


ODD = (None, 0, -1, 1.5, 2**40, 7, True, "x", [], [1], {}, {"a": 1})


def check_odd_settings(name: str, folder: Path, step: int) -> None:
    """Give every setting of a packed model one odd value in `step`, by turns, and load it."""
    layout = packed(4, 32)(name)
    settings = layout.config.get("text_config", layout.config)
    odd_ones = ("quantization_config", "layer_types", "mlp_only_layers", "text_config", "moe_layer_freq")
    keys = sorted({*settings, *layout.config, *odd_ones} - {"model_type"})
    for number, (key, value) in enumerate(itertools.product(keys, ODD)):
        if (number + number // len(ODD)) % step:
            continue
        config = {**layout.config, key: value}
        if "text_config" in layout.config and key in settings:
            config = {**layout.config, "text_config": {**settings, key: value}}
        with contextlib.suppress(EngineError):
            config_checks.check_config(config_checks.flat_config(config))
            check(layout._replace(config=config), folder)


@pytest.mark.parametrize("name", CONFIGS)
def test_no_odd_setting_is_an_error_of_ours(name: str, tmp_path: Path) -> None:
    check_odd_settings(name, tmp_path, step=4)


@pytest.mark.long
@pytest.mark.parametrize("name", CONFIGS)
def test_none_of_all_odd_settings_is_an_error_of_ours(name: str, tmp_path: Path) -> None:
    check_odd_settings(name, tmp_path, step=1)


@pytest.mark.parametrize("inner", [5, {"bits": 4, "group_size": 0}])
def test_settings_for_packing_count_from_the_outside_only(inner: Any) -> None:
    outer = {"bits": 4, "group_size": 32}
    config = {"model_type": "qwen3_5", "quantization": outer, "text_config": {"quantization": inner}}
    assert config_checks.flat_config(config) == {"model_type": "qwen3_5", "quantization": outer}
    assert "quantization" not in config_checks.flat_config({"model_type": "x", "text_config": {"quantization": inner}})


# ---------------------------------------------------------------- heads


def head_of(name: str, layout: str) -> dict[str, Spec]:
    """Return the tensors of a head, without their prefix."""
    tiny = TINIES[name]
    tensors = tiny.converted()
    if layout == "original":
        tensors = tiny.original(tensors) if isinstance(tiny, hybrid.Tiny) else tiny.original(tensors, repeats=True)
    if layout == "packed":
        tensors, _ = shards.pack(tensors, 4, 32)
    if layout == "fp8":
        tensors, _ = shards.pack_fp8(tiny.original(tensors, repeats=False))
    prefix = getattr(tiny, "head_prefix", "mtp.")
    return specs({tensor.partition(prefix)[2]: array for tensor, array in tensors.items() if prefix in tensor})


HEADS = [
    *((name, kind) for name in TINIES for kind in ("converted", "original", "packed")),
    ("deepseek_v3", "fp8"),
]


def check_head_faults(name: str, layout: str, choose: Callable[[list[str]], Iterable[str]], step: int) -> None:
    """Check that faults of the chosen tensors of a head are named: one in `step` of those of each, by turns."""
    config, raw = config_checks.flat_config(CONFIGS[name]), head_of(name, layout)
    assert unfit(config, raw) == ""
    own_tensors = [tensor for tensor in raw if appended_names.own_name(tensor)]  # others are the target's
    for number, tensor in enumerate(choose(own_tensors), HEADS.index((name, layout))):
        half = tensor.replace("kv_b_proj", "embed_q")  # what a lone layer without either is told to lack
        own = str(appended_names.own_name(tensor))
        stems = [name.rpartition(".")[0] for name in (tensor, own, half)]
        spec, others = raw[tensor], {other: raw[other] for other in raw if other != tensor}
        taller = Spec(spec.dtype, (spec.shape[0] + 1, *spec.shape[1:]))
        changes = (others, raw | {tensor: taller}, raw | {tensor: Spec("I16", spec.shape)})
        for changed in changes[number % step :: step]:
            said = unfit(config, changed)
            assert any(stem in said for stem in stems), tensor
            assert " is missing" in said or layout == "packed" or changed is not others
    assert "stray.weight is unknown" in unfit(config, raw | {"stray.weight": Spec("F32", (1,))})


@pytest.mark.parametrize(("name", "layout"), HEADS)
def test_every_kind_of_tensor_of_a_head_must_be_there_in_its_shape_and_type(name: str, layout: str) -> None:
    check_head_faults(name, layout, one_of_each_kind, step=3)


@pytest.mark.long
@pytest.mark.parametrize(("name", "layout"), HEADS)
def test_every_tensor_of_a_head_must_be_there_in_its_shape_and_type(name: str, layout: str) -> None:
    check_head_faults(name, layout, list, step=1)


def unfit(config: Mapping[str, Any], raw: Mapping[str, Spec]) -> str:
    """Return why a head is not that of a model; empty when it is."""
    arrays = {name: mx.zeros(spec.shape, TYPES[spec.dtype]) for name, spec in raw.items()}
    try:
        head_builder.assemble(family_for(config), config, arrays, Wiring())
    except head_builder.HeadMismatchError as error:
        return stored_tensors.contradiction(raw) or str(error)
    return stored_tensors.contradiction(raw)
