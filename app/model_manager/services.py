"""What the Models window works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.services.downloads import Downloads
    from app.services.hub_client import HubClient
    from app.services.model_inspector import ModelInspector
    from app.services.model_shelf import ModelShelf
    from mtplx_engine.models.machine import Machine


@dataclass(frozen=True, slots=True)
class Services:
    """What the Models window works with.

    Attributes:
        hub: Asks the hub.
        downloads: Fetches models.
        shelf: Lists and keeps what is installed.
        inspector: Reads what the files of installed models say.
        machine: Where models would run.
        endpoint: Returns the address of the hub, which the person may change.
    """

    hub: HubClient
    downloads: Downloads
    shelf: ModelShelf
    inspector: ModelInspector
    machine: Machine
    endpoint: Callable[[], str]
