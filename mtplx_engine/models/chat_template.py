"""Whether a model folder has a usable chat template, where transformers looks for one. Imports no transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models import json_file, model_config, tokenizer_ids
from mtplx_engine.models.refusal import refused
from mtplx_engine.template import MAX_TEMPLATE

if TYPE_CHECKING:
    from pathlib import Path

_FILE = "chat_template.jinja"
_KEY = "chat_template"
_MAIN = "default"


def check(folder: Path) -> None:
    """Check that transformers can read what a folder says of templates.

    Raises:
        EngineError: REFUSED.
    """
    _find(folder)


def problem(folder: Path) -> str:
    """Return why the model in a folder cannot chat, one sentence; empty when nothing speaks against it.

    Raises:
        EngineError: REFUSED, when the tokenizer's settings are damaged.
    """
    found = _find(folder)
    if not found:
        return "It has no chat template, so it cannot chat; choose an instruct model for that."
    if not isinstance(found, str):
        return (
            "Its chat template is no text, so it cannot chat; choose another model for that, or get it again."
        )
    if len(found) > MAX_TEMPLATE:
        return (
            f"Its chat template is {len(found):,} characters long, and at most {MAX_TEMPLATE:,} are read, so it "
            "cannot chat; choose another model for that."
        )
    return ""


def _find(folder: Path) -> Any:
    file, settings = folder / _FILE, folder / tokenizer_ids.SETTINGS
    if file.is_file() and file.stat().st_size:
        with file.open("rb") as template:
            raw = template.read(model_config.MAX_BYTES)
        return raw.decode("utf-8", errors="replace")
    found = json_file.read(settings, model_config.MAX_BYTES).get(_KEY) if settings.is_file() else None
    if not isinstance(found, list):
        return found
    if not all(isinstance(item, dict) and {"name", "template"} <= item.keys() for item in found):
        raise refused(tokenizer_ids.SETTINGS, "lists chat templates without a name or without their text")
    return next((item["template"] for item in reversed(found) if item["name"] == _MAIN), None)
