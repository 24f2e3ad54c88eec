"""A folder becomes a model whose numbers are those of its files, with a drafter when the head fits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten
from transformers import PreTrainedTokenizerFast

from mtplx_engine import backend
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import SamplerConfig
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, inspection, loader
from mtplx_engine.models.inspection import ProbeMemory
from mtplx_engine.text import segments
from tests.support import tiny_folder
from tests.support.tiny_folder import END, VOCABULARY

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel


TOKENS = mx.array([1, 50, 100, 150, 200, 250, 7])


def load(folder: Path) -> LoadedModel:
    return loader.load_checkpoint(checkpoint.check(folder), backend.policy(), lambda *_: None)


def logits(model: LoadedModel) -> np.ndarray:
    target = model.target
    return np.array(target.logits(target.forward(TOKENS, TokenCache(target.new_layers()))))


def change(path: Path, **entries: object) -> None:
    """Change entries of a JSON file; None takes one out."""
    body = json.loads(path.read_bytes()) | entries
    path.write_text(json.dumps({key: value for key, value in body.items() if value is not None}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_folder.write(tmp_path)
    return tmp_path


def test_the_logits_are_the_written_models(tmp_path: Path) -> None:
    target = tiny_folder.write(tmp_path)
    written = target.logits(target.forward(TOKENS, TokenCache(target.new_layers())))
    np.testing.assert_array_equal(logits(load(tmp_path)), np.array(written))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group_size", [32, 64])
def test_quantized_weights_are_those_of_their_unpacked_twin(tmp_path: Path, bits: int, group_size: int) -> None:
    packed, twin = tmp_path / "packed", tmp_path / "twin"
    packed.mkdir()
    twin.mkdir()
    target = tiny_folder.write(packed, bits=bits, group_size=group_size)
    tiny_folder.write_twin(twin, packed)
    ours = logits(load(packed))
    np.testing.assert_allclose(ours, logits(load(twin)), atol=1e-4)
    quantized = target.logits(target.forward(TOKENS, TokenCache(target.new_layers())))
    np.testing.assert_allclose(ours, np.array(quantized), atol=1e-3)


def test_weights_in_a_format_without_biases_are_unpacked_too(tmp_path: Path) -> None:
    target = tiny_folder.write(tmp_path, bits=4, group_size=32, mode="mxfp4")
    quantized = target.logits(target.forward(TOKENS, TokenCache(target.new_layers())))
    np.testing.assert_allclose(logits(load(tmp_path)), np.array(quantized), atol=1e-3)


def test_all_weights_have_the_policys_dtype(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path, bits=4)
    path = str(tmp_path / "model.safetensors")
    halves = {
        name: array.astype(mx.float16) if array.dtype == mx.float32 else array for name, array in mx.load(path).items()
    }
    mx.eval(halves)
    mx.save_safetensors(path, halves)
    parameters = tree_flatten(load(tmp_path).target.model.parameters())
    assert {array.dtype for _, array in parameters} == {mx.float32}
    assert not [name for name, _ in parameters if name.endswith("scales")]


def test_what_the_folder_says_of_itself(folder: Path) -> None:
    model = load(folder)
    assert model.name == folder.name
    assert model.window == tiny_folder.WINDOW
    assert model.end_ids == {END}
    # A null in the makers' settings is no setting.
    assert model.recommended == SamplerConfig(temperature=0.6)
    assert model.new_drafter is not None
    assert model.drafter_note == ""


@pytest.mark.parametrize(
    ("generation", "config", "ids"),
    [
        ({"eos_token_id": 7}, {"eos_token_id": [8, 9]}, {END, 7, 8, 9}),
        ({"eos_token_id": None}, {"eos_token_id": None}, {END}),
        ({"eos_token_id": [7]}, {"eos_token_id": 0}, {END, 7, 0}),
        ({"eos_token_id": True}, {"eos_token_id": None}, {END}),
        ({"eos_token_id": [True, 7.0]}, {"eos_token_id": 8, "text_config": {"eos_token_id": 9}}, {END, 8, 9}),
    ],
)
def test_all_end_tokens_count(
    folder: Path, generation: dict[str, object], config: dict[str, object], ids: set[int]
) -> None:
    change(folder / "generation_config.json", **generation)
    change(folder / "config.json", **config)
    assert load(folder).end_ids == ids


def test_settings_of_the_makers_that_cannot_be_are_left_out(folder: Path) -> None:
    change(folder / "generation_config.json", temperature=-1, top_k=20, top_p="x", repetition_penalty=1.1)
    recommended = load(folder).recommended
    assert recommended == SamplerConfig(top_k=20, repetition_penalty=1.1)


def test_progress_rises_to_the_end_and_may_stop_the_loading(folder: Path) -> None:
    seen: list[float] = []
    loader.load_checkpoint(checkpoint.check(folder), backend.policy(), lambda fraction, _: seen.append(fraction))
    assert seen == sorted(seen)
    assert 0 < seen[0] < seen[-1] <= 1

    def stop(fraction: float, phase: str) -> None:
        if fraction >= seen[2]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loader.load_checkpoint(checkpoint.check(folder), backend.policy(), stop)


# ---------------------------------------------------------------- the drafting head


def test_without_a_head_the_reason_is_said(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path, head=False)
    model = load(tmp_path)
    assert model.new_drafter is None
    assert "no drafting head" in model.drafter_note


@pytest.mark.parametrize("prefix", ["mtp.", "model.mtp."])
def test_a_head_among_the_models_own_tensors_is_no_part_of_the_trunk(folder: Path, prefix: str) -> None:
    expected = logits(load(folder))
    weights = dict(mx.load(str(folder / "model.safetensors")))
    head = mx.load(str(folder / "mtp.safetensors"))
    (folder / "mtp.safetensors").unlink()
    inside = {prefix + name: array for name, array in head.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), weights | inside)
    model = load(folder)
    assert model.new_drafter is not None
    np.testing.assert_array_equal(logits(model), expected)


@pytest.mark.parametrize("wrong", ["missing", "extra", "shape"])
def test_a_head_that_does_not_fit_is_off(folder: Path, wrong: str) -> None:
    path = folder / "mtp.safetensors"
    weights = dict(mx.load(str(path)))
    if wrong == "missing":
        del weights["fc.weight"]
    elif wrong == "extra":
        weights["fc.bias"] = mx.zeros((64,))
    else:
        weights["fc.weight"] = weights["fc.weight"][:, :-1]
    mx.save_safetensors(str(path), weights)
    model = load(folder)
    assert model.new_drafter is None
    assert "does not fit this model" in model.drafter_note
    assert "fc." in model.drafter_note


@pytest.mark.parametrize("name", ["model-mtp.safetensors", "mtp/weights.safetensors", "head/model.safetensors"])
def test_a_head_is_loaded_from_wherever_it_is(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / "mtp.safetensors").rename(folder / name)
    if name.startswith("head/"):
        (folder / "head" / "config.json").write_text('{"model_type": "llama_mtp", "hidden_size": 64}')
    model = load(folder)
    assert (model.drafter_note, model.new_drafter is None) == ("", False)


def test_a_head_for_a_model_of_another_size_is_off(folder: Path) -> None:
    (folder / "head").mkdir()
    (folder / "mtp.safetensors").rename(folder / "head" / "model.safetensors")
    (folder / "head" / "config.json").write_text('{"model_type": "llama_mtp", "hidden_size": 32}')
    model = load(folder)
    assert model.new_drafter is None
    assert "made for a model with hidden_size 32" in model.drafter_note


def test_each_drafter_starts_empty(folder: Path) -> None:
    model = load(folder)
    assert model.new_drafter is not None
    first = model.new_drafter()
    first.extend(mx.zeros((12, 64)), range(12))
    assert (first.pairs, model.new_drafter().pairs) == (12, 0)


@pytest.mark.parametrize(
    "ids",
    [
        mx.array([3, 2]),
        mx.array([5, 5]),
        mx.array([0, VOCABULARY]),
        mx.array([], mx.int32),
        mx.array([[1, 2]]),
        mx.array(5),
        mx.array([-1, 4]),
        mx.array([0.5, 1.5]),
        mx.array([True]),
        None,
    ],
)
def test_with_a_list_of_tokens_that_cannot_be_the_head_is_off(folder: Path, ids: mx.array | None) -> None:
    arrays = {"other": mx.array([1, 2])} if ids is None else {"draft_vocab": ids}
    mx.save_safetensors(str(folder / "draft_vocab.safetensors"), arrays)
    found = inspection.inspect(folder, ProbeMemory(folder))
    model = load(folder)
    assert model.new_drafter is None
    assert "draft_vocab.safetensors" in model.drafter_note
    assert model.drafter_note.endswith("so the head is off.")
    assert (found.tier, found.reason) == (inspection.Tier.NO_HEAD, model.drafter_note)


@pytest.mark.parametrize("kind", [mx.int32, mx.uint16, mx.uint32, mx.int64])
def test_a_list_of_tokens_may_have_any_type_of_whole_numbers(folder: Path, kind: mx.Dtype) -> None:
    arrays = {"draft_vocab": mx.array([0, 7, VOCABULARY - 1], kind)}
    mx.save_safetensors(str(folder / "draft_vocab.safetensors"), arrays)
    model = load(folder)
    assert model.new_drafter is not None
    assert model.new_drafter()._ids.tolist() == [0, 7, VOCABULARY - 1]


@pytest.mark.parametrize("template", [5, True, {"a": 1}, [{"name": "default", "template": 5}]])
def test_a_template_that_is_no_text_is_told_before_and_loads(folder: Path, template: object) -> None:
    change(folder / "tokenizer_config.json", chat_template=template)
    (note,) = inspection.inspect(folder, ProbeMemory(folder)).notes
    assert note.startswith("Its chat template is no text, so it cannot chat")
    assert not segments.has_thinking_switch(load(folder).tokenizer)


def test_a_tokenizer_that_reads_other_files_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PreTrainedTokenizerFast, "is_fast", False)
    check_refused(folder, "does not read its tokenizer.json")


# ---------------------------------------------------------------- what does not fit together


def check_refused(folder: Path, word: str) -> None:
    with pytest.raises(EngineError, match=word) as caught:
        load(folder)
    assert caught.value.kind is ErrorKind.REFUSED
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    "entries",
    [
        {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2},
        {"num_hidden_layers": 3},
        {"num_key_value_heads": 3},
        {"intermediate_size": 64},
    ],
)
def test_weights_that_do_not_fit_the_configuration(folder: Path, entries: dict[str, object]) -> None:
    change(folder / "config.json", **entries)
    check_refused(folder, "do not fit its config.json")


def test_a_setting_that_no_check_knows_is_not_laid_to_the_weights(folder: Path) -> None:
    change(folder / "config.json", rope_scaling={"type": "longrope"})
    check_refused(folder, "setting in its config.json that this version cannot use")


def test_a_tokenizer_that_cannot_be_read(folder: Path) -> None:
    change(folder / "tokenizer.json", pre_tokenizer={"type": "Unheard"})
    check_refused(folder, "tokenizer")
