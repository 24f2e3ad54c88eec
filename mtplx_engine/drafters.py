"""Who drafts for a loaded model: the names of `SamplerConfig.draft_core` made into drafters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.config import SamplerConfig
from mtplx_engine.draft.combined import CombinedDrafter
from mtplx_engine.draft.draft_model import DraftModelDrafter
from mtplx_engine.draft.prompt_lookup import PromptLookupDrafter
from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from mtplx_engine.config import DraftCore, DrafterKind
    from mtplx_engine.draft.drafter import Drafter
    from mtplx_engine.models.loader import LoadedModel


class Drafters:
    """The drafters that a model can have.

    Args:
        model: The target.
        draft_model: A model with the same tokenizer that may draft for it, or None.
        chunk: Tokens per forward when the draft model reads a prompt.
    """

    def __init__(self, model: LoadedModel, draft_model: LoadedModel | None, chunk: int) -> None:
        self._model = model
        self._draft_model = draft_model
        self._chunk = chunk

    @property
    def stock(self) -> DrafterKind | None:
        """The default: the model's own head, else the draft model, else none."""
        if self._model.new_drafter is not None:
            return "mtp"
        return "draft_model" if self._draft_model is not None and self._model.takes_drafts else None

    def wanted(self, config: SamplerConfig) -> DrafterKind | None:
        """Return who drafts an answer, None when nobody does, as always for a model that nothing can draft for.

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
        """Return who drafts, where something must.

        Raises:
            EngineError: UNSUPPORTED, when nothing does.
        """
        drafter = self.wanted(SamplerConfig(draft_core=core))
        if drafter is None:
            raise EngineError(ErrorKind.UNSUPPORTED, self._model.drafter_note)
        return drafter

    def new(self, kind: DrafterKind) -> Drafter:
        """Return an empty drafter of a kind that `wanted` or `stock` gave.

        Raises:
            ValueError: The model has no such drafter.
        """
        vocabulary = self._model.target.vocabulary
        if kind == "prompt_lookup":
            return PromptLookupDrafter(vocabulary)
        if kind == "draft_model" and self._draft_model is not None:
            return DraftModelDrafter(self._draft_model.target, vocabulary, self._chunk)
        if self._model.new_drafter is None or kind == "draft_model":
            raise ValueError(f"there is no {kind} drafter")
        head = self._model.new_drafter()
        return head if kind == "mtp" else CombinedDrafter(PromptLookupDrafter(vocabulary), head)
