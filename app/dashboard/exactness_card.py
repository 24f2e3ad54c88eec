"""Whether drafting changes what the model says: a button, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout

from app.dashboard import result_words
from app.theme import CODE_PX, SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, TEXT_PX
from app.translate import said, tr
from app.widgets.plain_label import PlainLabel
from mtplx_engine.bench import sentences
from mtplx_engine.exactness import Exactness, judge

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.theme import Theme
    from mtplx_engine.measurement import ExactnessReport

_FACTS = 4


class ExactnessCard(QFrame):
    """Shows a report, or what it would be.

    Attributes:
        button: Checks, or checks again.
        turn_off: Turns drafting off; there when it changes what the model says.
        verdict: What was found, in words.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        title = PlainLabel(theme, TEXT_PX, weight=QFont.Weight.DemiBold)
        title.say(tr("Does drafting change what it says?"))
        self.verdict = PlainLabel(theme, CODE_PX)
        self._advice = PlainLabel(theme, CODE_PX)
        self._limits = PlainLabel(theme, SMALL_PX, "secondary")
        self.button = QPushButton()
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.turn_off = QPushButton(tr("Turn Drafting Off"))
        self.turn_off.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(SPACE_M)
        self._grid.setVerticalSpacing(SPACE_XS)
        self._grid.setColumnStretch(1, 1)
        self._facts = [
            (PlainLabel(theme, SMALL_PX, "secondary"), PlainLabel(theme, SMALL_PX)) for _ in range(_FACTS)
        ]
        for row, (name, value) in enumerate(self._facts):
            name.setWordWrap(False)
            self._grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(value, row, 1)
        top = QHBoxLayout()
        top.setSpacing(SPACE_L)
        names = QVBoxLayout()
        names.setSpacing(SPACE_XS)
        for words in (title, self.verdict, self._advice):
            names.addWidget(words)
        top.addLayout(names, 1)
        for button in (self.turn_off, self.button):
            top.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_XL, SPACE_L, SPACE_XL, SPACE_L)
        column.setSpacing(SPACE_S)
        column.addLayout(top)
        column.addLayout(self._grid)
        column.addWidget(self._limits)

    def show_report(self, report: ExactnessReport | None, objection: str) -> None:
        """Show what was found, None for nothing yet.

        Args:
            report: What was found.
            objection: Why it cannot be checked now, "" when it can.
        """
        self.button.setText(tr("Check") if report is None else tr("Check Again"))
        self.button.setEnabled(not objection)
        self.button.setAccessibleDescription(objection)
        self.button.setToolTip(objection)
        self.turn_off.setVisible(report is not None and judge(report) is Exactness.DIFFERENT)
        for name, value in self._facts:
            name.say("")
            value.say("")
        if report is None:
            self.verdict.say(
                tr(
                    "Compares drafted with plain decoding on your own model: the chances of each next word, answers "
                    "at temperature 0, and words drawn at random."
                ),
                "secondary",
            )
            self._advice.say("")
            self._limits.say("")
            return
        words, tone = result_words.exactness(report)
        self.verdict.say(words, tone)
        self._advice.say(result_words.advice(report))
        for (name, value), (about, told) in zip(self._facts, sentences.compared(report), strict=True):
            name.say(said(about))
            value.say(said(told))
        self._limits.say(said(sentences.limits(report)))
