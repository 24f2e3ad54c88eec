"""Whoever drafts: the tokens are those of plain decoding, and what is kept between answers is never wrong."""

from __future__ import annotations

import dataclasses
import itertools
import random
import threading
from typing import TYPE_CHECKING, Any, get_args

import mlx.core as mx
import numpy as np
import pytest

from mtplx_engine.config import MAX_DEPTH, DrafterKind, SamplerConfig
from mtplx_engine.draft.drafter import CombinedDrafter
from mtplx_engine.draft.prompt_lookup import PromptLookupDrafter
from mtplx_engine.engine import Drafters, Engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.stats import FinishReason
from tests.support import tiny_folder
from tests.support.engine_runs import check_error, run, tokens_of
from tests.support.fresh import check_caches
from tests.support.tiny import tiny_target
from tests.support.tiny_chat import Chat, ScriptedDepths, SetAtCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mtplx_engine.models.loader import LoadedModel


FEW_WORDS = tuple((token, 25.0) for token in (5, 6, 7))  # answers that repeat themselves now and then
KINDS = get_args(DrafterKind)
NEW = tuple(kind for kind in KINDS if kind != "mtp")
UNIT = [tiny_folder.START, *random.Random(2).choices(range(4, tiny_folder.VOCABULARY), k=11)]
PROMPT = [*UNIT, *UNIT, *UNIT]  # so that there is something to copy from the start


@pytest.fixture(scope="module")
def draft_model(tiny_model: LoadedModel) -> LoadedModel:
    """A model that agrees with the tiny one about half the time."""
    target = tiny_target(tiny_folder.VOCABULARY, layers=2, hidden=64, spread=3.0)
    noise = np.random.default_rng(3).normal(0, 0.6, target.model.lm_head.weight.shape)
    target.model.lm_head.weight = target.model.lm_head.weight + mx.array(noise, mx.float32)
    return dataclasses.replace(tiny_model, target=target, new_drafter=None)


class Drafting(Chat):
    """A chat whose drafters are the real ones."""

    def __init__(self, model: LoadedModel, draft_model: LoadedModel, depths: Sequence[int] = (0,)) -> None:
        super().__init__(model)
        self.loaded = self.engine._model = model
        self.engine._draft_model = draft_model
        self.engine._depths = ScriptedDepths(depths)
        self.drafters = Drafters(model, draft_model, chunk=16)

    def check(self) -> None:
        session = self.engine._prefix
        assert session
        caching, fresh = session.drafter, lambda: self.drafters.new(session.kind)
        if isinstance(caching, CombinedDrafter):
            self._check_lookup(caching.first, session.tokens)
            caching, fresh = caching.second, lambda: self.drafters.new("mtp")
        if isinstance(caching, PromptLookupDrafter):
            self._check_lookup(caching, session.tokens)
            caching = None
        check_caches(self.loaded.target, session.tokens, session.cache, caching, fresh)

    @staticmethod
    def _check_lookup(drafter: PromptLookupDrafter, tokens: list[int]) -> None:
        fresh = PromptLookupDrafter(tiny_folder.VOCABULARY)
        fresh.begin(tokens, len(tokens) - 1)
        assert vars(drafter._index) == vars(fresh._index)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", range(1, 7))
def test_greedy_answers_are_those_of_plain_decoding(
    tiny_model: LoadedModel, draft_model: LoadedModel, kind: str, depth: int
) -> None:
    settings = {"max_tokens": 60, "logit_bias": FEW_WORDS}
    plain = Chat(tiny_model).answer(PROMPT, depth=0, **settings)
    chat = Drafting(tiny_model, draft_model)
    assert chat.answer(PROMPT, depth=depth, draft_core=kind, **settings) == plain
    stats = chat.finished.stats
    drafted = [event.drafted for event in chat.cycles]
    assert sum(drafted) == stats.drafted > 0
    assert sum(event.accepted for event in chat.cycles) == stats.accepted
    assert drafted.count(0) == stats.plain_steps
    assert kind == "mtp" or stats.accepted > 0
    if kind == "prompt_lookup":  # it has not always something to propose, and what it has is what counts
        assert stats.plain_steps > 0
    chat.check()


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("kind", NEW)
def test_caches_are_fresh_ones_after_any_end(
    tiny_model: LoadedModel, draft_model: LoadedModel, kind: str, temperature: float
) -> None:
    settings = {"depth": 4, "temperature": temperature, "draft_core": kind}
    whole = Drafting(tiny_model, draft_model).answer(PROMPT, max_tokens=24, **settings)
    for max_tokens in (1, 2, 3, 5, 9, 14):
        chat = Drafting(tiny_model, draft_model)
        chat.answer(PROMPT, max_tokens=max_tokens, **settings)
        assert (chat.reason, len(chat.tokens)) == (FinishReason.LENGTH, max_tokens)
        chat.check()
    for at in [at for at, token in enumerate(whole) if token not in whole[:at]][:6]:
        chat = Drafting(dataclasses.replace(tiny_model, end_ids=frozenset({whole[at]})), draft_model)
        chat.answer(PROMPT, max_tokens=24, **settings)
        assert (chat.reason, chat.tokens) == (FinishReason.END, whole[:at])
        chat.check()
    for look in range(6):
        chat = Drafting(tiny_model, draft_model)
        chat.answer(PROMPT, max_tokens=24, cancelled=SetAtCheck(look), **settings)
        assert chat.reason is FinishReason.CANCELLED
        chat.check()


@pytest.mark.parametrize("kind", NEW)
def test_the_next_turn_prefills_only_the_new_part(tiny_model: LoadedModel, draft_model: LoadedModel, kind: str) -> None:
    chat = Drafting(tiny_model, draft_model)
    first = chat.answer(PROMPT, draft_core=kind)
    again = chat.held
    assert again == [*PROMPT, *first[:-1]]
    longer = [*PROMPT, *first, 9, 8]
    assert chat.answer(longer, draft_core=kind) == Chat(tiny_model).answer(longer, depth=0)
    assert chat.cached >= len(again) - 1
    chat.check()


@pytest.mark.parametrize("seed", range(3))
def test_drafters_that_change_from_answer_to_answer(
    tiny_model: LoadedModel, draft_model: LoadedModel, seed: int
) -> None:
    pick = random.Random(seed)
    chat = Drafting(tiny_model, draft_model, depths=[0, 3, 0, 0, 1, 5])
    text, cores = (
        list(PROMPT),
        itertools.chain([*KINDS, "off"], iter(lambda: pick.choice([*KINDS, "off"]), 0)),
    )
    for core in itertools.islice(cores, 12):
        how = pick.random()
        if how < 0.3:
            text = text[: pick.randrange(1, len(text) + 1)]
        elif how < 0.7:
            text = [*text, *chat.tokens]
        text = [*text, *pick.choices(UNIT, k=pick.randrange(3))]
        depth = pick.choice([0, 1, 3, 5, "auto"])
        if pick.random() < 0.4:
            looks = SetAtCheck(pick.randrange(8))
            chat.answer(text, depth=depth, temperature=0.7, draft_core=core, cancelled=looks)
        else:
            chat.answer(text, depth=depth, draft_core=core)
            assert chat.tokens == Chat(tiny_model).answer(text, depth=0)
        if pick.random() < 0.5:
            chat.check()


def test_text_drafters_take_over_without_reading_the_chat_again(
    tiny_model: LoadedModel, draft_model: LoadedModel
) -> None:
    chat = Drafting(tiny_model, draft_model)
    text = [*PROMPT, *chat.answer(PROMPT, draft_core="off"), 9]
    for core in ("prompt_lookup", "draft_model", "prompt_lookup"):
        chat.answer(text, draft_core=core)
        assert chat.cached >= len(PROMPT)
    chat.answer(text, draft_core="mtp")
    assert chat.cached == 0  # the head needs hiddens that nobody kept


# ---------------------------------------------------------------- which drafter


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {name: tmp_path_factory.mktemp(name) for name in ("with", "without", "other")}
    tiny_folder.write(folders["with"])
    tiny_folder.write(folders["without"], head=False, seed=4)
    tiny_folder.write(folders["other"], head=False)
    words = (folders["other"] / "tokenizer.json").read_text()
    (folders["other"] / "tokenizer.json").write_text(words.replace('"<|file|>"', '"<|name|>"'))
    return folders


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.unload()


def load(engine: Engine, target: Path, draft: Path | None = None) -> Any:
    return engine.load(str(target), target, lambda *_: None, threading.Event(), str(draft or ""))


def test_a_draft_model_is_loaded_by_name_or_folder(engine: Engine, folders: dict[str, Path]) -> None:
    info = load(engine, folders["without"], folders["with"])
    assert (info.drafter, info.drafter_note, info.max_depth) == ("draft_model", "", MAX_DEPTH)
    events = run(engine, temperature=0, speculative_depth=3)
    assert events[-1].stats.drafted > 0
    assert tokens_of(events) == tokens_of(run(engine, temperature=0, draft_core="off"))
    engine.unload()
    assert load(engine, folders["without"]).drafter == "none"


def test_the_models_own_head_comes_first(engine: Engine, folders: dict[str, Path]) -> None:
    assert load(engine, folders["with"], folders["without"]).drafter == "mtp"
    kinds = {}
    for core in ("stock", *KINDS):
        run(engine, draft_core=core, speculative_depth=2)
        kinds[core] = engine._prefix.kind
    assert kinds == {"stock": "mtp"} | {kind: kind for kind in KINDS}


def test_loading_two_models_reports_one_progress(engine: Engine, folders: dict[str, Path]) -> None:
    steps: list[float] = []
    target, draft = str(folders["with"]), str(folders["without"])
    engine.load(target, folders["with"], lambda step, _: steps.append(step), threading.Event(), draft)
    assert steps == sorted(steps)
    assert 0.9 < steps[-1] <= 1


def test_another_tokenizer_is_refused_before_anything_is_loaded(
    engine: Engine, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtplx_engine.models.loader.load_checkpoint", lambda *_: pytest.fail("weights were read"))
    with pytest.raises(EngineError) as caught:
        load(engine, folders["with"], folders["other"])
    check_error(caught, ErrorKind.UNSUPPORTED, "cannot draft for", "1 of 264 tokens differ", "same family")


def test_a_draft_model_that_is_not_there(engine: Engine, folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        load(engine, folders["with"], tmp_path / "nothing")
    assert caught.value.kind is ErrorKind.NOT_FOUND


@pytest.mark.parametrize("depth", [0, 3])
def test_nobody_drafts_when_drafting_is_off(tiny_model: LoadedModel, draft_model: LoadedModel, depth: int) -> None:
    drafters = Drafters(tiny_model, draft_model, chunk=16)
    core = "off" if depth else "mtp+prompt_lookup"
    assert drafters.wanted(SamplerConfig(draft_core=core, speculative_depth=depth)) is None
