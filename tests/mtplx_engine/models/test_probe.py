"""The probe finds how a trained head is wired, whatever its files suggest, and turns off one that is of no use."""

from __future__ import annotations

import json
import shutil
import time
from itertools import product
from typing import TYPE_CHECKING

import mlx.core as mx
import pytest

from mtplx_engine import backend
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.models import checkpoint, identity, inspection, loader, manifest, probe
from mtplx_engine.models.head_builder import is_gain
from mtplx_engine.models.inspection import LEAST_AGREEMENT, ProbeMemory, ProbeResult
from mtplx_engine.models.manifest import Concat, HeadWiring, Hidden, Manifest, Norms, Wiring
from mtplx_engine.util import files
from tests.support.toy import TOY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel


Arrays = dict[str, mx.array]
HIDDEN = 128
FINAL_NORM = "model.language_model.norm"
PUBLISHED = Wiring(Hidden.AFTER_NORM, Concat.EMBEDDING_FIRST, Norms.PLUS_ONE)


def load(folder: Path, memory: ProbeMemory) -> LoadedModel:
    return loader.load_checkpoint(checkpoint.check(folder), backend.policy(), lambda *_: None, memory)


def verdict(folder: Path, memory: ProbeMemory) -> ProbeResult:
    found = memory.recall(identity.identity_of(checkpoint.check(folder)))
    assert found
    return found


@pytest.fixture
def memory(tmp_path: Path) -> ProbeMemory:
    return ProbeMemory(tmp_path / "data")


@pytest.fixture
def change(tmp_path: Path) -> Callable[[Callable[[Arrays], Arrays]], Path]:
    """Copies the toy with some of its tensors changed; all are in float32, gains minus one as they are stored."""

    def make(changed: Callable[[Arrays], Arrays]) -> Path:
        folder = tmp_path / "toy"
        shutil.copytree(TOY, folder)
        path = str(folder / "model.safetensors")
        arrays = {name: array.astype(mx.float32) for name, array in mx.load(path).items()}
        arrays |= changed(arrays)
        mx.eval(arrays)
        mx.save_safetensors(path, arrays)
        return folder

    return make


def store_gains_plainly(arrays: Arrays) -> Arrays:
    return {name: array + 1 for name, array in arrays.items() if name.startswith("mtp.") and is_gain(name)}


def put_hidden_first(arrays: Arrays) -> Arrays:
    embedding, hidden = mx.split(arrays["mtp.fc.weight"], 2, axis=1)
    return {"mtp.fc.weight": mx.concatenate([hidden, embedding], axis=1)}


def uneven_final_norm(arrays: Arrays) -> tuple[Arrays, mx.array]:
    """Return changes that leave all logits as they are but make the gains of the last norm uneven, and by how much.

    The toy's own are so even that hiddens before and after that norm hardly differ in direction.
    """
    scale = mx.exp(0.8 * mx.random.normal((HIDDEN,), key=mx.random.key(5)))
    changes = {f"{name}.weight": (arrays[f"{name}.weight"] + 1) * scale - 1 for name in (FINAL_NORM, "mtp.norm")}
    return changes | {"lm_head.weight": arrays["lm_head.weight"] / scale}, scale


def read_after_an_uneven_norm(arrays: Arrays) -> Arrays:
    changes, scale = uneven_final_norm(arrays)
    return changes | _hidden_gains(arrays, scale.square().mean().sqrt() / scale)


def read_before_an_uneven_norm(arrays: Arrays) -> Arrays:
    changes, _ = uneven_final_norm(arrays)
    own = arrays[f"{FINAL_NORM}.weight"] + 1
    return changes | _hidden_gains(arrays, own * own.square().mean().rsqrt())


def _hidden_gains(arrays: Arrays, factor: mx.array) -> Arrays:
    """Return the gains of the norm over the hidden, times a factor for each of its numbers."""
    name = "mtp.pre_fc_norm_hidden.weight"
    return {name: (arrays[name] + 1) * factor - 1}


CHANGES: dict[str, tuple[Callable[[Arrays], Arrays], Wiring]] = {
    "nothing": (lambda _: {}, PUBLISHED),
    "norms": (store_gains_plainly, Wiring(norms=Norms.PLAIN)),
    "concat": (put_hidden_first, Wiring(concat=Concat.HIDDEN_FIRST, norms=Norms.PLUS_ONE)),
    "after": (read_after_an_uneven_norm, PUBLISHED),
    "before": (read_before_an_uneven_norm, Wiring(hidden=Hidden.BEFORE_NORM, norms=Norms.PLUS_ONE)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_planted_convention_is_found(
    name: str, change: Callable[[Callable[[Arrays], Arrays]], Path], memory: ProbeMemory
) -> None:
    changed, expected = CHANGES[name]
    folder = change(changed)
    model = load(folder, memory)
    found = verdict(folder, memory)
    assert found.wiring == expected
    assert len(found.agreement) == probe.POSITIONS
    assert found.usable
    assert (model.drafter_note, model.new_drafter is None) == ("", False)


def test_a_head_that_does_not_predict_is_off_and_the_reason_is_said(
    change: Callable[[Callable[[Arrays], Arrays]], Path], memory: ProbeMemory
) -> None:
    key = mx.random.key(3)
    folder = change(lambda _: {"mtp.fc.weight": mx.random.normal((HIDDEN, 2 * HIDDEN), key=key)})
    model = load(folder, memory)
    assert model.new_drafter is None
    assert "does not predict this model" in model.drafter_note
    assert "20% are needed" in model.drafter_note
    assert verdict(folder, memory).score < LEAST_AGREEMENT
    assert load(folder, memory).drafter_note == model.drafter_note


def shuffle_behind_the_first_numbers(arrays: Arrays) -> Arrays:
    """Return a head whose matrices begin as before and are noise from there on."""
    names = [name for name in arrays if name.startswith("mtp.") and arrays[name].ndim == 2]
    flat = {name: arrays[name].flatten() for name in names}
    noise = {name: mx.random.permutation(array[2048:], key=mx.random.key(1)) for name, array in flat.items()}
    return {name: mx.concatenate([flat[name][:2048], noise[name]]).reshape(arrays[name].shape) for name in names}


def test_a_head_inherits_no_verdict_from_one_that_begins_like_it(
    change: Callable[[Callable[[Arrays], Arrays]], Path], memory: ProbeMemory
) -> None:
    folder = change(lambda _: {})
    load(folder, memory)
    assert verdict(folder, memory).usable
    arrays = dict(mx.load(str(folder / "model.safetensors")))
    arrays |= shuffle_behind_the_first_numbers(arrays)
    mx.eval(arrays)
    mx.save_safetensors(str(folder / "model.safetensors"), arrays)
    assert "does not predict this model" in load(folder, memory).drafter_note


def test_what_a_manifest_says_of_the_wiring_is_tried_too(
    change: Callable[[Callable[[Arrays], Arrays]], Path], memory: ProbeMemory
) -> None:
    useless = change(lambda arrays: {"mtp.fc.weight": 0 * arrays["mtp.fc.weight"]})
    good = shutil.copytree(TOY, useless.parent / "good")
    wrong = HeadWiring("mtp", "qwen3_5", "before_norm", "hidden_first", "plain", ())
    for folder in (useless, good):
        manifest.write_manifest(folder, Manifest(folder.name, folder.name, "", "", 1, (), wrong))
    assert "does not predict this model" in load(useless, memory).drafter_note
    assert load(good, memory).new_drafter
    assert verdict(good, memory).wiring == PUBLISHED


def test_a_model_with_two_heads_loads_without_one(tmp_path: Path, memory: ProbeMemory) -> None:
    folder = shutil.copytree(TOY, tmp_path / "toy")
    arrays = mx.load(str(folder / "model.safetensors"))
    head = {name.removeprefix("mtp."): 2 * array for name, array in arrays.items() if name.startswith("mtp.")}
    mx.save_safetensors(str(folder / "mtp.safetensors"), head)
    model = load(folder, memory)
    assert model.new_drafter is None
    assert "two drafting heads" in model.drafter_note
    tokens = mx.array([1, 5, 9, 40, 7])
    distributions = [
        found.target.logits(found.target.forward(tokens, TokenCache(found.target.new_layers())))
        for found in (model, load(TOY, memory))
    ]
    assert mx.array_equal(*distributions)


def test_a_known_head_is_not_probed_again(memory: ProbeMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    load(TOY, memory)
    monkeypatch.setattr(probe, "probe", lambda *_, **__: pytest.fail("probed twice"))
    assert load(TOY, memory).new_drafter is not None


def reword(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_another_rope_is_a_fresh_probe(memory: ProbeMemory, tmp_path: Path) -> None:
    folder = shutil.copytree(TOY, tmp_path / "toy")
    load(folder, memory)
    first = verdict(folder, memory)
    reword(folder / "config.json", '"rope_theta": 10000.0', '"rope_theta": 3.0')
    load(folder, memory)
    assert verdict(folder, memory).agreement != first.agreement


def test_it_is_cheap(memory: ProbeMemory, tmp_path: Path) -> None:
    load(TOY, memory)  # also fills the caches of mlx and of the file system
    started = time.process_time()
    load(TOY, memory)
    remembered = time.process_time() - started
    started = time.process_time()
    load(TOY, ProbeMemory(tmp_path / "other"))
    assert time.process_time() - started - remembered < 3.0  # a third of that on a quiet machine


# ---------------------------------------------------------------- the memory

VERDICTS = {
    f"key {number}": ProbeResult(Wiring(*wiring), (0.5, 0.25, 0.125))
    for number, wiring in enumerate(product(Hidden, Concat, Norms))
}


def test_verdicts_are_kept(tmp_path: Path) -> None:
    for key, found in VERDICTS.items():
        ProbeMemory(tmp_path / "new").remember(key, found)
    kept = ProbeMemory(tmp_path / "new")
    assert {key: kept.recall(key) for key in VERDICTS} == VERDICTS
    assert kept.recall("another key") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 1, "results": []}',
        '{"format": 2, "results": {"k": {}}}',
        '{"format": 1, "results": {"k": {"hidden": "x"}}}',
        '{"format": 1, "results": {"k": 5}}',
        *(
            '{"format": 1, "results": {"k": {"hidden": "after_norm", "concat": "embedding_first", "norms": "plain", '
            f'"agreement": {rates}}}}}}}'
            for rates in (
                "[]",
                "[1e400]",
                "[NaN]",
                "[-0.1]",
                "[1.1]",
                "[0.5, 1e400]",
                f"[1{'0' * 400}]",
                '"x"',
            )
        ),
        "[" * 100_000,
    ],
)
def test_a_damaged_memory_is_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / inspection._PROBES).write_text(text)
    memory = ProbeMemory(tmp_path)
    assert memory.recall("k") is None
    found = ProbeResult(Wiring(), (0.3,))
    memory.remember("k", found)
    assert memory.recall("k") == found


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    memory = ProbeMemory(tmp_path / "file")
    memory.remember("k", ProbeResult(Wiring(), (0.3,)))
    assert memory.recall("k") is None


def test_the_oldest_verdicts_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_KEPT", 2)
    memory = ProbeMemory(tmp_path)
    for key in ("a", "b", "a", "c"):
        memory.remember(key, ProbeResult(Wiring(), (0.3,)))
    kept = json.loads((tmp_path / inspection._PROBES).read_text())["results"]
    assert list(kept) == ["a", "c"]


def test_the_score_is_the_mean_of_all_positions() -> None:
    assert ProbeResult(Wiring(), (0.5, 0.1, 0.0)).score == pytest.approx(0.2)
    assert ProbeResult(Wiring(), (0.5, 0.11, 0.0)).usable
    assert not ProbeResult(Wiring(), (0.5, 0.05, 0.0)).usable
