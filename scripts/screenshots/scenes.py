"""Every screen and state of the program, with an engine that follows a script."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unittest import mock

from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QApplication, QInputDialog

from app.chat.conversation import Attachment
from app.chat.settings import ChatSettings, Preset
from app.dashboard import result_text
from app.storage.database import ChatDatabase
from app.storage.errors import StoreError
from app.widgets.dialogs import AboutBox, LinkSheet, MessageBox, ShortcutSheet
from mtplx_engine.config import SamplerConfig
from tests.support import chart_gallery, models_window, speed_window
from tests.support.fake_script import ANSWER, Script
from tests.support.measurements import measurement

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.theme import Theme
    from scripts.screenshots.stage import Stage


RICH = (
    ANSWER
    + r"""
| Place | Range |
|:------|------:|
| Bay of Fundy | 16.3 m |
| Saint-Malo | 12.2 m |

The height follows $h(t) = A \cos(\omega t + \varphi)$, and a ticket costs $5.
"""
)
THOUGHTS = "The person asks about tides. The Moon matters most, then the Sun. I should name both tides of a day."
SLOW = Script(answer=RICH, cycle_s=0.05)
CALM = Preset("Calm", ChatSettings(system_prompt="Be brief.", sampler=SamplerConfig(temperature=0.2)))


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture.

    Attributes:
        name: Of its file.
        act: Brings the program there, and returns the window to take; None for the main window.
        script: What the engine does.
        size: Of the main window.
        installed: Whether there is a model.
    """

    name: str
    act: Callable[[Stage], QWidget | None]
    script: Script = field(default_factory=lambda: Script(answer=RICH))
    size: tuple[int, int] = (1080, 720)
    installed: bool = True


def _nothing(stage: Stage) -> None:
    stage.until(lambda: stage.program.queue.model is not None)


def _first_run(stage: Stage) -> None:
    stage.until(stage.pane.empty.action.isVisible)


def _loading(stage: Stage) -> None:
    stage.ask("Why are there tides?")
    stage.until(lambda: (stage.pane.header.bar.fraction or 0) >= 0.3)


def _reading(stage: Stage) -> None:
    stage.ask("Why are there tides? " * 400)
    stage.until(lambda: "Reading" in stage.last_row.words.text())


def _writing(stage: Stage) -> None:
    stage.ask("Why are there tides?")
    stage.until(lambda: "def height" in stage.text and "per step" in stage.pane.composer.chip.text())


def _answered(stage: Stage) -> None:
    for question in ("Name three planets", "A haiku about the sea", "What is a prime number?"):
        stage.ask(question)
        stage.until_idle()
        stage.program.session.new_chat()
    stage.answer("Why are there tides?")


def _thought(stage: Stage) -> None:
    stage.answer("Why are there tides?")
    stage.last_row.thoughts.head.click()


def _stopped(stage: Stage) -> None:
    _writing(stage)
    stage.program.session.stop()


def _failed(stage: Stage) -> None:
    stage.answer("Why are there tides?")


def _not_loaded(stage: Stage) -> None:
    stage.until(stage.pane.empty.action.isVisible)


def _tinted(stage: Stage) -> None:
    stage.answer("Why are there tides?")
    stage.menus.tint.setChecked(False)
    stage.menus.tint.trigger()


def _found(stage: Stage) -> None:
    stage.answer("Why are there tides?")
    stage.menus.edit.find.trigger()
    stage.pane.find_bar.field.setText("tides")
    stage.pane.find_bar.searched.emit("tides")


def _searched(stage: Stage) -> None:
    _answered(stage)
    stage.wait(300)
    stage.window.sidebar.focus_search()
    stage.window.sidebar.search.setText("harbour")
    stage.wait(600)


def _versions(stage: Stage) -> None:
    stage.answer("Why are there tides?")
    stage.menus.answer_again.trigger()
    stage.until_idle()
    stage.last_row.footer.reveal(shown=True)


def _edited(stage: Stage) -> None:
    stage.answer("Why are there tides?")
    stage.menus.edit_last.trigger()


def _details(stage: Stage) -> QWidget | None:
    from app.chat_view.chat_pane import DetailsPopover

    stage.answer("Why are there tides?")
    stage.menus.details.trigger()
    return stage.window.findChild(DetailsPopover)


def _too_long(stage: Stage) -> None:
    _nothing(stage)
    stage.ask("A rather long question, again and again. " * 90)
    stage.wait(800)


def _deleted(stage: Stage) -> None:
    stage.answer("Why are there tides?")
    stage.menus.delete_chat.trigger()


def _inspected(stage: Stage) -> None:
    _answered(stage)
    stage.program.settings.change(presets=(CALM,))
    stage.program.session.set_settings(CALM.applied_to(ChatSettings()))
    stage.window.inspector.show_model(
        dataclasses.replace(stage.program.queue.model, token_bytes=46_080, thinking_switch=True)
    )
    stage.menus.inspector.setChecked(True)


def _preset_named(stage: Stage) -> QWidget | None:
    stage.window.inspector.presets.save_as.trigger()
    return stage.window.findChild(QInputDialog)


def _settings(page: str) -> Callable[[Stage], QWidget | None]:
    def open_page(stage: Stage) -> QWidget | None:
        window = stage.program.open_settings()
        window.open_page(getattr(window, page))
        return window

    return open_page


def _speed(state: Callable[[Theme], speed_window.Bench]) -> Callable[[Stage], QWidget | None]:
    def open_window(stage: Stage) -> QWidget | None:
        bench = state(stage.program.theme)
        bench.window.resize(880, max(bench.page.widget().sizeHint().height() + 80, 480))
        return bench.window

    return open_window


def _speed_now(stage: Stage) -> QWidget | None:
    _writing(stage)
    stage.menus.speed.trigger()
    stage.wait(1500)
    return stage.program.speed.window()


def _drafting_off(stage: Stage) -> QWidget | None:
    _nothing(stage)
    stage.program.speed.drafting_judged.emit(result_text.turned_off((measurement(0.6, 0.6, 0.6),)))
    stage.menus.inspector.trigger()
    return None


def _models(state: Callable[[Theme], QWidget]) -> Callable[[Stage], QWidget | None]:
    return lambda stage: state(stage.program.theme)


def _charts(stage: Stage) -> QWidget | None:
    return chart_gallery.gallery(stage.program.theme)


def _shortcuts(stage: Stage) -> QWidget | None:
    stage.menus.shortcuts.trigger()
    return stage.window.findChild(ShortcutSheet)


def _about(stage: Stage) -> QWidget | None:
    stage.menus.about.trigger()
    return stage.window.findChild(AboutBox)


def _link(stage: Stage) -> QWidget | None:
    sheet = LinkSheet(QUrl("https://example.org/tides?moon=full"), stage.window)
    sheet.open()
    return sheet


def _refused(stage: Stage) -> QWidget | None:
    box = MessageBox(
        "MTPLX cannot keep anything in its folder",
        "/read/only: Permission denied. Make that folder writable, or choose another one with --data-dir.",
        stage.window,
    )
    box.open()
    return box


def _unsent(stage: Stage) -> QWidget | None:
    stage.pane.composer.set_attachments((Attachment("tides.csv", 4_200, "x"),))
    stage.program.quitting.may_end()
    return stage.program.quitting.sheet


def _unsaved(stage: Stage) -> QWidget | None:
    with mock.patch.object(ChatDatabase, "add_message", side_effect=StoreError("The disk is full.", retryable=True)):
        stage.ask("Why are there tides?")
        stage.until(lambda: bool(stage.program.session.refused))
    stage.program.quitting.may_end()
    return stage.program.quitting.sheet


def _menu(name: str) -> Callable[[Stage], QWidget | None]:
    def open_menu(stage: Stage) -> QWidget | None:
        _nothing(stage)
        menu = {"chat": stage.menus.chat, "model": stage.menus.model}[name]
        menu.popup(stage.window.mapToGlobal(stage.window.rect().center()))
        QApplication.processEvents()
        return menu

    return open_menu


SCENES = (
    Scene("first-run", _first_run, installed=False),
    Scene("empty", _nothing),
    Scene("loading", _loading, Script(load_s=20)),
    Scene("reading", _reading, Script(prefill_s=20)),
    Scene("writing", _writing, SLOW),
    Scene("answered", _answered),
    Scene("thought", _thought, Script(answer=RICH, thinking=THOUGHTS)),
    Scene("stopped", _stopped, SLOW),
    Scene("failed", _failed, Script(answer_error="The model produced numbers that are not finite. Try again.")),
    Scene("not-loaded", _not_loaded, Script(load_error="The model file is damaged at byte 12. Get it again.")),
    Scene("tinted", _tinted),
    Scene("found", _found),
    Scene("searched", _searched),
    Scene("versions", _versions),
    Scene("edited", _edited),
    Scene("details", _details),
    Scene("too-long", _too_long, Script(window=512)),
    Scene("deleted", _deleted),
    Scene("unsent", _unsent),
    Scene("unsaved", _unsaved),
    Scene("inspector", _inspected, size=(1180, 820)),
    Scene("preset-name", _preset_named),
    *(Scene(f"settings-{page}", _settings(page)) for page in ("general", "chats", "models", "privacy")),
    *(Scene(f"models-{name}", _models(state)) for name, state in models_window.STATES.items()),
    Scene("models-token", _models(models_window.token)),
    *(Scene(f"speed-{name}", _speed(state)) for name, state in speed_window.STATES.items()),
    Scene("speed-now", _speed_now, SLOW),
    Scene("drafting-off", _drafting_off, size=(1180, 820)),
    Scene("charts", _charts),
    Scene("shortcuts", _shortcuts),
    Scene("about", _about),
    Scene("link", _link),
    Scene("refused", _refused),
    Scene("menu-chat", _menu("chat")),
    Scene("menu-model", _menu("model")),
    Scene("smallest", _answered, size=(640, 480)),
    Scene("narrow-inspector", _inspected, size=(760, 640)),
)
