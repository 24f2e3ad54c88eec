"""Whose account an access token is of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.hub.repo import asked

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt


def name(connection: Connection, interrupt: Interrupt | None = None) -> str:
    """Return the name of the account that the connection's token is of.

    Args:
        connection: How the hub is reached; with a token.
        interrupt: Stops it.

    Raises:
        HubError: The hub does not know the token, or cannot be asked.
        CancelledError: The interrupt was set.
    """

    def ask(api: HfApi) -> str:
        found = api.whoami()["name"]
        if not isinstance(found, str):
            raise TypeError(f"{type(found)} is no name")
        return found

    return asked(connection, "your account", ask, interrupt)
