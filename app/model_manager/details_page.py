"""One repository or model in detail, with its memory fit by context."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QFont
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from app.i18n import tr
from app.model_manager import row_state
from app.model_manager.card import plain_label
from app.model_manager.row_state import Action, show_fault
from app.stylesheet import restyle
from app.theme import CODE_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS
from app.widgets.buttons import IconButton
from app.widgets.cards import ErrorCard
from app.widgets.labels import ElidedLabel
from mtplx_engine.models import memory_fit
from mtplx_engine.models.memory_fit import MemoryVerdict
from mtplx_engine.util import formatting

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent

    from app.model_manager.controller import ModelsWindowController
    from app.model_manager.row_state import Fault
    from app.theme import Theme
    from mtplx_engine.hub.remote_inspect import RepoInspection
    from mtplx_engine.models.memory_fit import Fit, Footprint
    from mtplx_engine.util.system import Machine


_FIRST_STEP = 2048

_LABEL_WIDTH = 220
_MOST_LINES = 7
_TITLE_PX = 17
_MOST_FILES, _MOST_LEFT = 60, 5


def steps(window: int) -> tuple[int, ...]:
    """Return doublings up to a model's context window, which is the last one."""
    found = []
    context = _FIRST_STEP
    while context < window:
        found.append(context)
        context *= 2
    return (*found, window)


def nearest(found: tuple[int, ...], context: int) -> int:
    """Return the index of the first step of at least `context`, that of the last step without one."""
    return min(bisect_left(found, context), len(found) - 1)


class FitBox(QWidget):
    """Shows whether a model fits for a context that the user chooses."""

    def __init__(self, theme: Theme, machine: Machine, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._machine = machine
        self._footprint: Footprint | None = None
        self._steps: tuple[int, ...] = (memory_fit.CONTEXT,)
        self.verdict = QLabel()
        self.verdict.setFont(theme.font(CODE_PX, QFont.Weight.DemiBold))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(tr("Tokens of context"))
        self.slider.setPageStep(1)
        self.slider.valueChanged.connect(self._judge)
        self._context = QLabel()
        self._context.setFont(theme.tabular_font(CODE_PX))
        self._context.setMinimumWidth(120)
        self._lines = [(self._label(), self._label(right=True)) for _ in range(_MOST_LINES)]
        row = QHBoxLayout()
        row.setSpacing(SPACE_L)
        row.addWidget(self.slider, 1)
        row.addWidget(self._context)
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_L)
        grid.setVerticalSpacing(SPACE_XS)
        grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
        grid.setColumnStretch(2, 1)
        for line, (name, size) in enumerate(self._lines):
            grid.addWidget(name, line, 0)
            grid.addWidget(size, line, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_S)
        column.addWidget(self.verdict)
        column.addLayout(row)
        column.addLayout(grid)
        theme.changed.connect(self._judge)

    @property
    def judged(self) -> Fit | None:
        """The memory fit for the chosen context, None without a model."""
        if self._footprint is None:
            return None
        return memory_fit.judge_fit(self._footprint, self._steps[self.slider.value()], self._machine)

    def show_footprint(self, footprint: Footprint) -> None:
        """Show the memory fit of a model; another model begins with the usual context."""
        if footprint != self._footprint:
            self._footprint = footprint
            self._steps = steps(footprint.window)
            self.slider.setRange(0, len(self._steps) - 1)
            self.slider.setVisible(len(self._steps) > 1)  # where there is something to choose
            self.slider.setValue(nearest(self._steps, memory_fit.CONTEXT))
        self._judge()

    def _judge(self) -> None:
        judged = self.judged
        if judged is None:
            return
        words, tone = row_state.fit_text(judged)
        self.verdict.setText(words[0].upper() + words[1:])
        self.verdict.setStyleSheet(f"color: {getattr(self._theme.palette, tone)};")
        context = tr("{count} tokens").format(count=f"{judged.context:,}")
        whole = tr("{count} tokens, all that it reads").format(count=f"{judged.context:,}")
        self._context.setText(context if len(self._steps) > 1 else whole)
        self.slider.setAccessibleDescription(f"{context}: {words}")
        lines = [
            *row_state.parts(judged),
            (tr("Together"), judged.total),
            (tr("This computer has for models"), row_state.for_models(judged)),
        ]
        for index, (name, size) in enumerate(self._lines):
            shown = index < len(lines)
            name.setVisible(shown)
            size.setVisible(shown)
            if shown:
                name.setText(lines[index][0])
                size.setText(formatting.size(lines[index][1]))

    def _label(self, *, right: bool = False) -> QLabel:
        label = QLabel()
        label.setFont(self._theme.tabular_font(CODE_PX))
        if right:
            label.setAlignment(Qt.AlignmentFlag.AlignRight)
        else:
            label.setProperty("tone", "secondary")
        return label


class DetailsPage(QWidget):
    """The details of a repository."""

    left = Signal()

    def __init__(self, theme: Theme, controller: ModelsWindowController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._controller = controller
        self.repo_id = ""
        self.back = IconButton(theme, "chevron-left", tr("Back"))
        self.back.clicked.connect(self.left)
        self._title = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self._title.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._title.setFont(theme.font(_TITLE_PX, QFont.Weight.DemiBold))
        self.page = QPushButton(tr("Show at the Hub"))
        self.page.clicked.connect(self._open_page)
        self._state = self._words(tone="secondary")
        self._state.setWordWrap(False)
        self.get = QPushButton()
        self.get.setProperty("primary", True)
        self.get.clicked.connect(lambda: controller.act_on_repo(self.repo_id, Action.GET_ANYWAY))
        self.trouble = ErrorCard(theme, "", "")
        self.trouble.pressed.connect(self._help)
        self._about = self._words(tone="secondary")
        self._warnings = self._words()
        self.fit = FitBox(theme, controller.machine)
        self.fit.slider.valueChanged.connect(self._name_get)
        self._heading = self._words(QFont.Weight.DemiBold)
        self._heading.setText(tr("Files"))
        self._files = self._words(tone="secondary")
        self._area = QScrollArea()
        self._lay_out()
        theme.changed.connect(self._tint)
        self._tint()

    def show_repo(self, repo_id: str) -> None:
        self.repo_id = repo_id
        self.refresh()

    def refresh(self) -> None:
        if not self.repo_id:
            return
        inspection = self._controller.inspection_of(self.repo_id)
        row = self._controller.row_of(self.repo_id)
        self._title.setText(row.title)
        self._title.setToolTip(row.title)
        self._state.setText(row.state)
        show_fault(self.trouble, self._fault(inspection))
        sizes_known = inspection is not None and inspection.found.footprint is not None
        self.fit.setVisible(sizes_known)
        self._heading.setVisible(inspection is not None)
        self._files.setVisible(inspection is not None)
        self._warnings.setVisible(inspection is not None and bool(_warnings(inspection)))
        self._about.setText(_about(inspection, row.title) if inspection is not None else "")
        if inspection is not None:
            self._warnings.setText("\n".join(_warnings(inspection)))
            self._files.setText(_files(inspection))
            if inspection.found.footprint is not None:
                self.fit.show_footprint(inspection.found.footprint)
        self._name_get()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_PageDown: QSlider.SliderAction.SliderPageStepAdd,
            Qt.Key.Key_PageUp: QSlider.SliderAction.SliderPageStepSub,
            Qt.Key.Key_Down: QSlider.SliderAction.SliderSingleStepAdd,
            Qt.Key.Key_Up: QSlider.SliderAction.SliderSingleStepSub,
        }
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self._area.verticalScrollBar().triggerAction(step)

    def _name_get(self) -> None:
        """Label the button as a risk where the model will not fit, and make it primary only where it does."""
        inspection = self._controller.inspection_of(self.repo_id)
        state = self._controller.row_of(self.repo_id).state if self.repo_id else ""
        self.get.setVisible(inspection is not None and inspection.found.loads and not state)
        judged = self.fit.judged
        risky = judged is not None and judged.verdict is MemoryVerdict.TOO_BIG
        self.get.setText(tr((Action.GET_ANYWAY if risky else Action.GET).value))
        if self.get.property("primary") is risky:
            self.get.setProperty("primary", not risky)
            restyle(self.get)

    def _fault(self, inspection: RepoInspection | None) -> Fault | None:
        lookups = self._controller.lookups
        return lookups.faults.get(self.repo_id) or lookups.trouble if inspection is None else None

    def _help(self) -> None:
        if self.repo_id in self._controller.lookups.faults:
            self._controller.help_repo(self.repo_id)
        else:
            self._controller.help_connection()

    def _open_page(self) -> None:
        QDesktopServices.openUrl(QUrl(f"{self._controller.endpoint()}/{self.repo_id}"))

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_L, SPACE_M, SPACE_XL, SPACE_S)
        head.setSpacing(SPACE_S)
        head.addWidget(self.back)
        head.addWidget(self._title, 1)
        for widget in (self._state, self.page, self.get):
            head.addWidget(widget)
        body = QWidget()
        inner = QVBoxLayout(body)
        inner.setContentsMargins(SPACE_XL, SPACE_S, SPACE_XL, SPACE_XL)
        inner.setSpacing(SPACE_L)
        for part in (self.trouble, self._about, self._warnings, self.fit, self._heading, self._files):
            inner.addWidget(part)
        inner.addStretch(1)
        area = self._area
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(body)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(area, 1)

    def _words(self, weight: QFont.Weight = QFont.Weight.Normal, tone: str = "") -> QLabel:
        label = plain_label(self._theme.font(CODE_PX, weight), tone)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label

    def _tint(self) -> None:
        self._warnings.setStyleSheet(f"color: {self._theme.palette.warning};")


def _about(inspection: RepoInspection, title: str) -> str:
    """Return a model's repository unless that is its title, its size and licence, and how it drafts."""
    target = inspection.plan.target
    licence = tr("licence {name}").format(name=target.licence) if target.licence else tr("no licence given")
    gated = tr("gated: accept its licence at the hub first") if target.gated else ""
    size = formatting.size(inspection.plan.size)
    drafts = row_state.drafts(inspection) or tr("plain decoding")
    source = target.id if target.id != title else ""
    first = " · ".join(part for part in (source, size, licence, gated) if part)
    words = tr("{drafts}, taken out of {repo}") if inspection.plan.taken else tr("{drafts}, from {repo}")
    second = words.format(drafts=drafts, repo=inspection.plan.head_repo) if inspection.plan.head_repo else drafts
    return f"{first}\n{second}"


def _warnings(inspection: RepoInspection) -> tuple[str, ...]:
    reason = "" if inspection.found.loads else inspection.reason
    return tuple(part for part in (reason, *inspection.found.notes, *inspection.warnings) if part)


def _files(inspection: RepoInspection) -> str:
    """Return the files that would be fetched, the largest first."""
    files = sorted(inspection.plan.files(), key=lambda item: -item[1].size)
    lines = [f"{name} · {formatting.size(file.size)}" for _, file, name in files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        lines.append(tr("and {count} more").format(count=len(files) - _MOST_FILES))
    if inspection.plan.taken is not None:
        words = tr("the drafting head out of {repo} · {size}")
        size = formatting.size(inspection.plan.head_size)
        lines.append(words.format(repo=inspection.plan.head_repo, size=size))
    left_out = inspection.plan.target.left_out
    if left_out:
        names = ", ".join(left_out[:_MOST_LEFT]) + ("…" if len(left_out) > _MOST_LEFT else "")
        lines.append(tr("Never fetched: {names}").format(names=names))
    return "\n".join(lines)
