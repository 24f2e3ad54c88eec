"""Runs into a document, formulas among them: drawn when they are set already, else as their source at first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from app.render import formula_object
from app.render.blocks import Heading, Mark
from app.render.formula_object import OBJECT, formula_format
from app.render.maths import typesetter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtGui import QTextCursor

    from app.render.blocks import Leaf, Run
    from app.render.formats import Formats

_LEFT_TO_RIGHT, _ISOLATE_ENDS = "\u2066", "\u2069"


def insert_runs(
    cursor: QTextCursor, leaf: Leaf, runs: Sequence[Run], formats: Formats, *, header: bool = False
) -> list[Run]:
    """Write `runs` of `leaf` at `cursor`; return them as they are in the document now."""
    return [_insert(cursor, leaf, run, formats, header=header) for run in runs]


def is_waiting(run: Run) -> bool:
    """Return whether `run` is a formula of which nobody knows yet whether it can be set."""
    return Mark.MATH in run.marks and not typesetter().is_known(run.text)


def is_tall(run: Run, leaf: Leaf, formats: Formats) -> bool:
    """Return whether `run` needs more room than a line of `leaf` has."""
    return run.drawn and formula_object.is_tall(run.text, _size(leaf, formats), formats.line_of(leaf))


def typeset_all(runs: Sequence[Run]) -> Iterator[None]:
    """Set the formulas of `runs`, one at each step."""
    for run in runs:
        if is_waiting(run):
            typesetter().typeset(run.text)
            yield


def _insert(cursor: QTextCursor, leaf: Leaf, run: Run, formats: Formats, *, header: bool) -> Run:
    drawn = Mark.MATH in run.marks and not is_waiting(run) and typesetter().typeset(run.text) is not None
    is_code = bool(run.marks & (Mark.CODE | Mark.MATH)) and not drawn
    # What is around code from right to left would turn its signs around: "foo()" would be ")(foo".
    isolated = is_code and cursor.blockFormat().layoutDirection() == Qt.LayoutDirection.RightToLeft
    if drawn:
        text = formats.chars(leaf, run.marks & ~Mark.MATH, run.href, header=header)
        cursor.insertText(OBJECT, formula_format(text, run.text, _size(leaf, formats)))
    else:
        form = formats.chars(leaf, run.marks, run.href, header=header)
        shown = run.text.replace("\n", "\u2028")
        cursor.insertText(f"{_LEFT_TO_RIGHT}{shown}{_ISOLATE_ENDS}" if isolated else shown, form)
    return replace(run, drawn=drawn, isolated=isolated)


def _size(leaf: Leaf, formats: Formats) -> int:
    return formats.heading_size(leaf.level) if isinstance(leaf, Heading) else formats.style.text_size
