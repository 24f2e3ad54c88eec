"""Secrets: in the keychain where there is one, else only in memory, and in no file of ours."""

from __future__ import annotations

import platform
import threading
from typing import Protocol

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
