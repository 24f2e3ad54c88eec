"""Three hundred markdown texts: some written by hand, the others put together from what answers are made of."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

COUNT = 300
_FILE = Path(__file__).parent.parent / "data" / "markdown.txt"
_TEXT = (
    "the model drafts a few tokens, and **the target** verifies *them* in `one` forward; it costs $5 or $10. "
    "Mount Elbrus is 5,642 m high [so they say](http://a.example/b) & <i>that</i> is $x^2$ or \\(a_1\\) "
    "שלום عربي 日本語 👩‍👩‍👧 snake_case ~~gone~~ 2 * 3 5 < 6 \\*escaped\\* e-mail www.example.com"
)
_WORDS = _TEXT.split(" ")
_LANGUAGES = ("python", "", "c", "json", "diff", "nonsense")
_CODE = ("x = 1", "", "def f(a):", "    return a  # so", "/* open", "| a | b |", "$$", "- no item", "`` ` ``")
_FORMULAS = ("$$\na + b\n= c\n$$", "\\[ \\frac{a}{b} \\]", "$$ \\sum_i x_i $$", "\\[\n| x |\n\\]")


@cache
def by_hand() -> tuple[str, ...]:
    """Return the texts that were written by hand; they are short."""
    return tuple(_FILE.read_text(encoding="utf-8").split("\n%%%%\n"))


@cache
def all_texts() -> tuple[str, ...]:
    """Return all texts."""
    dice = random.Random(4)
    texts = dict.fromkeys(by_hand())
    while len(texts) < COUNT:
        texts[_text(dice)] = None
    return tuple(texts)


def _text(dice: random.Random) -> str:
    blocks = [_block(dice, depth=0) for _ in range(dice.randint(1, 6))]
    return dice.choice(("\n\n", "\n\n", "\n")).join(blocks) + dice.choice(("", "\n", "\n\n"))


def _block(dice: random.Random, depth: int) -> str:
    makers = [_paragraph, _paragraph, _heading, _code, _table, _formula]
    if depth < 2:
        makers += [_list, _list, _quote]
    return dice.choice(makers)(dice, depth)


def _line(dice: random.Random, longest: int = 14) -> str:
    return " ".join(dice.choice(_WORDS) for _ in range(dice.randint(1, longest)))


def _paragraph(dice: random.Random, depth: int) -> str:
    return "\n".join(_line(dice) for _ in range(dice.randint(1, 3)))


def _heading(dice: random.Random, depth: int) -> str:
    return f"{'#' * dice.randint(1, 4)} {_line(dice, 4)}"


def _code(dice: random.Random, depth: int) -> str:
    lines = "\n".join(dice.choice(_CODE) for _ in range(dice.randint(0, 6)))
    fence = dice.choice(("```", "~~~", "````"))
    return f"{fence}{dice.choice(_LANGUAGES)}\n{lines}\n{dice.choice((fence, fence, fence, ''))}"


def _table(dice: random.Random, depth: int) -> str:
    columns = dice.randint(1, 4)
    rows = [[_line(dice, 3).replace("|", "") for _ in range(columns)] for _ in range(dice.randint(1, 4))]
    rule = [dice.choice(("---", ":-:", "--:", "-")) for _ in range(columns)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]])


def _formula(dice: random.Random, depth: int) -> str:
    return dice.choice(_FORMULAS)


def _list(dice: random.Random, depth: int) -> str:
    marker = dice.choice(("-", "*", "1.", "3)", "- [ ]", "- [x]"))
    indent = " " * (len(marker.split(" ", maxsplit=1)[0]) + 1)
    items = []
    for _ in range(dice.randint(1, 4)):
        body = dice.choice((_line(dice, 6), _line(dice, 6), _block(dice, depth + 1)))
        items.append(f"{marker} " + body.replace("\n", "\n" + indent))
    return dice.choice(("\n", "\n", "\n\n")).join(items)


def _quote(dice: random.Random, depth: int) -> str:
    return "> " + _block(dice, depth + 1).replace("\n", "\n> ")
