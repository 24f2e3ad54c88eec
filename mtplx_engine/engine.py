"""The engine: load a model, answer chats, cancel, unload. Single-threaded; no processes, no Qt."""

from __future__ import annotations

import gc
import secrets
import time
from typing import TYPE_CHECKING

import mlx.core as mx

from mtplx_engine import backend
from mtplx_engine.answer import Answer, answer_limit
from mtplx_engine.cache import TokenCache
from mtplx_engine.config import MAX_DEPTH
from mtplx_engine.decoding import Decoder
from mtplx_engine.depth import DepthController
from mtplx_engine.errors import EngineError, ErrorKind, LoadCancelledError
from mtplx_engine.models import checkpoint, installed, loader
from mtplx_engine.models.probe_memory import ProbeMemory
from mtplx_engine.prompt import encode_chat
from mtplx_engine.protocol import ModelInfo
from mtplx_engine.session import Session
from mtplx_engine.tally import Tally
from mtplx_engine.text import TextStream

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.config import SamplerConfig
    from mtplx_engine.protocol import Finished, Generate, PrefillProgress, Tokens

AUTO_MAX_DEPTH = 4  # deeper drafts of one chained head are never worth measuring


class Engine:
    """Owns one model. Every call comes from the same thread, which owns mlx for life."""

    def __init__(self) -> None:
        self._policy = backend.policy()
        backend.apply(self._policy)
        self._model: loader.LoadedModel | None = None
        self._session: Session | None = None
        self._depths = DepthController(0)

    def load(
        self,
        model: str,
        data_dir: Path,
        report: Callable[[float, str], None],
        cancelled: threading.Event,
    ) -> ModelInfo:
        """Load a model by folder or by the name of an installed one; what was loaded goes first.

        Raises:
            EngineError: NOT_FOUND, REFUSED or UNSUPPORTED, with a sentence for the person.
            LoadCancelledError: `cancelled` was set.
        """
        started = time.perf_counter()
        self.unload()

        def step(fraction: float, phase: str) -> None:
            if cancelled.is_set():
                raise LoadCancelledError
            report(fraction, phase)

        step(0.0, "Checking files")
        checked = checkpoint.check(installed.resolve(model, data_dir))
        loaded = loader.load(checked, self._policy, step, ProbeMemory(data_dir))
        has_drafter = loaded.new_drafter is not None
        self._model = loaded
        self._depths = DepthController(AUTO_MAX_DEPTH if has_drafter else 0)
        return ModelInfo(
            name=loaded.name,
            path=str(loaded.path),
            context_window=loaded.window,
            drafter="mtp" if has_drafter else "none",
            drafter_note=loaded.drafter_note,
            max_depth=MAX_DEPTH if has_drafter else 0,
            recommended=loaded.recommended,
            backend=self._policy.description,
            load_s=time.perf_counter() - started,
        )

    @property
    def model(self) -> loader.LoadedModel:
        """The loaded model.

        Raises:
            EngineError: NO_MODEL.
        """
        if self._model is None:
            raise EngineError(ErrorKind.NO_MODEL, "No model is loaded; choose one first.")
        return self._model

    def forget(self) -> None:
        """Drop what was kept between answers; the next prompt is read from its first token."""
        self._session = None

    def unload(self) -> None:
        """Drop the model and return its memory."""
        self._model = self._session = None
        gc.collect()
        mx.clear_cache()

    def generate(
        self, request: Generate, cancelled: threading.Event
    ) -> Iterator[PrefillProgress | Tokens | Finished]:
        """Answer a chat; the last event is Finished.

        Raises:
            EngineError: NO_MODEL, BAD_REQUEST, CONTEXT_OVERFLOW (before any forward), NON_FINITE.
        """
        prompt = encode_chat(self.model.tokenizer, request.messages)
        yield from self.generate_ids(request, prompt, cancelled)

    def generate_ids(
        self, request: Generate, prompt: list[int], cancelled: threading.Event
    ) -> Iterator[PrefillProgress | Tokens | Finished]:
        """Like `generate`, from token ids; the messages of the request are not looked at."""
        model, config = self.model, request.sampler
        limit = answer_limit(request.max_tokens, len(prompt), model.window)
        session = self._take_session(model, drafts=_drafts(model, config))
        reused, branch = session.begin(prompt)
        seed = secrets.randbits(63) if config.seed is None else config.seed
        decoder = Decoder(model.target, session.cache, session.drafter, config, seed, branch=branch)
        text = TextStream(model.decode, request.stop)
        tally = Tally(len(prompt), reused, seed, str(config.speculative_depth))
        answer = Answer(
            request=request,
            decoder=decoder,
            text=text,
            tally=tally,
            depths=self._depths,
            end_ids=model.end_ids,
            limit=limit,
        )
        try:
            yield from answer.run(prompt, reused, self._policy.prefill_chunk, cancelled)
        except GeneratorExit:
            self._keep(model, session, decoder, tally.emitted)
            raise
        self._keep(model, session, decoder, tally.emitted)

    def _keep(self, model: loader.LoadedModel, session: Session, decoder: Decoder, emitted: int) -> None:
        """Bring the caches to what was emitted and keep them for the next answer, if it is the same model's."""
        decoder.settle(emitted)
        session.tokens = decoder.forwarded
        if self._model is model:
            self._session = session

    def _take_session(self, model: loader.LoadedModel, *, drafts: bool) -> Session:
        """Take the caches of the last answer, or new ones.

        After an error nothing is put back, so that a doubtful cache is never reused.
        """
        session, self._session = self._session, None
        if session is None or (drafts and session.drafter is None):
            drafter = model.new_drafter() if drafts and model.new_drafter else None
            return Session(TokenCache(model.target.new_layers()), drafter)
        if not drafts:
            session.drafter = None  # it would miss this answer
        return session


def _drafts(model: loader.LoadedModel, config: SamplerConfig) -> bool:
    """Return whether this answer is drafted.

    Raises:
        EngineError: UNSUPPORTED, when a drafter is asked for by name that this model does not have.
    """
    if config.draft_core in ("draft_model", "prompt_lookup"):
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f'The drafter "{config.draft_core}" is not part of this version; use "stock".',
        )
    if config.draft_core == "mtp" and model.new_drafter is None:
        raise EngineError(ErrorKind.UNSUPPORTED, model.drafter_note)
    wanted = config.draft_core != "off" and config.speculative_depth != 0
    return wanted and model.new_drafter is not None
