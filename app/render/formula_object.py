"""Formulas as characters of a document: one object each, on the baseline, painted from its outlines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRectF, QSizeF
from PySide6.QtGui import QFontMetrics, QPyTextObject, QTextCharFormat, QTextFormat
from PySide6.QtSvg import QSvgRenderer

from app.render.maths import typesetter

if TYPE_CHECKING:
    from PySide6.QtCore import QRect
    from PySide6.QtGui import QFont, QPainter, QTextDocument

    from app.render.maths import Formula

OBJECT = "\ufffc"
_TYPE = QTextFormat.ObjectTypes.UserObject.value + 1
_SOURCE = QTextFormat.Property.UserProperty.value + 2
_SIZE = _SOURCE + 1
# The letters of formulas are smaller than those of text of the same nominal size.
_SCALE = 1.12
_WIDEST_FONT = 400
_KEPT = 200


class FormulaObject(QPyTextObject):
    """Measures and paints the formulas of one document, which owns it."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._renderers: dict[tuple[str, str], QSvgRenderer] = {}
        document.documentLayout().registerHandler(_TYPE, self)

    def intrinsicSize(self, document: QTextDocument, position: int, form: QTextFormat) -> QSizeF:
        """Return the room that a formula takes: no more than the line has."""
        formula, em = _formula(form)
        below = QFontMetrics(form.toCharFormat().font()).descent()
        shrunk = _shrunk(document, position, formula.width * em)
        return QSizeF(formula.width * em * shrunk, math.ceil(formula.ascent * em * shrunk) + below)

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        document: QTextDocument,
        position: int,
        form: QTextFormat,
    ) -> None:
        """Paint a formula on its baseline."""
        formula, em = _formula(form)
        em *= _shrunk(document, position, formula.width * em)
        baseline = rect.bottom() - QFontMetrics(form.toCharFormat().font()).descent()
        box = QRectF(
            rect.x(),
            baseline - formula.ascent * em,
            formula.width * em,
            (formula.ascent + formula.descent) * em,
        )
        self._renderer(formula, form.toCharFormat().foreground().color().name()).render(painter, box)

    def _renderer(self, formula: Formula, color: str) -> QSvgRenderer:
        key = (formula.svg, color)
        if key not in self._renderers:
            if len(self._renderers) >= _KEPT:
                self._renderers.clear()
            self._renderers[key] = QSvgRenderer(QByteArray(formula.colored(color)))
        return self._renderers[key]


def formula_format(text: QTextCharFormat, source: str, size: int) -> QTextCharFormat:
    """Return the format of the object for a formula that can be set, in text of `size` that looks like `text`."""
    formula = typesetter().typeset(source)
    if formula is None:
        raise ValueError("a formula that cannot be set is no object")
    em = size * _SCALE
    result = QTextCharFormat(text)
    result.setObjectType(_TYPE)
    result.setProperty(_SOURCE, source)
    result.setProperty(_SIZE, em)
    # Qt puts an object so far below the baseline as the letters of its font reach.
    result.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBaseline)
    result.setFont(_reaching(text.font(), formula.descent * em))
    return result


def reach(document: QTextDocument, position: int, form: QTextCharFormat) -> tuple[float, float]:
    """Return how far the formula at `position` reaches above and below the baseline, in pixels."""
    formula, em = _formula(form)
    em *= _shrunk(document, position, formula.width * em)
    return formula.ascent * em, formula.descent * em


def is_tall(source: str, size: int, line: int) -> bool:
    """Return whether a formula needs more than a line of `line` pixels gives it."""
    formula = typesetter().typeset(source)
    em = size * _SCALE
    return formula is not None and (formula.ascent * em > 0.8 * line or formula.descent * em > 0.25 * line)


def width_of(source: str, size: int) -> float:
    """Return how wide a formula is, in pixels."""
    formula = typesetter().typeset(source)
    return formula.width * size * _SCALE if formula is not None else 0.0


def _formula(form: QTextFormat) -> tuple[Formula, float]:
    """Return a formula, and its em in pixels."""
    formula = typesetter().typeset(str(form.property(_SOURCE)))
    if formula is None:
        raise ValueError("a formula that cannot be set is no object")
    return formula, float(form.property(_SIZE))


def _shrunk(document: QTextDocument, position: int, width: float) -> float:
    """Return the scale at which `width` fits into the line."""
    block = document.findBlock(position).blockFormat()
    room = document.textWidth() - block.leftMargin() - block.rightMargin()
    return min(1.0, room / width) if room > 0 and width > 0 else 1.0


def _reaching(font: QFont, descent: float) -> QFont:
    """Return `font` in a size in which its letters reach at least `descent` pixels below the line."""
    result = type(font)(font)
    size = max(1, round(descent / 0.3))
    result.setPixelSize(size)
    while QFontMetrics(result).descent() < descent and size < _WIDEST_FONT:
        size += 1
        result.setPixelSize(size)
    return result
