"""Address of the hub and proxy, as the user set them; free of `HfApi`, since the main thread reads them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import credentials
from mtplx_engine.hub.http import HUB, HubConnection
from mtplx_engine.util import files

if TYPE_CHECKING:
    from pathlib import Path


_NAME = "hub.json"


def default_endpoint() -> str:
    """Return the hub that HF_ENDPOINT names, valid or not; the public one without it."""
    from huggingface_hub import constants

    return constants.ENDPOINT


@dataclass(frozen=True, slots=True)
class HubSettings:
    """How the hub is reached, as the user set it; the proxy is without its password, "" for the system's."""

    endpoint: str = field(default_factory=default_endpoint)
    proxy: str = ""

    def but(self, endpoint: str, proxy_address: str) -> HubSettings:
        """Return these settings with what the user typed, "" for no change."""
        return HubSettings(endpoint or self.endpoint, proxy_address or self.proxy)

    def connection(self, token: str | None, password: str | None = None) -> HubConnection:
        """Return the connection to the hub; raise EngineError (BAD_REQUEST) when an address is invalid."""
        address = self.proxy if password is None else credentials.with_password(self.proxy, password)
        try:
            return HubConnection(self.endpoint.rstrip("/"), token, address)
        except ValueError as error:
            where = ""
            if self.endpoint != HUB and self.endpoint == default_endpoint():
                where = " The environment variable HF_ENDPOINT names this hub."
            raise EngineError(ErrorKind.BAD_REQUEST, f"{error}. Correct this and try again.{where}") from error


def read_settings(data: Path) -> HubSettings:
    """Return the settings in the data folder, the defaults where the file is missing or invalid."""
    try:
        found = files.read_as(HubSettings, data / _NAME)
    except (OSError, ValueError):
        return HubSettings()
    return found if found.endpoint else dataclasses.replace(found, endpoint=default_endpoint())


def write_settings(data: Path, settings: HubSettings) -> None:
    """Store the settings, readable only for the user and without a password in the proxy's address.

    The default hub is stored as "", so that it follows HF_ENDPOINT and a chosen one does not.
    """
    endpoint = "" if settings.endpoint == default_endpoint() else settings.endpoint
    stored = HubSettings(endpoint, credentials.without_password(settings.proxy)[0])
    files.write_json(data / _NAME, dataclasses.asdict(stored), indent=1, mode=0o600)
