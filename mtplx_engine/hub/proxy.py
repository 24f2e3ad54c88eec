"""The name and the password in the address of a proxy, which are kept apart: no file of ours holds a password."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from mtplx_engine.hub.secret import SecretStore

if TYPE_CHECKING:
    from mtplx_engine.hub.secret import Keychain


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


def store(address: str, keychain: Keychain | None) -> SecretStore | None:
    """Return what keeps the password of the proxy at this address, None when it wants none."""
    parts = urlsplit(without_password(address)[0])
    if "@" not in parts.netloc:
        return None
    return SecretStore(f"proxy {parts.netloc}", keychain, "the password of the proxy")
