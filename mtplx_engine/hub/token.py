"""The access token of a hub: in the keychain where there is one, else only in memory."""

from __future__ import annotations

import platform
import re
import threading
from typing import Protocol

from mtplx_engine.errors import EngineError, ErrorKind

_SERVICE = "MTPLX"
_SHAPE = re.compile(r"[\x21-\x7e]{8,512}")  # what may stand in a header


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


def cleaned(text: str) -> str:
    """Return the token in what a person pasted.

    Raises:
        EngineError: BAD_REQUEST, when there is none.
    """
    token = text.strip()
    if not _SHAPE.fullmatch(token):
        raise EngineError(
            ErrorKind.BAD_REQUEST,
            "This is no access token: one is a single word without spaces. Copy it again from the hub's settings.",
        )
    return token


class TokenStore:
    """The token of one hub; callable from any thread.

    The keychain is asked when the token is needed first, since asking may show a dialog.

    Args:
        host: The hub's host, under which the keychain has it.
        keychain: Where it stays, None for memory only.
    """

    def __init__(self, host: str, keychain: Keychain | None) -> None:
        self._host = host
        self._keychain = keychain
        self._lock = threading.Lock()
        self._known = False
        self._token: str | None = None

    def __repr__(self) -> str:
        return f"TokenStore({self._host!r})"

    @property
    def lasts(self) -> bool:
        """Whether a token is still known at the next start."""
        return self._keychain is not None

    def get(self) -> str | None:
        """Return the token, None when there is none or the keychain does not give it."""
        with self._lock:
            if not self._known:
                self._token = self._read()
                self._known = True
            return self._token

    def set(self, token: str) -> None:
        """Keep a token, in place of the one before.

        Raises:
            EngineError: BAD_REQUEST, when it is none; STORAGE, when the keychain does not keep it: it is known until
                the program ends then.
        """
        token = cleaned(token)
        with self._lock:
            self._token, self._known = token, True
            if self._keychain is None:
                return
            try:
                self._keychain.set_password(_SERVICE, self._host, token)
                kept = self._keychain.get_password(_SERVICE, self._host) == token
            except Exception as error:
                raise _not_kept(repr(type(error))) from error
        if not kept:
            raise _not_kept("read back differently")

    def forget(self) -> None:
        """Forget the token, here and in the keychain.

        Raises:
            EngineError: STORAGE, when the keychain does not let it go.
        """
        with self._lock:
            self._token, self._known = None, True
            if self._keychain is None:
                return
            try:
                if self._keychain.get_password(_SERVICE, self._host) is not None:
                    self._keychain.delete_password(_SERVICE, self._host)
            except Exception as error:
                raise EngineError(
                    ErrorKind.STORAGE,
                    "The keychain did not let go of the token. Delete the entry MTPLX in Keychain Access.",
                    repr(type(error)),
                ) from error

    def _read(self) -> str | None:
        if self._keychain is None:
            return None
        try:
            return self._keychain.get_password(_SERVICE, self._host)
        except Exception:  # noqa: BLE001 - a keychain that is locked, or a person who said no
            return None


def _not_kept(details: str) -> EngineError:
    # Nothing that could hold the token goes into the details.
    return EngineError(
        ErrorKind.STORAGE,
        "The keychain did not keep the token, so it is known only until MTPLX quits. Unlock the keychain and enter it "
        "again.",
        details,
    )
