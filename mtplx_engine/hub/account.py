"""Whose account an access token is of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtplx_engine.hub import answers
from mtplx_engine.hub.api import Api

if TYPE_CHECKING:
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
    with Api(connection, interrupt=interrupt) as api:
        found = api.fields("/api/whoami-v2").get("name")
    if not isinstance(found, str):
        raise answers.no_hub(connection.host, f"{type(found)} is no name")
    return found
