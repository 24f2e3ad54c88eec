"""What is known about models at a moment: of the hub, of the disk, of the downloads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtplx_engine.hub.plan import folder_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.model_manager.fault import Fault
    from app.services.download_row import DownloadRow
    from mtplx_engine.hub.look import Look
    from mtplx_engine.models.machine import Machine


@dataclass(frozen=True, slots=True)
class HubSnapshot:
    """What rows of models at the hub and the offer are made from.

    Attributes:
        machine: Where models would run.
        installed: The folder names of installed models, in small letters.
        looks: By repository.
        faults: Why a look failed, by repository.
        downloads: By folder name.
        asking: Repositories that the hub is being asked about.
        wanted: Repositories that are fetched as soon as it is known that they may be.
    """

    machine: Machine
    installed: frozenset[str] = frozenset()
    looks: Mapping[str, Look] = field(default_factory=dict)
    faults: Mapping[str, Fault] = field(default_factory=dict)
    downloads: Mapping[str, DownloadRow] = field(default_factory=dict)
    asking: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()

    def is_installed(self, repo_id: str) -> bool:
        """Whether the model of a repository is there, from the hub or in the Hugging ModelRow cache."""
        return bool({folder_name(repo_id).casefold(), repo_id.casefold()} & self.installed)

    def download_of(self, repo_id: str) -> DownloadRow | None:
        """Return the download of a repository's model."""
        return self.downloads.get(folder_name(repo_id))
