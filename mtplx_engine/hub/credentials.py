"""Access token, keychain and proxy password."""

from __future__ import annotations

import platform
import re
import threading
from typing import Protocol
from urllib.parse import quote, unquote, urlsplit

from mtplx_engine.errors import EngineError, ErrorKind

_SERVICE = "MTPLX"


class Keychain(Protocol):
    """Keeps passwords, as keyring's backends do."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return a password, None when there is none."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a password."""

    def delete_password(self, service: str, username: str) -> None:
        """Forget a password."""


def system_keychain() -> Keychain | None:
    """Return this system's keychain, None where there is none that we trust.

    Named, not looked for: keyring's own search would take a plain file, or a backend that keeps nothing.
    """
    if platform.system() != "Darwin":
        return None
    from keyring.backends import macOS

    keychain: Keychain = macOS.Keyring()  # type: ignore[no-untyped-call]
    return keychain


class SecretStore:
    """One secret; callable from any thread.

    The keychain is asked when the secret is needed first, since asking may show a dialog.

    Args:
        account: The name under which the keychain has it.
        keychain: Where it stays, None for memory only.
        what: What it is, for people.
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
        """Whether a secret is still known at the next start."""
        return self._keychain is not None

    def get(self) -> str | None:
        """Return the secret, None when there is none or the keychain does not give it."""
        with self._lock:
            if not self._known:
                self._secret = self._read()
                self._known = True
            return self._secret

    def set(self, secret: str) -> None:
        """Keep a secret, in place of the one before.

        Raises:
            EngineError: STORAGE, when the keychain does not keep it: it is known until the program ends then.
        """
        with self._lock:
            self._secret, self._known = secret, True
            if self._keychain is None:
                return
            try:
                self._keychain.set_password(_SERVICE, self._account, secret)
                kept = self._keychain.get_password(_SERVICE, self._account) == secret
            except Exception as error:
                raise self._not_kept(repr(type(error))) from error
        if not kept:
            raise self._not_kept("read back differently")

    def forget(self) -> None:
        """Forget the secret, here and in the keychain.

        Raises:
            EngineError: STORAGE, when the keychain does not let it go.
        """
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
        except Exception:  # noqa: BLE001 - a keychain that is locked, or a person who said no
            return None

    def _not_kept(self, details: str) -> EngineError:
        # Nothing that could hold the secret goes into the details.
        return EngineError(
            ErrorKind.STORAGE,
            f"The keychain did not keep {self._what}, so it is known only until MTPLX quits. Unlock the keychain and "
            "enter it again.",
            details,
        )


_SHORTEST, _LONGEST = 8, 512
_SIGNS = re.compile(r"[\x21-\x7e]+")  # what may stand in a header


class TokenStore(SecretStore):
    """The token of one hub, under the name of its host."""

    def __init__(self, host: str, keychain: Keychain | None) -> None:
        super().__init__(host, keychain, "the token")

    def set(self, secret: str) -> None:
        """Keep a token, see `SecretStore.set`.

        Raises:
            EngineError: BAD_REQUEST, when it is none; STORAGE.
        """
        super().set(cleaned(secret))


def cleaned(text: str) -> str:
    """Return the token in what a person pasted.

    Raises:
        EngineError: BAD_REQUEST, when there is none.
    """
    token = text.strip()
    if not token:
        problem = "No access token was entered."
    elif len(token.split()) > 1:
        problem = "This is no access token: one is a single word without spaces and line breaks."
    elif not _SIGNS.fullmatch(token):
        problem = "This is no access token: one has only the letters A to Z, digits and common signs."
    elif len(token) < _SHORTEST:
        problem = (
            f"This is too short for an access token: it has {len(token)} of at least {_SHORTEST} characters."
        )
    elif len(token) > _LONGEST:
        problem = (
            f"This is too long for an access token: it has {len(token):,} of at most {_LONGEST} characters."
        )
    else:
        return token
    raise EngineError(ErrorKind.BAD_REQUEST, f"{problem} Copy it again from the hub's settings.")


def without_password(address: str) -> tuple[str, str]:
    """Return the address without the password in it, and the password, "" when there is none."""
    parts = urlsplit(address)
    user, at, server = parts.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    if not at or not colon:
        return address, ""
    return parts._replace(netloc=f"{name}@{server}").geturl(), unquote(password)


def with_password(address: str, password: str) -> str:
    """Return the address of a proxy that wants a name, with the password that goes with it."""
    parts = urlsplit(address)
    name, _, server = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{name}:{quote(password, safe='')}@{server}").geturl()


def store_proxy(address: str, keychain: Keychain | None) -> SecretStore | None:
    """Return what keeps the password of the proxy at this address, None when it wants none."""
    parts = urlsplit(without_password(address)[0])
    if "@" not in parts.netloc:
        return None
    return SecretStore(f"proxy {parts.netloc}", keychain, "the password of the proxy")
