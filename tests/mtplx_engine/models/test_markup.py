"""The marks of thinking and tool calls come from the tokenizer, and only known formats are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tokenizers import AddedToken
from transformers import AutoTokenizer

from mtplx_engine.models import markup
from mtplx_engine.models.markup import TOOL_PARSERS, ToolCall
from mtplx_engine.segments import Markup
from tests.support import tiny_folder

if TYPE_CHECKING:
    from pathlib import Path

CALLS = "{{ '<tool_call>' + tool_call.name }}"


def tokenizer(
    folder: Path, *words: str, template: str = tiny_folder.TEMPLATE, special: bool = False, **settings: Any
) -> Any:
    tiny_folder.write_tokenizer(folder, template=template)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | settings))
    made = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    made.add_tokens([AddedToken(word, special=special, normalized=False) for word in words])
    return made


def test_a_model_without_marks(tmp_path: Path) -> None:
    made = tokenizer(tmp_path)
    assert markup.read(made) == Markup()
    assert markup.hidden_ids(made, Markup()) == frozenset(range(len(tiny_folder.CONTROL)))
    assert not markup.opens_thinking(made, Markup(), [1, 2, 3])
    assert not markup.has_thinking_switch(made)


def test_a_template_that_looks_at_the_switch_for_thinking_has_one(tmp_path: Path) -> None:
    switch = "{% if enable_thinking is defined and not enable_thinking %}{{ '<think></think>' }}{% endif %}"
    assert markup.has_thinking_switch(tokenizer(tmp_path, template=tiny_folder.TEMPLATE + switch))
    made = tokenizer(tmp_path)
    made.chat_template = None
    assert not markup.has_thinking_switch(made)


def test_marks_are_those_of_mlx_lm(tmp_path: Path) -> None:
    made = tokenizer(tmp_path, "<think>", "</think>", template=CALLS)
    assert markup.read(made) == Markup("<think>", "</think>", "<tool_call>", "</tool_call>", "json_tools")


@pytest.mark.parametrize("special", [True, False])
def test_marks_are_shown_even_when_they_are_control_tokens(tmp_path: Path, *, special: bool) -> None:
    made = tokenizer(tmp_path, "<think>", "</think>", special=special)
    marks = markup.read(made)
    assert markup.hidden_ids(made, marks) == frozenset(range(len(tiny_folder.CONTROL)))


@pytest.mark.parametrize(
    ("end", "opened"),
    [("<think>", True), ("<think>\n", True), ("x", False), ("<think>\n\n</think>\n\n", False)],
)
def test_a_prompt_may_open_the_thinking(tmp_path: Path, end: str, opened: bool) -> None:  # noqa: FBT001
    made = tokenizer(tmp_path, "<think>", "</think>")
    prompt = made.encode("<|im_start|>assistant\n" + end)
    assert markup.opens_thinking(made, markup.read(made), prompt) is opened


@pytest.mark.parametrize("name", ["os", "../../evil", "json_tools.x", 5, ["json_tools"], "", None])
def test_only_known_formats_are_imported(tmp_path: Path, name: Any) -> None:
    assert markup.read(tokenizer(tmp_path, tool_parser_type=name)) == Markup()
    with pytest.raises(ValueError, match="no format"):
        markup.tool_calls(Markup(tool_parser=str(name)), "{}")


@pytest.mark.parametrize("name", sorted(TOOL_PARSERS))
def test_every_known_format_is_there(tmp_path: Path, name: str) -> None:
    marks = markup.read(tokenizer(tmp_path, tool_parser_type=name))
    assert marks.tool_parser == name
    assert marks.tool_start
    for junk in ("", "{", "\x00", "[1, 2]", "<function=", "a" * 10_000):
        try:
            calls = markup.tool_calls(marks, junk)
        except ValueError:
            continue
        assert all(isinstance(call, ToolCall) for call in calls)


def test_a_call_is_read() -> None:
    call = '{"name": "look", "arguments": {"where": "北"}}'
    read = markup.tool_calls(Markup(tool_parser="json_tools"), call)
    assert read == (ToolCall("look", '{"where": "北"}'),)
