"""The largest token id that a folder's tokenizer can produce: one beyond the embedding is a segmentation fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models import json_file, model_config
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAME = "tokenizer.json"
SETTINGS = "tokenizer_config.json"

_ROLES = "special_tokens_map.json"
_ADDED = "added_tokens.json"
_MAX_BYTES = 128 << 20
_ROLE = "_token"  # how the names of single roles end
_COLLECTIONS = ("additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens")


def check(folder: Path, rows: int) -> None:
    """Check that no token of a tokenizer is beyond the embedding, nor any that transformers appends to it.

    Args:
        folder: The model's, with a tokenizer.json.
        rows: Of the embedding.

    Raises:
        EngineError: REFUSED, also when the vocabulary, an added token or a setting has no sound ids.
    """
    tokenizer = json_file.read(folder / NAME, _MAX_BYTES)
    settings, roles, added = (_optional(folder / name) for name in (SETTINGS, _ROLES, _ADDED))
    tokens, table = _added_tokens(tokenizer), _table(settings)
    vocabulary = _vocabulary(tokenizer)
    ids = _whole([*vocabulary.values(), *(token.get("id") for token in tokens)], NAME)
    ids += [*map(int, table), *_whole(added.values(), _ADDED)]
    largest = max(ids)
    if largest >= rows:
        raise refused(NAME, f"has token ids up to {largest}, but the model has only {rows} of them")
    named = {
        _ADDED: [*added],
        _ROLES: _texts(roles),
        SETTINGS: [*_texts(settings), *_spelled(table.values())],
    }
    known = vocabulary.keys() | set(_spelled(tokens))
    new = {text: file for file, texts in named.items() for text in texts if text and text not in known}
    if largest + len(new) >= rows:
        text, file = next(iter(new.items()))
        raise refused(
            file,
            f"names the token {text[:40]!r}, which {NAME} lacks; with {len(new)} of that kind there would be ids up "
            f"to {largest + len(new)}, but the model has only {rows} of them",
        )


def _optional(path: Path) -> dict[str, Any]:
    return json_file.read(path, model_config.MAX_BYTES) if path.is_file() else {}


def _vocabulary(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """Return the ids of a parsed tokenizer.json by their texts."""
    model = tokenizer.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, dict) and vocabulary:
        return vocabulary
    if isinstance(vocabulary, list) and vocabulary:  # pairs of text and score
        texts = (entry[0] if isinstance(entry, list) and entry else None for entry in vocabulary)
        found = {text: number for number, text in enumerate(texts) if isinstance(text, str)}
        if len(vocabulary) - 1 in found.values():
            return found
    raise refused(NAME, "has no vocabulary")


def _added_tokens(tokenizer: dict[str, Any]) -> list[dict[str, Any]]:
    added = tokenizer.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        raise refused(NAME, "has added tokens that are no objects")
    return added


def _table(settings: dict[str, Any]) -> dict[str, Any]:
    table = settings.get("added_tokens_decoder") or {}
    if not isinstance(table, dict) or not all(key.isdecimal() and len(key) < 10 for key in table):
        raise refused(SETTINGS, "has added tokens without sound ids")
    return table


def _whole(found: Iterable[Any], file: str) -> list[int]:
    ids = list(found)
    if not all(type(number) is int and number >= 0 for number in ids):
        raise refused(file, "has token ids that are no whole numbers")
    return ids


def _texts(settings: dict[str, Any]) -> list[str]:
    """Return the tokens that settings name: for a role each, and in collections."""
    found = [value for key, value in settings.items() if key.endswith(_ROLE)]
    for collection in map(settings.get, _COLLECTIONS):
        if isinstance(collection, dict):
            found += collection.values()
        elif isinstance(collection, list):
            found += collection
    return _spelled(found)


def _spelled(tokens: Iterable[Any]) -> list[str]:
    """Return the texts of tokens, which are written as text or as objects with it."""
    texts = (token.get("content") if isinstance(token, dict) else token for token in tokens)
    return [text for text in texts if isinstance(text, str)]
