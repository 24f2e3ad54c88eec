"""The panel with the settings of one chat."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.settings import (
    ChatSettings,
    clean_name,
    find_preset,
    with_preset,
    with_renamed_preset,
    without_preset,
)
from app.i18n import tr
from app.inspector.form import DIALS, SettingsForm, thinking_choices
from app.inspector.rows import DialRow, SeedRow, SettingRow
from app.theme import SMALL_PX, SPACE_L, SPACE_M, SPACE_S, SPACE_XS
from app.widgets.buttons import ChoiceButton, IconButton
from app.widgets.cards import Section
from app.widgets.labels import PlainLabel
from app.widgets.number_field import NumberField

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QPaintEvent, QShowEvent

    from app.chat.settings import Preset
    from app.storage.settings import SettingsFile
    from app.theme import Theme
    from mtplx_engine.config import Depth
    from mtplx_engine.ipc.protocol import ModelInfo


class DraftingSection(Section):
    """Shows the draft depth of a form.

    Attributes:
        choice: The depth.
        draft_again: Lets the model draft although it was slower; there while drafting is off by itself.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, tr("Drafting"), parent)
        self.choice = ChoiceButton(theme, tr("Drafting"), self)
        self._why = PlainLabel(theme, SMALL_PX, "tertiary", parent=self)
        self.draft_again = QPushButton(tr("Let It Draft Again"))
        self.draft_again.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._way_back = QWidget(self)
        line = QHBoxLayout(self._way_back)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.draft_again)
        line.addStretch(1)
        for widget in (self.choice, self._why, self._way_back):
            self.add(widget)

    def show_form(self, form: SettingsForm) -> None:
        """Show the depth that is set, and why there is no drafting."""
        self.choice.set_choices(form.depths(), form.settings.drafting)
        is_off = bool(form.turned_off) and form.drafts == "auto"
        self._why.say(tr("Automatic is {why}.").format(why=form.turned_off) if is_off else "")
        self._way_back.setVisible(is_off)
        self.draft_again.setAccessibleDescription(self._why.text())


class PresetBar(QWidget):
    """Chooses, saves, renames and deletes presets, which it keeps in the settings file.

    Attributes:
        choice: The preset that the chat's settings came from.
        save, save_as, rename, delete: What its menu offers.

    Signals:
        changed(ChatSettings): The chat is to have these settings.
        deleted(Preset): It is gone, and can be brought back with `restore`.
        listed: The presets are others now.
    """

    changed = Signal(object)
    deleted = Signal(object)
    listed = Signal()

    def __init__(self, theme: Theme, file: SettingsFile, parent: QWidget) -> None:
        super().__init__(parent)
        self._file = file
        self._settings = ChatSettings()
        self.choice = ChoiceButton(theme, tr("Preset"), self)
        self.choice.chosen.connect(self._choose)
        self.more = IconButton(theme, "more", tr("What to do with presets"), parent=self)
        self.more.setObjectName("menuIcon")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.more)
        self.save = menu.addAction(tr("Save Changes"), self._save)
        self.save_as = menu.addAction(tr("Save as New Preset…"), self._ask_new)
        self.rename = menu.addAction(tr("Rename…"), self._ask_rename)
        menu.addSeparator()
        self.delete = menu.addAction(tr("Delete Preset"), self._delete)
        self.more.setMenu(menu)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_XS)
        row.addWidget(self.choice, 1)
        row.addWidget(self.more)

    def show_settings(self, settings: ChatSettings) -> None:
        """Say which preset the settings of a chat are, or were before they were changed."""
        self._settings = settings
        preset = self._preset()
        names = [(item.name, item.name) for item in self._file.value.presets]
        edited = preset is not None and not preset.fits(settings)
        text = tr("{name} (changed)").format(name=preset.name) if preset and edited else ""
        self.choice.set_choices([("", tr("None")), *names], preset.name if preset else "", text)
        self.save.setEnabled(edited)
        self.rename.setEnabled(preset is not None)
        self.delete.setEnabled(preset is not None)

    def restore(self, preset: Preset) -> None:
        """Bring back a preset that was deleted."""
        self._keep(with_preset(self._file.value.presets, preset.name, preset.settings))
        self.show_settings(self._settings)

    def _preset(self) -> Preset | None:
        return find_preset(self._file.value.presets, self._settings.preset) if self._settings.preset else None

    def _choose(self, name: str) -> None:
        preset = find_preset(self._file.value.presets, name)
        if preset is not None:
            self.changed.emit(preset.applied_to(self._settings))
        else:
            kept = self._settings
            self.changed.emit(ChatSettings(model=kept.model, reads_from=kept.reads_from))

    def _save(self) -> None:
        self._save_as(self._settings.preset)

    def _save_as(self, name: str) -> None:
        self._keep(with_preset(self._file.value.presets, name, self._settings))
        self._call(name)

    def _rename_to(self, name: str) -> None:
        self._keep(with_renamed_preset(self._file.value.presets, self._settings.preset, name))
        self._call(name)

    def _call(self, name: str) -> None:
        """Say that the chat's settings are those of the preset `name`."""
        settings = dataclasses.replace(self._settings, preset=name)
        self.changed.emit(settings)
        self.show_settings(settings)

    def _delete(self) -> None:
        preset = self._preset()
        if preset is not None:
            self._keep(without_preset(self._file.value.presets, preset.name))
            self.show_settings(self._settings)
            self.deleted.emit(preset)

    def _keep(self, presets: tuple[Preset, ...]) -> None:
        self._file.change(presets=presets)
        self.listed.emit()

    def _ask_new(self) -> None:
        self._ask(tr("New Preset"), "", self._save_as)

    def _ask_rename(self) -> None:
        self._ask(tr("Rename Preset"), self._settings.preset, self._rename_to)

    def _ask(self, title: str, name: str, then: Callable[[str], None]) -> None:
        dialog = QInputDialog(self.window())
        dialog.setWindowTitle(title)
        dialog.setLabelText(tr("Name (a preset that has it is replaced)"))
        dialog.setTextValue(name)
        dialog.textValueSelected.connect(lambda typed: _take(typed, then))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _take(typed: str, then: Callable[[str], None]) -> None:
    name = clean_name(typed)
    if name:
        then(name)


WIDTH = 296
_TITLE_HEIGHT = 46  # as the header beside it, above its loading bar
_PROMPT_HEIGHT = 96
_TYPING_MS = 500  # after the last key the system prompt is taken
_LONGEST = 10_000_000


class Inspector(QWidget):
    """Shows the settings of a chat, and says what the person makes of them.

    Args:
        theme: The look.
        file: Keeps the presets.

    Attributes:
        form: What is shown.
        drafting: How deep answers are drafted.
        presets: The named choices.

    Signals:
        changed(str, ChatSettings): The chat with this id is to have these settings.
        close_requested: The panel is to be hidden.
        opened: It is on the screen; other models may be installed than those that it knows.
    """

    changed = Signal(str, object)
    close_requested = Signal()
    opened = Signal()

    def __init__(
        self,
        theme: Theme,
        file: SettingsFile,
        parent: QWidget | None = None,
    ) -> None:
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
        self._typing.timeout.connect(self._take_prompt)
        self.dials = {dial.name: DialRow(theme, dial, self) for dial in DIALS}
        self.seed = SeedRow(theme, self)
        self.drafting = DraftingSection(theme, self)
        self.context = ChoiceButton(theme, tr("Context length"), self)
        self._cost = self._note()
        self.longest = NumberField(tr("Longest answer"), off=0, off_word=tr("no limit"))
        self.longest.setDecimals(0)
        self.longest.setRange(0, _LONGEST)
        self.longest.setSingleStep(256)
        hint = tr("At most so many tokens; without a limit, the rest of the context length.")
        self._longest_row = SettingRow(theme, tr("Longest answer"), hint, self.longest, self)
        self.thinking = ChoiceButton(theme, tr("Thinking"), self)
        self.reset = IconButton(
            theme, "reset", tr("Use the model’s own settings for everything"), parent=self
        )
        self._close = IconButton(theme, "close", tr("Hide the inspector"), parent=self)
        self._lay_out()
        self._connect()
        theme.changed.connect(self.update)
        self._refresh()

    def show_chat(self, chat_id: str, settings: ChatSettings) -> None:
        """Show the settings of another chat; what is being typed is taken for the one that was shown."""
        if chat_id != self._chat_id:
            self.settle()
            self._chat_id = chat_id
        self.show_settings(settings)

    def show_settings(self, settings: ChatSettings) -> None:
        """Show the newer settings of the same chat."""
        if settings.system_prompt != self.form.settings.system_prompt:
            self._typing.stop()  # what was typed is overruled
        if settings != self.form.settings:
            self._show(dataclasses.replace(self.form, settings=settings))

    def show_model(self, model: ModelInfo) -> None:
        """Hold the settings against the model that is loaded."""
        self._show(dataclasses.replace(self.form, model=model))

    def show_models(self, choices: tuple[tuple[str, str], ...]) -> None:
        """Offer models: the name and the title of each."""
        if choices != self._models:  # or a menu that is open would lose what it shows
            self._models = choices
            self._refresh_models()

    def show_drafting(self, depth: Depth) -> None:
        """Say what the program drafts where the chat says nothing."""
        self._show(dataclasses.replace(self.form, drafting=depth))

    def judge_drafting(self, words: str) -> None:
        """Say why drafting is off by itself for the loaded model, "" when it is not."""
        self._show(dataclasses.replace(self.form, turned_off=words))

    def settle(self) -> None:
        """Take the system prompt as it has been typed."""
        if self._typing.isActive():
            self._take_prompt()

    def showEvent(self, event: QShowEvent) -> None:
        """Tell that it is seen."""
        super().showEvent(event)
        self.opened.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the system prompt at the latest when its field is left."""
        if watched is self.prompt and event.type() == QEvent.Type.FocusOut:
            self.settle()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the line at the left edge."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.fillRect(0, 0, 1, self.height(), QColor(self._theme.palette.border))

    # ------------------------------------------------------------ what is shown

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

    # ------------------------------------------------------------ what the person does

    def _change(self, settings: ChatSettings) -> None:
        if settings != self.form.settings:
            self._show(dataclasses.replace(self.form, settings=settings))
            self.changed.emit(self._chat_id, settings)

    def _take_prompt(self) -> None:
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

    # ------------------------------------------------------------ how it is laid out

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
