"""What the app shows of a model that was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.config import MAX_DEPTH
from mtplx_engine.models import markup, provenance
from mtplx_engine.protocol import ModelInfo

if TYPE_CHECKING:
    from mtplx_engine.config import DrafterKind
    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.loader import LoadedModel


def describe(
    loaded: LoadedModel,
    checkpoint: Checkpoint,
    *,
    drafter: DrafterKind | None,
    backend: str,
    load_s: float,
    token_bytes: int,
    speed_key: str,
) -> ModelInfo:
    """Return what is shown of a model.

    Args:
        loaded: The model in memory.
        checkpoint: Its folder.
        drafter: Who drafts by default, None for nobody.
        backend: As in `ModelInfo`, like the rest.
        load_s: Seconds that loading took.
        token_bytes: Bytes that its caches keep of one token.
        speed_key: Stands for its files and this machine.
    """
    return ModelInfo(
        name=loaded.name,
        path=str(loaded.path),
        context_window=loaded.window,
        drafter=drafter or "none",
        drafter_note="" if drafter else loaded.drafter_note,
        max_depth=MAX_DEPTH if drafter else 0,
        recommended=loaded.recommended,
        backend=backend,
        load_s=load_s,
        token_bytes=token_bytes,
        thinking_switch=markup.has_thinking_switch(loaded.tokenizer),
        revision=provenance.revision(checkpoint),
        quantization=provenance.quantization(checkpoint),
        speed_key=speed_key,
    )
