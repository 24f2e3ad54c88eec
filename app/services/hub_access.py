"""The way to the hub that the person has set, with the token that goes with it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.settings import HubSettings
    from mtplx_engine.hub.token import Keychain, TokenStore


def _find_keychain() -> Keychain | None:
    # Here and below, since the start of the program needs none of it.
    from mtplx_engine.hub.token import system_keychain

    return system_keychain()


class HubAccess:
    """Callable from any thread; `connection` and `store` may wait for a dialog of the keychain.

    Args:
        data_dir: Where the settings are that the window and the command share.
        find_keychain: Returns where tokens last, None for memory only.
    """

    def __init__(self, data_dir: Path, find_keychain: Callable[[], Keychain | None] = _find_keychain) -> None:
        self._data_dir = data_dir
        self._find_keychain = find_keychain
        self._lock = threading.Lock()
        self._stores: dict[str, TokenStore] = {}

    @property
    def settings(self) -> HubSettings:
        """Address and proxy."""
        from mtplx_engine.hub import settings

        return settings.read(self._data_dir)

    @property
    def default(self) -> HubSettings:
        """What holds where nothing is set."""
        from mtplx_engine.hub.settings import HubSettings

        return HubSettings()

    def set_settings(self, settings: HubSettings) -> None:
        """Use another hub or proxy from now on.

        Raises:
            EngineError: BAD_REQUEST, when one of them is no address; nothing is changed then.
            OSError: The disk does not take it.
        """
        from mtplx_engine.hub import settings as kept

        settings.connection(None)
        kept.write(self._data_dir, settings)

    def connection(self) -> Connection:
        """Return the way to the hub, with the token that is known.

        Raises:
            EngineError: BAD_REQUEST, when the settings are of no use.
        """
        found = self.settings
        return found.connection(self.store(found.connection(None).host).get())

    def store(self, host: str) -> TokenStore:
        """Return what keeps the token of a hub."""
        from mtplx_engine.hub.token import TokenStore

        with self._lock:
            if host not in self._stores:
                self._stores[host] = TokenStore(host, self._find_keychain())
            return self._stores[host]
