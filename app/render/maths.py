"""TeX to outlines: formulas as SVG, measured in units of the text size, or nothing when they cannot be set."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache

# Time grows with the length and doubles with every level of nesting; this is about a quarter of a second.
_HIGHEST_COST = 1200
_UNITS = 48  # per em, in the SVG
_KEPT = 1000
_LEVEL = re.compile(r"\\left\b|\\begin\b|(?<!\\)\{|\\right\b|\\end\b|(?<!\\)\}")
# What is stretched around or over its content is measured twice.
_DEAR = re.compile(r"\\(?:boxed|x\w*arrow|over|cases|substack|stackrel)(?![A-Za-z])")
_VIEW_BOX = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')
_BLACK = '"black"'
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that was set. Lengths are multiples of the text size.

    Attributes:
        svg: The outlines, in black.
        width: Of everything.
        ascent: Above the baseline; `descent` is below it.
    """

    svg: str
    width: float
    ascent: float
    descent: float

    def colored(self, color: str) -> bytes:
        """Return the SVG in `color`, as "#RRGGBB"."""
        return self.svg.replace(_BLACK, f'"{color}"').encode()


class Typesetter:
    """Sets formulas, each once."""

    def __init__(self) -> None:
        self._done: OrderedDict[str, Formula | None] = OrderedDict()

    def is_known(self, source: str) -> bool:
        """Return whether `typeset` has its result at hand."""
        return source in self._done

    def typeset(self, source: str) -> Formula | None:
        """Return the formula of `source`, which stands between its signs; None when it cannot be set."""
        if source not in self._done:
            self._done[source] = _typeset(source)
            if len(self._done) > _KEPT:
                self._done.popitem(last=False)
        self._done.move_to_end(source)
        return self._done[source]


@cache
def typesetter() -> Typesetter:
    """Return the typesetter of the program."""
    return Typesetter()


def is_display(source: str) -> bool:
    """Return whether the signs around `source` ask for a line of its own."""
    return source.startswith(("$$", "\\["))


def tex_of(source: str) -> str:
    """Return what stands between the signs."""
    signs = 1 if source.startswith("$") and not source.startswith("$$") else 2
    return source[signs:-signs].strip()


def cost(tex: str) -> int:
    """Return a measure of the time that setting `tex` may take."""
    total = position = level = 0
    for match in _LEVEL.finditer(tex):
        total += (match.start() - position) << min(level, 20)
        position = match.start()
        level = max(0, level + (1 if match.group() in ("{", "\\left", "\\begin") else -1))
    return (total + len(tex) - position) << min(len(_DEAR.findall(tex)), 20)


def _typeset(source: str) -> Formula | None:
    tex = tex_of(source)
    if not tex or cost(tex) > _HIGHEST_COST:
        return None
    try:
        svg = _svg(tex, inline=not is_display(source))
    except Exception as error:  # noqa: BLE001 - whatever the libraries raise, the source is shown
        _log.info("formula not set: %r", error)
        return None
    box = _VIEW_BOX.search(svg)
    # Outlines alone: what refers to anything else is not drawn.
    if box is None or "href=" in svg or "<image" in svg:
        return None
    _, top, width, height = (float(number) / _UNITS for number in box.groups())
    return Formula(svg, width, -top, height + top)


def _svg(tex: str, *, inline: bool) -> str:
    import ziamath

    ziamath.config.svg2 = False
    return str(ziamath.Latex(tex, size=_UNITS, inline=inline).svg())
