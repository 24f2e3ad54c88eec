"""The style as Qt's text formats: characters, blocks and tables, and the gaps between leaves."""

from __future__ import annotations

import unicodedata
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

from app.render.blocks import Align, Code, Heading, Kind, Mark, Paragraph, Rule, stands_alone
from app.render.measures import Measures

if TYPE_CHECKING:
    from app.render.blocks import Leaf, Table
    from app.render.code import Role
    from app.render.style import RenderStyle

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
