"""A tensor that is missing, of another shape or type, or too many is named, in the trunk and in the head."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.errors import EngineError
from mtplx_engine.models import completeness, model_config
from mtplx_engine.models.families.tensor_lists import LISTS
from tests.support.checkpoints import hybrid, shards
from tests.support.checkpoints.layouts import CONFIGS, TINIES, WIDE, Spec, converted, original, packed, specs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.support.checkpoints.layouts import Layout

LLAMA = CONFIGS["llama"]


def check(layout: Layout, folder: Path, found: Mapping[str, Any] | None = None) -> str:
    """Return why the layout, or other tensors than its own, are refused; empty when they are not."""
    found = specs(layout.tensors) if found is None else found
    try:
        assert completeness.check_trunk(folder, layout.config, found) == ""
    except EngineError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("make", "name"), WIDE, ids=[f"{make.__name__}-{name}" for make, name in WIDE])
def test_every_tensor_must_be_there_in_its_shape_and_type(
    make: Callable[[str], Layout], name: str, tmp_path: Path
) -> None:
    layout = make(name)
    found = specs(layout.tensors)
    for tensor, spec in found.items():
        if "inv_freq" in tensor or tensor.startswith("model.visual"):
            continue
        others = {other: found[other] for other in found if other != tensor}
        stem = tensor.rpartition(".")[0] if "quantization" in layout.config else tensor
        assert stem.removeprefix("lm_head") in check(layout, tmp_path, others), tensor
        taller = Spec(spec.dtype, (spec.shape[0] + 1, *spec.shape[1:]))
        assert stem in check(layout, tmp_path, found | {tensor: taller}), tensor
        deeper = Spec(spec.dtype, (*spec.shape, 1))
        assert stem in check(layout, tmp_path, found | {tensor: deeper}), tensor
        assert stem in check(layout, tmp_path, found | {tensor: Spec("I16", spec.shape)}), tensor
        renamed = others | {f"{tensor}x": spec}
        assert f"{tensor}x" in check(layout, tmp_path, renamed), tensor


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
    assert f"{ups[0]} is missing (and 1 more); a is unknown (and 2 more)." in check(
        layout, tmp_path, rest | strays
    )
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
        ("llama", {"layer_types": "full"}, "layer_types is 'full', but it must be a list"),
        ("qwen3_next", {"decoder_sparse_step": 0}, "decoder_sparse_step is 0, but it must be at least 1"),
        ("deepseek_v3", {"n_routed_experts": 10**9}, "asks for 1000000000 experts in a layer"),
    ],
)
def test_numbers_that_cannot_be_are_said(
    name: str, changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    make = converted if name == "llama" else original
    layout = make(name)
    message = check(layout._replace(config={**layout.config, **changes}), tmp_path)
    assert message.startswith("config.json ")
    assert reason in message


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "mimo"}, "no list of those of MiMo models"),
        (LLAMA | {"quantization_config": {"quant_method": "awq"}}, "packed by awq"),
        (LLAMA | {"text_config": {"quantization_config": {"quant_method": "gptq"}}}, "packed by gptq"),
        (
            LLAMA
            | {"quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized"}},
            "packed by compressed-tensors",
        ),
        (LLAMA | {"quantization_config": {"quant_method": "fp8", "scale_fmt": "ue8m0"}}, "packed by ue8m0"),
    ],
)
def test_what_cannot_be_compared_is_said(config: dict[str, Any], reason: str, tmp_path: Path) -> None:
    said = completeness.check_trunk(tmp_path, config, {})
    assert said.startswith("Its tensors were not compared with its config.json, since ")
    assert reason in said


def test_settings_in_a_file_of_their_own_are_seen(tmp_path: Path) -> None:
    (tmp_path / "hf_quant_config.json").write_text("{}")
    assert "packed by modelopt" in completeness.check_trunk(tmp_path, LLAMA, {})
    layout = packed(4, 32)("llama")
    assert check(layout, tmp_path) == ""


def test_packed_matrices_of_no_width_are_no_error_of_ours(tmp_path: Path) -> None:
    layout = packed(4, 32)("llama")
    message = check(layout._replace(config={**layout.config, "intermediate_size": 0}), tmp_path)
    assert "model.layers.0.mlp.gate_proj.weight has the shape [128, 8] instead of [0, 8]" in message


@pytest.mark.parametrize("name", CONFIGS)
def test_no_odd_setting_is_an_error_of_ours(name: str, tmp_path: Path) -> None:
    layout = packed(4, 32)(name)
    found, settings = specs(layout.tensors), layout.config.get("text_config", layout.config)
    odd_ones = ("quantization_config", "layer_types", "mlp_only_layers", "text_config", "moe_layer_freq")
    for key in {*settings, *layout.config, *odd_ones} - {"model_type"}:
        for value in (None, 0, -1, 1.5, 2**40, 7, True, "x", [], [1], {}, {"a": 1}):
            config = {**layout.config, key: value}
            if "text_config" in layout.config and key in settings:
                config = {**layout.config, "text_config": {**settings, key: value}}
            with contextlib.suppress(EngineError):
                model_config.check(model_config.flat(config))
                completeness.check_trunk(tmp_path, config, found)


@pytest.mark.parametrize("inner", [5, {"bits": 4, "group_size": 0}])
def test_settings_for_packing_count_from_the_outside_only(inner: Any) -> None:
    outer = {"bits": 4, "group_size": 32}
    config = {"model_type": "qwen3_5", "quantization": outer, "text_config": {"quantization": inner}}
    assert model_config.flat(config) == {"model_type": "qwen3_5", "quantization": outer}
    assert "quantization" not in model_config.flat(
        {"model_type": "x", "text_config": {"quantization": inner}}
    )


# ---------------------------------------------------------------- heads


def head_of(name: str, layout: str) -> dict[str, Spec]:
    """Return the tensors of a head, without their prefix."""
    tiny = TINIES[name]
    tensors = tiny.converted()
    if layout == "original":
        tensors = (
            tiny.original(tensors) if isinstance(tiny, hybrid.Tiny) else tiny.original(tensors, repeats=True)
        )
    if layout == "packed":
        tensors, _ = shards.pack(tensors, 4, 32)
    if layout == "fp8":
        tensors, _ = shards.pack_fp8(tiny.original(tensors, repeats=False))
    prefix = getattr(tiny, "head_prefix", "mtp.")
    return specs(
        {tensor.partition(prefix)[2]: array for tensor, array in tensors.items() if prefix in tensor}
    )


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        *((name, kind) for name in TINIES for kind in ("converted", "original", "packed")),
        ("deepseek_v3", "fp8"),
    ],
)
def test_every_tensor_of_a_head_must_be_there_in_its_shape_and_type(name: str, layout: str) -> None:
    config, raw = model_config.flat(CONFIGS[name]), head_of(name, layout)
    head = LISTS[name].head
    assert head.mismatch(config, raw, {}) == ""
    for tensor, spec in raw.items():
        own = head.own_name(tensor, config)
        if own is None:  # borrowed from the target
            continue
        half = tensor.replace("kv_b_proj", "embed_q")  # what a lone layer without either is told to lack
        names = [name.rpartition(".")[0] for name in (tensor, own, half)]
        others = {other: raw[other] for other in raw if other != tensor}
        assert " is missing" in head.mismatch(config, others, {}) or layout == "packed"
        taller = Spec(spec.dtype, (spec.shape[0] + 1, *spec.shape[1:]))
        for changed in (others, raw | {tensor: taller}, raw | {tensor: Spec("I16", spec.shape)}):
            said = head.mismatch(config, changed, {})
            assert any(name in said for name in names), tensor
    assert "stray.weight is unknown" in head.mismatch(config, raw | {"stray.weight": Spec("F32", (1,))}, {})
