"""Answers over a real folder, and what is said when something cannot be."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

import mlx.core as mx
import pytest
from mlx_lm.models.cache import ChunkedKVCache

from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import ChatMessage, SamplerConfig
from mtplx_engine.engine import Engine, PrefixCache, Start
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.ipc.protocol import (
    Count,
    Counted,
    DepthChosen,
    DepthReason,
    Finished,
    Generate,
    PrefillProgress,
    Tokens,
)
from mtplx_engine.models.target import Target
from mtplx_engine.stats import FinishReason
from tests.support import tiny_folder
from tests.support.engine_runs import HELLO, NEVER_ENDS, check_error, load, run, text_of, tokens_of
from tests.support.tiny_chat import PROMPT
from tests.support.tiny_folder import END, WINDOW

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mtplx_engine.draft.drafter import Drafter


LETTERS = tuple(range(36, 62))  # the tokens of A to Z


def prompt_of(engine: Engine) -> list[int]:
    text = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    ids: list[int] = engine.model.tokenizer.encode(text)
    return ids


def test_the_events_of_an_answer(engine: Engine) -> None:
    events = run(engine, speculative_depth=2)
    prompt = len(prompt_of(engine))
    progress = [event for event in events if isinstance(event, PrefillProgress)]
    assert [event.done for event in progress] == [0, 16, prompt - 1]
    assert {(event.total, event.cached) for event in progress} == {(prompt, 0)}
    assert isinstance(events[len(progress)], DepthChosen)
    later = [event for event in events[len(progress) + 1 : -1] if not isinstance(event, DepthChosen)]
    assert all(isinstance(event, Tokens) for event in later)
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert {event.generation for event in events} == {3}
    assert len(tokens_of(events)) == finished.stats.emitted == 12
    assert finished.reason is FinishReason.LENGTH
    assert text_of(events).rstrip("\ufffd") == engine.model.decode(tokens_of(events)).rstrip("\ufffd")
    times = [event.at_s for event in events if isinstance(event, Tokens)]
    assert times == sorted(times)
    drafted = [(event.drafted, event.accepted) for event in events if isinstance(event, Tokens)]
    assert sum(d for d, _ in drafted) == finished.stats.drafted
    assert sum(a for _, a in drafted) == finished.stats.accepted
    assert (finished.stats.seed, finished.stats.depth, finished.stats.drafter) == (5, "2", "mtp")


def test_the_second_turn_prefills_only_the_new_part(engine: Engine) -> None:
    letters = tuple((token, 90.0) for token in LETTERS)
    first = run(engine, speculative_depth=2, temperature=0, logit_bias=letters)
    assert text_of(first).isupper()
    chat = (*HELLO, ChatMessage("assistant", text_of(first)), ChatMessage("user", "go on"))
    second = run(engine, chat, speculative_depth=2, temperature=0)
    # The newest token of the answer was never read, and the one before is read again for its hidden state.
    assert second[-1].stats.cached_tokens == len(prompt_of(engine)) + 12 - 2
    engine.forget()
    again = run(engine, chat, speculative_depth=0, temperature=0)
    assert again[-1].stats.cached_tokens == 0
    assert tokens_of(again) == tokens_of(second)


@pytest.mark.parametrize("depth", [0, 3])
def test_the_same_seed_gives_the_same_text(engine: Engine, depth: int) -> None:
    answers = {}
    for seed in (1, 2, 3):
        texts = [text_of(run(engine, temperature=1, speculative_depth=depth, seed=seed)) for _ in range(2)]
        assert texts[0] == texts[1]
        answers[texts[0]] = seed
    assert len(answers) == 3


def test_a_seed_alone_repeats_the_text_whatever_is_fastest_now(engine: Engine) -> None:
    first = run(engine, temperature=0.9, speculative_depth="auto", max_tokens=30)
    for _ in range(3):  # the controller learns meanwhile
        run(engine, temperature=0.0, speculative_depth="auto", max_tokens=60)
        again = run(engine, temperature=0.9, speculative_depth="auto", max_tokens=30)
        assert tokens_of(again) == tokens_of(first)
    assert {event.drafted for event in first if isinstance(event, Tokens)} <= {0, 1}


def test_without_a_seed_answers_differ_and_name_theirs(engine: Engine) -> None:
    first, second = (run(engine, temperature=1, seed=None, speculative_depth=1) for _ in range(2))
    assert tokens_of(first) != tokens_of(second)
    seed = first[-1].stats.seed
    assert tokens_of(run(engine, temperature=1, seed=seed, speculative_depth=1)) == tokens_of(first)


@pytest.mark.parametrize("depth", [0, 3])
@pytest.mark.parametrize("temperature", [0, 1])
def test_a_bias_forces_or_blocks_a_token(engine: Engine, temperature: float, depth: int) -> None:
    settings = {"temperature": temperature, "speculative_depth": depth}
    forced = run(engine, logit_bias=((77, 100.0), (END, -100.0)), **settings)
    assert tokens_of(forced) == [77] * 12
    free = tokens_of(run(engine, **settings))
    blocked = tuple((token, -100.0) for token in {*free, END})
    assert not set(tokens_of(run(engine, logit_bias=blocked, **settings))) & set(free)


@pytest.mark.parametrize("depth", [0, 3])
def test_an_end_token_at_once_is_an_empty_answer(engine: Engine, depth: int) -> None:
    events = run(engine, logit_bias=((END, 100.0),), speculative_depth=depth)
    assert (events[-1].reason, events[-1].stats.emitted) == (FinishReason.END, 0)
    assert tokens_of(events) == []
    assert text_of(events) == ""
    assert events[-1].stats.accepted == 0


def test_typed_control_words_do_not_end_an_answer(engine: Engine) -> None:
    """The model may spell them too: only the end token itself ends."""
    spelled = engine.model.tokenizer.encode("<|im_end|>", split_special_tokens=True)
    assert END not in spelled
    assert engine.model.decode(spelled) == "<|im_end|>"


def test_an_answer_ends_where_the_window_does(engine: Engine) -> None:
    prompt = [tiny_folder.START, *PROMPT[1:]] * 12
    sampler = SamplerConfig(temperature=0, speculative_depth=3, logit_bias=NEVER_ENDS)
    events = list(engine.generate_ids(Generate(0, (), sampler), prompt, threading.Event()))
    assert events[-1].reason is FinishReason.LENGTH
    assert len(tokens_of(events)) == WINDOW - len(prompt)


# ---------------------------------------------------------------- refusals


@pytest.fixture
def no_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        pytest.fail("a forward was run")

    monkeypatch.setattr(Target, "forward", fail)


@pytest.mark.usefixtures("no_forward")
def test_a_prompt_that_fills_the_window_is_refused_with_both_numbers(engine: Engine) -> None:
    sampler = SamplerConfig()
    for length in (WINDOW, 1234):
        with pytest.raises(EngineError) as caught:
            list(engine.generate_ids(Generate(0, (), sampler), [1] * length, threading.Event()))
        check_error(caught, ErrorKind.CONTEXT_OVERFLOW, f"{length:,}", str(WINDOW), "new chat")
        assert (caught.value.info.tokens, caught.value.info.window) == (length, WINDOW)


@pytest.mark.usefixtures("no_forward")
@pytest.mark.parametrize("token", [tiny_folder.VOCABULARY, 10**9, -1])
def test_a_token_outside_the_vocabulary_is_never_forwarded(engine: Engine, token: int) -> None:
    with pytest.raises(EngineError) as caught:
        list(engine.generate_ids(Generate(0, (), SamplerConfig()), [1, token, 2], threading.Event()))
    check_error(caught, ErrorKind.BAD_REQUEST, str(token), str(tiny_folder.VOCABULARY), "model again")


@pytest.mark.usefixtures("no_forward")
@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"max_tokens": 0}, ErrorKind.BAD_REQUEST, ["max_tokens is 0", "at least 1"]),
        ({"max_tokens": -5}, ErrorKind.BAD_REQUEST, ["max_tokens is -5", "at least 1"]),
        ({"messages": ()}, ErrorKind.BAD_REQUEST, ["empty"]),
        ({"draft_core": "draft_model"}, ErrorKind.UNSUPPORTED, ["No draft model", "--draft-model", "stock"]),
    ],
)
def test_requests_that_cannot_work(engine: Engine, fields: dict[str, Any], kind: ErrorKind, words: list[str]) -> None:
    with pytest.raises(EngineError) as caught:
        run(engine, **fields)
    check_error(caught, kind, *words)


def test_a_refused_request_leaves_the_chat_as_it_was(engine: Engine) -> None:
    run(engine, speculative_depth=2)
    for fields in ({"max_tokens": 0}, {"draft_core": "draft_model"}):
        with pytest.raises(EngineError):
            run(engine, **fields)
    assert run(engine, speculative_depth=2)[-1].stats.cached_tokens == len(prompt_of(engine)) - 2


def test_asking_for_a_head_that_is_not_there(tmp_path: Path) -> None:
    tiny_folder.write(tmp_path, head=False)
    engine = Engine()
    info = load(engine, tmp_path)
    assert (info.drafter, info.max_depth) == ("none", 0)
    assert "no drafting head" in info.drafter_note
    for core in ("mtp", "mtp+prompt_lookup"):
        with pytest.raises(EngineError) as caught:
            run(engine, draft_core=core)
        check_error(caught, ErrorKind.UNSUPPORTED, "no drafting head")
    for depth in (3, "auto"):  # without asking by name it decodes plainly
        assert run(engine, speculative_depth=depth)[-1].stats.verify_steps == 0


def test_drafting_can_be_off_by_name(engine: Engine) -> None:
    stats = run(engine, draft_core="off", speculative_depth=4)[-1].stats
    assert (stats.verify_steps, stats.plain_steps, stats.drafter) == (0, 12, "")


@pytest.mark.parametrize(
    ("settings", "depth", "reason"),
    [
        ({"speculative_depth": "auto", "temperature": 0.7}, 1, DepthReason.REPEATABLE),
        ({"speculative_depth": 0}, 0, DepthReason.CHOSEN),
        ({"draft_core": "off"}, 0, DepthReason.CHOSEN),
    ],
)
def test_an_answer_begins_by_telling_its_depth_and_why(
    engine: Engine, settings: dict[str, Any], depth: int, reason: DepthReason
) -> None:
    chosen = [event for event in run(engine, **settings) if isinstance(event, DepthChosen)]
    assert (chosen[0].generation, chosen[0].depth, chosen[0].reason) == (3, depth, reason)


def test_caches_that_cannot_be_rolled_back_are_refused(engine: Engine) -> None:
    layers = [*engine.model.target.new_layers(), ChunkedKVCache(8)]
    with pytest.raises(EngineError) as caught:
        TokenCache(layers)
    check_error(caught, ErrorKind.UNSUPPORTED, "ChunkedKVCache")


def test_a_smaller_window_holds_for_prompt_and_answer(engine: Engine) -> None:
    length = len(prompt_of(engine))
    finished = run(engine, context=length + 5, max_tokens=None)[-1]
    assert (finished.reason, finished.stats.emitted) == (FinishReason.LENGTH, 5)
    with pytest.raises(EngineError) as caught:
        run(engine, context=length)
    check_error(caught, ErrorKind.CONTEXT_OVERFLOW)
    assert (caught.value.info.tokens, caught.value.info.window) == (length, length)
    assert run(engine, context=10 * WINDOW)[-1].reason is FinishReason.LENGTH  # by max_tokens


def test_a_cut_answer_goes_on_as_if_it_had_not_been_cut(engine: Engine) -> None:
    """Each token is forced to be a letter of its own, so that the text is read again as the same tokens."""
    letters = tuple((token, 100.0) for token in LETTERS)
    whole = run(engine, temperature=0.0, max_tokens=12, logit_bias=letters)
    first = text_of(run(engine, temperature=0.0, max_tokens=5, logit_bias=letters))
    chat = (*HELLO, ChatMessage("assistant", first))
    rest = run(engine, chat, temperature=0.0, max_tokens=7, logit_bias=letters, continues=True)
    assert first + text_of(rest) == text_of(whole)
    # All but the token that was not forwarded, and the one before it, whose hidden the drafter needs.
    assert rest[-1].stats.cached_tokens == len(prompt_of(engine)) + 3


def test_counts_are_those_of_the_prompt_that_is_read(engine: Engine) -> None:
    chat = (ChatMessage("system", "be brief"), *HELLO, ChatMessage("assistant", "x <|im_end|>"), *HELLO)
    counted = engine.count(Count(7, chat, ("hello", "")))
    assert counted == Counted(7, run(engine, chat)[-1].stats.prompt_tokens, (counted.texts[0], 0))
    assert engine.count(Count(8, ())) == Counted(8, 0)
    whole = [engine.count(Count(1, (ChatMessage("user", text),))).tokens for text in ("", "hello")]
    assert whole[1] - whole[0] == counted.texts[0]
    engine.unload()
    assert engine.count(Count(9, HELLO)) == Counted(9, None)


def test_counting_while_an_answer_is_written(engine: Engine) -> None:
    """On another thread, as the host does, with the tokenizer of the answer in use all the time."""
    events = engine.generate(Generate(1, HELLO, SamplerConfig(logit_bias=NEVER_ENDS), 40), threading.Event())
    counts: list[int | None] = []

    def count() -> None:
        counts.extend(engine.count(Count(n, HELLO, ("a <|im_end|>" * 50,))).tokens for n in range(30))

    thread = threading.Thread(target=count)
    thread.start()
    finished = list(events)[-1]
    thread.join()
    assert counts == [finished.stats.prompt_tokens] * 30


TOKENS = [1, 2, 3, 4, 5, 6, 7, 8]


class Reach:
    """A cache that can go back to some lengths only, and knows the hidden at some of them."""

    def __init__(self, lengths: set[int], hiddens: tuple[int, ...] = ()) -> None:
        self.lengths = lengths | {0}
        self.hiddens = {length: mx.full((1, 2), length) for length in hiddens}
        self.trimmed_to = -1

    def reachable(self, length: int) -> int:
        return max(known for known in self.lengths if known <= length)

    def hidden_at(self, length: int) -> mx.array | None:
        return self.hiddens.get(length)

    def trim_to(self, length: int) -> None:
        self.trimmed_to = length


class Pairs:
    """A drafter that notes what it is told, and holds no more pairs than it had."""

    def __init__(self, had: int = 8) -> None:
        self.calls: list[object] = []
        self._had = had

    def begin(self, prompt: Sequence[int], pairs: int) -> int:
        self.calls.append(("begin", pairs))
        return min(pairs, self._had)

    def trim_to(self, pairs: int) -> None:
        self.calls.append(pairs)

    def extend(self, hidden: mx.array, tokens: Sequence[int]) -> None:
        self.calls.append((hidden.tolist(), list(tokens)))


def _begin(cache: Reach, prompt: list[int], drafter: Pairs | None = None) -> Start:
    session = PrefixCache(cast("TokenCache", cache), cast("Drafter | None", drafter), list(TOKENS))
    start = session.begin(prompt)
    assert cache.trimmed_to == start.reused
    return start


def test_without_a_drafter_all_that_is_shared_and_reachable_is_reused() -> None:
    everything = set(range(9))
    assert _begin(Reach(everything), [1, 2, 3, 9, 9]) == (3, 0)
    assert _begin(Reach(everything), [*TOKENS, 9]) == (8, 0)
    assert _begin(Reach(everything), TOKENS) == (7, 0)  # the last token is always forwarded
    assert _begin(Reach(everything), [9, 9]) == (0, 0)


def test_the_branch_past_the_reachable_length_is_returned() -> None:
    assert _begin(Reach({3}), [1, 2, 3, 4, 5, 9]) == (3, 5)
    assert _begin(Reach(set()), [1, 2, 3, 4, 5, 9]) == (0, 5)
    assert _begin(Reach({4}), [1, 2, 3, 4, 5, 9]) == (4, 0)  # one token is not worth a checkpoint


def test_a_drafter_gets_the_pair_of_a_known_hidden() -> None:
    drafter = Pairs()
    assert _begin(Reach({3}, (3,)), [1, 2, 3, 9, 9], drafter) == (3, 0)
    assert drafter.calls == [("begin", 2), ([[3, 3]], [9])]


def test_with_an_unknown_hidden_one_token_is_read_again() -> None:
    drafter = Pairs()
    assert _begin(Reach(set(range(9))), [1, 2, 3, 9, 9], drafter) == (2, 0)
    assert drafter.calls == [("begin", 2), 2]
    assert _begin(Reach({0, 5}), [*TOKENS[:6], 9], Pairs()) == (0, 6)


def test_nothing_in_common_forgets_everything() -> None:
    drafter = Pairs()
    assert _begin(Reach({3}, (3,)), [9, 1, 2], drafter) == (0, 0)
    assert drafter.calls == [("begin", 0), 0]


@pytest.mark.parametrize("hiddens", [(), (3,)])
def test_what_a_drafter_lacks_is_read_again(hiddens: tuple[int, ...]) -> None:
    drafter = Pairs(had=1)
    assert _begin(Reach(set(range(9)), hiddens), [1, 2, 3, 9, 9], drafter) == (1, 3)
    assert drafter.calls == [("begin", 2), 1]
    assert _begin(Reach({0, 3}, hiddens), [1, 2, 3, 9, 9], Pairs(had=1)) == (0, 3)
