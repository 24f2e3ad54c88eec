"""All checks of this machine as one report that can be pasted into a bug report."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from typing import TYPE_CHECKING, Any

from mtplx_engine import backend
from mtplx_engine.doctor import bundle, environment
from mtplx_engine.doctor.environment import Check, CheckResult, Redactor, failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


def examine(data: Path) -> tuple[Check, ...]:
    """Make every check that this machine can make; imports mlx, with the BLAS that models run on.

    Args:
        data: The data folder.
    """
    backend.prepare()
    return _private_parts_out(data, (check for part in _parts(data) for check in _guarded(*part)))


def examine_bundle(data: Path) -> tuple[Check, ...]:
    """Make the checks of what has to be right where MTPLX runs as an app, and no others."""
    return _private_parts_out(data, bundle.checks(data))


def render(checks: tuple[Check, ...]) -> str:
    """Return a report as text."""
    width = max(len(check.name) for check in checks)
    lines = [f"{check.verdict:<8} {check.name:<{width}}  {check.detail}" for check in checks]
    counts = ", ".join(f"{_count(checks, verdict)} {verdict}" for verdict in CheckResult)
    return "\n".join((f"MTPLX {importlib.metadata.version('mtplx')}, mtplx doctor", *lines, counts))


def as_json(checks: tuple[Check, ...]) -> dict[str, Any]:
    """Return a report as plain data."""
    return {
        "version": importlib.metadata.version("mtplx"),
        "failed": len(failed(checks)),
        "checks": [dataclasses.asdict(check) for check in checks],
    }


def _parts(data: Path) -> Iterable[tuple[str, Callable[[], Iterable[Check]]]]:
    """Return the checks by the name that stands for those that cannot be made, in the order of the report."""
    alone = {
        "Python": environment.python,
        "System": environment.operating_system,
        "Packages": environment.packages,
        "SQLite": environment.sqlite,
        "Keychain kind": environment.keychain_kind,
        "Conditions": environment.circumstances,
    }
    for name, check in alone.items():
        yield name, lambda check=check: (check(),)  # type: ignore[misc]
    yield "App", lambda: bundle.checks(data)
    yield "Numbers", _numbers
    yield "Decoding", _decoding
    yield "Models", lambda: environment.rows(data)


def _numbers() -> Iterable[Check]:
    from mtplx_engine.doctor import kernels

    policy = backend.policy()
    return (
        kernels.device(policy),
        kernels.products(policy),
        kernels.packed_products(),
        kernels.kernels(policy),
    )


def _decoding() -> Iterable[Check]:
    from mtplx_engine.doctor import kernels

    policy = backend.policy()
    tiny = kernels.targets(policy)
    return kernels.rows(tiny, policy), kernels.rollback(tiny, policy)


def _guarded(name: str, look: Callable[[], Iterable[Check]]) -> tuple[Check, ...]:
    """Make checks; one that raises is a row that says so, without words that could quote something private."""
    try:
        return tuple(look())
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        sentence = f"It could not be looked at ({type(error).__name__}). Please report this."
        return (Check(name, CheckResult.FAILED, sentence),)


def _private_parts_out(data: Path, checks: Iterable[Check]) -> tuple[Check, ...]:
    redactor = Redactor.here(data)
    return tuple(dataclasses.replace(check, detail=redactor.clean(check.detail)) for check in checks)


def _count(checks: tuple[Check, ...], verdict: CheckResult) -> int:
    return sum(check.verdict is verdict for check in checks)
