"""Colours of code: the same in the end however the lines came, and cheap line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render.code_colors import CodeColors, Role, Span

PYTHON = '''\
def tallest(mountains: list[str]) -> str:
    """Return the tallest.

    Not the steepest: "height" counts.
    """
    # A comment.
    return max(mountains, key=len)  # 😀 1 + 2


x = "😀" + 'two' + str(3)
'''
C = "/*\n * A comment\n *\n * of some lines.\n */\nint main(void) {\n  return 0; /* end */\n}\n"
HTML = "<html>\n<script>\nconst a = 1;\n\n/* one */\n</script>\n<p class='x'>text</p>\n"


def by_line(language, text):
    colors, spans = CodeColors(language), {}
    for line in text.splitlines(keepends=True):
        spans.update(colors.add(line))
    spans.update(colors.finish())
    return spans


def at_once(language, text):
    colors = CodeColors(language)
    assert colors.add(text, color=False) == []
    return dict(colors.finish())


def nonempty(spans):
    return {line: found for line, found in spans.items() if found}


@pytest.mark.parametrize(("language", "text"), [("python", PYTHON * 12), ("c", C * 20), ("html", HTML * 8)])
def test_line_by_line_ends_as_at_once(language, text):
    assert nonempty(by_line(language, text)) == nonempty(at_once(language, text))


@given(
    st.text(st.sampled_from("\"'#\\\n{}()ab1 */<>`"), max_size=200),
    st.sampled_from(["python", "js", "html", "json"]),
)
def test_any_text_ends_as_at_once(text, language):
    text += "\n"
    assert nonempty(by_line(language, text)) == nonempty(at_once(language, text))


@pytest.mark.parametrize("language", ["python", "c", ""])
def test_a_block_without_lines_has_no_colours(language):
    assert list(CodeColors(language).finish()) == []


def test_finished_lines_are_coloured_while_more_come():
    colors = CodeColors("python")
    assert dict(colors.add("x = 1\n"))[0] == (Span(4, 1, Role.NUMBER),)


def test_an_open_comment_is_a_comment():
    colors, spans = CodeColors("c"), {}
    for line in C.splitlines(keepends=True)[:4]:
        spans.update(colors.add(line))
    assert [found[0].role for found in spans.values()] == [Role.COMMENT] * 4


def test_spans_count_as_qt_does():
    spans = at_once("python", PYTHON)
    line = "    return max(mountains, key=len)  # 😀 1 + 2"
    assert spans[6][-1] == Span(line.index("#"), len(line) - line.index("#") + 1, Role.COMMENT)


@pytest.mark.parametrize("language", ["", "nonsense", "python3.99", "\x00", "text"])
def test_an_unknown_language_is_plain(language):
    assert nonempty(at_once(language, PYTHON)) == {}


def test_a_very_long_line_is_plain():
    assert nonempty(at_once("json", '{"a": [' + "1, " * 2000 + "]}\n")) == {}


def test_a_line_costs_the_same_after_a_thousand_others(monkeypatch):
    lexed = [0]
    plain = CodeColors._lex

    def counting(self, first):
        lexed[0] += len(self._lines) - first
        return plain(self, first)

    monkeypatch.setattr(CodeColors, "_lex", counting)
    colors, costs = CodeColors("python"), []
    for number in range(1200):
        before = lexed[0]
        colors.add(f"x{number} = {number}\n" if number % 7 else "\n")
        costs.append(lexed[0] - before)
    assert max(costs) <= 100
    assert sum(costs[-200:]) <= 1.2 * sum(costs[200:400])


def test_code_without_a_place_to_restart_is_still_bounded():
    colors = CodeColors("python")
    colors.add('"""\n')
    for _ in range(700):
        colors.add("inside of one string\n")
    assert len(colors._lines) - colors._base <= 256 + 32
    assert all(spans[0].role is Role.STRING for _, spans in colors.finish())
