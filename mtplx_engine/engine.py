"""The engine: one loaded model, what can draft for it, and the caches kept from one answer to the next.

`Engine.load` checks the folder, fits it to the machine and loads it; `Engine.generate` renders a chat to a prompt,
trims the `PrefixCache` to what the prompt shares with the last one, and runs an `Answer` over it.
"""

from __future__ import annotations

import copy
import dataclasses
import gc
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import mlx.core as mx

from mtplx_engine import backend
from mtplx_engine.answer import Answer, AnswerStats, answer_limit, check_tokens
from mtplx_engine.cache.token_cache import TokenCache
from mtplx_engine.config import MAX_DEPTH, SamplerConfig
from mtplx_engine.decoding import Decoder
from mtplx_engine.depth_policy import USUAL_ANSWER, DepthChooser, DepthPolicy
from mtplx_engine.draft.draft_model import DraftModelDrafter
from mtplx_engine.draft.drafter import CombinedDrafter
from mtplx_engine.draft.prompt_lookup import PromptLookupDrafter
from mtplx_engine.errors import EngineError, ErrorKind, LoadCancelledError
from mtplx_engine.ipc.protocol import Counted, ModelInfo
from mtplx_engine.models import identity, inspection, loader
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.text import segments, template
from mtplx_engine.text.detokenizer import TextStream
from mtplx_engine.text.prompt import PromptEncoder
from mtplx_engine.text.segments import Segmenter
from mtplx_engine.util import system

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from mtplx_engine.config import ChatMessage, DraftCore, DrafterKind
    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.ipc.protocol import AnswerEvent, Count, Generate
    from mtplx_engine.models.loader import LoadedModel
    from mtplx_engine.models.memory_fit import Fit, Footprint


class Engine:
    """Owns one model. All calls but `count` come from one thread, the only one that uses mlx."""

    def __init__(self) -> None:
        self._policy = backend.policy()
        backend.apply(self._policy)
        self._model: LoadedModel | None = None
        self._info: ModelInfo | None = None
        self._draft_model: LoadedModel | None = None
        self._encoder: PromptEncoder | None = None
        self._counter: PromptEncoder | None = None  # for the thread of `count`, with its own tokenizer
        self._prefix: PrefixCache | None = None
        self._depths: DepthPolicy | None = None
        self._footprints: Sequence[Footprint] = ()

    def load(
        self,
        model: str,
        data_dir: Path,
        report: Callable[[float, str], None],
        cancelled: threading.Event,
        draft_model: str = "",
        *,
        anyway: bool = False,
    ) -> ModelInfo:
        """Load a model; whatever was loaded is unloaded first. For the arguments see `protocol.Load`.

        `report` is called with the fraction done, 0..1, and the present phase as text. A draft model is ignored when
        nothing can draft for the model.

        Raises:
            EngineError: NOT_FOUND, REFUSED, UNSUPPORTED or TOO_BIG, with a sentence for the user.
            LoadCancelledError: `cancelled` was set.
        """
        started = time.perf_counter()
        self.unload()

        def step(fraction: float, phase: str) -> None:
            if cancelled.is_set():
                raise LoadCancelledError
            report(fraction, phase)

        template.shared().start()  # it is ready by the time that the weights are
        step(0.0, "Checking files")
        parts = loader.check_folders(model, draft_model, data_dir)
        here = system.this_machine()
        self._footprints = loader.footprints(parts, here, anyway=anyway)
        loaded, *small = loader.load_models(parts, self._policy, step, inspection.ProbeMemory(data_dir))
        if small:
            self._draft_model = dataclasses.replace(small[0], new_drafter=None)
        self._model = loaded
        self._encoder, self._counter = (
            PromptEncoder(tokenizer, loaded.window, loaded.markup.think_start)
            for tokenizer in (loaded.tokenizer, copy.deepcopy(loaded.tokenizer))
        )
        speed_key = identity.speed_key(parts, backend.speed_class(self._policy))
        self._depths = DepthPolicy(data_dir, speed_key)
        ModelPreferences(data_dir).note_use(parts[0].folder)
        drafter = self.drafters().stock
        self._info = ModelInfo(
            name=loaded.name,
            path=str(loaded.path),
            context_window=loaded.window,
            drafter=drafter or "none",
            drafter_note="" if drafter else loaded.drafter_note,
            max_depth=MAX_DEPTH if drafter else 0,
            recommended=loaded.recommended,
            backend=self._policy.description,
            load_s=time.perf_counter() - started,
            token_bytes=here.item * self._footprints[0].a_token,
            thinking_switch=segments.has_thinking_switch(loaded.tokenizer),
            revision=identity.revision_of(parts[0]),
            quantization=identity.quantization_of(parts[0]),
            speed_key=speed_key,
        )
        return self._info

    @property
    def model(self) -> LoadedModel:
        """The loaded model; raises EngineError NO_MODEL without one."""
        if self._model is None:
            raise _no_model()
        return self._model

    @property
    def info(self) -> ModelInfo:
        """What the app shows of the loaded model; raises EngineError NO_MODEL without one."""
        if self._info is None:
            raise _no_model()
        return self._info

    @property
    def depths(self) -> DepthPolicy:
        """The depth controllers of the loaded model; raises EngineError NO_MODEL without one."""
        if self._depths is None:
            raise _no_model()
        return self._depths

    def drafters(self) -> Drafters:
        """Return the drafters that the loaded model can have; raises EngineError NO_MODEL without one."""
        return Drafters(self.model, self._draft_model, self._policy.prefill_chunk)

    def fit(self, context: int) -> Fit:
        """Return the memory that the loaded models need with a context of so many tokens, and whether it fits."""
        return loader.judge_models(self._footprints, context, system.this_machine())

    def forget(self) -> None:
        """Drop the prefix cache; the next prompt is prefilled from its first token."""
        self._prefix = None

    def unload(self) -> None:
        self._model = self._draft_model = self._prefix = self._info = None
        self._encoder = self._counter = None
        self._depths, self._footprints = None, ()
        gc.collect()
        mx.clear_cache()

    def generate(self, request: Generate, cancelled: threading.Event) -> Iterator[AnswerEvent]:
        """Answer a chat; the last event is Finished.

        Raises:
            EngineError: NO_MODEL, BAD_REQUEST, CONTEXT_OVERFLOW (before any forward), NON_FINITE.
        """
        prompt = self.encode(request.messages, thinking=request.thinking, continues=request.continues)
        in_thinking = request.continues and not request.messages[-1].content
        yield from self.generate_ids(request, prompt, cancelled, in_thinking=in_thinking)

    def encode(
        self, messages: Sequence[ChatMessage], *, thinking: bool | None = None, continues: bool = False
    ) -> list[int]:
        """Return the prompt of a chat; see `PromptEncoder.encode`. Raises EngineError NO_MODEL too."""
        if self._encoder is None:
            raise _no_model()
        return self._encoder.encode(messages, thinking=thinking, continues=continues)

    def count(self, request: Count) -> Counted:
        """Count the tokens of a prompt; may be called from another thread while an answer is being generated."""
        counter = self._counter
        if counter is None:
            return Counted(request.request, None)
        try:
            whole = len(counter.encode(request.messages, thinking=request.thinking)) if request.messages else 0
        except EngineError:
            return Counted(request.request, None)
        return Counted(request.request, whole, tuple(counter.count(text) for text in request.texts))

    def generate_ids(
        self,
        request: Generate,
        prompt: list[int],
        cancelled: threading.Event,
        *,
        in_thinking: bool = False,
    ) -> Iterator[AnswerEvent]:
        """Like `generate`, from token ids, at least one; the messages of the request are ignored.

        `in_thinking` says that the prompt ends in the middle of the model's thinking.

        Raises:
            EngineError: As `generate`; BAD_REQUEST also for tokens that the model does not have.
        """
        model, config = self.model, request.sampler
        check_tokens(prompt, model.target.vocabulary)
        window = min(model.window, request.context or model.window)
        limit = answer_limit(request.max_tokens, len(prompt), window)
        depths, wanted = self.depths, self.drafters().wanted(config)
        depths.refresh()
        tokens = len(prompt) + min(limit, USUAL_ANSWER)
        off = depths.turned_off(wanted, tokens)
        chooser = DepthChooser(config, wanted, depths.of(wanted, tokens), turned_off=off)
        kind = wanted if chooser.drafts else None
        prefix = self._take_prefix(model, kind)
        reused, branch = prefix.begin(prompt)
        seed = secrets.randbits(63) if config.seed is None else config.seed
        decoder = Decoder(model.target, prefix.cache, prefix.drafter, config, seed, branch=branch)
        thinking = in_thinking or segments.opens_thinking(model.tokenizer, model.markup, prompt)
        stats = AnswerStats(len(prompt), reused, seed, str(config.speculative_depth), drafter=kind or "")
        answer = Answer(
            request=request,
            decoder=decoder,
            text=TextStream(model.decode, request.stop),
            segments=Segmenter(model.markup.without_tools(), thinking=thinking),
            stats=stats,
            depths=chooser,
            end_ids=model.end_ids,
            limit=limit,
        )
        try:
            yield from answer.run(prompt, reused, self._policy.prefill_chunk, cancelled)
        except GeneratorExit:
            self._keep_prefix(model, prefix, decoder, stats.emitted)
            raise
        self._keep_prefix(model, prefix, decoder, stats.emitted)
        if kind is not None and config.speculative_depth == "auto":
            depths.remember(kind, tokens)

    def _take_prefix(self, model: LoadedModel, kind: DrafterKind | None) -> PrefixCache:
        """Take the caches of the last answer, or new ones.

        After an error nothing is put back, so that a doubtful cache is never reused. A drafter of another kind starts
        empty, since it missed the tokens so far.
        """
        prefix = self._prefix or PrefixCache(TokenCache(model.target.new_layers()), None)
        self._prefix = None
        if prefix.kind != kind:
            prefix.drafter = None if kind is None else self.drafters().new(kind)
            prefix.kind = kind
        return prefix

    def _keep_prefix(self, model: LoadedModel, prefix: PrefixCache, decoder: Decoder, emitted: int) -> None:
        """Trim the caches to the emitted tokens and keep them for the next answer, unless the model was unloaded."""
        decoder.settle(emitted)
        prefix.tokens = decoder.forwarded
        if self._model is model:
            self._prefix = prefix


def _no_model() -> EngineError:
    return EngineError(ErrorKind.NO_MODEL, "No model is loaded; choose one first.")


class Start(NamedTuple):
    """The position from which a prompt is prefilled: the caches hold its first `reused` tokens.

    `branch` is the length of the prefix shared with the tokens held before, when that is well past `reused`; else 0.
    """

    reused: int
    branch: int


@dataclass(slots=True)
class PrefixCache:
    """The caches of target and drafter after an answer, reused for the prefix that the next prompt shares.

    Attributes:
        drafter: Holds the pairs of all tokens in `cache`; None when answers are not drafted.
        tokens: The tokens in `cache`.
    """

    cache: TokenCache
    drafter: Drafter | None
    tokens: list[int] = field(default_factory=list)
    kind: DrafterKind | None = None

    def begin(self, prompt: Sequence[int]) -> Start:
        """Trim the caches to the prefix that they share with a prompt of at least one token.

        A drafter's next pair needs the hidden state of the token before it: where no checkpoint holds it, one shared
        token is forwarded again; and so is everything from the first pair that the drafter lacks.
        """
        shared = _shared(self.tokens, prompt)
        reused = self.cache.reachable(min(shared, len(prompt) - 1))
        if self.drafter is not None:
            hidden = self.cache.hidden_at(reused)
            held = self.drafter.begin(prompt, max(0, reused - 1))
            if hidden is not None and held == reused - 1:
                self.drafter.extend(hidden, prompt[reused : reused + 1])
            else:
                reused = self.cache.reachable(held)
                self.drafter.trim_to(reused)
        self.cache.trim_to(reused)
        return Start(reused, shared if reused + 1 < shared else 0)


def _shared(a: Sequence[int], b: Sequence[int]) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length


class Drafters:
    """The drafters that a model can have: its own, and a `draft_model` with the same tokenizer.

    `chunk` is tokens per forward when the draft model reads a prompt.
    """

    def __init__(self, model: LoadedModel, draft_model: LoadedModel | None, chunk: int) -> None:
        self._model = model
        self._draft_model = draft_model
        self._chunk = chunk

    @property
    def stock(self) -> DrafterKind | None:
        """The default drafter: the model's own head, else the draft model, else none."""
        if self._model.new_drafter is not None:
            return "mtp"
        return "draft_model" if self._draft_model is not None and self._model.takes_drafts else None

    def wanted(self, config: SamplerConfig) -> DrafterKind | None:
        """Return the drafter of an answer; None for plain decoding, as always for a model that takes no drafts.

        Raises:
            EngineError: UNSUPPORTED, when a drafter is asked for by name that this model does not have.
        """
        core = config.draft_core
        if not self._model.takes_drafts:
            return None
        if core in ("mtp", "mtp+prompt_lookup") and self._model.new_drafter is None:
            raise EngineError(ErrorKind.UNSUPPORTED, self._model.drafter_note)
        if core == "draft_model" and self._draft_model is None:
            raise EngineError(
                ErrorKind.UNSUPPORTED,
                'No draft model is loaded; name one when loading (--draft-model), or use "stock".',
            )
        if core == "off" or config.speculative_depth == 0:
            return None
        return self.stock if core == "stock" else core

    def required(self, core: DraftCore) -> DrafterKind:
        """Return the drafter of a run that must draft; raises EngineError UNSUPPORTED when nothing drafts."""
        drafter = self.wanted(SamplerConfig(draft_core=core))
        if drafter is None:
            raise EngineError(ErrorKind.UNSUPPORTED, self._model.drafter_note)
        return drafter

    def new(self, kind: DrafterKind) -> Drafter:
        """Return an empty drafter of a kind that `wanted` or `stock` gave."""
        vocabulary = self._model.target.vocabulary
        if kind == "prompt_lookup":
            return PromptLookupDrafter(vocabulary)
        if kind == "draft_model" and self._draft_model is not None:
            return DraftModelDrafter(self._draft_model.target, vocabulary, self._chunk)
        if self._model.new_drafter is None or kind == "draft_model":
            raise ValueError(f"there is no {kind} drafter")
        head = self._model.new_drafter()
        return head if kind == "mtp" else CombinedDrafter(PromptLookupDrafter(vocabulary), head)
