"""A leaf that stands in a document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.render.blocks import Code

if TYPE_CHECKING:
    from app.render.blocks import Leaf
    from app.render.code_block import CodeBlock
    from app.render.table import TableBlock


@dataclass(slots=True, eq=False)
class Written:
    """A leaf that stands in the document.

    Attributes:
        shape: The leaf; of a code block without its text, which is in `code`.
        start: Position of its first text block.
        table: The table, when it is one.
        code: The code block, when it is one.
    """

    shape: Leaf
    start: int
    table: TableBlock | None = None
    code: CodeBlock | None = None

    @property
    def leaf(self) -> Leaf:
        """What it shows, whole."""
        if self.code is not None and isinstance(self.shape, Code):
            return replace(self.shape, text=self.code.text())
        return self.shape
