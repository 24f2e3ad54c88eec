"""A chat template is found where transformers finds one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from transformers import AutoTokenizer

from mtplx_engine.models import config_checks
from mtplx_engine.text.template import MAX_TEMPLATE
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
    assert bool(config_checks.chat_template_problem(tmp_path)) != is_there
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    if is_there:
        assert tokenizer.get_chat_template()
    elif tokenizer.chat_template:
        with pytest.raises(ValueError, match="no default specified"):
            tokenizer.get_chat_template()


def test_without_settings_there_is_none(tmp_path: Path) -> None:
    assert "no chat template" in config_checks.chat_template_problem(tmp_path)


@pytest.mark.parametrize("in_file", [True, False])
def test_a_template_that_is_too_long_is_told(tmp_path: Path, *, in_file: bool) -> None:
    for length, problem in ((MAX_TEMPLATE, ""), (MAX_TEMPLATE + 1, "is 65,537 characters long")):
        if in_file:
            (tmp_path / "chat_template.jinja").write_text("x" * length)
        else:
            (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "x" * length}))
        assert problem in config_checks.chat_template_problem(tmp_path)
        assert bool(config_checks.chat_template_problem(tmp_path)) == bool(problem)


def test_of_two_templates_for_chats_the_last_one_counts(tmp_path: Path) -> None:
    twice = [ONE, {"name": "default", "template": 5}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": twice}))
    assert "is no text" in config_checks.chat_template_problem(tmp_path)
