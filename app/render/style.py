"""What a rendered message looks like: the colours, fonts and sizes that the writer and the painter use."""

from __future__ import annotations

from dataclasses import dataclass


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
