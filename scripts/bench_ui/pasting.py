"""What is too much for a message, pasted all the same: no paste may hold up the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData
from PySide6.QtTest import QTest

from app.chat_view.question_row import QuestionRow
from scripts.bench_ui.figure import LONGEST_BLOCK_MS, Figure, timed
from scripts.bench_ui.program import Program
from scripts.bench_ui.texts import lines, long_line
from tests.support.fake_script import Script

if TYPE_CHECKING:
    from pathlib import Path


_LINE_LENGTH, _SHORT_LINE_LENGTH = 79, 27


def measure(folder: Path, characters: int) -> list[Figure]:
    """Paste texts of so many characters and of five times as many, type after them, and send them."""
    pastes = {
        f"{characters / 1e6:g} MB line without spaces": long_line(characters),
        f"{5 * characters / 1e6:g} MB paste": lines(5 * characters // (_LINE_LENGTH + 1), _LINE_LENGTH),
        f"{characters // 50:,}-line paste": lines(characters // 50, 30),
        f"{characters // 5:,}-line paste": lines(characters // 5, _SHORT_LINE_LENGTH),
        f"{5 * characters / 1e6:g} MB line of words": "word " * characters,
    }
    found = []
    with Program(folder, Script(answer="Read.", window=10**8)) as program:
        for name, text in pastes.items():
            program.app.session.new_chat()
            program.settle()
            found += _measure_one(program, name, text)
        for name, text in pastes.items():
            found += _measure_edit(program, name, text)
    return found


def _measure_one(program: Program, name: str, text: str) -> list[Figure]:
    edit = program.app.window.pane.composer.edit
    acts = (
        ("in the composer", lambda: edit.insertFromMimeData(_pasted(text))),
        ("a key typed after it", lambda: QTest.keyClick(edit, "a")),
        ("sent", edit.submitted.emit),
    )
    return [
        timed(f"{name}, {act}: longest block", program.longest_block(run), LONGEST_BLOCK_MS)
        for act, run in acts
    ]


def _measure_edit(program: Program, name: str, text: str) -> list[Figure]:
    """Edit a message that says the text, as it could be sent before texts became files, and paste it once more."""
    session, transcript = program.app.session, program.app.window.pane.transcript
    session.new_chat()
    program.app.actions.send(text)
    program.settle()
    question = transcript.rows[0]
    opened = program.longest_block(lambda: transcript.edit(question.message.id))
    editor = question.editor if isinstance(question, QuestionRow) else None
    if editor is None:
        raise RuntimeError("the message is not edited")
    edit = editor.edit
    acts = (
        ("pasted into its editor", lambda: edit.insertFromMimeData(_pasted(text))),
        ("sent anew", edit.submitted.emit),
    )
    blocks = {act: program.longest_block(run) for act, run in acts}
    return [
        timed(f"{name}, sent before, {act}: longest block", block, LONGEST_BLOCK_MS)
        for act, block in {"opened for editing": opened, **blocks}.items()
    ]


def _pasted(text: str) -> QMimeData:
    data = QMimeData()
    data.setText(text)
    return data
