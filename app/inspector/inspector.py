"""The inspector: the panel with the settings of the shown chat."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from app.chat.settings import ChatSettings
from app.i18n import tr
from app.inspector.form import DIALS, SettingsForm, thinking_choices
from app.inspector.preset_bar import PresetBar
from app.inspector.rows import DialRow, DraftingSection, SeedRow, SettingRow
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S
from app.widgets.buttons import ChoiceButton, IconButton
from app.widgets.cards import Section
from app.widgets.number_field import NumberField

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent, QShowEvent

    from app.storage.settings import SettingsFile
    from app.theme import Theme
    from mtplx_engine.config import Depth
    from mtplx_engine.ipc.protocol import ModelInfo


WIDTH = 296
_TITLE_HEIGHT = 46  # as the header beside it, above its loading bar
_PROMPT_HEIGHT = 96
_TYPING_MS = 500  # pause of typing after which the system prompt is stored
_MOST_TOKENS = 10_000_000


class Inspector(QWidget):
    """Edits the settings of a chat.

    Signals:
        changed(str, ChatSettings): New settings for the chat with this id.
        opened: It became visible; the installed models may have changed.
    """

    changed = Signal(str, object)
    close_requested = Signal()
    opened = Signal()

    def __init__(self, theme: Theme, file: SettingsFile, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._models: tuple[tuple[str, str], ...] = ()
        self.form = SettingsForm(ChatSettings())
        self._chat_id = ""  # whose settings are shown, and whose system prompt is being typed
        self.setObjectName("inspector")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(WIDTH)
        self.presets = PresetBar(theme, file, self)
        self.model = ChoiceButton(theme, tr("Model"), self)
        self.prompt = self._prompt_field()
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._typing.timeout.connect(self._store_prompt)
        self.dials = {dial.name: DialRow(theme, dial, self) for dial in DIALS}
        self.seed = SeedRow(theme, self)
        self.drafting = DraftingSection(theme, self)
        self.context = ChoiceButton(theme, tr("Context length"), self)
        self._cost = self._note()
        self.longest = NumberField(tr("Longest answer"), off=0, off_word=tr("no limit"))
        self.longest.setDecimals(0)
        self.longest.setRange(0, _MOST_TOKENS)
        self.longest.setSingleStep(256)
        hint = tr("At most so many tokens; without a limit, the rest of the context length.")
        self._longest_row = SettingRow(theme, tr("Longest answer"), hint, self.longest, self)
        self.thinking = ChoiceButton(theme, tr("Thinking"), self)
        self.reset = IconButton(theme, "reset", tr("Use the model’s own settings for everything"), parent=self)
        self._close = IconButton(theme, "close", tr("Hide the inspector"), parent=self)
        self._lay_out()
        self._connect()
        theme.changed.connect(self.update)
        self._refresh()

    def show_chat(self, chat_id: str, settings: ChatSettings) -> None:
        """Show the settings of another chat; a system prompt being typed is stored for the former one."""
        if chat_id != self._chat_id:
            self.settle()
            self._chat_id = chat_id
        self.show_settings(settings)

    def show_settings(self, settings: ChatSettings) -> None:
        if settings.system_prompt != self.form.settings.system_prompt:
            self._typing.stop()  # the typed text is superseded
        if settings != self.form.settings:
            self._show(dataclasses.replace(self.form, settings=settings))

    def show_model(self, model: ModelInfo) -> None:
        """Set the loaded model, whose recommendations are the defaults."""
        self._show(dataclasses.replace(self.form, model=model))

    def show_models(self, choices: tuple[tuple[str, str], ...]) -> None:
        """Set the models to choose from, name and title."""
        if choices != self._models:  # or an open menu would lose its items
            self._models = choices
            self._refresh_models()

    def show_drafting(self, depth: Depth) -> None:
        """Set the draft depth for chats that do not set one."""
        self._show(dataclasses.replace(self.form, drafting=depth))

    def judge_drafting(self, reason: str) -> None:
        """Set why drafting was turned off automatically for the loaded model, "" when it was not."""
        self._show(dataclasses.replace(self.form, turned_off=reason))

    def settle(self) -> None:
        """Store a system prompt that is being typed."""
        if self._typing.isActive():
            self._store_prompt()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.opened.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.prompt and event.type() == QEvent.Type.FocusOut:
            self.settle()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.fillRect(0, 0, 1, self.height(), QColor(self._theme.palette.border))

    # ------------------------------------------------------------ showing

    def _show(self, form: SettingsForm) -> None:
        self.form = form
        self._refresh()

    def _refresh(self) -> None:
        form, settings = self.form, self.form.settings
        self.presets.show_settings(settings)
        self._refresh_models()
        if self.prompt.toPlainText() != settings.system_prompt and not self._typing.isActive():
            with QSignalBlocker(self.prompt):
                self.prompt.setPlainText(settings.system_prompt)
        for name, row in self.dials.items():
            row.set_value(getattr(form.sampler, name), changed=name in form.changed)
        self.seed.set_value(form.sampler.seed, changed="seed" in form.changed)
        self.drafting.show_form(form)
        self.context.set_choices(form.contexts(), settings.context)
        self._cost.setText(form.context_cost())
        self._cost.setVisible(bool(self._cost.text()))
        with QSignalBlocker(self.longest):
            self.longest.setValue(settings.max_tokens or 0)
        self._longest_row.reset.setVisible(settings.max_tokens is not None)
        self.thinking.set_choices(thinking_choices(), settings.thinking)
        self._thinking_section.setVisible(form.model is not None and form.model.thinking_switch)
        self.reset.setEnabled(form.can_reset)

    def _refresh_models(self) -> None:
        loaded = self.form.model.name if self.form.model else tr("none yet")
        chosen = self.form.settings.model
        choices = [("", tr("The loaded one: {name}").format(name=loaded)), *self._models]
        if chosen not in dict(choices):
            choices.append((chosen, chosen))
        self.model.set_choices(choices, chosen)

    # ------------------------------------------------------------ editing

    def _change(self, settings: ChatSettings) -> None:
        if settings != self.form.settings:
            self._show(dataclasses.replace(self.form, settings=settings))
            self.changed.emit(self._chat_id, settings)

    def _store_prompt(self) -> None:
        self._typing.stop()
        self._set(system_prompt=self.prompt.toPlainText())

    def _set(self, **fields: object) -> None:
        self._change(dataclasses.replace(self.form.settings, **fields))  # type: ignore[arg-type]

    def _connect(self) -> None:
        self.presets.changed.connect(self._change)
        self.model.chosen.connect(lambda model: self._set(model=model))
        for row in self.dials.values():
            row.chosen.connect(lambda name, value: self._change(self.form.with_value(name, value)))
            row.reset_requested.connect(lambda name: self._change(self.form.without(name)))
        self.seed.chosen.connect(lambda name, value: self._change(self.form.with_value(name, value)))
        self.drafting.choice.chosen.connect(lambda depth: self._set(drafting=depth))
        self.context.chosen.connect(lambda size: self._set(context=size))
        self.longest.valueChanged.connect(lambda value: self._set(max_tokens=int(value) or None))
        self._longest_row.reset.clicked.connect(lambda: self._set(max_tokens=None))
        self.thinking.chosen.connect(lambda choice: self._set(thinking=choice))
        self.prompt.textChanged.connect(self._typing.start)
        self.reset.clicked.connect(lambda: self._change(self.form.reset()))
        self._close.clicked.connect(self.close_requested)

    # ------------------------------------------------------------ layout

    def _lay_out(self) -> None:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(SPACE_L, SPACE_S, SPACE_L, SPACE_L)
        column.setSpacing(SPACE_L)
        sampling = (*self.dials.values(), self.seed)
        self._thinking_section = self._section(tr("Thinking"), self.thinking)
        for section in (
            self._section(tr("Preset"), self.presets),
            self._section(tr("Model"), self.model),
            self._section(tr("System prompt"), self.prompt),
            self._section(tr("How words are chosen"), *sampling),
            self._thinking_section,
            self.drafting,
            self._section(tr("Context length"), self.context, self._cost, self._longest_row),
        ):
            column.addWidget(section)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._title_row())
        layout.addWidget(area, 1)

    def _title_row(self) -> QHBoxLayout:
        title = QLabel(tr("This chat"), self)
        title.setFont(self._theme.font(14, QFont.Weight.DemiBold))
        title.setFixedHeight(_TITLE_HEIGHT)
        row = QHBoxLayout()
        row.setContentsMargins(SPACE_L, 0, SPACE_M, 0)
        row.addWidget(title, 1)
        row.addWidget(self.reset)
        row.addWidget(self._close)
        return row

    def _section(self, heading: str, *widgets: QWidget) -> Section:
        section = Section(self._theme, heading, self)
        for widget in widgets:
            section.add(widget)
        return section

    def _prompt_field(self) -> QPlainTextEdit:
        field = QPlainTextEdit(self)
        field.setObjectName("field")
        field.setAccessibleName(tr("System prompt"))
        field.setPlaceholderText(tr("What the model is told before everything else"))
        field.setTabChangesFocus(True)
        field.setFixedHeight(_PROMPT_HEIGHT)
        field.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        field.installEventFilter(self)
        return field

    def _note(self) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setProperty("tone", "tertiary")
        label.setFont(self._theme.font(SMALL_PX))
        label.setWordWrap(True)
        return label
