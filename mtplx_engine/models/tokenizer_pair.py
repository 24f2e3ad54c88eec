"""Whether one model can draft for another: it must number the same tokens the same way. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import json_file, tokenizer_ids
from mtplx_engine.models.families import supported

if TYPE_CHECKING:
    from mtplx_engine.models.checkpoint import Checkpoint

_MAX_BYTES = 128 << 20


def check(target: Checkpoint, draft: Checkpoint) -> None:
    """Compare the tokenizers of two checked folders.

    Raises:
        EngineError: UNSUPPORTED, when any token differs, or models of the second kind never draft.
    """
    if not supported.takes_drafts(draft.config):
        family = supported.PLAIN_ONLY[draft.config["model_type"]]
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{family} models cannot draft in this version. Choose another draft model.",
        )
    ours, theirs = _tokens(target), _tokens(draft)
    ids = ours.keys() | theirs.keys()
    differing = sum(ours.get(token) != theirs.get(token) for token in ids)
    if differing:
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{draft.name} cannot draft for {target.name}: {differing:,} of {len(ids):,} tokens differ. "
            "Choose a smaller model of the same family.",
        )


def _tokens(checkpoint: Checkpoint) -> dict[int, str]:
    """Return the text of each token id, as tokenizer.json spells it."""
    body: dict[str, Any] = json_file.read(checkpoint.folder / tokenizer_ids.NAME, _MAX_BYTES)
    vocabulary = body["model"]["vocab"]
    if isinstance(vocabulary, dict):
        tokens = {token: text for text, token in vocabulary.items()}
    else:  # pairs of text and score
        tokens = {token: entry[0] for token, entry in enumerate(vocabulary)}
    return tokens | {token["id"]: token["content"] for token in body.get("added_tokens") or []}
