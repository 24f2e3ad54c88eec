"""A drafting head is found wherever it may be, by its tensors, and a head of another model is not used."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, head_source, inspection, library, manifest, tensor_report_child
from mtplx_engine.models.inspection import ProbeMemory
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder
from tests.support.model_folder import CONFIG, HIDDEN, ROWS, TENSORS

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.head_source import HeadSource


HEAD = {name: ("BF16", shape) for name, (_, shape) in model_folder.HEAD.items()}
APPENDED = {"eh_proj.weight": ("BF16", (HIDDEN, 2 * HIDDEN)), "enorm.weight": ("BF16", (HIDDEN,))}
HEAD_BYTES = 2 * sum(math.prod(shape) for _, shape in HEAD.values())
HEAD_CONFIG = {"model_type": "llama_mtp", "text_config": {"hidden_size": HIDDEN, "vocab_size": ROWS}}


def named(prefix: str, tensors: dict[str, Any] = HEAD) -> dict[str, Any]:
    return {prefix + name: value for name, value in tensors.items()}


def write(folder: Path, files: dict[str, bytes], **changes: object) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    weights = {"model.safetensors": model_folder.safetensors(TENSORS)}
    return model_folder.write(folder, config=CONFIG | changes, files=weights | files)


def write_head_only(folder: Path, config: dict[str, Any] = HEAD_CONFIG) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(model_folder.safetensors(HEAD))
    return folder


def found_in(folder: Path) -> HeadSource:
    checked = checkpoint.check(folder)
    assert checked.head
    assert checked.tensors.keys() == TENSORS.keys()
    trunk = sum(math.prod(shape) * 4 for _, shape in TENSORS.values())
    assert checked.total_bytes == trunk + checked.head.size
    return checked.head


@pytest.mark.parametrize("prefix", ["", "mtp.", "language_model.mtp."])
@pytest.mark.parametrize("name", head_source.HEAD_FILES)
def test_a_file_beside_the_weights(tmp_path: Path, name: str, prefix: str) -> None:
    folder = write(tmp_path, {name: model_folder.safetensors(named(prefix))})
    head = found_in(folder)
    assert (head.place, head.problem) == (name, "")
    assert (head.tensors.keys(), head.size) == (HEAD.keys(), HEAD_BYTES)
    assert head.tensors["fc.weight"].path == folder / name
    assert head.tensors["fc.weight"].name == f"{prefix}fc.weight"


def test_the_file_that_the_config_names_comes_first(tmp_path: Path) -> None:
    files = {name: model_folder.safetensors(HEAD) for name in ("extra/h.safetensors", "mtp.safetensors")}
    folder = write(tmp_path, files, mlx_lm_extra_tensors={"mtp_file": "extra/h.safetensors"})
    assert found_in(folder).place == "extra/h.safetensors"


@pytest.mark.parametrize("name", ["../h.safetensors", "/h.safetensors", "h.bin", 5, ["h.safetensors"]])
def test_a_named_file_outside_the_model_is_refused(tmp_path: Path, name: object) -> None:
    folder = write(tmp_path, {}, mlx_lm_extra_tensors={"mtp_file": name})
    with pytest.raises(EngineError, match="mtp_file") as caught:
        checkpoint.check(folder)
    assert caught.value.kind is ErrorKind.REFUSED


@pytest.mark.parametrize(
    ("prefix", "tensors"),
    [
        ("mtp.", HEAD),
        ("model.mtp.", HEAD),
        ("language_model.mtp.", HEAD),
        ("model.layers.1.", APPENDED),
        ("language_model.model.layers.1.", APPENDED),
    ],
)
def test_tensors_among_the_models_own(tmp_path: Path, prefix: str, tensors: dict[str, Any]) -> None:
    weights = model_folder.safetensors(TENSORS | named(prefix, tensors))
    head = found_in(write(tmp_path, {"model.safetensors": weights}))
    assert head.place == "inside the model's own files"
    assert head.tensors.keys() == tensors.keys()


def test_a_flag_or_a_trunk_layer_is_no_head(tmp_path: Path) -> None:
    block = {"model.layers.0.self_attn.q_proj.weight": ("BF16", (4, 4))}
    weights = {"model.safetensors": model_folder.safetensors(TENSORS | block)}
    assert checkpoint.check(write(tmp_path, weights, mtp_num_hidden_layers=1)).head is None


def test_a_layer_with_an_endless_number_is_refused_in_words(tmp_path: Path) -> None:
    endless = {f"model.layers.{'9' * 5000}.eh_proj.weight": APPENDED["eh_proj.weight"]}
    for kind in ("llama", "mimo"):
        folder = tmp_path / kind
        folder.mkdir()
        weights = {"model.safetensors": model_folder.safetensors(TENSORS | endless)}
        write(folder, weights, model_type=kind, num_nextn_predict_layers=2)
        assert inspection.inspect(folder, ProbeMemory(tmp_path)).loads
        refused = tensor_report_child.report(folder)["refused"]
        assert "config.json" in refused
        assert ("99.eh_proj.weight is unknown" in refused or "9" * 70 in refused) == (kind == "llama")


def test_a_head_whose_main_tensor_is_misnamed_is_still_there_to_be_told_of(tmp_path: Path) -> None:
    rest = {"mtp.fcc.weight": HEAD["fc.weight"], "mtp.norm.weight": HEAD["norm.weight"]}
    weights = {"model.safetensors": model_folder.safetensors(TENSORS | rest)}
    assert found_in(write(tmp_path, weights)).tensors.keys() == {"fcc.weight", "norm.weight"}


def test_a_named_file_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    checked = checkpoint.check(write(tmp_path, {}, mlx_lm_extra_tensors={"mtp_file": "gone.safetensors"}))
    assert checked.head
    assert checked.head.problem == (
        "Its config.json names the drafting head gone.safetensors, which is not there, so it is off."
    )


def test_of_two_head_only_folders_the_one_that_fits_is_taken(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", {})
    write_head_only(folder / "a-large", {**HEAD_CONFIG, "text_config": {"hidden_size": 8}})
    write_head_only(folder / "b-fits")
    assert (found_in(folder).place, found_in(folder).problem) == ("the folder b-fits", "")


@pytest.mark.parametrize("beside", head_source.HEAD_FILES)
@pytest.mark.parametrize(
    ("prefix", "inside"), [("mtp.", HEAD), ("language_model.mtp.", HEAD), ("model.layers.1.", APPENDED)]
)
def test_two_heads_are_off_and_the_model_loads(
    tmp_path: Path, prefix: str, inside: dict[str, Any], beside: str
) -> None:
    weights = model_folder.safetensors(TENSORS | named(prefix, inside))
    folder = write(tmp_path, {"model.safetensors": weights, beside: model_folder.safetensors(HEAD)})
    checked = checkpoint.check(folder)
    assert checked.tensors.keys() == TENSORS.keys()
    assert checked.head
    assert checked.head.problem == (
        f"It has two drafting heads, {beside} and one inside its own files, so both are off; take the first one "
        "away to use the second."
    )
    (folder / beside).unlink()
    assert found_in(folder).tensors.keys() == inside.keys()


def test_an_index_may_promise_a_head_in_its_own_file(tmp_path: Path) -> None:
    names = {**dict.fromkeys(TENSORS, "model.safetensors"), "mtp.fc.weight": "mtp.safetensors"}
    index = json.dumps({"weight_map": names}).encode()
    head = model_folder.safetensors(named("mtp."))
    found_in(write(tmp_path, {"mtp.safetensors": head, checkpoint.WEIGHT_INDEX: index}))


def test_a_damaged_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"weights\.safetensors is cut off"):
        checkpoint.check(write(tmp_path, {"mtp/weights.safetensors": b"short"}))


# ---------------------------------------------------------------- a folder with only a head


def test_a_head_only_folder_inside_the_models(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", {})
    write_head_only(folder / "Tiny-MTP")
    head = found_in(folder)
    assert (head.place, head.problem) == ("the folder Tiny-MTP", "")


@pytest.mark.parametrize(("key", "word"), [("hidden_size", "hidden_size 8"), ("vocab_size", "vocab_size 8")])
def test_a_head_of_another_size_is_off(tmp_path: Path, key: str, word: str) -> None:
    folder = write(tmp_path / "model", {})
    write_head_only(folder / "head", {**HEAD_CONFIG, "text_config": {key: 8}})
    head = found_in(folder)
    assert word in head.problem
    assert "so it is off" in head.problem


def test_a_head_only_folder_is_no_chat_model(tmp_path: Path) -> None:
    models = tmp_path / "models"
    folder = write_head_only(models / "Tiny-MTP")
    write(models / "Tiny", {})
    assert [model.name for model in library.installed_models(tmp_path)] == ["Tiny"]
    with pytest.raises(EngineError, match="a drafting head and no model of its own") as caught:
        checkpoint.check(folder)
    assert caught.value.kind is ErrorKind.UNSUPPORTED


def test_installed_models_say_that_they_have_a_head(tmp_path: Path) -> None:
    models = tmp_path / "models"
    write_head_only(write(models / "folder", {}) / "head")
    write(models / "inside", {"model.safetensors": model_folder.safetensors(TENSORS | named("mtp."))})
    write(models / "plain", {})
    write(models / "sidecar", {"mtp/weights.safetensors": model_folder.safetensors(HEAD)})
    found = {model.name: model.has_head for model in library.installed_models(tmp_path)}
    assert found == {"folder": True, "inside": True, "plain": False, "sidecar": True}


# ---------------------------------------------------------------- target and head as one installed model


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """An installed pair of target and head."""
    folder = write(tmp_path / "pair", {})
    write_head_only(folder / "head")
    checked = checkpoint.check(folder)
    binding = head_source.bind_head("head", checked.config, checked.tensors, folder)
    names = ["config.json", "model.safetensors", "head/model.safetensors"]
    files = manifest.record_files(folder, names)
    manifest.write_manifest(folder, Manifest("pair", "Pair", "MIT", "here", 1, files, binding=binding))
    return folder


def test_one_manifest_describes_a_pair(pair: Path) -> None:
    head = found_in(pair)
    assert (head.place, head.problem) == ("the folder head", "")
    (pair / "head" / "model.safetensors").unlink()
    with pytest.raises(EngineError, match=r"head/model\.safetensors is missing"):
        checkpoint.check(pair)


def test_a_head_bound_to_other_weights_is_off(pair: Path) -> None:
    path = pair / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    noted = manifest.read_manifest(pair)
    assert noted
    # Installed anew, with a head that was made for the weights before.
    files = manifest.record_files(pair, [record.name for record in noted.files])
    manifest.write_manifest(pair, replace(noted, files=files))
    assert "installed for other weights" in found_in(pair).problem


@pytest.mark.parametrize("field", ["hidden_size", "vocabulary", "layers"])
def test_a_head_bound_to_other_sizes_is_off(pair: Path, field: str) -> None:
    noted = manifest.read_manifest(pair)
    assert noted
    assert noted.binding
    manifest.write_manifest(pair, replace(noted, binding=replace(noted.binding, **{field: 7})))
    assert "installed for other weights" in found_in(pair).problem


def test_a_binding_that_leads_outside_counts_for_nothing(pair: Path) -> None:
    noted = manifest.read_manifest(pair)
    assert noted
    assert noted.binding
    manifest.write_manifest(pair, replace(noted, binding=replace(noted.binding, folder="../pair")))
    assert manifest.read_manifest(pair) is None


def test_the_fingerprint_tells_weights_apart(tmp_path: Path) -> None:
    def fingerprint(tensors: dict[str, Any], flipped: int | None = None) -> str:
        data = bytearray(model_folder.safetensors(tensors))
        if flipped is not None:
            data[flipped] ^= 1
        folder = write(tmp_path, {"model.safetensors": bytes(data)})
        return head_source.target_fingerprint(folder, checkpoint.check(folder).tensors)

    first = fingerprint(TENSORS)
    assert first == fingerprint(TENSORS)
    assert fingerprint(TENSORS, flipped=-1) != first
    other = {**TENSORS, "model.norm.weight": ("F16", (HIDDEN,))}
    assert fingerprint(other) != first
