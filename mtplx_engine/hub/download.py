"""One download from plan to installed model."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import platform
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import answers, partial, plan, repository
from mtplx_engine.hub import plan as plans
from mtplx_engine.hub.errors import CancelToken, HubError, HubErrorKind
from mtplx_engine.hub.head_extract import RangeAssembler
from mtplx_engine.hub.http import Retries
from mtplx_engine.hub.plan import HEAD_FOLDER
from mtplx_engine.hub.transfer import Requests, Transfer, TransferStats
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


def link_same(plan: DownloadPlan, folder: Path, installed: Path, interrupt: CancelToken) -> None:
    """Give files of an installed model that are what a plan wants a second name in the folder where it grows.

    Where a volume knows no second names, nothing happens.

    Args:
        plan: What is wanted.
        folder: Where it grows.
        installed: The folder of the model, which may not be there.
        interrupt: Stops it.

    Raises:
        CancelledError: The interrupt was set.
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
    """Delete what a former plan brought into the folder where a model grows, and another one does not have.

    Raises:
        OSError: The disk does not let it go.
    """
    same = {name: file.digest for _, file, name in plan.files()}
    for _, file, name in former.files():
        if same.get(name) != file.digest:
            partial.delete(folder / name)
    if former.taken != plan.taken:
        shutil.rmtree(folder / HEAD_FOLDER, ignore_errors=True)


THREADS = 4

_LONGEST_PID = 20  # digits


class Download:
    """Installs one model. `run` belongs to a thread of its own, everything else may be called from any.

    Attributes:
        plan: What is installed.
        total: Bytes of all its files.
        tally: How far it is.
    """

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
        """End `run` at once; what has arrived stays for the next one."""
        self._interrupt.set()

    def run(self) -> Path:
        """Fetch what is missing, check it and install the model.

        Returns:
            The model's folder.

        Raises:
            HubError: It cannot be had, or there is no room for it, or it must not be loaded.
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
        requests = Requests(self._connection, self._interrupt)
        sources = [
            (repo.source(self._connection, file), folder / name) for repo, file, name in self.plan.files()
        ]
        head_folder = folder / plans.HEAD_FOLDER
        taken = [] if self.plan.taken is None else [(self.plan.taken.source, head_folder / plan.HEAD_NAME)]
        self.tally.find(sum(partial.present(path, source.identity) for source, path in (*sources, *taken)))
        records = []
        weighed = False
        try:
            for source, path in sources:
                if not weighed and repository.is_weights(source.name):
                    weighed = True
                    self._check_settings(folder)
                    promised = _promised(self._data, self.plan.id, folder)
                    plans.check_room(folder, self.plan, _present(folder), promised)
                records.append(self._bring(source, requests, folder, path))
            if self.plan.taken is not None:
                records += self._take(self.plan.taken, head_folder, requests)
        finally:
            requests.close()
        return tuple(records)

    def _bring(self, source: Source, giver: RangeSource, folder: Path, path: Path) -> FileRecord:
        """Fetch what is missing of one file of the model in `folder`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if partial.is_whole(path, source.identity):
            sha256 = manifest.file_sha256(path, self._interrupt.check)
        else:
            transfer = Transfer(source, giver, self._interrupt, self._retries, self.tally.receive)
            sha256 = transfer.run(path, self._threads)
        return FileRecord(str(path.relative_to(folder)), source.size, sha256)

    def _take(self, head: ExtractedHead, folder: Path, requests: Requests) -> tuple[FileRecord, ...]:
        """Make the files of a head that is taken out of another repository."""
        gatherer = RangeAssembler(head, self._connection, requests)
        gatherer.open(self._interrupt, self._retries)
        record = self._bring(head.source, gatherer, folder.parent, folder / plan.HEAD_NAME)
        files.replace_file(folder / config_checks.CONFIG_NAME, head.config)
        self.tally.find(len(head.config))
        return record, *manifest.record_files(folder.parent, [f"{folder.name}/{config_checks.CONFIG_NAME}"])

    def _check_settings(self, folder: Path) -> None:
        """Refuse what would be refused when it is loaded, as far as it can be known without the weights."""
        try:
            checkpoint.check_settings(folder)
        except EngineError as error:
            shutil.rmtree(folder)  # as little as there is of it
            why = json_files.cause(str(error))
            sentence = f"{self.plan.target.id} was not fetched, since it must not be loaded: {why}"
            raise HubError(HubErrorKind.UNSAFE, sentence) from error

    def _check(self, folder: Path) -> HeadBinding | None:
        """Refuse what would be refused when it is loaded; return what ties the head to its model."""
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
            source=plan.origin_of(target, self._connection.endpoint),
            revision=1,
            files=records,
            binding=binding,
            head_source=plan.origin_of_head(self.plan, self._connection.endpoint),
        )
        (folder / plans.PLAN_NAME).unlink()
        manifest.write_manifest(folder, noted)
        final = _final(folder)
        if final.exists():
            shutil.rmtree(final)
        folder.rename(final)
        files.sync(final.parent)
        return final


def discard(data: Path, plan: DownloadPlan) -> None:
    """Delete what has arrived of a model that is not wanted any more.

    Raises:
        HubError: BUSY, while it is downloaded.
    """
    folder = _staging(data, plan)
    if not folder.parent.is_dir():
        return  # and no folder is made where a disk should be
    with _only_one(folder, plan.title):
        (folder / plans.PLAN_NAME).unlink(missing_ok=True)  # first: half of it must not look like a download
        shutil.rmtree(folder, ignore_errors=True)


def exchange(data: Path, plan: DownloadPlan) -> None:
    """Let a download that was begun bring something else, or what the repository has now; what is the same stays.

    Raises:
        HubError: BUSY, while another program fetches it; or the disk does not take it.
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
    """Return about how many bytes of a model have arrived, to a few kilobytes a file."""
    return min(_present(_staging(data, plan)), plan.size)


def _final(folder: Path) -> Path:
    """Return where what grows in a folder is installed."""
    return folder.parent.parent / folder.name


def _staging(data: Path, plan: DownloadPlan) -> Path:
    return plans.staging(data, plan.id, plan.home)


@contextmanager
def _only_one(folder: Path, title: str) -> Iterator[None]:
    """Hold the lock of a download.

    Raises:
        HubError: BUSY, when another thread or program holds it.
    """
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
    """Return who downloads a model, by what the holder of its lock has written into it."""
    holder = os.pread(lock, _LONGEST_PID, 0).decode(errors="replace")
    if not holder.isdecimal() or int(holder) == os.getpid():
        return f"{title} is being downloaded already. Wait for that one."
    return (
        f"{title} is being downloaded by another program (process {holder}), such as `mtplx pull`. Wait for it, or "
        "stop it there."
    )


def _present(folder: Path) -> int:
    """Return the bytes that a download takes on the disk; a growing file takes what has arrived."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def _promised(data: Path, but: str, beside: Path) -> int:
    """Return the bytes that downloads still need which are past their own look at the room, all but one of them.

    Only those on the volume of the folder `beside` count.
    """
    volume = beside.stat().st_dev
    folders = {plan: _staging(data, plan) for plan in plans.unfinished_plans(data) if plan.id != but}
    return sum(
        max(plan.size - _present(folder), 0)
        for plan, folder in folders.items()
        if folder.stat().st_dev == volume
        and any(folder.rglob("*.safetensors.partial"))
        and is_running(folder)
    )


def is_running(folder: Path) -> bool:
    """Whether somebody holds the lock of a download."""
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


class Running(Protocol):
    """A program that was started."""

    def terminate(self) -> None:
        """Tell it to end."""

    def wait(self) -> int:
        """Wait until it has."""
        ...


def _start(arguments: list[str]) -> Running:
    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def kept_awake(start: Callable[[list[str]], Running] = _start) -> Iterator[None]:
    """Keep a Mac from idle sleep in the block, but let its display sleep; nothing happens on other machines.

    Args:
        start: Starts macOS's own program for it, which ends by itself if this process is killed.
    """
    if platform.system() != "Darwin":
        yield
        return
    try:
        running = start(["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())])
    except OSError:  # the download goes on after the sleep in any case
        yield
        return
    try:
        yield
    finally:
        running.terminate()
        running.wait()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A download.

    Attributes:
        plan: What is to be installed.
        present: About how many bytes of it have arrived.
        running: Whether a program fetches it at this moment.
    """

    plan: DownloadPlan
    present: int
    running: bool

    @property
    def amount(self) -> str:
        """How much of it is there, in words."""
        return f"{formatting.size(self.present)} of {formatting.size(self.plan.size)}"


def find_unfinished(data: Path) -> tuple[Unfinished, ...]:
    """Return all of them, by folder and name."""
    return tuple(_of(data, plan) for plan in plans.unfinished_plans(data))


def unfinished_called(name: str, data: Path) -> Unfinished | None:
    """Return the one that a name means: its folder's or its repository's; None without one."""
    plan = next((plan for plan in plans.unfinished_plans(data) if name in (plan.id, plan.target.id)), None)
    return _of(data, plan) if plan is not None else None


def _of(data: Path, plan: DownloadPlan) -> Unfinished:
    folder = plans.staging(data, plan.id, plan.home)
    return Unfinished(plan, present(data, plan), is_running(folder))
