"""The text inside of blocks: parsed in pieces of bounded length, and while it grows, as if it ended here.

`**bo` is bold at once, and of `[a](http://b` only the "a" is shown.
"""

from __future__ import annotations

import re
from typing import Any

from markdown_it.token import Token

from app.render.dialect import markdown
from app.render.formula_syntax import is_whole

# The time for hostile text, such as a thousand opening brackets, grows with its length, up to the square.
_LONGEST = 2048
_TRIES = 8
# What may grow or close: signs of emphasis and code, an escape, the end of a link's text, an entity.
_DELIMITERS = "*_~`\\]"
_HALF_ENTITY = re.compile(r"&#?\w{0,31}")
_OPEN_TARGET = re.compile(r"(\[[^\[\]]*\])\([^()\n]*$")
_PAIRED = ("`", "**", "$$")
_BACKTICKS = re.compile("`+")


def parse_inline(content: str, env: dict[str, Any], *, is_open: bool) -> list[Token]:
    """Return the tokens of a block's text; `is_open` means that more of it may come."""
    if is_whole(content):
        return [Token("math", "", 0, content=content)]
    tokens: list[Token] = []
    while len(content) > _LONGEST:
        end = _piece_end(content[:_LONGEST])
        tokens += _parse(content[:end], env)
        content = content[end:].lstrip(" ") if content[end - 1] == "\n" else content[end:]
    return tokens + (_parse_open(content, env) if is_open else _parse(content, env))


def _parse(content: str, env: dict[str, Any]) -> list[Token]:
    tokens: list[Token] = []
    markdown().inline.parse(content, markdown(), env, tokens)
    return tokens


def _piece_end(window: str) -> int:
    """Return where to cut `window`: behind a line or sentence in which code and bold are closed, if there is one."""
    for separator in ("\n", ". ", " "):
        end = len(window)
        for _ in range(_TRIES):
            end = window.rfind(separator, 0, end)
            if end < 0:
                break
            piece = window[: end + len(separator)]
            if all(piece.count(sign) % 2 == 0 for sign in _PAIRED):
                return len(piece)
    return window.rfind(" ") + 1 or len(window)


def _parse_open(content: str, env: dict[str, Any]) -> list[Token]:
    """Parse text that is still growing, as if what it has opened ended here."""
    env["math_open"] = len(content)
    _parse(content, env)
    literal = content[env.pop("math_open") :]
    bare = _OPEN_TARGET.sub(r"\1()", _settled(content[: len(content) - len(literal)]))
    if literal:
        literal = bare[len(bare.rstrip(" ")) :] + literal
        bare = bare.rstrip(" ")
    rest = [Token("text", "", 0, content=literal)] if literal else []
    closed = bare
    for _ in range(4):
        children = _parse(closed, env)
        closer = _closer(children, env["unclosed"])
        if not closer:
            return children + rest
        closed = closed.rstrip() + closer
    return _parse(bare, env) + rest


def _settled(content: str) -> str:
    """Return `content` without an end that may still become part of something else."""
    if content.endswith("\\]"):
        return content
    content = content.rstrip(_DELIMITERS)
    start = content.rfind("&", len(content) - 32)
    return content[:start] if start >= 0 and _HALF_ENTITY.fullmatch(content, start) else content


def _closer(children: list[Token], unclosed: list[str]) -> str:
    """Return what would close the code or emphasis that is still open."""
    for child in children:
        if child.type == "text" and (run := _BACKTICKS.search(child.content)):
            return run.group()
    return "".join({"~": "~~"}.get(marker, marker) for marker in reversed(unclosed))
