"""Text formats and measures of a rendered message."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextFormat,
    QTextTableFormat,
)

from app.render.blocks import Align, Code, Heading, Kind, Mark, Paragraph, Rule, Table, stands_alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.render.blocks import Leaf, Place
    from app.render.code import Role


# Below, pixels in text of this size.
_USUAL_SIZE = 14
# More nesting than this is not shown as more indentation: the column would run out of width.
_DEEPEST = 8
_GAP = 12
_ITEM_GAP = 6
_HEADING_GAP = {1: 26, 2: 24, 3: 20}


class Measures:
    """The distances in text of one size, in whole pixels.

    Attributes:
        list_indent: Of an item's text; `quote_indent` of a quote's.
        code_inset: Beside code in its panel; `code_header` is above it, `code_bottom` below.
        cell_x: Beside the text of a table's cell; `cell_y` is above and below.
        label: Size of the words in the header of code.
        scale: How much larger everything is than usual.
    """

    def __init__(self, text_size: int) -> None:
        self.scale = text_size / _USUAL_SIZE
        self.list_indent = self.px(26)
        self.quote_indent = self.px(16)
        self.code_inset = self.px(16)
        self.code_header = self.px(34)
        self.code_bottom = self.px(12)
        self.cell_x = self.px(12)
        self.cell_y = self.px(6)
        self.label = self.px(12)

    def px(self, pixels: float) -> int:
        """Return a distance that is so many pixels in text of the usual size."""
        return round(pixels * self.scale)

    def indent(self, place: Place) -> int:
        """Return how far the text of a leaf is moved in."""
        return sum(
            self.list_indent if each.kind is Kind.LIST else self.quote_indent for each in place[:_DEEPEST]
        )

    def gap(self, before: Leaf | None, leaf: Leaf) -> int:
        """Return what is between two leaves. It depends on nothing later, so that nothing moves afterwards."""
        if before is None or (isinstance(leaf, Paragraph) and leaf.continues):
            return 0
        return self.px(_wanted(before, leaf)) + (self.code_bottom if isinstance(before, Code) else 0)


def _wanted(before: Leaf, leaf: Leaf) -> int:
    if isinstance(leaf, Heading):
        return _HEADING_GAP.get(leaf.level, _HEADING_GAP[3])
    if isinstance(before, Heading):
        return 8
    if isinstance(leaf, Rule) or isinstance(before, Rule):
        return 20
    if isinstance(leaf, Code | Table) or isinstance(before, Code | Table):
        return _GAP + 2
    return _ITEM_GAP if _is_item(leaf) and _is_in_list(before) else _GAP


def _is_item(leaf: Leaf) -> bool:
    return any(each.marker for each in leaf.place)


def _is_in_list(leaf: Leaf) -> bool:
    return any(each.kind is Kind.LIST for each in leaf.place)


# Marks a text block that goes on with the line of the block before it.
CONTINUES = QTextFormat.Property.UserProperty.value + 1

_HEADING_SCALE = {1: 1.45, 2: 1.22, 3: 1.07}
_HEADING_LINE = 1.35
_CODE_LINE = 1.55
_CODE_HANG = 2
_WIDEST_HANG = 20
_INLINE_CODE = 0.92
_SEMIBOLD = QFont.Weight.DemiBold


class Formats:
    """Makes the formats of one style, each once."""

    def __init__(self, style: RenderStyle) -> None:
        self.style = style
        self.measures = Measures(style.text_size)
        self.line = round(style.text_size * style.line_height)
        self.code_line = round(style.code_size * _CODE_LINE)
        self.code_font = self._code_font(style.code_size)
        self.code_width = QFontMetricsF(self.code_font).horizontalAdvance(" ")
        self._chars: dict[tuple[Mark, str, int, str, bool], QTextCharFormat] = {}
        self.code = QTextCharFormat()
        self.code.setFont(self.code_font)
        self.code.setForeground(QBrush(QColor(style.text)))
        self._roles: dict[Role, QTextCharFormat] = {}

    def text_font(self) -> QFont:
        """Return the font of running text."""
        return _font(self.style.text_family, self.style.text_size)

    def inline_code_font(self, size: int) -> QFont:
        """Return the font of inline code in text of `size`."""
        return self._code_font(round(size * _INLINE_CODE))

    def _code_font(self, size: int) -> QFont:
        font = _font(self.style.code_family, size)
        # Code reads as it was typed: no arrow in place of "->".
        font.setStyleStrategy(QFont.StyleStrategy.PreferNoShaping)
        return font

    def hair(self) -> QTextCharFormat:
        """Return the format of text blocks that are not meant to be seen."""
        result = QTextCharFormat()
        result.setFont(_font(self.style.text_family, 1))
        return result

    def role(self, role: Role) -> QTextCharFormat:
        """Return the colour of a part of code."""
        if role not in self._roles:
            colored = QTextCharFormat()
            colored.setForeground(QBrush(QColor(getattr(self.style.syntax, role.value))))
            self._roles[role] = colored
        return self._roles[role]

    def chars(self, leaf: Leaf, marks: Mark, href: str, *, header: bool = False) -> QTextCharFormat:
        """Return the format of a run in `leaf`; `header` is a table's first row."""
        size = self.heading_size(leaf.level) if isinstance(leaf, Heading) else self.style.text_size
        color = (
            self.style.secondary if any(each.kind is Kind.QUOTE for each in leaf.place) else self.style.text
        )
        strong = header or isinstance(leaf, Heading)
        key = (marks, href, size, color, strong)
        if key not in self._chars:
            self._chars[key] = self._make_chars(marks, href, size, color, strong=strong)
        return self._chars[key]

    def heading_size(self, level: int) -> int:
        """Return the size of a heading's text, in pixels."""
        return round(self.style.text_size * _HEADING_SCALE.get(level, 1.0))

    def line_of(self, leaf: Leaf) -> int:
        """Return the height of a line of `leaf`, in pixels."""
        if isinstance(leaf, Heading):
            return round(self.heading_size(leaf.level) * _HEADING_LINE)
        if isinstance(leaf, Rule):
            return 1
        return self.code_line if isinstance(leaf, Code) else self.line

    def block(self, leaf: Leaf, before: Leaf | None, text: str) -> QTextBlockFormat:
        """Return the format of the first text block of `leaf`, which follows `before` and reads `text`."""
        result = QTextBlockFormat()
        result.setLineHeight(self.line_of(leaf), QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        result.setTopMargin(self.measures.gap(before, leaf))
        margin = self.measures.indent(leaf.place)
        if isinstance(leaf, Code):
            hang = round(_CODE_HANG * self.code_width)
            result.setTopMargin(result.topMargin() + self.measures.code_header)
            result.setLeftMargin(margin + self.measures.code_inset + hang)
            result.setTextIndent(-hang)
            result.setRightMargin(self.measures.code_inset)
            result.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
            return result
        if stands_alone(leaf):
            result.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        else:
            result.setLayoutDirection(direction(text))
        if result.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            result.setRightMargin(margin)
        else:
            result.setLeftMargin(margin)
        return self.continued(result) if isinstance(leaf, Paragraph) and leaf.continues else result

    def next_code_block(self, first: QTextBlockFormat) -> QTextBlockFormat:
        """Return the format of a code line that is not the first."""
        result = QTextBlockFormat(first)
        result.setTopMargin(0)
        return result

    def continued(self, block: QTextBlockFormat) -> QTextBlockFormat:
        """Return the format of a text block that goes on with the line of the one before it."""
        result = QTextBlockFormat(block)
        result.setProperty(CONTINUES, True)
        return result

    def heightened(self, block: QTextBlockFormat) -> QTextBlockFormat:
        """Return the format of a paragraph whose lines grow with the formulas in them."""
        result = QTextBlockFormat(block)
        height = QTextBlockFormat.LineHeightTypes.MinimumHeight.value
        result.setLineHeight(block.lineHeight(), height)
        return result

    def hanging(self, block: QTextBlockFormat, columns: int) -> QTextBlockFormat:
        """Return the format of a code line that begins with spaces: what is wrapped goes on below its text."""
        hang = round(min(columns + _CODE_HANG, _WIDEST_HANG) * self.code_width)
        result = QTextBlockFormat(block)
        result.setLeftMargin(block.leftMargin() + block.textIndent() + hang)
        result.setTextIndent(-hang)
        return result

    def unwrapped(self, block: QTextBlockFormat, shift: int) -> QTextBlockFormat:
        """Return the format of a code line that is one row, of which the first `shift` pixels are out of sight."""
        result = QTextBlockFormat(block)
        result.setNonBreakableLines(True)
        result.setLeftMargin(block.leftMargin() + block.textIndent())
        result.setTextIndent(-shift)
        return result

    def table(self, leaf: Table, before: Leaf | None) -> QTextTableFormat:
        """Return the format of a table, which has no lines of its own: the painter draws them."""
        result = QTextTableFormat()
        result.setBorder(0)
        result.setCellSpacing(0)
        result.setCellPadding(0)
        result.setTopMargin(self.measures.gap(before, leaf))
        result.setLeftMargin(self.measures.indent(leaf.place))
        result.setHeaderRowCount(1)
        return result

    def plain(self, layout_direction: Qt.LayoutDirection, *, continues: bool) -> QTextBlockFormat:
        """Return the format of a line of plain text."""
        result = QTextBlockFormat()
        result.setLineHeight(self.line, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        result.setLayoutDirection(layout_direction)
        return self.continued(result) if continues else result

    def cell(self, align: Align, text: str) -> QTextBlockFormat:
        """Return the format of the text of a table's cell."""
        result = QTextBlockFormat()
        result.setLineHeight(self.line, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        result.setLayoutDirection(direction(text))
        if align is Align.CENTER:
            result.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        elif align is Align.RIGHT:
            result.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute)
        return result

    def _make_chars(self, marks: Mark, href: str, size: int, color: str, *, strong: bool) -> QTextCharFormat:
        is_code = bool(marks & (Mark.CODE | Mark.MATH))
        font = self.inline_code_font(size) if is_code else _font(self.style.text_family, size)
        if strong or Mark.STRONG in marks:
            font.setWeight(_SEMIBOLD)
        font.setItalic(Mark.EMPHASIS in marks)
        font.setStrikeOut(Mark.STRIKE in marks)
        result = QTextCharFormat()
        result.setFont(font)
        result.setForeground(QBrush(QColor(self.style.accent if href else color)))
        if href:
            line = QColor(self.style.accent)
            line.setAlphaF(0.4)
            result.setAnchor(True)
            result.setAnchorHref(href)
            result.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
            result.setUnderlineColor(line)
        return result


def direction(text: str) -> Qt.LayoutDirection:
    """Return the direction of the first letter that has one."""
    for character in text:
        bidi = unicodedata.bidirectional(character)
        if bidi in ("R", "AL"):
            return Qt.LayoutDirection.RightToLeft
        if bidi == "L":
            break
    return Qt.LayoutDirection.LeftToRight


def _font(family: str, size: int) -> QFont:
    font = QFont(family)
    font.setPixelSize(size)
    return font


@dataclass(frozen=True, slots=True)
class SyntaxColors:
    """The colours of code, as "#RRGGBB"; whatever has none of its own is in the colour of text."""

    keyword: str
    name: str
    type: str
    string: str
    number: str
    comment: str
    inserted: str
    deleted: str


# Each is at least 4.5:1 on the palette's code background, tinted as accepted too.
LIGHT_SYNTAX = SyntaxColors(
    keyword="#9B2393",
    name="#2F5FB3",
    type="#0B6E7F",
    string="#A8321F",
    number="#6A3FC4",
    comment="#5F6670",
    inserted="#14703A",
    deleted="#B3261E",
)
DARK_SYNTAX = SyntaxColors(
    keyword="#F58AC8",
    name="#7FB4FF",
    type="#6FD3D6",
    string="#F5A97F",
    number="#C3A6FF",
    comment="#9CA3B0",
    inserted="#63CF8E",
    deleted="#FF8F85",
)


@dataclass(frozen=True, slots=True)
class RenderStyle:
    """The look of messages. Colours are "#RRGGBB" or "#AARRGGBB", sizes are pixels.

    Attributes:
        window: Behind everything.
        text: What is read; `secondary` is for labels and list markers.
        accent: Links and the focus ring.
        code: Behind code blocks.
        rule: Hair lines: those of tables, of quotes and between sections.
        bubble: Behind the person's own messages, and behind code within a line.
        selection: Behind selected text, whose own colour stays.
        accepted: Behind drafted text that was accepted.
        found: Behind what was searched for; `found_now` behind the one that is looked at.
        text_size: Of running text; headings and spacing follow from it.
        line_height: Of running text, as a multiple of `text_size`.
    """

    window: str
    text: str
    secondary: str
    accent: str
    code: str
    rule: str
    bubble: str
    selection: str
    accepted: str
    found: str
    found_now: str
    syntax: SyntaxColors
    text_family: str
    code_family: str
    text_size: int = 14
    code_size: int = 13
    line_height: float = 1.5


def accepted_runs(text: str, marks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs of cleaned `text` that were drafted and accepted.

    Args:
        text: The answer as it was given, before it was cleaned: there, line ends may be longer by a character.
        marks: Lengths of runs, in turn not drafted and accepted.
    """
    position = shift = 0
    for number, length in enumerate(marks):
        end = position + length
        longer = text.count("\r\n", position, end)
        if number % 2 and length:
            yield position - shift, end - shift - longer
        shift += longer
        position = end
