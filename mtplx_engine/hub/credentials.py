"""Access token and proxy password, stored in the system's keychain. Imports nothing of the hub's client."""

from __future__ import annotations

import platform
import re
import threading
from typing import Protocol
from urllib.parse import quote, unquote, urlsplit

from mtplx_engine.errors import EngineError, ErrorKind

_SERVICE = "MTPLX"

_MIN_LENGTH, _MAX_LENGTH = 8, 512
_CHARACTERS = re.compile(r"[\x21-\x7e]+")  # characters that an HTTP header may hold


class Keychain(Protocol):
    """Stores passwords, as keyring's backends do."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return a password, None without one."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a password."""

    def delete_password(self, service: str, username: str) -> None:
        """Delete a password."""


def system_keychain() -> Keychain | None:
    """Return the system's keychain, None where there is no trusted one.

    Named, not looked for: keyring's own search would take a plain file, or a backend that stores nothing.
    """
    if platform.system() != "Darwin":
        return None
    from keyring.backends import macOS

    keychain: Keychain = macOS.Keyring()  # type: ignore[no-untyped-call]
    return keychain


class SecretStore:
    """One secret, in memory only where there is no keychain; thread-safe.

    The keychain is asked when the secret is first needed, since it may show a dialog.
    """

    def __init__(self, account: str, keychain: Keychain | None, what: str) -> None:
        self._account = account
        self._keychain = keychain
        self._what = what
        self._lock = threading.Lock()
        self._known = False
        self._secret: str | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._account!r})"

    @property
    def lasts(self) -> bool:
        """Whether a secret outlasts the program."""
        return self._keychain is not None

    def get(self) -> str | None:
        """Return the secret, None without one or when the keychain refuses."""
        with self._lock:
            if not self._known:
                self._secret = self._read()
                self._known = True
            return self._secret

    def set(self, secret: str) -> None:
        """Replace the secret.

        Raises:
            EngineError: STORAGE, when the keychain does not store it: it is then known until the program ends.
        """
        with self._lock:
            self._secret, self._known = secret, True
            if self._keychain is None:
                return
            try:
                self._keychain.set_password(_SERVICE, self._account, secret)
                stored = self._keychain.get_password(_SERVICE, self._account) == secret
            except Exception as error:
                raise self._not_stored(repr(type(error))) from error
        if not stored:
            raise self._not_stored("read back differently")

    def forget(self) -> None:
        """Delete the secret, in memory and in the keychain; raise EngineError (STORAGE) when the keychain does not."""
        with self._lock:
            self._secret, self._known = None, True
            if self._keychain is None:
                return
            try:
                if self._keychain.get_password(_SERVICE, self._account) is not None:
                    self._keychain.delete_password(_SERVICE, self._account)
            except Exception as error:
                raise EngineError(
                    ErrorKind.STORAGE,
                    f"The keychain did not let go of {self._what}. Delete the entry MTPLX in Keychain Access.",
                    repr(type(error)),
                ) from error

    def _read(self) -> str | None:
        if self._keychain is None:
            return None
        try:
            return self._keychain.get_password(_SERVICE, self._account)
        except Exception:  # noqa: BLE001 - the keychain is locked, or the user refused
            return None

    def _not_stored(self, details: str) -> EngineError:
        # Nothing that could hold the secret goes into the details.
        return EngineError(
            ErrorKind.STORAGE,
            f"The keychain did not keep {self._what}, so it is known only until MTPLX quits. Unlock the keychain and "
            "enter it again.",
            details,
        )


class TokenStore(SecretStore):
    """The access token of one hub, stored under its host."""

    def __init__(self, host: str, keychain: Keychain | None) -> None:
        super().__init__(host, keychain, "the token")

    def set(self, secret: str) -> None:
        """Replace the token, see `SecretStore.set`; raise EngineError (BAD_REQUEST) when it cannot be one."""
        super().set(cleaned(secret))


def cleaned(text: str) -> str:
    """Return the token in pasted text; raise EngineError (BAD_REQUEST) when there is none."""
    token = text.strip()
    if not token:
        problem = "No access token was entered."
    elif len(token.split()) > 1:
        problem = "This is no access token: one is a single word without spaces and line breaks."
    elif not _CHARACTERS.fullmatch(token):
        problem = "This is no access token: one has only the letters A to Z, digits and common signs."
    elif len(token) < _MIN_LENGTH:
        problem = f"This is too short for an access token: it has {len(token)} of at least {_MIN_LENGTH} characters."
    elif len(token) > _MAX_LENGTH:
        problem = f"This is too long for an access token: it has {len(token):,} of at most {_MAX_LENGTH} characters."
    else:
        return token
    raise EngineError(ErrorKind.BAD_REQUEST, f"{problem} Copy it again from the hub's settings.")


def without_password(address: str) -> tuple[str, str]:
    """Split the password off an address; it is "" without one."""
    parts = urlsplit(address)
    user, at, server = parts.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    if not at or not colon:
        return address, ""
    return parts._replace(netloc=f"{name}@{server}").geturl(), unquote(password)


def with_password(address: str, password: str) -> str:
    """Return the address of a proxy, which has a user name, with its password."""
    parts = urlsplit(address)
    name, _, server = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{name}:{quote(password, safe='')}@{server}").geturl()


def store_proxy(address: str, keychain: Keychain | None) -> SecretStore | None:
    """Return the store of the password for the proxy at this address, None when it needs none."""
    parts = urlsplit(without_password(address)[0])
    if "@" not in parts.netloc:
        return None
    return SecretStore(f"proxy {parts.netloc}", keychain, "the password of the proxy")
