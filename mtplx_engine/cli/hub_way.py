"""How commands reach the hub, and look at what it has."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from mtplx_engine.cli import asking
from mtplx_engine.hub import api, look, proxy, settings
from mtplx_engine.hub.secret import system_keychain
from mtplx_engine.hub.token import TokenStore

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt
    from mtplx_engine.hub.look import Look
    from mtplx_engine.hub.plan import Plan
    from mtplx_engine.progress import Report


def connect(arguments: argparse.Namespace, data: Path) -> Connection:
    """Return the way to the hub that the options and the settings give, or else the environment of its own programs.

    Raises:
        EngineError: BAD_REQUEST, when an address is none, or no token was entered.
    """
    found = settings.read(data)
    if arguments.endpoint:
        found = settings.HubSettings(arguments.endpoint, found.proxy)
    connection = found.connection(None)
    keychain = system_keychain()
    store = TokenStore(connection.host, keychain)
    if arguments.ask_token:
        store.set(_ask_token(connection.host))
    password = proxy.store(found.proxy, keychain)
    token = store.get() or api.login(connection.endpoint)
    return found.connection(token, password.get() if password is not None else None)


def _ask_token(host: str) -> str:
    try:
        return getpass.getpass(f"Access token of {host}: ")
    except EOFError:  # Ctrl-D
        return ""


def look_at(connection: Connection, wanted: Plan) -> Look:
    """Look at what would be installed; Ctrl-C ends that.

    Raises:
        EngineError: The hub does not let us.
        KeyboardInterrupt: Ctrl-C was pressed.
    """

    def work(interrupt: Interrupt, report: Report) -> Look:
        report(0.0, "Looking at it")
        return look.at(connection, wanted, interrupt)

    return asking.ask(work)
