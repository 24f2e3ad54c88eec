"""One download, from its plan to the installed model, and the downloads that are unfinished."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import platform
import shutil
import subprocess
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import answers, partial, repository
from mtplx_engine.hub import plan as plans
from mtplx_engine.hub.errors import CancelToken, HubError, HubErrorKind
from mtplx_engine.hub.head_extract import RangeAssembler
from mtplx_engine.hub.retries import Retries
from mtplx_engine.hub.transfer import Requests, Transfer
from mtplx_engine.hub.transfer_stats import TransferStats
from mtplx_engine.models import checkpoint, config_checks, head_source, json_files, manifest
from mtplx_engine.models.manifest import FileRecord, Manifest
from mtplx_engine.util import files, formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.plan import DownloadPlan, ExtractedHead
    from mtplx_engine.hub.transfer import RangeSource, Source
    from mtplx_engine.models.manifest import HeadBinding


THREADS = 4

_LONGEST_PID = 20  # digits


class Download:
    """Installs one model. `run` belongs to a thread of its own, everything else is thread-safe."""

    def __init__(
        self,
        plan: DownloadPlan,
        data: Path,
        connection: HubConnection,
        retries: Retries | None = None,
        threads: int = THREADS,
    ) -> None:
        self.plan = plan
        self.total = plan.size
        self._data = data
        self._connection = connection
        self.tally = TransferStats()
        self._retries = dataclasses.replace(retries or Retries(), tell=self.tally.wait)
        self._threads = threads
        self._interrupt = CancelToken()

    def stop(self) -> None:
        """End `run` at once; the partial files stay for the next one."""
        self._interrupt.set()

    def run(self) -> Path:
        """Fetch the missing files, check them, install the model and return its folder.

        Raises:
            HubError: It cannot be fetched, the disk has no room, or the model is refused.
            CancelledError: `stop` was called.
        """
        folder = _staging(self._data, self.plan)
        try:
            plans.check_home(self._data, self.plan)
            with _only_one(folder, self.plan.title):
                plans.write_plan(folder, self.plan)
                link_same(self.plan, folder, _final(folder), self._interrupt)
                records = self._fetch(folder)
                self._interrupt.check()
                return self._install(folder, records, self._check(folder))
        except OSError as error:
            raise answers.disk_failure(error, self.plan.title) from error

    def _fetch(self, folder: Path) -> tuple[FileRecord, ...]:
        sources = [(repo.source(self._connection, file), folder / name) for repo, file, name in self.plan.files()]
        head_folder = folder / plans.HEAD_FOLDER
        taken = [] if self.plan.taken is None else [(self.plan.taken.source, head_folder / plans.HEAD_NAME)]
        self.tally.find(sum(partial.present(path, source.identity) for source, path in (*sources, *taken)))
        records = []
        checked = False
        with closing(Requests(self._connection, self._interrupt)) as requests:
            for source, path in sources:
                if not checked and repository.is_weights(source.name):
                    checked = True
                    self._check_settings(folder)
                    promised = _promised(self._data, self.plan.id, folder)
                    plans.check_room(folder, self.plan, _present(folder), promised)
                records.append(self._fetch_file(source, requests, folder, path))
            if self.plan.taken is not None:
                records += self._extract_head(self.plan.taken, head_folder, requests)
        return tuple(records)

    def _fetch_file(self, source: Source, ranges: RangeSource, folder: Path, path: Path) -> FileRecord:
        """Complete one file of the model in `folder`, and return its record."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if partial.is_whole(path, source.identity):
            sha256 = manifest.file_sha256(path, self._interrupt.check)
        else:
            transfer = Transfer(source, ranges, self._interrupt, self._retries, self.tally.receive)
            sha256 = transfer.run(path, self._threads)
        return FileRecord(str(path.relative_to(folder)), source.size, sha256)

    def _extract_head(self, head: ExtractedHead, folder: Path, requests: Requests) -> tuple[FileRecord, ...]:
        assembler = RangeAssembler(head, self._connection, requests)
        assembler.open(self._interrupt, self._retries)
        record = self._fetch_file(head.source, assembler, folder.parent, folder / plans.HEAD_NAME)
        files.replace_file(folder / config_checks.CONFIG_NAME, head.config)
        self.tally.find(len(head.config))
        return record, *manifest.record_files(folder.parent, [f"{folder.name}/{config_checks.CONFIG_NAME}"])

    def _check_settings(self, folder: Path) -> None:
        """Refuse a model that would not load, as far as is known without its weights."""
        try:
            checkpoint.check_settings(folder)
        except EngineError as error:
            shutil.rmtree(folder)  # only its small files are there
            why = json_files.cause(str(error))
            sentence = f"{self.plan.target.id} was not fetched, since it must not be loaded: {why}"
            raise HubError(HubErrorKind.UNSAFE, sentence) from error

    def _check(self, folder: Path) -> HeadBinding | None:
        """Refuse a model that would not load; return the binding of a head from another repository."""
        try:
            checked = checkpoint.check(folder)
        except EngineError as error:
            if error.kind is ErrorKind.REFUSED:
                shutil.rmtree(folder)
                sentence = f"{self.plan.title} was deleted, since it must not be loaded: {error}"
                raise HubError(HubErrorKind.UNSAFE, sentence) from error
            raise
        if not self.plan.head_repo:
            return None
        return head_source.bind_head(plans.HEAD_FOLDER, checked.config, checked.tensors, folder)

    def _install(self, folder: Path, records: tuple[FileRecord, ...], binding: HeadBinding | None) -> Path:
        target = self.plan.target
        noted = Manifest(
            id=self.plan.id,
            name=self.plan.title,
            licence=target.licence,
            source=plans.origin_of(target, self._connection.endpoint),
            revision=1,
            files=records,
            binding=binding,
            head_source=plans.origin_of_head(self.plan, self._connection.endpoint),
        )
        (folder / plans.PLAN_NAME).unlink()
        manifest.write_manifest(folder, noted)
        final = _final(folder)
        if final.exists():
            shutil.rmtree(final)
        folder.rename(final)
        files.sync(final.parent)
        return final


def link_same(plan: DownloadPlan, folder: Path, installed: Path, interrupt: CancelToken) -> None:
    """Hard-link those files of an installed model that a plan needs too into its staging folder `folder`.

    Does nothing where the volume has no hard links, or where nothing is installed.
    """
    if installed.is_symlink():
        return
    for _, file, name in plan.files():
        old, new = installed / name, folder / name
        if new.exists() or partial.is_growing(new) or old.is_symlink() or not old.is_file():
            continue
        if old.stat().st_size == file.size and file.digest.is_of(old, interrupt.check):
            new.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(old, new)
            except OSError:
                return


def leave_same(folder: Path, former: DownloadPlan, plan: DownloadPlan) -> None:
    """Delete the files of a former plan from a staging folder that the new plan does not have."""
    same = {name: file.digest for _, file, name in plan.files()}
    for _, file, name in former.files():
        if same.get(name) != file.digest:
            partial.delete(folder / name)
    if former.taken != plan.taken:
        shutil.rmtree(folder / plans.HEAD_FOLDER, ignore_errors=True)


def discard(data: Path, plan: DownloadPlan) -> None:
    """Delete the partial files of a download that is cancelled; raise HubError (BUSY) while it is downloaded."""
    folder = _staging(data, plan)
    if not folder.parent.is_dir():
        return  # where a disk is not mounted, no folder must be made
    with _only_one(folder, plan.title):
        # First, so that a rest does not look like a download.
        (folder / plans.PLAN_NAME).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def exchange(data: Path, plan: DownloadPlan) -> None:
    """Replace the plan of a download that has begun; files that are the same stay.

    Raises:
        HubError: BUSY, while another program fetches it; or the disk cannot be written.
    """
    folder = _staging(data, plan)
    former = plans.read_plan(folder)
    if former is None or former == plan:
        return
    try:
        with _only_one(folder, plan.title):
            leave_same(folder, former, plan)
            plans.write_plan(folder, plan)
    except OSError as error:
        raise answers.disk_failure(error, plan.title) from error


def present(data: Path, plan: DownloadPlan) -> int:
    """Return how many bytes of a model have arrived, to within a few kilobytes per file."""
    return min(_present(_staging(data, plan)), plan.size)


def _final(folder: Path) -> Path:
    return folder.parent.parent / folder.name


def _staging(data: Path, plan: DownloadPlan) -> Path:
    return plans.staging(data, plan.id, plan.home)


@contextmanager
def _only_one(folder: Path, title: str) -> Iterator[None]:
    """Hold the lock of a staging folder; raise HubError (BUSY) when another thread or program holds it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(_lock_of(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise HubError(HubErrorKind.BUSY, _who_holds(lock, title)) from error
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)


def _who_holds(lock: int, title: str) -> str:
    """Return who downloads a model, by the process id in its lock file."""
    holder = os.pread(lock, _LONGEST_PID, 0).decode(errors="replace")
    if not holder.isdecimal() or int(holder) == os.getpid():
        return f"{title} is being downloaded already. Wait for that one."
    return (
        f"{title} is being downloaded by another program (process {holder}), such as `mtplx pull`. Wait for it, or "
        "stop it there."
    )


def _present(folder: Path) -> int:
    # By blocks: a partial file is sparse.
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def _promised(data: Path, but: str, beside: Path) -> int:
    """Return the bytes still to come of running downloads that have passed their own check for room, except `but`.

    Only those on the volume of the folder `beside` count.
    """
    volume = beside.stat().st_dev
    folders = {plan: _staging(data, plan) for plan in plans.unfinished_plans(data) if plan.id != but}
    return sum(
        max(plan.size - _present(folder), 0)
        for plan, folder in folders.items()
        if folder.stat().st_dev == volume and any(folder.rglob("*.safetensors.partial")) and is_running(folder)
    )


def is_running(folder: Path) -> bool:
    """Whether a thread or program holds the lock of a staging folder."""
    try:
        lock = os.open(_lock_of(folder), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _start(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@contextmanager
def kept_awake(start: Callable[[list[str]], subprocess.Popen[bytes]] = _start) -> Iterator[None]:
    """Keep a Mac, but not its display, from idle sleep in the block; does nothing on other systems.

    `start` starts `caffeinate`, which exits by itself if this process is killed.
    """
    if platform.system() != "Darwin":
        yield
        return
    try:
        running = start(["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())])
    except OSError:  # the download goes on after a sleep
        yield
        return
    try:
        yield
    finally:
        running.terminate()
        running.wait()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A download that has begun and is not installed; about `present` bytes of it have arrived."""

    plan: DownloadPlan
    present: int
    running: bool

    @property
    def amount(self) -> str:
        return f"{formatting.size(self.present)} of {formatting.size(self.plan.size)}"


def find_unfinished(data: Path) -> tuple[Unfinished, ...]:
    """Return all unfinished downloads, by folder and name."""
    return tuple(_of(data, plan) for plan in plans.unfinished_plans(data))


def unfinished_called(name: str, data: Path) -> Unfinished | None:
    """Return the unfinished download of a model's folder name or repository, None without one."""
    plan = next((plan for plan in plans.unfinished_plans(data) if name in (plan.id, plan.target.id)), None)
    return _of(data, plan) if plan is not None else None


def _of(data: Path, plan: DownloadPlan) -> Unfinished:
    return Unfinished(plan, present(data, plan), is_running(_staging(data, plan)))
