"""Distances in a message: they grow and shrink with its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.render.blocks import Code, Heading, Kind, Paragraph, Rule, Table

if TYPE_CHECKING:
    from app.render.blocks import Leaf, Place

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
