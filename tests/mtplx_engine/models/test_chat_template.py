"""A chat template is found where transformers finds one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from transformers import AutoTokenizer

from mtplx_engine.models import chat_template
from tests.support import tiny_folder

if TYPE_CHECKING:
    from pathlib import Path

ONE = {"name": "default", "template": "a"}
OTHER = {"name": "tool_use", "template": "b"}


@pytest.mark.parametrize(
    ("settings", "file", "is_there"),
    [
        (None, None, False),
        ("a", None, True),
        ("", None, False),
        ([ONE, OTHER], None, True),
        ([OTHER], None, False),
        ([], None, False),
        (None, "a", True),
        (None, "", False),
        ("a", "b", True),
    ],
)
def test_where_a_template_may_be(settings: Any, file: str | None, *, is_there: bool, tmp_path: Path) -> None:
    tiny_folder.write_tokenizer(tmp_path, template=None)
    path = tmp_path / "tokenizer_config.json"
    if settings is not None:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": settings}))
    if file is not None:
        (tmp_path / "chat_template.jinja").write_text(file)
    assert chat_template.is_in(tmp_path) == is_there
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    if is_there:
        assert tokenizer.get_chat_template()
    elif tokenizer.chat_template:
        with pytest.raises(ValueError, match="no default specified"):
            tokenizer.get_chat_template()


def test_without_settings_there_is_none(tmp_path: Path) -> None:
    assert not chat_template.is_in(tmp_path)
