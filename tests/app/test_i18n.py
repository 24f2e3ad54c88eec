"""Every word that users see goes through `tr`, so that a translation can take its place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QTranslator

from app.i18n import marked, said, tr
from mtplx_engine.util.formatting import NOTHING, joined, sentence

APP = Path(__file__).parents[2] / "app"
# Calls whose texts are shown, or read out.
SHOWN_BY = re.compile(
    r"set(Text|PlainText|ToolTip|WindowTitle|AccessibleName|AccessibleDescription|PlaceholderText|InformativeText"
    r"|LabelText|Title|StatusTip|_face|_title|_action|_model|_content)$"
    r"|add(Action|Menu|Button|_choice|_switch|_note)$|^(offer|offer_undo|announce|add_command)$"
    r"|^Q(Label|PushButton|CheckBox|RadioButton|Action|Menu|GroupBox)$|^(IconButton|QuietButton|ErrorCard|MessageBox)$"
)
# A sentence, a name of several words, or something that goes on.
WORDS = re.compile(r"^(?!Ctrl\+)(MTPLX|[A-Z][a-z]*)(n’t|'s)?[ …].|^(?!Ctrl\+)[A-Z][a-z]+.*[.…?]$")
# What goes on after a gap: "{number} lines", "{path} cannot be read".
GOES_ON = re.compile(r"\0 (?!px\b)[a-z]{2,}")
# What a function returns alone: the name of a button, a heading.
LONE = re.compile(r"^[A-Z][a-z]+…?$")
# What is raised for users; the rest is for programmers.
FOR_PEOPLE = ("StoreError", "UnreadableChatsError", "OutOfBoundsError")
# What is shown on its own: names of icons and colours are in small letters, keys are the same in every language.
SHOWN = re.compile(r"^(?!Ctrl\+|Esc$).*([A-Z]|[a-z]{2,} )[a-z]*")
PASSED_ON = ("tr", "marked")
NOT_FOR_PEOPLE = (
    "getLogger",
    "debug",
    "info",
    "warning",
    "error",
    "exception",
    "critical",
    "compile",
    "add_argument",
)
NAMES = ("MTPLX", "Inter", "JetBrains Mono", "Fusion")  # the same in every language
# Written to the terminal before translations are installed.
ELSEWHERE = ("__main__.py",)
# Part of the prompt, which is the same in every language.
FOR_THE_MODEL = {("chat/prompt.py", "File “”:\n\n\n")}
SOURCES = sorted(path for path in APP.rglob("*.py") if path.relative_to(APP).as_posix() not in ELSEWHERE)


class Finder(ast.NodeVisitor):
    """Collects the texts of a module that are shown as they are written."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self._shown = False
        self._returned = False

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in PASSED_ON or name in NOT_FOR_PEOPLE:
            return
        before = self._shown
        for child in ast.iter_child_nodes(node):
            self._shown = (bool(SHOWN_BY.search(name)) or name in FOR_PEOPLE) and child is not node.func
            self.visit(child)
        self._shown = before

    def visit_Raise(self, node: ast.Raise) -> None:
        call = node.exc
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in FOR_PEOPLE:
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        parts = [node.value]
        while parts:
            part = parts.pop()
            if isinstance(part, ast.IfExp):
                self.visit(part.test)
                parts += [part.body, part.orelse]
            elif part is not None:
                self._returned = isinstance(part, ast.Constant | ast.JoinedStr)
                self.visit(part)
                self._returned = False

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        before, self._shown = self._shown, False
        self.generic_visit(node)
        self._shown = before

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._judge(node, node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = [part.value if isinstance(part, ast.Constant) else "\0" for part in node.values]
        self._judge(node, "".join(part for part in parts if part != "\0"), "".join(parts))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def _judge(self, node: ast.expr, text: str, with_gaps: str = "") -> None:
        words = WORDS.search(text) or (self._shown and SHOWN.search(text))
        if self._returned:
            words = words or LONE.search(text) or GOES_ON.search(with_gaps)
        if words and text not in NAMES:
            self.found.append((node.lineno, text))


def texts(source: str) -> list[str]:
    finder = Finder()
    finder.visit(ast.parse(source))
    return [text for _, text in finder.found]


def test_every_text_for_people_can_be_translated():
    found = {}
    for path in SOURCES:
        finder = Finder()
        finder.visit(ast.parse(path.read_text(encoding="utf-8")))
        module = path.relative_to(APP).as_posix()
        shown = [(line, text) for line, text in finder.found if (module, text) not in FOR_THE_MODEL]
        if shown:
            found[module] = shown
    assert found == {}


def test_walk_finds_texts_and_lets_the_rest_alone():
    assert texts('label.setText("Off")\nbox.setText(f"{n} tokens")\nQLabel("Copy", self)') == ["Off", "Copy"]
    assert texts('words = "Loading…"\nx = {1: "The answer was stopped."}') == [
        "Loading…",
        "The answer was stopped.",
    ]
    assert texts('label.setText(tr("off"))\nWORDS = marked("The answer was stopped.")') == []
    assert texts('"""A docstring."""\n_log.info("Engine is up")\nraise ValueError("No such thing.")') == []
    assert texts('label.setText(f"{name}:")\nself.setObjectName("sidebar")\nfont = "JetBrains Mono"') == []


def test_walk_finds_what_is_returned_or_raised_for_people():
    assert texts('return "Restart"') == ["Restart"]
    assert texts('return "Pause" if busy else tr("Go")') == ["Pause"]
    assert texts('return f"{lines:,} lines" if lines > 3 else f"{n:,} characters"') == [
        " characters",
        " lines",
    ]
    assert texts('return StoreError("MTPLX is already running.")') == ["MTPLX is already running."]
    assert texts('raise UnreadableChatsError("This file is damaged.")') == ["This file is damaged."]
    assert texts('raise StoreError(f"{path} cannot be read.")') == [" cannot be read."]
    assert texts('raise OutOfBoundsError("its date cannot be")') == ["its date cannot be"]
    assert texts('return "dark"\nreturn f"{name}.db"\nreturn tr("Restart")\nraise StoreError(tr("No."))') == []


def test_translation_takes_the_place_of_our_words(qapp):
    class Shouting(QTranslator):
        def translate(self, context, text, *_):
            return re.sub(r"[a-z]+(?![a-z0-9]*})", lambda word: word[0].upper(), text) if context == "MTPLX" else ""

    shouting = Shouting()
    QCoreApplication.installTranslator(shouting)
    try:
        assert tr("Undo") == "UNDO"
        places = joined((sentence("up to {count}k", count=8), "Toy", NOTHING))
        assert said(sentence("off {where}", where=places)) == "OFF UP TO 8K, Toy"
        assert said(NOTHING) == ""
    finally:
        QCoreApplication.removeTranslator(shouting)
    assert tr(marked("Undo")) == "Undo"
