"""The sum says what fits, and how much memory models really take."""

from __future__ import annotations

import dataclasses
import gc
import math
import resource
import sys
import threading
import time
from array import array
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine import backend
from mtplx_engine.config import SamplerConfig
from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import Generate
from mtplx_engine.models import checkpoint, memory_fit
from mtplx_engine.models.memory_fit import Fit, MemoryVerdict
from mtplx_engine.util import system
from mtplx_engine.util.system import Machine
from tests.support import model_folder, tiny_folder
from tests.support.checkpoints import deepseek_v3, glm4_moe, hybrid, plain, shards
from tests.support.checkpoints.family_case import write
from tests.support.model_folder import HEAD, TENSORS
from tests.support.odd_folders import GOOD, WRONG
from tests.support.toy import TOY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mtplx_engine.models.memory_fit import Footprint


GB = 10**9
MAC = Machine(16 << 30, 11 << 30, packed=True, chunk=512)
PC = Machine(16 << 30, 16 << 30, packed=False, chunk=64)


def measure(folder: Path, here: Machine) -> Footprint:
    found = checkpoint.check(folder)
    return memory_fit.measure_footprint(found.config, found.tensors, found.head, here)


def build(name: str, folder: Path) -> Path:
    next(case for case in GOOD if case.name == name).build(folder)
    return folder


def count(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> int:
    """Return how many numbers tensors hold."""
    return sum(math.prod(shape) for _, shape in tensors.values())


def test_on_a_mac_packed_weights_stay_packed(tmp_path: Path) -> None:
    """What is not packed is rounded to two bytes a number."""
    wider = count(model_folder.trunk(32))
    embedding = 16 * 32
    packed = 16 * 4 * 4 + 2 * 16 * 2
    assert measure(build("quantized", tmp_path), MAC).weights == 2 * (wider - embedding) + packed


def test_elsewhere_weights_are_unpacked_to_four_bytes_each(tmp_path: Path) -> None:
    wider = count(model_folder.trunk(32))
    assert measure(build("quantized", tmp_path), PC).weights == 4 * wider


def test_the_head_counts_and_what_it_drafts_from(tmp_path: Path) -> None:
    found = measure(build("file", tmp_path), PC)
    assert (found.weights, found.head) == (4 * count(TENSORS), 4 * count(HEAD))
    shortlist = model_folder.safetensors({"draft_vocab": ("U32", (4,))})
    ids = array("I", range(4)).tobytes()
    (tmp_path / "draft_vocab.safetensors").write_bytes(shortlist[: -len(ids)] + ids)
    assert measure(tmp_path, PC).head == 4 * (count(HEAD) + 4 * model_folder.HIDDEN)


def test_a_head_that_is_off_does_not(tmp_path: Path) -> None:
    model_folder.write(
        tmp_path, files={"model.safetensors": model_folder.safetensors(TENSORS), "mtp.safetensors": _narrow()}
    )
    assert checkpoint.check(tmp_path).head
    found = measure(tmp_path, PC)
    assert (found.head, found.head_layers) == (0, 0)


@pytest.mark.parametrize(("name", "left_out"), [("nested", 2 * 2), ("later head", 0)])
def test_what_is_not_loaded_does_not(tmp_path: Path, name: str, left_out: int) -> None:
    """What sees is not loaded, nor the head of a family that decodes plainly for now."""
    next(case for case in (*GOOD, *WRONG) if case.name == name).build(tmp_path)
    found, checked = measure(tmp_path, PC), checkpoint.check(tmp_path)
    every = sum(math.prod(spec.shape) for spec in checked.tensors.values())
    assert found.weights == 4 * (every - left_out)
    assert bool(found.head) == (name == "nested")


def _narrow() -> bytes:
    return model_folder.safetensors(HEAD | {"norm.weight": ("F32", (7,))})


def made(total: int, memory: int, limit: int | None = None) -> Fit:
    """A sum that comes to so many bytes."""
    return Fit(1, total, 0, 0, 0, memory_fit.RESERVE, memory, limit or memory)


@pytest.mark.parametrize(
    ("total", "memory", "limit", "verdict"),
    [
        (3 * GB, 8 * GB, 5 * GB, MemoryVerdict.FITS),
        (4 * GB, 8 * GB, 5 * GB, MemoryVerdict.TIGHT),
        (5 * GB, 8 * GB, 5 * GB, MemoryVerdict.TIGHT),
        (5 * GB + 1, 8 * GB, 5 * GB, MemoryVerdict.TOO_BIG),
        (10 * GB, 16 * GB, None, MemoryVerdict.FITS),
        (10 * GB + 1, 16 * GB, None, MemoryVerdict.TIGHT),
        (14 * GB + 1, 16 * GB, None, MemoryVerdict.TOO_BIG),
    ],
)
def test_the_verdict(total: int, memory: int, limit: int | None, verdict: MemoryVerdict) -> None:
    assert made(total, memory, limit).verdict is verdict


def test_what_is_too_big_is_refused_with_the_sum() -> None:
    memory_fit.check_fit("Large", made(14 * GB, 16 * GB))
    with pytest.raises(EngineError) as caught:
        memory_fit.check_fit(
            "Large", dataclasses.replace(made(14 * GB, 16 * GB, 11 * GB), head=GB, cache=2 * GB, context=9)
        )
    assert caught.value.kind is ErrorKind.TOO_BIG
    for words in (
        "weights 14.0 GB",
        "head 1.0 GB",
        "9 tokens of context 2.0 GB",
        "17.0 GB in all",
        "use 11.0 GB",
    ):
        assert words in str(caught.value)


@given(st.integers(1, 1 << 20), st.integers(1, 1 << 20), st.sampled_from([MAC, PC]))
def test_more_context_never_takes_less(one: int, other: int, here: Machine) -> None:
    config = {**hybrid.QWEN3_5.text, "model_type": "qwen3_5", "max_position_embeddings": 1 << 19}
    found = memory_fit.measure_footprint(config, {}, None, here)
    few, many = (memory_fit.judge_fit(found, context, here) for context in sorted((one, other)))
    assert few.total <= many.total
    assert many.context <= 1 << 19


def test_a_slider_can_ask_at_every_tick(tmp_path: Path) -> None:
    found = measure(build("file", tmp_path), MAC)
    started = time.process_time()
    for context in range(1000):
        memory_fit.judge_fit(found, context, MAC)
    assert time.process_time() - started < 3  # three times a millisecond each


def test_two_models_are_counted_together() -> None:
    both = memory_fit.combined_fit(made(GB, 16 * GB), dataclasses.replace(made(2 * GB, 16 * GB), scratch=GB))
    assert (both.total, both.scratch) == (4 * GB, GB)


def test_the_engine_refuses_what_will_not_fit_unless_told_to(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "this_machine", lambda: Machine(1 << 20, 1 << 20, packed=False, chunk=64))
    engine = Engine()
    with pytest.raises(EngineError, match="will not fit") as caught:
        engine.load(str(tiny_path), tiny_path, lambda *_: None, threading.Event())
    assert caught.value.kind is ErrorKind.TOO_BIG
    with pytest.raises(EngineError, match="will not fit"):
        engine.load(str(tiny_path), tiny_path, lambda *_: None, threading.Event(), str(tiny_path))
    engine.load(str(tiny_path), tiny_path, lambda *_: None, threading.Event(), anyway=True)
    engine.unload()


@dataclasses.dataclass(frozen=True)
class Model:
    """A model whose memory is measured, and how: a chat of so many turns that comes to `context` tokens."""

    write: Callable[[Path], Path]
    context: int
    turns: int = 17


def _sized(tiny: Any, bits: int = 0, **changes: Any) -> Callable[[Path], Path]:
    """Return what writes a family's tiny checkpoint in other sizes, packed or not, its head in use."""

    def build(folder: Path) -> Path:
        text = tiny.config.get("text_config", {})
        config = {**tiny.config, "max_position_embeddings": 4096}
        config |= {"text_config": {**text, **changes}} if text else changes
        sized = dataclasses.replace(tiny, config=config)
        tensors = sized.converted()
        if bits:
            tensors, _ = shards.pack(tensors, bits, 32)
            sized = dataclasses.replace(sized, config={**config, "quantization": {"bits": bits, "group_size": 32}})
        write(folder, sized, tensors)
        tiny_folder.remember_head(folder, folder.parent)
        return folder

    return build


def _plain(name: str, **changes: Any) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        family = plain.PLAIN[name]
        dataclasses.replace(family, config={**family.config, **changes}, head="").write(folder)
        return folder

    return build


MODELS = {
    "toy": Model(lambda _: TOY, 300),
    "grouped heads": Model(
        _sized(glm4_moe.TINY, hidden_size=512, moe_intermediate_size=256, intermediate_size=2048), 400
    ),
    "packed": Model(_sized(glm4_moe.TINY, 4, hidden_size=512, moe_intermediate_size=256), 200),
    "latent attention": Model(_sized(deepseek_v3.TINY, hidden_size=512, moe_intermediate_size=256), 400),
    "recurrent layers": Model(
        _sized(hybrid.QWEN3_5, hidden_size=512, intermediate_size=1024, linear_value_head_dim=64), 250
    ),
    "sliding windows": Model(
        _plain(
            "step3p5",
            hidden_size=256,
            num_attention_heads=8,
            num_attention_groups=4,
            head_dim=32,
            sliding_window=128,
            intermediate_size=4096,
            max_position_embeddings=4096,
        ),
        600,
    ),
}


def peak(folder: Path, data: Path, model: Model) -> tuple[int, str]:
    """Load a model and chat with it; return the most that mlx held at a time, in bytes, and who drafted.

    Its head was tried by a load before, as with all loads but a model's first.
    """
    Engine().load(str(folder), data, lambda *_: None, threading.Event())
    gc.collect()
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    engine = Engine()
    info = engine.load(str(folder), data, lambda *_: None, threading.Event())
    sampler = SamplerConfig(seed=1, temperature=0.7, top_p=0.9, speculative_depth=2)
    for turn in range(1, model.turns + 1):
        prompt = [5 + place % 200 for place in range(model.context * turn // model.turns)]
        list(engine.generate_ids(Generate(1, (), sampler, 2, ()), prompt, threading.Event()))
    most = mx.get_peak_memory() - before
    engine.unload()
    return most, info.drafter


def check(name: str, folder: Path, data: Path, model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    here = dataclasses.replace(system.this_machine(), chunk=backend.policy().prefill_chunk)
    found = measure(folder, here)
    expected = memory_fit.judge_fit(found, model.context, here)
    most, drafter = peak(folder, data, model)
    assert drafter == ("mtp" if found.head else "none")
    process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    with capsys.disabled():
        print(
            f"\n{name}: {expected.total / 1e6:.1f} MB predicted, {most / 1e6:.1f} MB measured, "
            f"{expected.total / most - 1:+.1%}; interpreter and libraries apart: {(process - most) / 1e6:.0f} MB"
        )
    assert 0.9 <= expected.total / most <= 1.1


@pytest.mark.parametrize("name", MODELS)
def test_the_sum_is_what_a_model_takes(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = MODELS[name].write(tmp_path / "model")
    check(name, folder, tmp_path, MODELS[name], capsys)


@pytest.mark.long
@pytest.mark.starter
def test_the_sum_is_what_the_starter_takes(
    starter_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("starter", starter_dir, tmp_path, Model(lambda _: starter_dir, 600, turns=1), capsys)
