"""The largest token id that a folder's tokenizer can produce: one beyond the embedding is a segmentation fault."""

from __future__ import annotations

from typing import Any

from mtplx_engine.models.refusal import refused

NAME = "tokenizer.json"
SETTINGS = "tokenizer_config.json"


def largest(tokenizer: dict[str, Any], settings: dict[str, Any]) -> int:
    """Return the largest id of a parsed tokenizer.json and of its tokenizer_config.json.

    Raises:
        EngineError: REFUSED, when the vocabulary or an added token has no sound ids.
    """
    found = _vocabulary_ids(tokenizer)
    added = tokenizer.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        raise refused(NAME, "has added tokens that are no objects")
    found += [token.get("id") for token in added]
    found += _setting_ids(settings)
    ids: list[int] = [number for number in found if type(number) is int and number >= 0]
    if len(ids) != len(found):
        raise refused(NAME, "has token ids that are no whole numbers")
    return max(ids)


def _vocabulary_ids(tokenizer: dict[str, Any]) -> list[Any]:
    model = tokenizer.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, dict) and vocabulary:
        return list(vocabulary.values())
    if isinstance(vocabulary, list) and vocabulary:
        return [len(vocabulary) - 1]
    raise refused(NAME, "has no vocabulary")


def _setting_ids(settings: dict[str, Any]) -> list[int]:
    table = settings.get("added_tokens_decoder") or {}
    if not isinstance(table, dict) or not all(key.isdecimal() and len(key) < 10 for key in table):
        raise refused(SETTINGS, "has added tokens without sound ids")
    return [int(key) for key in table]
