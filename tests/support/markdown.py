"""Markdown made to go wrong, and streams of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from app.render.blocks import Code, Heading, Paragraph, Run, Table, text_of
from app.render.markdown_stream import StreamingMarkdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.render.blocks import Leaf


_SIGNS = "a,b ,word ,- ,* ,1. ,2) ,3. ,> ,```,```py\n,~~~,~~~~,|,|---|---|\n,|-:|,---\n,===\n,# ,## x\n,**,*,_,~~,`,``"
_LINKS = "[,],(,),](http://x.y),[foo],<,<b>,&amp;,\\,!,![i](u),http://a.b/c,$5,+,=,-,1,10. ,[ ] ,[x] "
_SPACE = [
    "\n",
    "\n\n",
    "  ",
    "    ",
    "\t",
    "\r\n",
    "\r",
    "\n  ",
    "\n   ",
    "\n    - ",
    "\n- ",
    "\n1. ",
    "\n> ",
]
_ODD = ["é", "👩", "\u2029", "\x00", "\ud800", "\udc00", "    code\n", "| a | b |\n", "| `a|b` |\n"]
_DEFINITIONS = ["[foo]: /u\n", "[foo]: /u 'ti\n", "'tle'\n"]

_FORMULAS = [
    "$x$",
    "$$",
    "$",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "\n$$\n",
    "\n\\[\n",
    "\\frac{a}{b}",
    "= b\n",
    "x_{1}",
    "^2",
    "\\\\",
]

FRAGMENTS = [*_SIGNS.split(","), *_LINKS.split(","), *_SPACE, *_ODD]

texts = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)
"""Markdown without definitions of links, which may change what was before them."""

texts_with_definitions = st.lists(st.sampled_from([*FRAGMENTS, *_DEFINITIONS]), max_size=40).map("".join)

formula_texts = st.lists(st.sampled_from([*_FORMULAS, *_SIGNS.split(","), *_SPACE]), max_size=30).map("".join)

chunk_sizes = st.lists(st.integers(1, 12), min_size=1, max_size=6)

SAMPLE = """\
# Mount Elbrus

Mount **Elbrus**, at 5,642 m, is *the* tallest; `sort(key=height)` costs $5 and $10. See http://a.b/c, too.

- **Dykh-Tau**, 5,205 m
  - first climbed in 1888
- ~~Mont Blanc~~ only in the Alps

## How to

1. Install `pandas`.
2. Sort:

   ```python
   def tallest(mountains):
       '''Return the tallest.'''
       return max(mountains)
   ```

3. Print it.

> Quoted *text*
> goes on.

| Name | Use |
|:-----|----:|
| `a|b` | a pipe |
| c \\| d | **escaped** |

---

- [x] Boots
- [ ] Rope

```
plain
```

2 * 3 * 4 = 24, snake_case, 5 < 6, <smirk>.
"""


def pieces(text: str, sizes: list[int]) -> Iterator[str]:
    """Cut `text` into pieces of the given sizes, over and over."""
    start = 0
    for size in cycle(sizes):
        if start >= len(text):
            return
        yield text[start : start + size]
        start += size


class Shown:
    """What a stream shows after each piece, kept as the window keeps it."""

    def __init__(self) -> None:
        self.stream = StreamingMarkdown()
        self.frozen: list[Leaf] = []
        self.tail: tuple[Leaf, ...] = ()

    def feed(self, text: str) -> None:
        update = self.stream.feed(text)
        self.frozen += update.frozen
        if update.tail is not None:
            self.tail = update.tail
        if update.appended:
            *others, last = self.tail
            self.tail = (*others, _longer(last, update.appended))

    @property
    def leaves(self) -> list[Leaf]:
        return [*self.frozen, *self.tail]


def _longer(leaf: Leaf, text: str) -> Leaf:
    if isinstance(leaf, Code) and leaf.is_open:
        return replace(leaf, text=leaf.text + text)
    return replace(leaf, runs=(*leaf.runs, Run(text))) if isinstance(leaf, Paragraph) else leaf


def said(leaves: list[Leaf]) -> list[tuple]:
    """Return every character with its look and every leaf's kind and place: what must not be taken back."""
    found: list[tuple] = []
    for leaf in leaves:
        found.append((type(leaf).__name__, leaf.containers))
        match leaf:
            case Paragraph() | Heading():
                found += [(character, run.marks) for run in leaf.runs for character in run.text]
            case Code():
                found += [(character,) for character in leaf.text.rstrip("\n")]
            case Table():
                cells = [text_of(cell) for row in leaf.rows for cell in row]
                found += [(character,) for cell in cells for character in cell]
    return found
