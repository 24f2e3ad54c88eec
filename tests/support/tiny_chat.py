"""Chats with an engine that holds the tiny model and an oracle drafter."""

from __future__ import annotations

import dataclasses
import itertools
import random
import threading
from typing import TYPE_CHECKING, Any

from mtplx_engine import backend
from mtplx_engine.config import SamplerConfig
from mtplx_engine.depth import DepthController
from mtplx_engine.engine import Engine
from mtplx_engine.ipc.protocol import DepthChosen, Finished, Generate, Tokens
from mtplx_engine.models import checkpoint, loader
from tests.support import tiny_folder
from tests.support.fresh import check_caches
from tests.support.oracle import OracleDrafter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mtplx_engine.config import DrafterKind
    from mtplx_engine.ipc.protocol import PrefillProgress
    from mtplx_engine.models.loader import LoadedModel
    from mtplx_engine.stats import FinishReason


PROMPT = [tiny_folder.START, *random.Random(1).choices(range(4, tiny_folder.VOCABULARY), k=39)]


def load(folder: Path) -> LoadedModel:
    """Write the tiny model into `folder` and load it; nothing ends its answers but their limit."""
    tiny_folder.write(folder)
    model = loader.load_checkpoint(checkpoint.check(folder), backend.policy(), lambda *_: None)
    return dataclasses.replace(model, tokenizer=Spelling(), hidden_ids=frozenset(), end_ids=frozenset())


class Spelling:
    """One character for each token, so that any piece of an answer can be a stop string."""

    def decode(self, ids: Sequence[int], **_: Any) -> str:
        return "".join(chr(0x4E00 + token) for token in ids)


class Scripted(DepthController):
    """Chooses the depths "auto" uses: these, again and again."""

    def __init__(self, depths: Iterable[int]) -> None:
        super().__init__(0)
        self._depths = itertools.cycle(depths)

    def choose(self) -> int:
        return next(self._depths)

    def record(self, depth: int, accepted: int, seconds: float) -> None:
        pass


class ScriptedDepths:
    """The same controller for every drafter, in place of a `DepthPolicy`."""

    def __init__(self, depths: Iterable[int]) -> None:
        self._controller = Scripted(depths)

    def refresh(self) -> None:
        pass

    def of(self, drafter: DrafterKind | None, tokens: int = 0) -> DepthController:
        return self._controller

    def turned_off(self, drafter: DrafterKind | None, tokens: int = 0) -> bool:
        return False

    def remember(self, drafter: DrafterKind, tokens: int = 0) -> None:
        pass


class SetAtCheck(threading.Event):
    """Is set from the n-th check of it on."""

    def __init__(self, check: int) -> None:
        super().__init__()
        self._left = check

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


class Chat:
    """An engine with the tiny model, whose drafter is an oracle; records the last answer."""

    def __init__(self, loaded: LoadedModel, right: Iterable[int] = (8,), depths: Iterable[int] = (0,)) -> None:
        self.engine = Engine()
        self.loaded = dataclasses.replace(loaded, new_drafter=self._oracle(loaded, list(right)))
        self.engine._model = self.loaded
        self.engine._depths = ScriptedDepths(depths)
        self.tokens: list[int] = []
        self.cycles: list[Tokens] = []
        self.finished: Finished | None = None
        self._new_head = loaded.new_drafter

    @staticmethod
    def _oracle(loaded: LoadedModel, right: list[int]) -> Any:
        return lambda: OracleDrafter(loaded.target, tiny_folder.START, itertools.cycle(right), loaded.new_drafter())

    def stream(
        self,
        prompt: Sequence[int] = PROMPT,
        *,
        depth: int | str = 3,
        temperature: float = 0.0,
        max_tokens: int = 7,
        stop: tuple[str, ...] = (),
        cancelled: threading.Event | None = None,
        **settings: Any,
    ) -> Iterator[PrefillProgress | Tokens | Finished]:
        """The events of an answer; `settings` go to the sampler."""
        fields = {"seed": 11, "temperature": temperature, "speculative_depth": depth, **settings}
        request = Generate(1, (), SamplerConfig(**fields), max_tokens=max_tokens, stop=stop)
        return self.engine.generate_ids(request, list(prompt), cancelled or threading.Event())

    def answer(self, *arguments: Any, events: int | None = None, **settings: Any) -> list[int]:
        """Answer as `stream` does; with `events` the generator is closed after so many that tell of its progress."""
        running = self.stream(*arguments, **settings)
        got: list[object] = []
        for event in running:
            got.append(event)
            if sum(not isinstance(each, DepthChosen) for each in got) == events:
                break
        running.close()
        self.cycles = [event for event in got if isinstance(event, Tokens)]
        self.tokens = [token for event in self.cycles for token in event.token_ids]
        self.finished = got[-1] if got and isinstance(got[-1], Finished) else None
        return self.tokens

    @property
    def reason(self) -> FinishReason | None:
        return self.finished.reason if self.finished else None

    @property
    def cached(self) -> int:
        assert self.finished
        return self.finished.stats.cached_tokens

    @property
    def held(self) -> list[int]:
        """The tokens that the engine says its caches hold."""
        assert self.engine._prefix
        return self.engine._prefix.tokens

    def check(self) -> None:
        session = self.engine._prefix
        assert session
        head = session.drafter and session.drafter.inner
        check_caches(self.loaded.target, session.tokens, session.cache, head, self._new_head)
