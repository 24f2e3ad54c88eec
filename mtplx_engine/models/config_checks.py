"""Checks of a model folder's config.json, tokenizer ids and chat template. Imports no mlx.

A configuration that passes makes neither mlx-lm nor transformers build an absurd model or read a row out of range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import json_files
from mtplx_engine.models.families.supported import PLAIN_ONLY, SUPPORTED
from mtplx_engine.models.json_files import refused
from mtplx_engine.text.template import MAX_TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


CONFIG_NAME = "config.json"
CONFIG_MAX_BYTES = 8 << 20
TOKENIZER_NAME = "tokenizer.json"
TOKENIZER_SETTINGS_NAME = "tokenizer_config.json"

_REQUIRED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
_LARGEST = {
    "hidden_size": 65_536,
    "intermediate_size": 1 << 20,
    "num_hidden_layers": 512,
    "num_attention_heads": 1024,
    "num_key_value_heads": 1024,
    "head_dim": 4096,
    "vocab_size": 2_000_000,
    "max_position_embeddings": 1 << 26,
    "full_attention_interval": 512,
    "kv_lora_rank": 65_536,
    "qk_rope_head_dim": 4096,
}
_LARGEST_FLOAT = {"rms_norm_eps": 1.0, "rope_theta": 1e12}
_OUTER = ("model_type", "quantization")
_BITS = (2, 3, 4, 5, 6, 8)
_GROUP_SIZES = (16, 32, 64, 128)
_LARGEST_SIZE = 2**31 - 1

_ROPE_KEYS = ("rope_scaling", "rope_parameters")
_ROPE_WITH_FACTOR = frozenset({"deepseek_yarn", "dynamic", "linear", "llama3", "telechat3-yarn", "yarn"})
_ROPE_KINDS = _ROPE_WITH_FACTOR | {"default", "longrope", "mrope", "proportional"}
_ROPE_POSITIVE = (
    "beta_fast",
    "beta_slow",
    "factor",
    "high_freq_factor",
    "low_freq_factor",
    "original_max_position_embeddings",
    "partial_rotary_factor",
    "rope_theta",
)
_ROPE_LARGEST = 1e12
_ROPE_SECTIONS = 3

_SPECIAL_TOKENS = "special_tokens_map.json"
_ADDED_TOKENS = "added_tokens.json"
_TOKENIZER_MAX_BYTES = 128 << 20
_ROLE = "_token"  # how the names of single roles end
_COLLECTIONS = ("additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens")

_TEMPLATE_NAME = "chat_template.jinja"
_TEMPLATE_KEY = "chat_template"
_MAIN_TEMPLATE = "default"


def read_config(folder: Path) -> dict[str, Any]:
    """Return the config.json in `folder`, laid flat by `flat_config`, not checked.

    Raises:
        EngineError: REFUSED, when it is too large or no JSON object.
        OSError: It cannot be read.
    """
    return flat_config(json_files.read_json(folder / CONFIG_NAME, CONFIG_MAX_BYTES))


def read_optional(path: Path) -> dict[str, Any]:
    """Return the object in a small JSON file, empty when there is no such file; raises as `read_config`."""
    return json_files.read_json(path, CONFIG_MAX_BYTES) if path.is_file() else {}


def flat_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return config.json with the settings of a nested language model (text_config) beside the others.

    Nested settings win over outer ones of the same name, but for `quantization`, which mlx-lm takes from the outside.
    """
    nested = config.get("text_config")
    if not isinstance(nested, dict):
        return config
    own = {name: value for name, value in config.items() if name != "text_config"}
    return own | {name: value for name, value in nested.items() if name not in _OUTER}


def model_type(folder: Path) -> str | None:
    """Return the architecture that config.json in `folder` names, None when it cannot be read."""
    try:
        found = json_files.read_json(folder / CONFIG_NAME, CONFIG_MAX_BYTES).get("model_type")
    except (OSError, EngineError):
        return None
    return found if isinstance(found, str) else None


def check_config(config: dict[str, Any]) -> None:
    """Check a parsed config.json.

    Raises:
        EngineError: UNSUPPORTED, when the architecture is not on our list; REFUSED, when a number cannot be.
    """
    architecture = config.get("model_type")
    if not isinstance(architecture, str):
        raise refused(CONFIG_NAME, "does not say which architecture the model has (model_type)")
    if architecture not in SUPPORTED | PLAIN_ONLY.keys():
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f'This model has the architecture "{architecture[:60]}", which this version cannot run; '
            f"it runs {', '.join(sorted(SUPPORTED | PLAIN_ONLY.keys()))}.",
        )
    for name in _REQUIRED:
        if config.get(name) is None:
            raise refused(CONFIG_NAME, f"does not say {name}")
    for name, largest in _LARGEST.items():
        _check_whole(config.get(name), name, largest)
    for name, most in _LARGEST_FLOAT.items():
        _check_positive(config.get(name), name, most)
    _check_end_tokens(config.get("eos_token_id"))
    _check_quantization(config.get("quantization"))
    _check_rope(config)


def _check_whole(value: Any, name: str, largest: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= largest:
        raise refused(CONFIG_NAME, f"says {name} is {_short(value)}, but it must be a whole number from 1 to {largest}")


def _check_positive(value: Any, name: str, largest: float) -> None:
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= largest:
        raise refused(CONFIG_NAME, f"says {name} is {_short(value)}, but it must be above 0 and up to {largest:g}")


def _check_end_tokens(value: Any) -> None:
    ids = value if isinstance(value, list) else [value]
    if value is not None and not all(isinstance(item, int) and not isinstance(item, bool) for item in ids):
        raise refused(
            CONFIG_NAME,
            f"says eos_token_id is {_short(value)}, but it must be the number of a token, or a list of them",
        )


def _check_quantization(settings: Any) -> None:
    """Check the common bits and group size, and those of single modules (objects under their path)."""
    if settings is None:
        return
    if not isinstance(settings, dict):
        raise refused(CONFIG_NAME, "has a quantization that is no object")
    for table in (settings, *(value for value in settings.values() if isinstance(value, dict))):
        if table.get("bits") not in _BITS or table.get("group_size") not in _GROUP_SIZES:
            bits, group = _short(table.get("bits")), _short(table.get("group_size"))
            raise refused(CONFIG_NAME, f"asks for {bits} bits in groups of {group}, which no model uses")


def _check_rope(config: Mapping[str, Any]) -> None:
    for key in _ROPE_KEYS:
        if (settings := config.get(key)) is not None:
            _check_rope_settings(settings, key)


def _check_rope_settings(settings: Any, path: str) -> None:
    if not isinstance(settings, dict):
        raise refused(CONFIG_NAME, f"says {path} is {_short(settings)}, but it must be an object")
    kind = settings.get("type") or settings.get("rope_type", "default")
    if not isinstance(kind, str) or kind not in _ROPE_KINDS:
        raise refused(CONFIG_NAME, f"asks for rotary positions of the kind {_short(kind)} ({path}), which mlx-lm lacks")
    if kind in _ROPE_WITH_FACTOR and settings.get("factor") is None:
        raise refused(CONFIG_NAME, f"does not say {path}.factor, which positions of the kind {kind} need")
    for name in _ROPE_POSITIVE:
        _check_positive(settings.get(name), f"{path}.{name}", _ROPE_LARGEST)
    sections = settings.get("mrope_section")
    is_sound = isinstance(sections, list) and [type(item) for item in sections] == [int] * _ROPE_SECTIONS
    if kind == "mrope" and not is_sound:
        raise refused(CONFIG_NAME, f"does not say {path}.mrope_section as {_ROPE_SECTIONS} whole numbers")
    for name, inner in settings.items():  # settings of their own for each kind of layer
        if isinstance(inner, dict):
            _check_rope_settings(inner, f"{path}.{name[:40]}")


def _short(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**18:
        return "a huge number"
    return repr(value)[:40]


def is_size(value: Any) -> bool:
    """Whether a value can be a dimension."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_SIZE


def check_tokenizer_ids(folder: Path, rows: int) -> None:
    """Check that no token of a tokenizer.json, nor any that transformers appends to it, is beyond the embedding's rows.

    Raises:
        EngineError: REFUSED, also when the vocabulary, an added token or a setting has no sound ids.
    """
    tokenizer = json_files.read_json(folder / TOKENIZER_NAME, _TOKENIZER_MAX_BYTES)
    settings, roles, added = (
        read_optional(folder / name) for name in (TOKENIZER_SETTINGS_NAME, _SPECIAL_TOKENS, _ADDED_TOKENS)
    )
    tokens, table = _added_tokens(tokenizer), _table(settings)
    vocabulary = _vocabulary(tokenizer)
    ids = _whole([*vocabulary.values(), *(token.get("id") for token in tokens)], TOKENIZER_NAME)
    ids += [*map(int, table), *_whole(added.values(), _ADDED_TOKENS)]
    largest = max(ids)
    if largest >= rows:
        raise refused(TOKENIZER_NAME, f"has token ids up to {largest}, but the model has only {rows} of them")
    named = {
        _ADDED_TOKENS: [*added],
        _SPECIAL_TOKENS: _texts(roles),
        TOKENIZER_SETTINGS_NAME: [*_texts(settings), *_spelled(table.values())],
    }
    known = vocabulary.keys() | set(_spelled(tokens))
    new = {text: file for file, texts in named.items() for text in texts if text and text not in known}
    if largest + len(new) >= rows:
        text, file = next(iter(new.items()))
        raise refused(
            file,
            f"names the token {text[:40]!r}, which {TOKENIZER_NAME} lacks; with {len(new)} of that kind "
            f"there would be ids up to {largest + len(new)}, but the model has only {rows} of them",
        )


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
    raise refused(TOKENIZER_NAME, "has no vocabulary")


def _added_tokens(tokenizer: dict[str, Any]) -> list[dict[str, Any]]:
    added = tokenizer.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        raise refused(TOKENIZER_NAME, "has added tokens that are no objects")
    return added


def _table(settings: dict[str, Any]) -> dict[str, Any]:
    table = settings.get("added_tokens_decoder") or {}
    if not isinstance(table, dict) or not all(key.isdecimal() and len(key) < 10 for key in table):
        raise refused(TOKENIZER_SETTINGS_NAME, "has added tokens without sound ids")
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
    texts = (token.get("content") if isinstance(token, dict) else token for token in tokens)
    return [text for text in texts if isinstance(text, str)]


def chat_template_problem(folder: Path) -> str:
    """Return why the model in a folder cannot chat, one sentence; empty when nothing speaks against it.

    Raises:
        EngineError: REFUSED, when the tokenizer's settings are damaged.
    """
    found = _chat_template(folder)
    if not found:
        return "It has no chat template, so it cannot chat; choose an instruct model for that."
    if not isinstance(found, str):
        return "Its chat template is no text, so it cannot chat; choose another model for that, or get it again."
    if len(found) > MAX_TEMPLATE:
        return (
            f"Its chat template is {len(found):,} characters long, and at most {MAX_TEMPLATE:,} are read, so it "
            "cannot chat; choose another model for that."
        )
    return ""


def _chat_template(folder: Path) -> Any:
    file, settings = folder / _TEMPLATE_NAME, folder / TOKENIZER_SETTINGS_NAME
    if file.is_file() and file.stat().st_size:
        with file.open("rb") as template:
            raw = template.read(CONFIG_MAX_BYTES)
        return raw.decode("utf-8", errors="replace")
    found = json_files.read_json(settings, CONFIG_MAX_BYTES).get(_TEMPLATE_KEY) if settings.is_file() else None
    if not isinstance(found, list):
        return found
    if not all(isinstance(item, dict) and {"name", "template"} <= item.keys() for item in found):
        raise refused(TOKENIZER_SETTINGS_NAME, "lists chat templates without a name or without their text")
    return next((item["template"] for item in reversed(found) if item["name"] == _MAIN_TEMPLATE), None)
