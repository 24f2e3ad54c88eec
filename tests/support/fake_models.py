"""Models at a hub and on a disk that are only told of, and services that do nothing by themselves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.model_manager.controller import ModelsWindowController
from app.model_manager.downloads import DownloadRow, DownloadState
from app.model_manager.model_library import Contents
from mtplx_engine.errors import ErrorInfo, ErrorKind
from mtplx_engine.hub import catalogue
from mtplx_engine.hub.partial import Expected
from mtplx_engine.hub.plan import DownloadPlan, ExtractedHead, Header, Part, folder_name
from mtplx_engine.hub.remote_inspect import RepoInspection
from mtplx_engine.hub.repository import RemoteFile, Repo
from mtplx_engine.hub.search import Hit
from mtplx_engine.models.cache_layout import CacheLayout, Layers
from mtplx_engine.models.folders import InstalledModel
from mtplx_engine.models.head_source import HeadSource
from mtplx_engine.models.inspection import Inspection, Tier
from mtplx_engine.models.memory_fit import Footprint
from mtplx_engine.util.system import Machine

GB = 1_000_000_000
MACHINE = Machine(memory=16 << 30, limit=(16 << 30) * 2 // 3, packed=True, chunk=2048)
SIZES = {4: 2.4, 9: 5.2, 27: 15.6, 35: 20.1}  # GB by billions of parameters


def repo(repo_id, size, *, gated=False, licence="apache-2.0", names=("config.json", "model.safetensors")):
    digest = Expected("sha256", "0" * 64)
    sizes = [2_000] * (len(names) - 1) + [size]
    files = tuple(RemoteFile(name, count, digest) for name, count in zip(names, sizes, strict=True))
    return Repo(repo_id, "1" * 40, licence, gated, files, ("README.txt",))


def taken_head(repo_id, size):
    """Return a head of some `size` bytes, a tensor of them, in a repository with a whole model."""
    original = repo(repo_id, 50 * GB, names=("model-00011-of-00011.safetensors",))
    file = original.files[0].name
    part = Part("norm.weight", "BF16", (size // 2,), file, 64)
    return ExtractedHead(original, "qwen3_5", 2560, 248_320, (Header(file, 64, "0" * 64),), (part,))


def look(repo_id, size, *, head_size=0, own_head=False, original="", warnings=(), loads=True, gated=False, title=""):
    """Return what would be known of a model of `size` bytes, with a head beside it, in it, or in its original."""
    target = repo(repo_id, size, gated=gated)
    head = repo(f"{repo_id}-head", head_size) if head_size and not original else None
    taken = taken_head(original, head_size) if original else None
    footprint = Footprint(
        weights=size,
        head=head_size or (size // 20 if own_head else 0),
        caches=CacheLayout((Layers(count=8, numbers=2048, window=0),), tail=0, state=0),
        head_layers=1,
        rows=60_000,
        scores=0,
        logits=2_000_000,
        window=131_072,
    )
    found = Inspection(
        folder=Path("/gone"),
        name=repo_id,
        tier=Tier.UNVERIFIED if loads else Tier.UNSUPPORTED,
        reason="" if loads else "Its architecture, mamba9, is not supported yet.",
        family="qwen3_5",
        head=HeadSource("mtp.safetensors", {}) if loads and (head_size or own_head) else None,
        footprint=footprint if loads else None,
    )
    plan = DownloadPlan(folder_name(repo_id), title or repo_id.partition("/")[2], target, head, taken)
    return RepoInspection(plan, found, 300_000, tuple(warnings))


def recommended_looks():
    """Return a look at each recommended model, by repository."""
    looks = {}
    for entry in catalogue.entries():
        size = next(size for billions, size in SIZES.items() if f"{billions}B" in entry.title)
        head_size = round(size * GB / 30) if entry.head else 0
        looks[entry.target] = look(
            entry.target, round(size * GB), head_size=head_size, own_head=not entry.head, title=entry.title
        )
    return looks


HITS = (
    Hit("mlx-community/Qwen3.5-4B-MLX-4bit", "qwen3_5", 48_200, 91, gated=False, updated="2026-09-02"),
    Hit("meta-llama/Llama-4-Tiny-MLX", "llama", 9_100, 40, gated=True, updated="2026-08-11"),
    Hit("somebody/Qwen3-32B-4bit", "qwen3", 2_300, 12, gated=False, updated="2025-12-01"),
    Hit("lab/Mamba9-3B", "mamba9", 310, 2, gated=False, updated="2026-10-30"),
)


def installed(name, *, folder="", title="", size=3 * GB, has_head=True, complete=True, place="", there=True):
    path = Path(folder) if folder else Path("/models") / name
    return InstalledModel(name, title or name, path, size, has_head, complete, place, there)


def row(plan_id, state=DownloadState.RUNNING, done=0, total=3 * GB, **fields):
    return DownloadRow(plan_id, plan_id.partition("--")[2] or plan_id, state, done, total, **fields)


def error(sentence="The hub did not answer for 20 s. Try again."):
    return ErrorInfo(ErrorKind.DOWNLOAD, sentence)


class FakeHub(QObject):
    """Records what it is asked; the test answers."""

    found = Signal(str, object)
    inspected = Signal(str, object)
    failed = Signal(object, object, object)
    token_checked = Signal(str)

    def __init__(self):
        super().__init__()
        self.searches = []
        self.looks = []
        self.tokens = []
        self.stopped = []

    def stop(self, question):
        self.stopped.append(question)

    def search(self, words):
        self.searches.append(words)

    def inspect(self, repo_id, head=""):
        self.looks.append(repo_id)

    def check_token(self, token):
        self.tokens.append(token)

    def answer_looks(self, looks=None):
        """Answer all requested inspections, also those that follow, as far as `looks` has them."""
        looks = recommended_looks() if looks is None else looks
        while self.looks and self.looks[-1] in looks:
            repo_id = self.looks.pop()
            self.inspected.emit(repo_id, looks[repo_id])


class FakeDownloads(QObject):
    """Keeps rows; the test moves them."""

    changed = Signal(object)
    removed = Signal(str)
    installed = Signal(object)

    def __init__(self, *rows):
        super().__init__()
        self.asked = []
        self._rows = {row.id: row for row in rows}

    def rows(self):
        return tuple(self._rows.values())

    def put(self, row):
        self._rows[row.id] = row
        self.changed.emit(row)

    def enqueue(self, plan):
        self.asked.append(("enqueue", plan.id))
        self.put(DownloadRow(plan.id, plan.title, DownloadState.QUEUED, 0, plan.size))

    def pause(self, plan_id):
        self._become(plan_id, DownloadState.PAUSED)

    def resume(self, plan_id):
        self._become(plan_id, DownloadState.QUEUED)

    def cancel(self, plan_id):
        self.asked.append(("cancel", plan_id))
        del self._rows[plan_id]
        self.removed.emit(plan_id)

    def finish(self, plan_id):
        self._become(plan_id, DownloadState.DONE)
        self.installed.emit(self._rows[plan_id])

    def _become(self, plan_id, state):
        self.asked.append((state.value, plan_id))
        self.put(dataclasses.replace(self._rows[plan_id], state=state, error=None, problem=None))


class FakeLibrary(QObject):
    """Records what it is asked; the test lists and inspects models."""

    changed = Signal()
    inspected = Signal(object)
    loadable = Signal(object)
    verifying = Signal(object, float)
    verified = Signal(object, object)
    removed = Signal(object)
    failed = Signal(object, object)

    def __init__(self):
        super().__init__()
        self.asked = []
        self.in_use = None
        self.contents = Contents()
        self.inspections = {}
        self.to_inspect = ()

    @property
    def models(self):
        return self.contents.models or ()

    def list(self, *models, default=None, used=(), user_folders=()):
        self.contents = Contents(models, default, dict(used), frozenset(user_folders))
        self.changed.emit()

    def inspect(self):
        self.to_inspect = tuple(model.path for model in self.models if model.there and model.complete)

    def answer_inspection(self, folder, found):
        self.inspections[folder] = found
        self.inspected.emit(folder)

    def refresh(self):
        self.asked.append(("refresh",))

    def check(self, folder, *, anyway):
        """Find every model sound."""
        self.asked.append(("check", folder, anyway))
        self.loadable.emit(folder)

    def is_in_use(self, folder):
        return folder == self.in_use

    def verify(self, folder):
        self.asked.append(("verify", folder))

    def remove(self, folder):
        self.asked.append(("remove", folder))

    def set_default(self, folder):
        self.asked.append(("set_default", folder))

    def add_folder(self, folder):
        self.asked.append(("add_folder", folder))

    def forget_folder(self, folder):
        self.asked.append(("forget_folder", folder))


def controller(*rows):
    """Return the controller of the Models window over fakes of all that it works with."""
    return ModelsWindowController(
        FakeHub(),
        FakeDownloads(*rows),
        FakeLibrary(),
        MACHINE,
        endpoint=lambda: "https://huggingface.co",
    )
