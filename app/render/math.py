"""Formulas: typeset by ziamath as SVG, painted as objects of the document, and written there with the other runs.

A formula that has not been typeset yet, or cannot be, is shown as its source in the font of code.
"""

from __future__ import annotations

import logging
import math
import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetrics, QPyTextObject, QTextCharFormat, QTextFormat
from PySide6.QtSvg import QSvgRenderer

from app.render.blocks import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtCore import QRect
    from PySide6.QtGui import QFont, QPainter, QTextCursor, QTextDocument

    from app.render.blocks import Leaf, Run
    from app.render.style import Formats


# Time grows with the length and doubles with every level of nesting; this is about a quarter of a second.
_MAX_COST = 1200
_UNITS_PER_EM = 48  # in the SVG
_CACHE_SIZE = 1000
_LEVEL = re.compile(r"\\left\b|\\begin\b|(?<!\\)\{|\\right\b|\\end\b|(?<!\\)\}")
# Commands that stretch around or over their content: it is measured twice.
_COSTLY = re.compile(r"\\(?:boxed|x\w*arrow|over|cases|substack|stackrel)(?![A-Za-z])")
_VIEW_BOX = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')
_BLACK = '"black"'
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Formula:
    """A typeset formula: outlines in black, lengths in em; `ascent` is above the baseline, `descent` below it."""

    svg: str
    width: float
    ascent: float
    descent: float

    def colored(self, color: str) -> bytes:
        """Return the SVG in `color`, as "#RRGGBB"."""
        return self.svg.replace(_BLACK, f'"{color}"').encode()


class Typesetter:
    """Typesets formulas and caches the last results."""

    def __init__(self) -> None:
        self._done: OrderedDict[str, Formula | None] = OrderedDict()

    def is_known(self, source: str) -> bool:
        return source in self._done

    def typeset(self, source: str) -> Formula | None:
        """Return the formula of `source`, which includes its delimiters; None when it cannot be typeset."""
        if source not in self._done:
            self._done[source] = _typeset(source)
            if len(self._done) > _CACHE_SIZE:
                self._done.popitem(last=False)
        self._done.move_to_end(source)
        return self._done[source]


@cache
def typesetter() -> Typesetter:
    return Typesetter()


def is_display(source: str) -> bool:
    return source.startswith(("$$", "\\["))


def tex_of(source: str) -> str:
    """Return `source` without its delimiters."""
    length = 1 if source.startswith("$") and not source.startswith("$$") else 2
    return source[length:-length].strip()


def cost(tex: str) -> int:
    """Return an estimate of the time that typesetting `tex` may take, in arbitrary units."""
    total = position = level = 0
    for match in _LEVEL.finditer(tex):
        total += (match.start() - position) << min(level, 20)
        position = match.start()
        level = max(0, level + (1 if match.group() in ("{", "\\left", "\\begin") else -1))
    return (total + len(tex) - position) << min(len(_COSTLY.findall(tex)), 20)


def _typeset(source: str) -> Formula | None:
    tex = tex_of(source)
    if not tex or cost(tex) > _MAX_COST:
        return None
    try:
        svg = _svg(tex, inline=not is_display(source))
    except Exception as error:  # noqa: BLE001 - whatever the libraries raise, the source is shown
        _log.info("formula not typeset: %r", error)
        return None
    box = _VIEW_BOX.search(svg)
    # Outlines only: an SVG with references to anything else is not drawn.
    if box is None or "href=" in svg or "<image" in svg:
        return None
    _, top, width, height = (float(number) / _UNITS_PER_EM for number in box.groups())
    return Formula(svg, width, -top, height + top)


def _svg(tex: str, *, inline: bool) -> str:
    import ziamath

    ziamath.config.svg2 = False
    return str(ziamath.Latex(tex, size=_UNITS_PER_EM, inline=inline).svg())


OBJECT = "\ufffc"
_TYPE = QTextFormat.ObjectTypes.UserObject.value + 1
_SOURCE = QTextFormat.Property.UserProperty.value + 2
_SIZE = _SOURCE + 1
# The letters of formulas are smaller than those of text of the same nominal size.
_SCALE = 1.12
_MAX_FONT = 400  # pixels
_MAX_RENDERERS = 200


class FormulaObject(QPyTextObject):
    """Text object handler for the formulas of one document, which owns it."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._renderers: dict[tuple[str, str], QSvgRenderer] = {}
        document.documentLayout().registerHandler(_TYPE, self)

    def intrinsicSize(self, document: QTextDocument, position: int, form: QTextFormat) -> QSizeF:
        formula, em = _formula(form)
        below = QFontMetrics(form.toCharFormat().font()).descent()
        shrunk = _shrink_factor(document, position, formula.width * em)
        return QSizeF(formula.width * em * shrunk, math.ceil(formula.ascent * em * shrunk) + below)

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        document: QTextDocument,
        position: int,
        form: QTextFormat,
    ) -> None:
        formula, em = _formula(form)
        em *= _shrink_factor(document, position, formula.width * em)
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
            if len(self._renderers) >= _MAX_RENDERERS:
                self._renderers.clear()
            self._renderers[key] = QSvgRenderer(QByteArray(formula.colored(color)))
        return self._renderers[key]


def formula_format(text: QTextCharFormat, source: str, size: int) -> QTextCharFormat:
    """Return the format of the object for a formula, in text of `size` pixels with the format `text`.

    Raises:
        ValueError: The formula cannot be typeset.
    """
    formula = typesetter().typeset(source)
    if formula is None:
        raise ValueError("this formula cannot be typeset")
    em = size * _SCALE
    result = QTextCharFormat(text)
    result.setObjectType(_TYPE)
    result.setProperty(_SOURCE, source)
    result.setProperty(_SIZE, em)
    # Qt puts an object below the baseline by the descent of its font.
    result.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBaseline)
    result.setFont(_with_descent(text.font(), formula.descent * em))
    return result


def reach(document: QTextDocument, position: int, form: QTextCharFormat) -> tuple[float, float]:
    """Return the height of the formula at `position` above and below the baseline, in pixels."""
    formula, em = _formula(form)
    em *= _shrink_factor(document, position, formula.width * em)
    return formula.ascent * em, formula.descent * em


def is_tall_formula(source: str, size: int, line: int) -> bool:
    """Return whether a formula is too high for a line of `line` pixels."""
    formula = typesetter().typeset(source)
    em = size * _SCALE
    return formula is not None and (formula.ascent * em > 0.8 * line or formula.descent * em > 0.25 * line)


def width_of(source: str, size: int) -> float:
    """Return the width of a formula in pixels; 0 when it cannot be typeset."""
    formula = typesetter().typeset(source)
    return formula.width * size * _SCALE if formula is not None else 0.0


def _formula(form: QTextFormat) -> tuple[Formula, float]:
    """Return the formula of an object, and its em in pixels."""
    formula = typesetter().typeset(str(form.property(_SOURCE)))
    if formula is None:
        raise ValueError("this formula cannot be typeset")
    return formula, float(form.property(_SIZE))


def _shrink_factor(document: QTextDocument, position: int, width: float) -> float:
    block = document.findBlock(position).blockFormat()
    room = document.textWidth() - block.leftMargin() - block.rightMargin()
    return min(1.0, room / width) if room > 0 and width > 0 else 1.0


def _with_descent(font: QFont, descent: float) -> QFont:
    """Return `font` in a size with a descent of at least `descent` pixels."""
    result = type(font)(font)
    size = max(1, round(descent / 0.3))
    result.setPixelSize(size)
    while QFontMetrics(result).descent() < descent and size < _MAX_FONT:
        size += 1
        result.setPixelSize(size)
    return result


_LEFT_TO_RIGHT, _ISOLATE_ENDS = "\u2066", "\u2069"


def insert_runs(
    cursor: QTextCursor, leaf: Leaf, runs: Sequence[Run], formats: Formats, *, header: bool = False
) -> list[Run]:
    """Write `runs` of `leaf` at `cursor`; return them with `drawn` and `isolated` as they are in the document."""
    return [_insert(cursor, leaf, run, formats, header=header) for run in runs]


def is_waiting(run: Run) -> bool:
    """Return whether `run` is a formula that is still to be typeset."""
    return Mark.MATH in run.marks and not typesetter().is_known(run.text)


def is_tall(run: Run, leaf: Leaf, formats: Formats) -> bool:
    return run.drawn and is_tall_formula(run.text, formats.text_size(leaf), formats.line_of(leaf))


def typeset_all(runs: Sequence[Run]) -> Iterator[None]:
    """Typeset the formulas of `runs`, one at each step."""
    for run in runs:
        if is_waiting(run):
            typesetter().typeset(run.text)
            yield


def _insert(cursor: QTextCursor, leaf: Leaf, run: Run, formats: Formats, *, header: bool) -> Run:
    drawn = Mark.MATH in run.marks and not is_waiting(run) and typesetter().typeset(run.text) is not None
    is_code = bool(run.marks & (Mark.CODE | Mark.MATH)) and not drawn
    # Text from right to left around code would reorder it: "foo()" would be ")(foo".
    isolated = is_code and cursor.blockFormat().layoutDirection() == Qt.LayoutDirection.RightToLeft
    if drawn:
        text = formats.chars(leaf, run.marks & ~Mark.MATH, run.href, header=header)
        cursor.insertText(OBJECT, formula_format(text, run.text, formats.text_size(leaf)))
    else:
        form = formats.chars(leaf, run.marks, run.href, header=header)
        shown = run.text.replace("\n", "\u2028")
        cursor.insertText(f"{_LEFT_TO_RIGHT}{shown}{_ISOLATE_ENDS}" if isolated else shown, form)
    return replace(run, drawn=drawn, isolated=isolated)
