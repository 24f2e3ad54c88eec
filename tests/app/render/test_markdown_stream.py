"""Streaming gives the same message as reading it whole, and costs the same at its end as at its beginning."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.render import markdown_stream
from app.render.blocks import Code, Heading, Mark, Paragraph, Run, Table, text_of
from app.render.markdown import parse_markdown, sanitize
from app.render.markdown_stream import StreamingMarkdown
from tests.support.markdown import SAMPLE, Shown, chunk_sizes, pieces, said, texts, texts_with_definitions

WORDS = "the model drafts a few tokens and the target verifies them in one forward "


def stream(text, sizes):
    shown = Shown()
    for piece in pieces(text, sizes):
        shown.feed(piece)
    return shown


@given(texts_with_definitions | st.text(), chunk_sizes)
@settings(max_examples=300)
def test_finished_stream_is_the_whole_parse(text, sizes):
    assert stream(text, sizes).stream.finish() == parse_markdown(sanitize(text))


@given(texts, chunk_sizes)
@settings(max_examples=600)
def test_frozen_leaves_never_change(text, sizes):
    shown = stream(text, sizes)
    assert tuple(shown.frozen) == parse_markdown(sanitize(text))[: len(shown.frozen)]


@given(chunk_sizes)
@settings(max_examples=20)
def test_everything_but_the_last_block_is_frozen(sizes):
    shown = stream(SAMPLE + "\nThe end.\n", sizes)
    assert shown.tail == (Paragraph((), (Run("The end."),)),)


def test_a_block_freezes_when_the_next_one_has_a_complete_line():
    shown = stream("One.\n\nTw", [1])
    assert (len(shown.frozen), len(shown.tail)) == (0, 2)
    shown.feed("o.\n")
    assert [text_of(leaf.runs) for leaf in shown.frozen] == ["One."]


def test_items_of_a_list_freeze_one_by_one_and_keep_their_numbers():
    shown = stream("1. one\n1. two\n1. three\n1. four", [3])
    assert [leaf.containers[0].marker for leaf in shown.leaves] == ["1.", "2.", "3.", "4."]
    assert len(shown.frozen) == 2


def test_a_later_definition_is_put_right_at_the_end():
    shown = stream("See [the page].\n\nText.\n\n[the page]: https://a.b/\n", [4])
    assert shown.frozen[0] == Paragraph((), (Run("See [the page]."),))
    assert shown.stream.finish()[0].runs[1] == Run("the page", href="https://a.b/")


def test_an_earlier_definition_is_known_later():
    shown = stream("[page]: https://a.b/\n\nText.\n\nMore text.\n\nSee [page].", [4])
    assert shown.tail[-1].runs[1] == Run("page", href="https://a.b/")


def test_a_half_definition_does_not_count():
    shown = stream("[page]: https://a.b/", [1])
    for piece in ("c/d", "\n\nSee [page]."):
        shown.feed(piece)
    assert shown.tail[-1].runs[1].href == "https://a.b/c/d"


def test_code_is_code_from_its_first_line_on_and_only_grows():
    code = "```python\nprint('``` no end')\n\n  x = 1\n"
    shown, texts_seen = Shown(), []
    for character in code:
        shown.feed(character)
        texts_seen += [leaf.text for leaf in shown.leaves if isinstance(leaf, Code)]
        assert all(isinstance(leaf, Code) for leaf in shown.leaves)
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts_seen))
    assert texts_seen[-1] == parse_markdown(code)[0].text


def test_a_fence_in_a_list_item_loses_its_indentation_as_it_streams():
    shown = stream("1. Run:\n\n   ```bash\n   $ make\n\n     indented", [1])
    assert shown.leaves[-1].text == "$ make\n\n  indented"
    shown.feed("\n   ```\n2. Done")
    assert shown.leaves == list(parse_markdown("1. Run:\n\n   ```bash\n   $ make\n\n     indented\n   ```\n2. Done"))


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \n", "> ", "- ", "```"])
def test_hardly_anything(text):
    shown = stream(text, [1])
    assert shown.stream.finish() == parse_markdown(text)


def test_halves_of_a_character_are_joined_and_a_lone_one_is_replaced():
    shown = stream("a\ud83d\ude00", [2])
    assert text_of(shown.tail[0].runs) == "a😀"
    shown.feed("\ud83d")
    assert text_of(shown.tail[0].runs) == "a😀"
    assert text_of(shown.stream.finish()[0].runs) == "a😀\ufffd"


def test_a_split_line_end_is_one_line_end():
    assert stream("# a\r\nb\r\n\r\nc", [4]).stream.finish() == parse_markdown("# a\nb\n\nc")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(SAMPLE * 90, id="an answer of 20,000 tokens"),
        pytest.param(WORDS * 600, id="one paragraph"),
        pytest.param("```python\n" + "x = [1, 2, 3]  # numbers\n" * 2000, id="2,000 lines of code"),
        pytest.param("1. a\n\n   ```python\n" + "   x = 1\n" * 4000, id="code in an item"),
        pytest.param("- " + WORDS * 600, id="one item"),
        pytest.param("\n".join(f"{n}. **Item** {WORDS}\n   - more" for n in range(250)), id="one list"),
        pytest.param("> " + "\n> ".join([WORDS] * 250), id="one quote"),
        pytest.param("|a|b|\n|-|-|\n" + f"| {WORDS} | {WORDS} |\n" * 120, id="one table"),
    ],
)
def test_the_last_thousand_feeds_cost_at_most_three_times_the_first(message, monkeypatch):
    parsed = [0]

    class Counting(markdown_stream.ParsedMarkdown):
        def __init__(self, text, *args):
            parsed[0] += len(text)
            super().__init__(text, *args)

    monkeypatch.setattr(markdown_stream, "ParsedMarkdown", Counting)
    reader = StreamingMarkdown()
    costs = []
    for piece in pieces(message, [4]):
        before = parsed[0]
        reader.feed(piece)
        costs.append(parsed[0] - before + len(piece))
    assert len(costs) > 4000
    assert sum(costs[-1000:]) <= 3 * sum(costs[:1000])


def test_what_is_frozen_is_given_once():
    shown = stream(SAMPLE * 3, [7])
    leaves = parse_markdown(SAMPLE * 3)
    assert shown.frozen == list(leaves[: len(shown.frozen)])
    assert len([leaf for leaf in shown.frozen if isinstance(leaf, Heading)]) == 6


def test_d7_an_unclosed_fence_is_code_from_its_first_line_and_a_bar_in_code_is_none():
    shown = Shown()
    for character in "```python\nx = a|b\n| c":
        shown.feed(character)
        if "x" in "".join(leaf.text for leaf in shown.leaves if isinstance(leaf, Code)):
            assert len(shown.leaves) == 1
    assert shown.leaves == [Code((), "python", "x = a|b\n| c")]
    table = "| code | use |\n|---|---|\n| `a|b` | c \\| d |\n"
    for end in range(len(table)):
        assert all(len(leaf.aligns) == 2 for leaf in stream(table[:end], [1]).leaves if isinstance(leaf, Table))
    (leaf,) = stream(table, [1]).stream.finish()
    assert [[text_of(cell) for cell in row] for row in leaf.rows] == [["code", "use"], ["a|b", "c | d"]]
    assert (leaf,) == parse_markdown(table)


def shown(text):
    view = Shown()
    for character in text:
        view.feed(character)
    return view.leaves


def runs(text):
    leaves = shown(text)
    return leaves[-1].runs if leaves else ()


def test_nothing_of_an_ordinary_answer_is_taken_back():
    final = said(parse_markdown(SAMPLE))
    view = Shown()
    for character in SAMPLE:
        view.feed(character)
        now = said(view.leaves)
        while now and now[-1][0] in (" ", "\n"):
            now.pop()
        assert now == final[: len(now)]


@pytest.mark.parametrize(
    "text", ["-", "#", "###", "1", "12.", "1. *", ">", "> -", "|", "| a", "``", "```pyth", "- [", "=", "**"]
)
def test_a_line_of_signs_waits(text):
    assert shown(text) == []


@pytest.mark.parametrize("underline", ["-", "--", "=", "*", "_"])
def test_an_underline_waits_for_its_end(underline):
    assert not isinstance(shown(f"Title\n{underline}")[0], Heading)


def test_a_table_waits_for_its_second_line():
    head = "| a | b |\n"
    assert shown(head + "|---|") == []
    assert len(shown(head + "|---|---|\n")[0].rows) == 1
    assert text_of(runs("| no table\nat all")) == "| no table\nat all"


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("a **b", Mark.STRONG),
        ("a **b*", Mark.STRONG),
        ("a *b", Mark.EMPHASIS),
        ("a ***b", Mark.STRONG | Mark.EMPHASIS),
        ("a ~~b~", Mark.STRIKE),
        ("a `b", Mark.CODE),
        ("a ``b`", Mark.CODE),
    ],
)
def test_what_is_opened_shows_at_once(text, marks):
    assert runs(text) == (Run("a "), Run("b", marks))


@pytest.mark.parametrize("text", ["2 * 3", "2*3", "a * b", "snake_case", "a [b", "5 ~ 6"])
def test_signs_that_open_nothing_are_shown(text):
    assert text_of(runs(text)) == text


def test_a_half_link_is_its_text():
    assert runs("a [b](htt") == (Run("a b"),)
    assert runs('a [b](http://c "ti') == (Run("a b"),)
    assert runs("a [b](http://c)") == (Run("a "), Run("b", href="http://c"))


@pytest.mark.parametrize("end", ["*", "**", "`", "\\", "&am", "&#12"])
def test_a_dangling_end_waits(end):
    assert runs("text" + end) == (Run("text"),)


def test_a_closed_paragraph_keeps_its_signs():
    assert text_of(shown("1 *\n\nNext")[0].runs) == "1 *"


def test_an_open_cell_shows_its_code():
    table = shown("| a | b |\n|---|---|\n| **x | `y|z")[0]
    assert [[text_of(cell) for cell in row] for row in table.rows] == [["a", "b"], ["x", ""]]
