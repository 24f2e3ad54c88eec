"""What becomes of a download whose files the hub has no more, since its repository was changed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mtplx_engine.hub import download, look
from mtplx_engine.models import machine

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.hub.connection import Connection
    from mtplx_engine.hub.interrupt import Interrupt
    from mtplx_engine.hub.plan import Plan


def renewed(connection: Connection, data: Path, plan: Plan, interrupt: Interrupt) -> Plan | None:
    """Let a download bring what the repository has now, of the branch that was asked for; what is the same stays.

    Args:
        connection: How the hub is reached.
        data: The data folder.
        plan: What it was to bring.
        interrupt: Stops it.

    Returns:
        What it brings now; None when that is nothing new, so that something else is wrong.

    Raises:
        EngineError: That cannot be had, or would be refused when it is loaded, or will not fit into memory.
        CancelledError: The interrupt was set.
    """
    head = plan.head.id if plan.head is not None else ""
    asked = look.plan(connection, plan.target.id, plan.revision, head, interrupt)
    found = look.at(connection, asked, interrupt)
    if found.plan == plan:
        return None
    found.check()
    if not plan.anyway:
        found.check_memory(machine.this())
    wanted = dataclasses.replace(found.plan, home=plan.home, anyway=plan.anyway)
    download.exchange(data, wanted)
    return wanted
