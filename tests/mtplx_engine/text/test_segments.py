"""Marks divide an answer wherever they are meant, in whatever pieces the text comes."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken
from transformers import AutoTokenizer

from mtplx_engine.text import segments
from mtplx_engine.text.segments import TOOL_PARSERS, Kind, Markup, Segment, Segmenter, ToolCall
from tests.support import tiny_folder

if TYPE_CHECKING:
    from pathlib import Path


MARKUP = Markup("<think>", "</think>", "<tool_call>", "</tool_call>", "json_tools")
A, T, C = Kind.ANSWER, Kind.THINKING, Kind.TOOL_CALL
PIECES = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "`",
    "``",
    "```",
    "\n",
    "\n```\n",
    "\n```py\n",
]
PIECES += ["~~~", "<", "</", "th", "a", " ", "   ", "b\n"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def joined(segments: list[Segment]) -> list[tuple[Kind, str]]:
    """Neighbours of one kind as one, but for tool calls."""
    out: list[tuple[Kind, str]] = []
    for kind, group in groupby(segments, lambda segment: segment.kind):
        texts = [segment.text for segment in group]
        out += [(kind, text) for text in (texts if kind is C else ["".join(texts)])]
    return out


def cut(*pieces: str, markup: Markup = MARKUP, thinking: bool = False) -> list[tuple[Kind, str]]:
    segmenter = Segmenter(markup, thinking=thinking)
    out = [segment for piece in pieces for segment in segmenter.push(piece)]
    return joined(out + segmenter.finish())


@given(TEXTS, st.lists(st.integers(0, 120), max_size=12), st.booleans())
def test_any_pieces_give_the_same_segments(text: str, cuts: list[int], thinking: bool) -> None:  # noqa: FBT001
    ends = sorted(min(at, len(text)) for at in cuts)
    pieces = [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    whole = cut(text, thinking=thinking)
    assert cut(*pieces, thinking=thinking) == whole
    assert cut(*text, thinking=thinking) == whole


@given(st.text(alphabet="ab`~\n <>/think", max_size=60))
def test_without_marks_nothing_is_lost(text: str) -> None:
    assert cut(text, markup=Markup()) == ([(A, text)] if text else [])


@given(TEXTS)
def test_only_marks_and_the_line_breaks_after_them_are_left_out(text: str) -> None:
    kept = "".join(piece for _, piece in cut(text))
    rest = iter(text)
    assert all(character in rest for character in kept)  # in order
    for mark in (MARKUP.think_start, MARKUP.think_end, MARKUP.tool_start, MARKUP.tool_end):
        text, kept = text.replace(mark, ""), kept.replace(mark, "")
    assert text.replace("\n", "") == kept.replace("\n", "")


@given(TEXTS, st.integers(0, 120), st.booleans())
def test_each_segment_says_where_it_stands(text: str, cut_at: int, thinking: bool) -> None:  # noqa: FBT001
    segmenter = Segmenter(MARKUP, thinking=thinking)
    segments = segmenter.push(text[:cut_at]) + segmenter.push(text[cut_at:]) + segmenter.finish()
    for segment in segments:
        assert text[segment.start : segment.start + len(segment.text)] == segment.text
    ends = [segment.start + len(segment.text) for segment in segments]
    assert all(end <= after.start for end, after in zip(ends, segments[1:], strict=False))


def test_thinking_comes_before_the_answer() -> None:
    assert cut("<think>\nhm\n</think>\n\nYes.") == [(T, "hm\n"), (A, "Yes.")]
    assert cut("<think></think>Yes.") == [(A, "Yes.")]
    assert cut("One <think>two</think> three") == [(A, "One "), (T, "two"), (A, " three")]


def test_the_prompt_may_have_opened_the_thinking() -> None:
    assert cut("\nhm</think>\nYes.", thinking=True) == [(T, "hm"), (A, "Yes.")]


def test_thinking_that_is_never_closed() -> None:
    assert cut("<think>hm `x` and so on </thi") == [(T, "hm `x` and so on </thi")]
    assert cut("hm", thinking=True) == [(T, "hm")]


def test_a_closing_mark_that_nothing_opened_is_not_shown() -> None:
    assert cut("hm</think>\n\nYes.") == [(A, "hm\n\nYes.")]
    assert cut("</think>\n\nYes.") == [(A, "Yes.")]
    assert cut("<think>hm</think>\n</think>\nYes.") == [(T, "hm"), (A, "Yes.")]


def test_text_is_given_as_soon_as_it_is_certain() -> None:
    segmenter = Segmenter(MARKUP)
    assert segmenter.push("a <") == [Segment(A, "a ")]
    assert segmenter.push("b `c` </") == [Segment(A, "<b `c` ")]
    assert segmenter.push("think> d") == [Segment(A, " d")]


IN_LINE = ["write `</think>` there", "write ``a ` </think>`` there", "so:\n```\nx </think>\ny\n```\nthere"]
ON_LINES = [
    "so:\n```\n<think>\nx\n</think>\n```\nthere",
    "so:\n~~~ xml\n</think>\n~~~~\nthere",
    "so:\n  ```\n</think>\n```\nthere",
]


@pytest.mark.parametrize("quoted", [*IN_LINE, *ON_LINES])
def test_a_mark_in_code_of_the_answer_is_quoted(quoted: str) -> None:
    assert cut(quoted) == [(A, quoted)]


@pytest.mark.parametrize("quoted", IN_LINE)
@pytest.mark.parametrize("again", ["", " `b` ", " ``` </think> ``` ", "\n```\nx </think>\n```\n", " a ` "])
def test_a_mark_in_code_is_quoted_when_the_thinking_ends_behind_it(quoted: str, again: str) -> None:
    thought = quoted + again
    assert cut(f"<think>{thought}</think>\nYes `b`.") == [(T, thought), (A, "Yes `b`.")]


@pytest.mark.parametrize("quoted", ON_LINES)
def test_a_mark_at_the_start_of_a_line_ends_the_thinking(quoted: str) -> None:
    before, _, after = quoted.rpartition("</think>\n")
    assert cut(f"<think>{quoted}") == [(T, before), (A, after)]


def test_a_mark_alone_between_backticks_holds_nothing_up() -> None:
    segmenter = Segmenter(MARKUP, thinking=True)
    assert segmenter.push("a `</think>` b") == [Segment(T, "a `</think>` b")]
    assert cut("<think>`</think>`</think>Yes.") == [(T, "`</think>`"), (A, "Yes.")]
    assert cut("`<think>`<think>hm</think>Yes.") == [(A, "`<think>`"), (T, "hm"), (A, "Yes.")]


CODE = st.lists(
    st.sampled_from(["`", "``", "```", "\n", "\n```\n", "\n```py\n", "\n~~~\n", "a", " b ", "c\n"]),
    max_size=12,
).map("".join)


@given(CODE, CODE, st.lists(st.integers(1, 40), max_size=40))
def test_no_code_that_thinking_leaves_open_takes_in_the_answer(thought: str, answer: str, sizes: list[int]) -> None:
    if thought.endswith("`") and answer.startswith("`"):
        answer = f"\n{answer}"  # with nothing else between its backticks, the mark would be quoted
    text = f"<think>{thought}</think>{answer}"
    expected = [(T, thought.lstrip("\n")), (A, answer.lstrip("\n"))]
    expected = [(kind, piece) for kind, piece in expected if piece]
    assert cut(*text) == expected
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    assert cut(*pieces, text[at:]) == expected


@pytest.mark.parametrize(
    "unclosed",
    [
        "a lone ` here ",
        "a lone ` here\n",
        "ends in a block:\n```py\nx = 1\n",
        "``` in a line ",
        "a `` and ` ",
    ],
)
def test_code_that_is_never_closed_hides_no_answer(unclosed: str) -> None:
    assert cut(f"<think>{unclosed}</think>\n\nYes.\n") == [(T, unclosed), (A, "Yes.\n")]


def test_a_block_in_the_answer_does_not_close_one_in_the_thinking() -> None:
    answer = "Yes:\n```py\nx\n```\n"
    assert cut(f"<think>so\n```\nx\n</think>{answer}") == [(T, "so\n```\nx\n"), (A, answer)]


def test_tool_calls_come_whole() -> None:
    segmenter = Segmenter(MARKUP)
    assert segmenter.push('I look.\n<tool_call>{"name": "`') == [Segment(A, "I look.\n")]
    assert segmenter.push('<b"}</tool') == []
    assert segmenter.push("_call>") == [Segment(C, '{"name": "`<b"}')]
    assert cut("<tool_call>1</tool_call>\n<tool_call>2</tool_call>") == [(C, "1"), (C, "2")]


def test_a_tool_call_that_is_cut_off_is_text() -> None:
    assert cut("so <tool_call>{} </tool") == [(A, "so <tool_call>{} </tool")]


def test_a_format_without_an_end_mark_goes_on_to_the_end() -> None:
    assert cut("[TOOL_CALLS]f{}", markup=Markup(tool_start="[TOOL_CALLS]")) == [(C, "f{}")]


def test_without_tools_what_looks_like_a_call_is_text() -> None:
    text = "<tool_call>{}</tool_call>"
    assert cut(text, markup=Markup("<think>", "</think>")) == [(A, text)]


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
    assert segments.read_markup(made) == Markup()
    assert segments.hidden_ids(made, Markup()) == frozenset(range(len(tiny_folder.CONTROL)))
    assert not segments.opens_thinking(made, Markup(), [1, 2, 3])
    assert not segments.has_thinking_switch(made)


def test_a_template_that_uses_the_thinking_switch_has_one(tmp_path: Path) -> None:
    switch = "{% if enable_thinking is defined and not enable_thinking %}{{ '<think></think>' }}{% endif %}"
    assert segments.has_thinking_switch(tokenizer(tmp_path, template=tiny_folder.TEMPLATE + switch))
    made = tokenizer(tmp_path)
    made.chat_template = None
    assert not segments.has_thinking_switch(made)


def test_marks_are_those_of_mlx_lm(tmp_path: Path) -> None:
    made = tokenizer(tmp_path, "<think>", "</think>", template=CALLS)
    assert segments.read_markup(made) == Markup("<think>", "</think>", "<tool_call>", "</tool_call>", "json_tools")


@pytest.mark.parametrize("special", [True, False])
def test_marks_are_shown_even_when_they_are_control_tokens(tmp_path: Path, *, special: bool) -> None:
    made = tokenizer(tmp_path, "<think>", "</think>", special=special)
    marks = segments.read_markup(made)
    assert segments.hidden_ids(made, marks) == frozenset(range(len(tiny_folder.CONTROL)))


@pytest.mark.parametrize(
    ("end", "opened"),
    [("<think>", True), ("<think>\n", True), ("x", False), ("<think>\n\n</think>\n\n", False)],
)
def test_a_prompt_may_open_the_thinking(tmp_path: Path, end: str, opened: bool) -> None:  # noqa: FBT001
    made = tokenizer(tmp_path, "<think>", "</think>")
    prompt = made.encode("<|im_start|>assistant\n" + end)
    assert segments.opens_thinking(made, segments.read_markup(made), prompt) is opened


@pytest.mark.parametrize("name", ["os", "../../evil", "json_tools.x", 5, ["json_tools"], "", None])
def test_only_known_formats_are_imported(tmp_path: Path, name: Any) -> None:
    assert segments.read_markup(tokenizer(tmp_path, tool_parser_type=name)) == Markup()
    with pytest.raises(ValueError, match="no format"):
        segments.tool_calls(Markup(tool_parser=str(name)), "{}")


@pytest.mark.parametrize("name", sorted(TOOL_PARSERS))
def test_every_known_format_is_there(tmp_path: Path, name: str) -> None:
    marks = segments.read_markup(tokenizer(tmp_path, tool_parser_type=name))
    assert marks.tool_parser == name
    assert marks.tool_start
    for junk in ("", "{", "\x00", "[1, 2]", "<function=", "a" * 10_000):
        try:
            calls = segments.tool_calls(marks, junk)
        except ValueError:
            continue
        assert all(isinstance(call, ToolCall) for call in calls)


def test_a_call_is_read() -> None:
    call = '{"name": "look", "arguments": {"where": "北"}}'
    read = segments.tool_calls(Markup(tool_parser="json_tools"), call)
    assert read == (ToolCall("look", '{"where": "北"}'),)
