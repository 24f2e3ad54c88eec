"""Which hub is asked, and through which proxy: what the window and the command share."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtplx_engine import json_store
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import proxy
from mtplx_engine.hub.connection import HUB, Connection, is_safe

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "hub.json"


def default_endpoint() -> str:
    """Return the hub that Hugging Face's programs are set to by HF_ENDPOINT; the public one without that."""
    # Late, as everything of the library: this module is read at the start of the program.
    from huggingface_hub import constants

    return constants.ENDPOINT if is_safe(constants.ENDPOINT) else HUB


@dataclass(frozen=True, slots=True)
class HubSettings:
    """What a person may set.

    Attributes:
        endpoint: Address of the hub or of a mirror.
        proxy: Address of a proxy, with the name that it wants and without the password; "" for what the system is set
            to.
    """

    endpoint: str = field(default_factory=default_endpoint)
    proxy: str = ""

    def but(self, endpoint: str, proxy_address: str) -> HubSettings:
        """Return these settings with what a person typed, each "" for what it is here."""
        return HubSettings(endpoint or self.endpoint, proxy_address or self.proxy)

    def connection(self, token: str | None, password: str | None = None) -> Connection:
        """Return the way to the hub.

        Args:
            token: The access token of the hub, None without one.
            password: The one of the proxy, None when it wants none.

        Raises:
            EngineError: BAD_REQUEST, when an address is none.
        """
        address = self.proxy if password is None else proxy.with_password(self.proxy, password)
        try:
            return Connection(self.endpoint.rstrip("/"), token, address)
        except ValueError as error:
            raise EngineError(ErrorKind.BAD_REQUEST, f"{error}. Correct this and try again.") from error


def read(data: Path) -> HubSettings:
    """Return the settings in the data folder; what cannot be understood is as if it was never set."""
    try:
        found = json_store.read_as(HubSettings, data / _NAME)
    except (OSError, ValueError):
        return HubSettings()
    # The public hub is kept when none was chosen.
    return found if found.endpoint != HUB else dataclasses.replace(found, endpoint=default_endpoint())


def write(data: Path, settings: HubSettings) -> None:
    """Keep the settings, readable for nobody else; a password in the address of the proxy is left out.

    Raises:
        OSError: The disk does not take them.
    """
    endpoint = HUB if settings.endpoint == default_endpoint() else settings.endpoint
    kept = HubSettings(endpoint, proxy.without_password(settings.proxy)[0])
    json_store.write_json(data / _NAME, dataclasses.asdict(kept), indent=1, mode=0o600)
