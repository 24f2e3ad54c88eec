"""The way to the hub that the person has set, with the token that goes with it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.secret import Keychain, SecretStore
    from mtplx_engine.hub.settings import HubSettings
    from mtplx_engine.hub.token import TokenStore


def _find_keychain() -> Keychain | None:
    # Here and below, since the start of the program needs none of it.
    from mtplx_engine.hub.secret import system_keychain

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
        self._tokens: dict[str, TokenStore] = {}
        self._passwords: dict[str, SecretStore | None] = {}

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

    @property
    def lasts(self) -> bool:
        """Whether secrets are still known at the next start."""
        return self._find_keychain() is not None

    def set_settings(self, settings: HubSettings) -> None:
        """Use another hub or proxy from now on; a password in the proxy's address goes to the keychain.

        Raises:
            EngineError: BAD_REQUEST, when one of them is no address, and nothing is changed then; STORAGE, when the
                keychain does not keep the password: it is known until the program ends then.
            OSError: The disk does not take it.
        """
        from mtplx_engine.hub import proxy
        from mtplx_engine.hub import settings as kept

        settings.connection(None)
        kept.write(self._data_dir, settings)
        address, password = proxy.without_password(settings.proxy)
        store = self._password(address)
        if password and store is not None:
            store.set(password)

    def connection(self) -> Connection:
        """Return the way to the hub, with the token and the password of the proxy that are known.

        Without a token of ours it is the one of a login by Hugging Face's own programs.

        Raises:
            EngineError: BAD_REQUEST, when the settings are of no use.
        """
        from mtplx_engine.hub import api

        found = self.settings
        bare = found.connection(None)
        token = self.store(bare.host).get() or api.login(bare.endpoint)
        store = self._password(found.proxy)
        return found.connection(token, store.get() if store is not None else None)

    def store(self, host: str) -> TokenStore:
        """Return what keeps the token of a hub."""
        from mtplx_engine.hub.token import TokenStore

        with self._lock:
            if host not in self._tokens:
                self._tokens[host] = TokenStore(host, self._find_keychain())
            return self._tokens[host]

    def _password(self, address: str) -> SecretStore | None:
        """Return what keeps the password of the proxy at an address, None when it wants none."""
        from mtplx_engine.hub import proxy

        with self._lock:
            if address not in self._passwords:
                self._passwords[address] = proxy.store(address, self._find_keychain())
            return self._passwords[address]
