"""The Models window in each of its states, without a hub, a disk or an engine."""

from __future__ import annotations

import time
from pathlib import Path

from app.model_manager.downloads import DownloadState
from app.model_manager.hub_client import HubQuestion
from app.model_manager.row_state import Action
from app.model_manager.token_dialog import TokenDialog
from app.model_manager.window import ModelsWindow
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.hub import catalogue
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.plan import folder_name
from mtplx_engine.hub.retries import Waiting
from mtplx_engine.hub.search import Found, Hit
from mtplx_engine.models import starter
from tests.support.fake_models import GB, HITS, controller, installed, look, recommended_looks, row

STARTER = installed(starter.shipped_recipe().id, size=270_000_000)
BIG = installed("Qwen3.6-27B-4bit", size=16 * GB)
ELSEWHERE = installed("Qwen3-8B-4bit", size=4_600_000_000, has_head=False, place="/Volumes/Big/models", there=False)
HALF = installed("somebody--half-a-model", complete=False)
FIRST, SECOND, THIRD = (folder_name(entry.target) for entry in catalogue.entries()[:3])
GATED = HITS[1].id
TAKEN = Hit("somebody/Qwen3.5-9B-6bit", "qwen3_5", 1_200, 8, gated=False, updated="2026-10-02")
LOOKS = recommended_looks() | {
    GATED: look(GATED, 1_500_000_000, gated=True),
    HITS[2].id: look(
        HITS[2].id,
        18 * GB,
        own_head=True,
        warnings=("It also holds 'run.py' that can run code when they are read; they are never fetched.",),
    ),
    TAKEN.id: look(TAKEN.id, 5_100_000_000, head_size=482_000_000, original="Qwen/Qwen3.5-9B"),
    HITS[3].id: look(HITS[3].id, 2 * GB, loads=False),
}


def make(theme, *rows):
    """Return the window with these downloads."""
    return ModelsWindow(theme, controller(*rows), lambda: 214 * GB, lambda: False)


def recommended(theme, *rows):
    window = make(theme, *rows)
    window.open_tab(window.recommended)
    window.controller.hub.answer_looks(LOOKS)
    window.controller.library.list(STARTER, BIG)
    return window


def asking(theme):
    window = make(theme)
    window.open_tab()
    return window


def offline(theme):
    window = asking(theme)
    sentence = "huggingface.co cannot be reached: this computer is not connected. Try again when it is."
    window.controller.hub.failed.emit(
        HubQuestion.INSPECT, ErrorInfo(ErrorKind.DOWNLOAD, sentence), HubErrorKind.NO_NETWORK
    )
    return window


def offered(theme):
    window = recommended(theme)
    window.controller.library.list(STARTER)
    return window


def two_downloading(theme):
    return recommended(
        theme,
        row(FIRST, done=1_200_000_000, total=2_480_000_000, bytes_s=38e6, seconds_left=34.0),
        row(SECOND, done=400_000_000, total=5_373_000_000, bytes_s=21e6, seconds_left=237.0),
    )


def paused(theme):
    full = ErrorInfo(
        ErrorKind.DOWNLOAD,
        "Qwen3.5 9B · 4-bit needs 7.6 GB, with 2 GB to spare, and 3.1 GB are free. Make room and try again.",
    )
    return recommended(
        theme,
        row(FIRST, DownloadState.PAUSED, done=1_200_000_000, total=2_480_000_000),
        row(
            SECOND,
            DownloadState.FAILED,
            done=400_000_000,
            total=5_373_000_000,
            error=full,
            problem=HubErrorKind.DISK_FULL,
        ),
        row(
            THIRD,
            DownloadState.WAITING,
            done=24_000,
            total=16_100_000_000,
            waiting=Waiting("huggingface.co asks to wait until 14:20 (429)", time.time() + 3000, asked=True),
            again_s=3000,
        ),
    )


def search_empty(theme):
    window = make(theme)
    window.open_tab(window.search)
    window.controller.hub.answer_looks()
    return window


def searching(theme):
    window = search_empty(theme)
    window.search.field.setText("qwen")
    window.search.field.returnPressed.emit()
    return window


def found(theme):
    window = searching(theme)
    window.controller.hub.found.emit("qwen", Found(HITS))
    window.controller.inspect_hits()
    window.controller.hub.answer_looks(LOOKS)
    return window


def nothing_found(theme):
    window = searching(theme)
    window.controller.hub.found.emit("qwen", Found(()))
    return window


def search_failed(theme):
    window = searching(theme)
    sentence = "huggingface.co cannot be reached: this computer is not connected. Try again when it is."
    window.controller.hub.failed.emit(
        HubQuestion.SEARCH, ErrorInfo(ErrorKind.DOWNLOAD, sentence), HubErrorKind.NO_NETWORK
    )
    return window


def gated(theme):
    window = searching(theme)
    hub = window.controller.hub
    hub.found.emit("qwen", Found(HITS))
    window.controller.act_on_repo(GATED, Action.DETAILS)
    sentence = f"{GATED} is given only to accounts that accepted its licence, and no token is known. Add one."
    hub.failed.emit(HubQuestion.INSPECT, ErrorInfo(ErrorKind.DOWNLOAD, sentence), HubErrorKind.NO_TOKEN)
    return window


def details(theme):
    window = found(theme)
    window.controller.act_on_repo(catalogue.entries()[1].target, Action.DETAILS)
    return window


def taken(theme):
    """A model whose head is in its original."""
    window = found(theme)
    hub = window.controller.hub
    hub.found.emit("qwen", Found((*HITS, TAKEN)))
    window.controller.act_on_repo(TAKEN.id, Action.DETAILS)
    hub.answer_looks(LOOKS)
    return window


def will_not_fit(theme):
    window = found(theme)
    window.controller.act_on_repo(HITS[2].id, Action.DETAILS)
    return window


def installed_place(theme):
    window = recommended(theme)
    library, models = window.controller.library, window.controller.installed
    library.list(
        STARTER,
        BIG,
        ELSEWHERE,
        HALF,
        default=STARTER.path,
        used={STARTER.path: int(time.time())},
        user_folders={Path(ELSEWHERE.place)},
    )
    models.show_loaded(STARTER.path)
    library.answer_inspection(STARTER.path, look("starter", STARTER.size, own_head=True).found)
    library.answer_inspection(BIG.path, look("big", BIG.size, own_head=True).found)
    models.act(str(BIG.path), Action.LOAD)
    sentence = (
        "Qwen3.6-27B-4bit will not fit into memory: 16.7 GB in all, and 2.0 GB for the system; this machine has "
        "17.2 GB, of which models can use 11.5 GB. Choose a smaller model, or load it anyway."
    )
    models.show_load_failed(ErrorInfo(ErrorKind.TOO_BIG, sentence))
    window.open_tab(window.installed)
    return window


def none_installed(theme):
    window = make(theme)
    window.open_tab(window.installed)
    window.controller.library.list()
    return window


def token(theme):
    """Return the sheet that asks for a token, with its window as parent."""
    window = gated(theme)
    window.controller.token_wanted.emit()
    sheet = window.findChild(TokenDialog)
    sheet.field.setText("hf_12345678")
    return sheet


STATES = {
    "asking": asking,
    "offline": offline,
    "offered": offered,
    "two-downloading": two_downloading,
    "paused": paused,
    "search-empty": search_empty,
    "searching": searching,
    "found": found,
    "nothing-found": nothing_found,
    "search-failed": search_failed,
    "gated": gated,
    "details": details,
    "taken": taken,
    "will-not-fit": will_not_fit,
    "installed": installed_place,
    "none-installed": none_installed,
}
