"""A model folder is loaded only when it is safe, complete and of a kind that we run."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, inspection, manifest
from mtplx_engine.models.inspection import ProbeMemory
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder
from tests.support.model_folder import CONFIG, HEAD, ROWS, TENSORS, TOKENIZER

if TYPE_CHECKING:
    from pathlib import Path


TRUNK_BYTES = 4 * sum(math.prod(shape) for _, shape in TENSORS.values())


def refusal(folder: Path, kind: ErrorKind = ErrorKind.REFUSED) -> str:
    with pytest.raises(EngineError) as caught:
        checkpoint.check(folder)
    assert caught.value.kind is kind, str(caught.value)
    return str(caught.value)


def test_a_sound_folder_is_described(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path / "tiny")
    found = checkpoint.check(folder)
    assert (found.folder, found.name, found.config) == (folder, "tiny", CONFIG)
    assert {name: (spec.dtype, spec.shape) for name, spec in found.tensors.items()} == TENSORS
    assert (found.head, found.manifest) == (None, None)
    assert found.total_bytes == TRUNK_BYTES


def test_the_head_is_kept_apart_from_the_model(tmp_path: Path) -> None:
    head = model_folder.safetensors({"model.norm.weight": ("BF16", (3,))})
    weights = model_folder.safetensors(TENSORS)
    files = {"model.safetensors": weights, "mtp.safetensors": head}
    found = checkpoint.check(model_folder.write(tmp_path, files=files))
    assert found.head
    assert found.head.place == "mtp.safetensors"
    assert found.head.tensors["model.norm.weight"].spec.shape == (3,)
    assert found.tensors["model.norm.weight"].shape == (4,)
    assert found.total_bytes == TRUNK_BYTES + 6


def test_before_a_list_of_tokens_is_fetched_only_its_header_counts(tmp_path: Path) -> None:
    head = {
        "model.safetensors": model_folder.safetensors(TENSORS),
        "mtp.safetensors": model_folder.safetensors(HEAD),
    }
    folder = model_folder.write(tmp_path, files=head)
    for dtype, told, told_in_full in (
        ("I32", "", "sorted token ids"),
        ("F32", "the type F32", "the type F32"),
    ):
        ids = model_folder.safetensors({"draft_vocab": (dtype, (4,))})  # zeros, as in a file that is not there yet
        (folder / "draft_vocab.safetensors").write_bytes(ids)
        for tokenizer, expected in ((False, told), (True, told_in_full)):
            found = checkpoint.check(folder, tokenizer=tokenizer).head
            assert found
            assert expected in found.problem
            assert bool(expected) == bool(found.problem)


def test_a_damaged_head_is_refused(tmp_path: Path) -> None:
    files = {"model.safetensors": model_folder.safetensors(TENSORS), "mtp.safetensors": b"short"}
    assert "mtp.safetensors is cut off" in refusal(model_folder.write(tmp_path, files=files))


def test_the_manifest_names_the_model_and_its_promises_are_checked(tmp_path: Path) -> None:
    model_folder.write(tmp_path)
    files = manifest.record_files(tmp_path, ["config.json", "model.safetensors"])
    noted = Manifest("tiny", "Tiny One", "MIT", "here", 1, files)
    manifest.write_manifest(tmp_path, noted)
    found = checkpoint.check(tmp_path)
    assert (found.name, found.manifest) == ("Tiny One", noted)
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert "is incomplete: model.safetensors is missing or not what was installed" in refusal(tmp_path)


def test_places_without_a_model_are_said(tmp_path: Path) -> None:
    assert "There is no folder" in refusal(tmp_path / "nowhere", ErrorKind.NOT_FOUND)
    assert "has no config.json" in refusal(tmp_path, ErrorKind.NOT_FOUND)


@pytest.mark.parametrize(
    "name",
    [
        "evil.py",
        "sub/evil.py",
        "EVIL.PY",
        "a.pyc",
        "a.so",
        "a.bin",
        "pytorch_model.pt",
        "a.pkl",
        "a.pth",
        "a.ckpt",
        "a.npz",
    ],
)
def test_code_and_pickles_are_refused_by_name(tmp_path: Path, name: str) -> None:
    folder = model_folder.write(tmp_path)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"")
    assert f"holds {name.rpartition('/')[2]}, which can run code" in refusal(folder)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json", "generation_config.json", "any.json"])
@pytest.mark.parametrize("key", ["auto_map", "model_file", "trust_remote_code", "custom_pipelines"])
def test_json_that_asks_for_code_is_refused(tmp_path: Path, file: str, key: str) -> None:
    folder = model_folder.write(tmp_path)
    (folder / file).write_text(json.dumps({**CONFIG, "a": [{"b": {key: False}}]}))
    message = refusal(folder)
    assert f"{file} asks to run code that comes with it ({key})" in message
    assert "choose a copy of the model that was converted for MLX" in message


def test_links_may_stay_inside_or_lead_into_the_blobs_of_a_cache(tmp_path: Path) -> None:
    repo = tmp_path / "models--a--b"
    folder = model_folder.write(repo / "snapshots" / "0123")
    (repo / "blobs").mkdir()
    weights = folder / "model.safetensors"
    weights.rename(repo / "blobs" / "beef")
    weights.symlink_to("../../blobs/beef")
    assert checkpoint.check(folder).tensors
    (folder / "again.json").symlink_to("config.json")
    assert checkpoint.check(folder).tensors


@pytest.mark.parametrize("target", ["/etc/hostname", "..", "/nowhere/at/all"])
def test_links_to_elsewhere_are_refused(tmp_path: Path, target: str) -> None:
    folder = model_folder.write(tmp_path / "tiny")
    (folder / "more.txt").symlink_to(target)
    assert "holds more.txt" in refusal(folder)


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path / "tiny")
    (folder / "real").mkdir()
    (folder / "again").symlink_to("real")
    assert "holds again, which is not a plain file" in refusal(folder)


def test_a_snapshot_is_called_by_its_repository(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path / "models--ai--Tiny-4bit" / "snapshots" / "0123")
    assert checkpoint.check(folder).name == "ai/Tiny-4bit"
    (folder / "x.py").write_text("")
    found = inspection.inspect(folder, ProbeMemory(tmp_path))
    assert (found.name, found.reason[:20]) == ("ai/Tiny-4bit", "ai/Tiny-4bit holds x")
    for other in ("models--ai--tiny/0123", "ai--tiny/snapshots/0123"):
        assert checkpoint.check(model_folder.write(tmp_path / other)).name == "0123"


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path)
    os.mkfifo(folder / "generation_config.json")
    assert "not a plain file" in refusal(folder)


def test_another_architecture_is_named(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path, config={**CONFIG, "model_type": "../../evil"})
    assert '"../../evil", which this version cannot run; it runs deepseek_v3' in refusal(folder, ErrorKind.UNSUPPORTED)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_type": None}, "which architecture"),
        ({"model_type": ["llama"]}, "which architecture"),
        (
            {"num_hidden_layers": 1_000_000},
            "num_hidden_layers is 1000000, but it must be a whole number from 1 to 512",
        ),
        ({"hidden_size": 2**33}, "hidden_size is 8589934592"),
        ({"hidden_size": 10**400}, "hidden_size is a huge number"),
        ({"vocab_size": 2_000_001}, "vocab_size"),
        ({"vocab_size": None}, "does not say vocab_size"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0"),
        ({"num_key_value_heads": -1}, "num_key_value_heads is -1"),
        ({"head_dim": 1.5}, "head_dim is 1.5"),
        (
            {"eos_token_id": [1, "2"]},
            "eos_token_id is [1, '2'], but it must be the number of a token, or a list",
        ),
        ({"num_hidden_layers": True}, "num_hidden_layers is True"),
        ({"num_hidden_layers": "2"}, "num_hidden_layers is '2'"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps is nan"),
        ({"rope_theta": float("inf")}, "rope_theta is inf"),
        ({"rope_theta": 10**400}, "rope_theta is a huge number"),
        ({"rope_scaling": 5}, "rope_scaling is 5, but it must be an object"),
        ({"rope_parameters": "x"}, "rope_parameters is 'x', but it must be an object"),
        ({"rope_parameters": {"rope_type": "spiral"}}, "of the kind 'spiral' (rope_parameters)"),
        ({"rope_scaling": {"type": ["yarn"]}}, "of the kind ['yarn']"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "does not say rope_parameters.factor"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, "rope_scaling.factor is 0"),
        ({"rope_scaling": {"type": "linear", "factor": "2"}}, "rope_scaling.factor is '2'"),
        ({"rope_parameters": {"rope_theta": float("nan")}}, "rope_parameters.rope_theta is nan"),
        ({"rope_parameters": {"partial_rotary_factor": True}}, "partial_rotary_factor is True"),
        ({"rope_scaling": {"type": "mrope", "mrope_section": [1]}}, "mrope_section as 3 whole numbers"),
        ({"rope_parameters": {"full": {"factor": -1}}}, "rope_parameters.full.factor is -1"),
        ({"quantization": 4}, "quantization that is no object"),
        ({"quantization": {"bits": 0, "group_size": 32}}, "asks for 0 bits"),
        ({"quantization": {"bits": [], "group_size": {}}}, "bits in groups"),
        ({"quantization": {"bits": 4, "group_size": 32, "a.b": {"bits": 4, "group_size": 0}}}, "groups of 0"),
    ],
)
def test_impossible_numbers_are_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    message = refusal(model_folder.write(tmp_path, config={**CONFIG, **change}))
    assert message.startswith("config.json ")
    assert reason in message


@pytest.mark.parametrize(
    "settings",
    [
        None,
        {},
        {"type": "linear", "factor": 2},
        {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32, "mscale_all_dim": 0, "truncate": False},
        {"type": "mrope", "mrope_section": [1, 2, 3]},
        {"full": {"rope_type": "proportional", "rope_theta": 1e6}, "sliding": {"rope_type": "default"}},
    ],
)
@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_sound_settings_of_positions_pass(tmp_path: Path, key: str, settings: object) -> None:
    assert checkpoint.check(model_folder.write(tmp_path, config={**CONFIG, key: settings})).tensors


@pytest.mark.parametrize(
    ("tokenizer", "reason"),
    [
        ({**TOKENIZER, "added_tokens": [{"id": ROWS}]}, f"ids up to {ROWS}, but the model has only {ROWS}"),
        ({"model": {"vocab": {"a": 5000}}}, "ids up to 5000"),
        ({"model": {"vocab": [["a", 0.0]] * (ROWS + 1)}}, f"ids up to {ROWS}"),
        ({"model": {"vocab": {"a": -1}}}, "no whole numbers"),
        ({"model": {"vocab": {"a": "0"}}}, "no whole numbers"),
        ({**TOKENIZER, "added_tokens": [{}]}, "no whole numbers"),
        ({**TOKENIZER, "added_tokens": [1]}, "no objects"),
        ({"model": {"vocab": {}}}, "no vocabulary"),
        ({"model": {"vocab": [1]}}, "no vocabulary"),
        ({"model": []}, "no vocabulary"),
        ({}, "no vocabulary"),
        ([], "holds a list"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_refused(tmp_path: Path, tokenizer: object, reason: str) -> None:
    assert reason in refusal(model_folder.write(tmp_path, tokenizer=tokenizer))


@pytest.mark.parametrize(
    ("table", "reason"),
    [({str(ROWS): {}}, "ids up to"), ({"x": {}}, "without sound ids"), ([1], "without sound ids")],
)
def test_tokens_added_by_the_settings_count_too(tmp_path: Path, table: object, reason: str) -> None:
    folder = model_folder.write(tmp_path)
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": table}))
    assert reason in refusal(folder)


@pytest.mark.parametrize("item", [1, "x", {"name": "default"}, {"template": "x"}])
def test_a_list_of_templates_that_cannot_be_read_is_refused(tmp_path: Path, item: object) -> None:
    folder = model_folder.write(tmp_path)
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": [item]}))
    assert "lists chat templates without a name" in refusal(folder)


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("tokenizer_config.json", {"bos_token": "<new>"}),
        ("tokenizer_config.json", {"image_token": {"__type": "AddedToken", "content": "<new>"}}),
        ("tokenizer_config.json", {"additional_special_tokens": ["a", "<new>"]}),
        ("tokenizer_config.json", {"extra_special_tokens": {"foo": "<new>"}}),
        ("tokenizer_config.json", {"extra_special_tokens": [{"content": "<new>"}]}),
        ("tokenizer_config.json", {"model_specific_special_tokens": {"foo": "<new>"}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"3": {"content": "<new>"}}}),
        ("special_tokens_map.json", {"pad_token": {"content": "<new>"}}),
        ("special_tokens_map.json", {"additional_special_tokens": ["<new>"]}),
        ("added_tokens.json", {"<new>": 3}),
    ],
)
def test_tokens_that_only_the_settings_name_need_room_of_their_own(
    tmp_path: Path, file: str, named: dict[str, object]
) -> None:
    folder = model_folder.write(tmp_path)
    (folder / file).write_text(json.dumps(named))
    message = refusal(folder)
    assert f"{file} names the token '<new>', which tokenizer.json lacks" in message
    assert f"ids up to {ROWS}, but the model has only {ROWS}" in message
    roomy = {**TOKENIZER, "added_tokens": [{"id": ROWS - 2, "content": "<end>"}]}
    (folder / "tokenizer.json").write_text(json.dumps(roomy))
    assert checkpoint.check(folder).tensors
    (folder / "tokenizer.json").write_text(
        json.dumps({**TOKENIZER, "added_tokens": [{"id": ROWS - 1, "content": "<new>"}]})
    )
    assert checkpoint.check(folder).tensors


@pytest.mark.parametrize(("body", "reason"), [({"<new>": ROWS}, "ids up to"), ({"<new>": True}, "no whole")])
def test_ids_in_a_file_of_added_tokens_count_too(tmp_path: Path, body: object, reason: str) -> None:
    folder = model_folder.write(tmp_path)
    (folder / "added_tokens.json").write_text(json.dumps(body))
    assert reason in refusal(folder)


def test_settings_of_other_kinds_name_no_tokens(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path)
    settings = {
        "add_bos_token": True,
        "pad_token": None,
        "unk_token": "",
        "extra_special_tokens": 5,
        "x": "y",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert checkpoint.check(folder).tensors


def test_the_embedding_counts_when_it_is_smaller_than_the_config_says(tmp_path: Path) -> None:
    assert "has only 16" in refusal(
        model_folder.write(tmp_path, config={**CONFIG, "vocab_size": 99}, tokenizer={"model": {"vocab": {"a": 40}}})
    )


def test_a_missing_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = model_folder.write(tmp_path)
    (folder / "tokenizer.json").unlink()
    assert "has no tokenizer.json" in refusal(folder)


def shards(folder: Path, weight_map: object) -> Path:
    first, second = dict([*TENSORS.items()][:1]), dict([*TENSORS.items()][1:])
    files = {
        "model-1.safetensors": model_folder.safetensors(first),
        "model-2.safetensors": model_folder.safetensors(second),
        checkpoint.WEIGHT_INDEX: json.dumps({"weight_map": weight_map}).encode(),
    }
    return model_folder.write(folder, files=files)


SOUND_MAP = {"model.embed_tokens.weight": "model-1.safetensors", "model.norm.weight": "model-2.safetensors"}


def test_a_model_in_several_files_is_read_whole(tmp_path: Path) -> None:
    assert checkpoint.check(shards(tmp_path, SOUND_MAP)).tensors.keys() == TENSORS.keys()


@pytest.mark.parametrize(
    ("weight_map", "reason"),
    [
        ({**SOUND_MAP, "x": "model-3.safetensors"}, "incomplete: model-3.safetensors is missing"),
        ({**SOUND_MAP, "x": "model-1.safetensors"}, "lacks the tensor 'x'"),
        ({"x": "../model-1.safetensors"}, "which file holds which tensor"),
        ({"x": 1}, "which file holds which tensor"),
        (None, "which file holds which tensor"),
    ],
)
def test_an_index_that_promises_more_is_refused(tmp_path: Path, weight_map: object, reason: str) -> None:
    assert reason in refusal(shards(tmp_path, weight_map))


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    files = {f"model-{n}.safetensors": model_folder.safetensors(TENSORS) for n in (1, 2)}
    assert "which model-1.safetensors holds too" in refusal(model_folder.write(tmp_path, files=files))


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    files = {"other.safetensors": model_folder.safetensors(TENSORS)}
    assert "model.safetensors is missing" in refusal(model_folder.write(tmp_path, files=files))


def test_checking_imports_nothing_heavy() -> None:
    code = (
        "import sys; from mtplx_engine.models import checkpoint, folders, inspection, library;"
        "sys.exit(str({'mlx', 'mlx_lm', 'numpy', 'transformers', 'safetensors'} & set(sys.modules) or ''))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


@pytest.mark.starter
def test_the_starter_passes(starter_dir: Path) -> None:
    found = checkpoint.check(starter_dir)
    assert found.name == "SmolLM2 135M Instruct"
    assert found.head
    assert found.head.tensors["fc.weight"].spec.shape == (576, 1152)
    assert found.head.draft_vocabulary == starter_dir / "draft_vocab.safetensors"
    assert found.tensors["model.embed_tokens.weight"].shape == (49152, 144)
