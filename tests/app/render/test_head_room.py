"""A code block that comes first has its header too."""

from __future__ import annotations

import pytest

from app.chat_view.message_view import AnswerView
from app.render.style import Measures

CODE = "```python\nprint(1)\n```\n\nand text"


@pytest.fixture
def view(qtbot, theme):
    view = AnswerView(theme.render_style())
    view.resize(600, 100)
    qtbot.addWidget(view)
    view.show()
    return view


def first(view):
    written = view._writer.written[0]
    return view._geometry.top(written), view._geometry.rect(view._geometry.first_block(written)).top()


def stream(view, text):
    for character in text:
        view.append(character)
    view.finish()


@pytest.mark.parametrize("show", [AnswerView.set_markdown, stream], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("text", "room"), [(CODE, Measures(14).code_header), ("Text\n\n" + CODE, 0), ("# Title", 0)]
)
def test_room_above_the_first_line(view, show, text, room):
    show(view, text)
    top, line = first(view)
    assert (top, line) == (0, room)


def test_room_goes_with_the_code_that_needed_it(view):
    view.set_markdown(CODE)
    view.set_markdown("Text")
    assert first(view) == (0, 0)
