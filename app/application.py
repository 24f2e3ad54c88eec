"""The composition root: services, windows and controllers are made here and connected to each other."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.chat_view.model_status import ModelPresenter
from app.commands import Commands
from app.dashboard.window import SpeedOffer, SpeedWindowController
from app.first_start import FirstStart
from app.main_window import MainWindow
from app.model_controller import ModelController
from app.model_manager.first_model import FirstCard
from app.model_manager.services import ModelServices
from app.quitting import Quitting
from app.services.engine_link import EngineLink
from app.services.helper_process import StarterSetup
from app.session.actions import ChatActions
from app.session.context_meter import ContextMeter
from app.session.observers import IdleUnload, StatsRecorder
from app.session.queue import GenerationQueue
from app.session.session import ChatSession
from app.settings_controller import SettingsController
from app.settings_window.window import SettingsWindow
from app.sidebar.chat_files import ChatFiles
from app.sidebar.chat_list import ChatList
from app.sidebar.controller import SidebarController
from app.storage.settings import SettingsFile
from app.storage.store import Store
from app.theme import Theme
from mtplx_engine.models import starter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PySide6.QtWidgets import QApplication

    from app.chat.conversation import ChatSummary
    from app.services.engine_worker import EngineState
    from mtplx_engine.errors import ErrorInfo
    from mtplx_engine.ipc.client import EngineClient


_log = logging.getLogger(__name__)


class Application(QObject):
    """The program: its services, windows, and the controllers between them; `make_client` starts an engine process."""

    def __init__(
        self, qt: QApplication, data_dir: Path, log_dir: Path, make_client: Callable[[], EngineClient]
    ) -> None:
        super().__init__()
        self._data_dir = data_dir
        self.theme = Theme(qt)
        qt.setWindowIcon(self.theme.icons.app_icon(self.theme.palette.accent))
        # Services: the store, the engine, the generations, the models.
        recipe = starter.shipped_recipe()
        self.settings = SettingsFile(data_dir)
        self.store = Store(data_dir / "chats", self)
        self.link = EngineLink(make_client, parent=self)
        self.queue = GenerationQueue(self.link, self)
        self.session = ChatSession(self.store, self.queue, self)
        self.actions = ChatActions(self.session, self.store, self.queue)
        StatsRecorder(self.queue, self.store)
        self.setup = StarterSetup(data_dir, self)
        self.models = ModelServices(self.theme, data_dir, self.link, self.settings, self)
        self.speed = SpeedWindowController(
            self.theme,
            self.settings,
            data_dir,
            queue=self.queue,
            link=self.link,
            library=self.models.library,
            store=self.store,
            parent=self,
        )
        # The main window; the others are made when they are first shown.
        self.chats = ChatList(self)
        self.window = MainWindow(self.theme, self.session, self.actions, self.chats, self.settings, log_dir=log_dir)
        self.presenter = ModelPresenter(recipe.name, self.link, self)
        self.speed_offer = SpeedOffer(self.window, self.window.toast)
        self.first_card = FirstCard(self.theme, self.models.first)
        self.window.pane.empty.set_below(self.first_card)
        self.window.pane.measure_context(ContextMeter(self.session, self.queue, self.link, self.window.pane))
        self._settings_window: SettingsWindow | None = None
        # Controllers.
        self.model = ModelController(
            data_dir, recipe, presenter=self.presenter, setup=self.setup, link=self.link, queue=self.queue
        )
        self.library = SidebarController(self.window.sidebar, self.window.toast, self.store, self.session, self.chats)
        self.files = ChatFiles(self.window, self.window.toast, self.store, self.session)
        self.commands = Commands(
            self.window, self.session, self.actions, chats=self.chats, library=self.library, files=self.files
        )
        self.first_start = FirstStart(self.window, self.settings, self.link, data_dir)
        self.quitting = Quitting(self.window, self.session, self.files)
        self._connect_chats()
        self._connect_engine()
        self._connect_models()
        self._connect_speed()
        self.preferences = SettingsController(
            self.settings,
            self.theme,
            self.window,
            self.session,
            queue=self.queue,
            idle_unload=IdleUnload(self.queue, self.link, self),
        )
        self._connect_settings()
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._start)

    def show(self) -> None:
        """Show the window, and start everything else once it is on the screen."""
        self.window.show_model(self.presenter.status)
        self.window.show()
        self.window.pane.composer.setFocus()  # a key pressed at once is part of a message
        self._soon.start()

    def open_settings(self) -> SettingsWindow:
        """Return the one settings window; its `open_page` shows it."""
        if self._settings_window is None:
            self._settings_window = SettingsWindow(
                self.theme, self.settings, self._data_dir / "chats", self.models.access, self.models.folder
            )
            self._settings_window.changed.connect(self.preferences.apply)
            self._settings_window.network.changed.connect(self.models.ask_anew)
            self._settings_window.chats.follow(self.window.menus.export_all)
        return self._settings_window

    def close(self) -> None:
        """Save every answer as far as it is written, and end what was started. A second call does nothing."""
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
        self.model.load_default()

    # ------------------------------------------------------------ connections

    def _connect_chats(self) -> None:
        window = self.window
        self.store.opened.connect(self._chats_opened)
        self.store.draft_found.connect(window.pane.drafts.restore)
        window.sidebar.export_requested.connect(self.files.export_chat)
        self.files.imported.connect(window.put_chats)
        self.files.notice.connect(window.show_notice)
        self.library.message_wanted.connect(window.pane.transcript.go_to_message)

    def _connect_engine(self) -> None:
        window, menus = self.window, self.window.menus
        self.link.loaded.connect(menus.allow_drafting)
        self.link.loaded.connect(window.inspector.show_model)
        self.link.state_changed.connect(self._engine_changed)
        self.link.lost.connect(self._engine_lost)
        self.presenter.changed.connect(window.show_model)
        window.model_action_pressed.connect(self.model.act)
        menus.restart_engine.triggered.connect(self.queue.restart)
        menus.load_model.triggered.connect(self.queue.restart)
        menus.unload_model.triggered.connect(self.link.unload)

    def _connect_models(self) -> None:
        window, menus, models = self.window, self.window.menus, self.models
        menus.models.triggered.connect(lambda: models.window().open_tab())
        for pressed in (
            window.pane.empty.models_pressed,
            window.sidebar.models_requested,
            self.first_card.models_pressed,
        ):
            pressed.connect(menus.models.trigger)
        self.first_card.changed.connect(window.pane.empty.fit)
        models.library.changed.connect(self._show_models)
        for opened in (window.inspector.opened, menus.answer_with.aboutToShow, menus.import_chats.triggered):
            opened.connect(models.library.refresh)
        models.load_requested.connect(self.model.load)
        models.removed.connect(self.model.replace_removed)
        models.network_wanted.connect(lambda: self.open_settings().open_page(self.open_settings().network))
        models.folder_wanted.connect(lambda: self.open_settings().open_page(self.open_settings().models))

    def _connect_speed(self) -> None:
        menus, inspector, speed = self.window.menus, self.window.inspector, self.speed
        menus.speed.triggered.connect(lambda: speed.window().open_tab())
        self.window.sidebar.speed_requested.connect(menus.speed.trigger)
        speed.runner.load_requested.connect(self.model.load)
        speed.drafting_judged.connect(menus.judge_drafting)
        speed.drafting_judged.connect(inspector.judge_drafting)
        menus.draft_again.triggered.connect(speed.draft_again)
        inspector.drafting.draft_again.clicked.connect(speed.draft_again)
        self.models.first_loaded.connect(self.speed_offer.offer)
        self.speed_offer.accepted.connect(speed.measure_first)

    def _connect_settings(self) -> None:
        menus = self.window.menus
        menus.settings.triggered.connect(lambda: self.open_settings().open_page())
        menus.privacy.triggered.connect(lambda: self.open_settings().open_page(self.open_settings().privacy))
        self.speed.drafting_unwanted.connect(lambda: self.preferences.set(drafting=0))
        self.preferences.changed.connect(self._refresh_settings_window)
        self.window.inspector.presets.listed.connect(self._refresh_settings_window)

    # ------------------------------------------------------------ handlers across controllers

    def _chats_opened(self, chats: tuple[ChatSummary, ...], notice: str) -> None:
        self.chats.put(*chats)
        last = self.settings.value.last_chat
        # Unless the user was faster than the disk.
        if self.chats.chat(last) is not None and not self.session.shown.messages:
            self.session.open_chat(last)
        if notice:
            self.window.show_notice(notice)

    def _show_models(self) -> None:
        choices = self.models.library.choices()
        for chooser in (self.window.inspector, self.commands.messages, self.files):
            chooser.show_models(choices)

    def _refresh_settings_window(self) -> None:
        if self._settings_window is not None:
            self._settings_window.refresh()

    def _engine_changed(self, state: EngineState) -> None:
        _log.info("engine %s", state.name)
        self.commands.show_engine(state)

    def _engine_lost(self, error: ErrorInfo) -> None:
        _log.warning("engine lost: %s %s", error.message, error.details)
