"""Inspects a repository before it is downloaded, by a sparse copy of it."""

from __future__ import annotations

import dataclasses
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import answers, catalogue, download, head_extract, repository
from mtplx_engine.hub.errors import ON_THE_WAY, CancelToken, HubError, HubErrorKind
from mtplx_engine.hub.head_extract import SparseCopier
from mtplx_engine.hub.plan import HEAD_FOLDER, DownloadPlan, folder_name
from mtplx_engine.hub.retries import QUESTION
from mtplx_engine.models import checkpoint, config_checks, head_source, inspection, json_files, memory_fit
from mtplx_engine.models.families.supported import PUBLISHED
from mtplx_engine.models.inspection import ProbeMemory, Tier
from mtplx_engine.models.memory_fit import MemoryVerdict
from mtplx_engine.util import system
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.repository import Repo
    from mtplx_engine.hub.retries import Retries
    from mtplx_engine.models.inspection import Inspection
    from mtplx_engine.util.system import Machine


_DRAFTING = (Tier.VERIFIED, Tier.UNVERIFIED)
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class RepoInspection:
    """The result of inspecting a repository and the one with its drafting head.

    Attributes:
        found: The inspection of the sparse copy, whose `folder` is deleted.
        fetched: Bytes that were fetched for it.
        warnings: Sentences for the user before the download.
    """

    plan: DownloadPlan
    found: Inspection
    fetched: int
    warnings: tuple[str, ...]

    def check(self) -> None:
        """Raise HubError (UNSAFE) for a model that would not load once it was installed."""
        if not self.found.loads:
            sentence = f"{self.plan.target.id} was not fetched, since this version does not load it: "
            raise HubError(HubErrorKind.UNSAFE, sentence + self.reason)

    def check_memory(self, here: Machine) -> None:
        """Raise EngineError (TOO_BIG) for a model that does not fit into memory with the usual context."""
        footprint = self.found.footprint
        if footprint is None:
            return
        if memory_fit.judge_fit(footprint, memory_fit.CONTEXT, here).verdict is MemoryVerdict.TOO_BIG:
            raise EngineError(
                ErrorKind.TOO_BIG,
                f"{self.plan.title} will not fit into this machine's memory, so it was not fetched. Choose a smaller "
                "model, or get it anyway (--anyway).",
            )

    @property
    def reason(self) -> str:
        """The reason of the inspection's tier, in a sentence or two."""
        return json_files.cause(self.found.reason)


def plan_download(
    connection: HubConnection,
    repo_id: str,
    revision: str = "main",
    head: str = "",
    interrupt: CancelToken | None = None,
) -> DownloadPlan:
    """Ask the hub what would be installed; a recommended model comes with its head unless `head` names another.

    Raises:
        HubError: One of the repositories does not exist, or cannot be fetched.
    """
    repository.check_name(repo_id)
    if not repository.is_revision(revision):
        shown = one_line(revision, _LONGEST)
        raise HubError(
            HubErrorKind.NOT_FOUND, f'"{shown}" is no branch, tag or commit of a model. Ask for another one.'
        )
    entry = catalogue.entry_of(repo_id)
    head = head or (entry.head if entry else "")
    target = repository.read_repo(connection, repo_id, revision, interrupt)
    if repository.is_commit(revision) and target.revision != revision:
        raise HubError(HubErrorKind.CHANGED, f"{connection.host} gives another commit of {repo_id} than {revision}.")
    repository.check_model(target)
    title = entry.title if entry else repo_id.partition("/")[2]
    with_head = None
    if head:
        with_head = repository.read_repo(connection, head, interrupt=interrupt)
        repository.check_head(with_head)
    return DownloadPlan(folder_name(repo_id), title, target, with_head, revision=revision)


def inspect_repo(
    connection: HubConnection,
    wanted: DownloadPlan,
    interrupt: CancelToken | None = None,
    retries: Retries | None = None,
) -> RepoInspection:
    """Inspect what would be installed, see `plan_download`.

    Raises:
        HubError: The files cannot be fetched, or exceed what an inspection may fetch.
    """
    token = interrupt or CancelToken()
    with (
        closing(SparseCopier(connection, token, retries or QUESTION)) as copier,
        tempfile.TemporaryDirectory(prefix="mtplx-look-") as temporary,
    ):
        try:
            return _Inspector(connection, token, copier).inspect(wanted, Path(temporary))
        except OSError as error:
            raise answers.disk_failure(error, wanted.title) from error


class _Inspector:
    def __init__(self, connection: HubConnection, interrupt: CancelToken, copier: SparseCopier) -> None:
        self._connection = connection
        self._interrupt = interrupt
        self._copier = copier

    def inspect(self, wanted: DownloadPlan, root: Path) -> RepoInspection:
        """Inspect what would be installed, by sparse copies below `root`."""
        folder = root / wanted.target.id.partition("/")[2]
        self._copier.copy(wanted.target, folder)
        found, note = self._inspect(folder), ""
        if wanted.head is not None and found.loads:
            wanted, found, note = self._with_head(wanted, wanted.head, found)
        elif wanted.target.base and found.loads and found.head is None and found.family in PUBLISHED:
            wanted, found, note = self._with_taken_head(wanted, found, root)
        warnings = (*_warnings(wanted), *((note,) if note else ()))
        return RepoInspection(wanted, found, self._copier.fetched, warnings)

    def _inspect(self, folder: Path) -> Inspection:
        return inspection.inspect(folder, ProbeMemory(folder.parent), tokenizer=False)

    def _with_head(self, wanted: DownloadPlan, head: Repo, found: Inspection) -> tuple[DownloadPlan, Inspection, str]:
        """Return the plan with the requested head, its inspection, and a warning or "".

        Raises:
            HubError: UNFIT_HEAD, when it is no head, or of another model.
        """
        if found.head is not None:
            state = "does not fit, and no other one can be used beside it" if found.head.problem else "is used"
            note = f"{wanted.target.id} has a drafting head of its own, which {state}; {head.id} is not fetched."
            return dataclasses.replace(wanted, head=None), found, note
        folder = found.folder / HEAD_FOLDER
        self._copier.copy_config(head, folder)
        if not head_source.is_head_only(folder):
            kind = one_line(config_checks.model_type(folder) or "none that can be read", _LONGEST)
            raise _unfit(head, f"its config.json names a model of its own ({kind})")
        self._copier.copy(head, folder)
        again = self._inspect(found.folder)
        if again.head is None or again.tier not in _DRAFTING:
            reason = again.head.problem if again.head and again.head.problem else json_files.cause(again.reason)
            raise _unfit(head, f"it cannot draft for {wanted.target.id}. {reason}")
        return wanted, again, ""

    def _with_taken_head(
        self, wanted: DownloadPlan, found: Inspection, root: Path
    ) -> tuple[DownloadPlan, Inspection, str]:
        """Return the plan with the head of the original model, its inspection, and a warning or ""."""
        base, folder = wanted.target.base, found.folder
        config = config_checks.read_config(folder)
        try:
            original = repository.read_repo(self._connection, base, interrupt=self._interrupt)
            taken = head_extract.find_original(self._copier, original, config, root / "original")
        except EngineError as error:
            if isinstance(error, HubError) and error.problem in ON_THE_WAY:
                raise
            return wanted, found, f"No drafting head is taken from {base}, its original: {_first(error)}"
        if taken is None:
            return wanted, found, ""
        taken.write_sparse(folder / HEAD_FOLDER)
        again = self._inspect(folder)
        if again.head is None or again.head.problem:
            reason = again.head.problem if again.head else again.reason
            return wanted, found, f"No drafting head is taken from {base}, its original: {reason}"
        licence = taken.original.licence or "not stated"
        note = f"The drafting head is from {base}, whose licence is {licence}."
        same = taken.original.licence == wanted.target.licence
        return dataclasses.replace(wanted, taken=taken), again, "" if same else note


def _unfit(head: Repo, problem: str) -> HubError:
    return HubError(
        HubErrorKind.UNFIT_HEAD,
        f"{head.id} is not fetched as a drafting head: {problem.removesuffix('.')}. Choose another head, or none.",
    )


def _first(error: EngineError) -> str:
    # What follows in a refusal is about a model that is to be loaded.
    text = str(error)
    return text if isinstance(error, HubError) else text.partition(". ")[0].removesuffix(".") + "."


def _warnings(wanted: DownloadPlan) -> tuple[str, ...]:
    repositories = [repo for repo in (wanted.target, wanted.head) if repo is not None]
    code = [name for repo in repositories for name in repo.left_out if checkpoint.is_unsafe_file(name)]
    if not code:
        return ()
    others = len(code) - 1
    more = f" and {others} more {'files' if others > 1 else 'file'}" if others else ""
    return (f"It also holds {code[0][:60]!r}{more} that can run code when they are read; they are never fetched.",)


def renewed(connection: HubConnection, data: Path, plan: DownloadPlan, interrupt: CancelToken) -> DownloadPlan | None:
    """Replace the plan of a download by what the repository has now on the requested branch; equal files stay.

    It returns None when the repository has not changed, so that the failure has another cause.

    Raises:
        EngineError: The new files cannot be fetched, would not load, or will not fit into memory.
    """
    head = plan.head.id if plan.head is not None else ""
    asked = plan_download(connection, plan.target.id, plan.revision, head, interrupt)
    found = inspect_repo(connection, asked, interrupt)
    if found.plan == plan:
        return None
    found.check()
    if not plan.anyway:
        found.check_memory(system.this_machine())
    wanted = dataclasses.replace(found.plan, home=plan.home, anyway=plan.anyway)
    download.exchange(data, wanted)
    return wanted
