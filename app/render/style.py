"""Style of a rendered message: its colours and fonts, and the distances and Qt formats that follow from them."""

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
    QTextOption,
    QTextTableFormat,
)

from app.render.blocks import (
    Align,
    Code,
    ContainerKind,
    Heading,
    Mark,
    Paragraph,
    Rule,
    Table,
    is_display_formula,
    is_within,
    starts_item,
)

if TYPE_CHECKING:
    from PySide6.QtGui import QTextDocument

    from app.render.blocks import Containers, Leaf
    from app.render.code_colors import Role


@dataclass(frozen=True, slots=True)
class SyntaxColors:
    """Colours of code by role, as "#RRGGBB"; code without a role has the colour of text."""

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
    """Colours and fonts of messages. Colours are "#RRGGBB" or "#AARRGGBB", sizes are pixels.

    Attributes:
        text: Running text; `secondary` is for labels and list markers.
        accent: Links and the focus ring.
        rule: Hair lines of tables and quotes and between sections.
        bubble: Background of the user's messages and of inline code.
        selection: Background of selected text, whose own colour stays.
        accepted: Background of drafted text that was accepted.
        found: Background of the matches of a search; `found_now` that of the current one.
        text_size: Size of running text; headings and spacing follow from it.
        line_height: Line height of running text, as a multiple of `text_size`.
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


# The distances below are pixels in text of this size.
_BASE_SIZE = 14
# Deeper nesting is not indented further: the column would run out of width.
_MAX_INDENTS = 8
_GAP = 12
_ITEM_GAP = 6
_HEADING_GAP = {1: 26, 2: 24, 3: 20}


class Measures:
    """Distances in text of one size, in whole pixels.

    Attributes:
        list_indent: Indentation of a list item's text; `quote_indent` that of a quote's.
        code_inset: Room beside code in its panel; `code_header` is above it, `code_bottom` below.
        cell_x: Padding beside the text of a table's cell; `cell_y` is above and below.
        label: Size of the text in the header of a code block.
        scale: Factor to text of the base size.
    """

    def __init__(self, text_size: int) -> None:
        self.scale = text_size / _BASE_SIZE
        self.list_indent = self.px(26)
        self.quote_indent = self.px(16)
        self.code_inset = self.px(16)
        self.code_header = self.px(34)
        self.code_bottom = self.px(12)
        self.cell_x = self.px(12)
        self.cell_y = self.px(6)
        self.label = self.px(12)

    def px(self, pixels: float) -> int:
        """Scale a distance given in pixels for text of the base size."""
        return round(pixels * self.scale)

    def indent(self, containers: Containers) -> int:
        return sum(
            self.list_indent if each.kind is ContainerKind.LIST else self.quote_indent
            for each in containers[:_MAX_INDENTS]
        )

    def gap(self, before: Leaf | None, leaf: Leaf) -> int:
        """Return the distance between two leaves. It depends on no later leaf, so that nothing moves afterwards."""
        if before is None or (isinstance(leaf, Paragraph) and leaf.continues):
            return 0
        return self.px(_gap(before, leaf)) + (self.code_bottom if isinstance(before, Code) else 0)


def _gap(before: Leaf, leaf: Leaf) -> int:
    if isinstance(leaf, Heading):
        return _HEADING_GAP.get(leaf.level, _HEADING_GAP[3])
    if isinstance(before, Heading):
        return 8
    if isinstance(leaf, Rule) or isinstance(before, Rule):
        return 20
    if isinstance(leaf, Code | Table) or isinstance(before, Code | Table):
        return _GAP + 2
    return _ITEM_GAP if starts_item(leaf) and is_within(before, ContainerKind.LIST) else _GAP


# Characters. Qt's time for one text block grows with its length, so longer lines are laid out in several blocks.
LONGEST_BLOCK = 4096
# Property of a text block that continues the line of the block before it.
CONTINUES = QTextFormat.Property.UserProperty.value + 1

_HEADING_SCALE = {1: 1.45, 2: 1.22, 3: 1.07}
_HEADING_LINE = 1.35
_CODE_LINE = 1.55
_CODE_HANG = 2
_WIDEST_HANG = 20
_INLINE_CODE = 0.92
_SEMIBOLD = QFont.Weight.DemiBold


class Formats:
    """Makes and caches the Qt formats of one style; all sizes are in pixels."""

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

    def prepare(self, document: QTextDocument, tab_width: float | None = None) -> None:
        """Set up an empty document: font, wrapping, tab width in pixels, no margin and no undo."""
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        if tab_width is not None:
            option.setTabStopDistance(tab_width)
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setDefaultTextOption(option)
        document.setDefaultFont(self.text_font())

    def text_font(self) -> QFont:
        return _font(self.style.text_family, self.style.text_size)

    def inline_code_font(self, size: int) -> QFont:
        return self._code_font(round(size * _INLINE_CODE))

    def _code_font(self, size: int) -> QFont:
        font = _font(self.style.code_family, size)
        # Code reads as it was typed: no arrow in place of "->".
        font.setStyleStrategy(QFont.StyleStrategy.PreferNoShaping)
        return font

    def hair(self) -> QTextCharFormat:
        """Return the format of text blocks that are not to be seen: a font of one pixel."""
        result = QTextCharFormat()
        result.setFont(_font(self.style.text_family, 1))
        return result

    def role(self, role: Role) -> QTextCharFormat:
        if role not in self._roles:
            colored = QTextCharFormat()
            colored.setForeground(QBrush(QColor(getattr(self.style.syntax, role.value))))
            self._roles[role] = colored
        return self._roles[role]

    def chars(self, leaf: Leaf, marks: Mark, href: str, *, header: bool = False) -> QTextCharFormat:
        """Return the format of a run in `leaf`; `header` is a table's first row."""
        size = self.text_size(leaf)
        color = self.style.secondary if is_within(leaf, ContainerKind.QUOTE) else self.style.text
        strong = header or isinstance(leaf, Heading)
        key = (marks, href, size, color, strong)
        if key not in self._chars:
            self._chars[key] = self._make_chars(marks, href, size, color, strong=strong)
        return self._chars[key]

    def heading_size(self, level: int) -> int:
        return round(self.style.text_size * _HEADING_SCALE.get(level, 1.0))

    def text_size(self, leaf: Leaf) -> int:
        return self.heading_size(leaf.level) if isinstance(leaf, Heading) else self.style.text_size

    def line_of(self, leaf: Leaf) -> int:
        if isinstance(leaf, Heading):
            return round(self.heading_size(leaf.level) * _HEADING_LINE)
        if isinstance(leaf, Rule):
            return 1
        return self.code_line if isinstance(leaf, Code) else self.line

    def block(self, leaf: Leaf, before: Leaf | None, text: str) -> QTextBlockFormat:
        """Return the format of the first text block of `leaf`, which follows the leaf `before` and has this `text`."""
        result = QTextBlockFormat()
        result.setLineHeight(self.line_of(leaf), QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        result.setTopMargin(self.measures.gap(before, leaf))
        margin = self.measures.indent(leaf.containers)
        if isinstance(leaf, Code):
            hang = round(_CODE_HANG * self.code_width)
            result.setTopMargin(result.topMargin() + self.measures.code_header)
            result.setLeftMargin(margin + self.measures.code_inset + hang)
            result.setTextIndent(-hang)
            result.setRightMargin(self.measures.code_inset)
            result.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
            return result
        if is_display_formula(leaf):
            result.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        else:
            result.setLayoutDirection(direction(text))
        if result.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            result.setRightMargin(margin)
        else:
            result.setLeftMargin(margin)
        return self.continued(result) if isinstance(leaf, Paragraph) and leaf.continues else result

    def next_code_block(self, first: QTextBlockFormat) -> QTextBlockFormat:
        """Return the format of the lines of code behind the first one."""
        result = QTextBlockFormat(first)
        result.setTopMargin(0)
        return result

    def continued(self, block: QTextBlockFormat) -> QTextBlockFormat:
        """Return the format of a text block that continues the line of the one before it."""
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
        """Return the format of a line of code with leading spaces: when wrapped, it continues below its text."""
        hang = round(min(columns + _CODE_HANG, _WIDEST_HANG) * self.code_width)
        result = QTextBlockFormat(block)
        result.setLeftMargin(block.leftMargin() + block.textIndent() + hang)
        result.setTextIndent(-hang)
        return result

    def unwrapped(self, block: QTextBlockFormat, shift: int) -> QTextBlockFormat:
        """Return the format of a line of code that is not wrapped and is scrolled by `shift` pixels."""
        result = QTextBlockFormat(block)
        result.setNonBreakableLines(True)
        result.setLeftMargin(block.leftMargin() + block.textIndent())
        result.setTextIndent(-shift)
        return result

    def table(self, leaf: Table, before: Leaf | None) -> QTextTableFormat:
        """Return the format of a table, without borders: `decoration` paints them."""
        result = QTextTableFormat()
        result.setBorder(0)
        result.setCellSpacing(0)
        result.setCellPadding(0)
        result.setTopMargin(self.measures.gap(before, leaf))
        result.setLeftMargin(self.measures.indent(leaf.containers))
        result.setHeaderRowCount(1)
        return result

    def plain(self, layout_direction: Qt.LayoutDirection, *, continues: bool) -> QTextBlockFormat:
        result = QTextBlockFormat()
        result.setLineHeight(self.line, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        result.setLayoutDirection(layout_direction)
        return self.continued(result) if continues else result

    def cell(self, align: Align, text: str) -> QTextBlockFormat:
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
    """Return the direction of the first character with a strong one, as the Unicode algorithm does (UAX #9, P2)."""
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
