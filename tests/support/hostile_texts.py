"""Three hundred outputs that try to reach a file, an address or the system, or to hide what they are."""

from __future__ import annotations

from itertools import product

COUNT = 300

# "{it}" is the file or address that is to be reached.
_MARKUP = (
    '<img src="{it}">',
    "<img src={it} onerror=alert(1)>",
    '<link rel="stylesheet" href="{it}">',
    '<script src="{it}"></script>',
    '<iframe src="{it}"></iframe>',
    '<object data="{it}"></object>',
    '<body background="{it}">',
    '<table background="{it}"><tr><td>x</td></tr></table>',
    '<p style="background-image: url({it})">x</p>',
    "<style>@import url({it}); body {{ background: url('{it}') }}</style>",
    '<svg><image href="{it}"/></svg>',
    '<meta http-equiv="refresh" content="0; url={it}">',
    '<base href="{it}"><img src="x.png">',
    '<form action="{it}"><input autofocus></form>',
    '<video src="{it}" autoplay></video>',
    "<!-- <img src={it}> -->",
    "<?xml-stylesheet href='{it}'?>",
)
_LINKS = (
    "![picture]({it})",
    "![]({it} 'title')",
    "[![picture]({it})]({it})",
    "[word]({it})",
    "<{it}>",
    "![picture][r]\n\n[r]: {it}",
    "[word][r]\n\n[r]: <{it}>",
    "| a |\n|---|\n| ![picture]({it}) |",
    "- > ![picture]({it})",
    "# ![picture]({it})",
)
_CODE = (
    "```{it}\ncode\n```",
    "```html\n<img src={it}>\n```",
    "`<img src={it}>`",
    "    <img src={it}>",
)
_FORMULAS = (
    "$\\includegraphics{{{it}}}$",
    "\\(\\href{{{it}}}{{x}}\\)",
    "$$\\input{{{it}}}$$",
    "\\[\\url{{{it}}}\\]",
    "$\\text{{<img src={it}>}}$",
)
_ODD = (
    "\ufffc\ufffc <img src={it}>",
    "\x00<img src={it}>",
    "\u202e<img src={it}>",
    "\ufdd0<img src={it}>\ufdd1",
    "\x1b]8;;{it}\x07word\x1b]8;;\x07",
    "&lt;img src={it}&gt;",
    "&#60;img src={it}&#62;",
    "<img\nsrc={it}\n>",
    "\u2028<img src={it}>\u2029<img src={it}>",
    "**<img src={it}>**",
    "> " * 70 + "<img src={it}>",
    "[" * 300 + "]({it})" * 3,
)
_PLAIN = (*_MARKUP, *_CODE, *_ODD)


def hostile_texts(path: str, address: str) -> list[str]:
    """Return the outputs; they try to reach the file at `path` and the server at `address`."""
    targets = (
        f"file://{path}",
        path,
        f"{address}/x.png",
        f"//{address.partition('//')[2]}/x.png",
        f"qrc:{path}",
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
    )
    shapes = (*_PLAIN, *_LINKS, *_FORMULAS)
    return [shape.format(it=target) for target, shape in product(targets, shapes)][:COUNT]
