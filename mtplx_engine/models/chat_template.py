"""Whether a model folder has a chat template, where transformers looks for one. Imports no transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.models import json_file, model_config, tokenizer_ids

if TYPE_CHECKING:
    from pathlib import Path

_FILE = "chat_template.jinja"
_KEY = "chat_template"
_MAIN = "default"


def is_in(folder: Path) -> bool:
    """Whether a checked folder has a template for chats.

    Raises:
        EngineError: REFUSED, when the tokenizer's settings are damaged.
    """
    file, settings = folder / _FILE, folder / tokenizer_ids.SETTINGS
    if file.is_file() and file.stat().st_size:
        return True
    found = json_file.read(settings, model_config.MAX_BYTES).get(_KEY) if settings.is_file() else None
    if isinstance(found, list):  # one for each use
        return any(isinstance(item, dict) and item.get("name") == _MAIN for item in found)
    return isinstance(found, str) and bool(found)
