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
    """Run every check that this machine allows; imports mlx, with the BLAS that models run on."""
    backend.prepare()
    return _redacted(data, (check for part in _parts(data) for check in _guarded(*part)))


def examine_bundle(data: Path) -> tuple[Check, ...]:
    return _redacted(data, bundle.checks(data))


def render(checks: tuple[Check, ...]) -> str:
    width = max(len(check.name) for check in checks)
    lines = [f"{check.verdict:<8} {check.name:<{width}}  {check.detail}" for check in checks]
    verdicts = [check.verdict for check in checks]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in CheckResult)
    return "\n".join((f"MTPLX {importlib.metadata.version('mtplx')}, mtplx doctor", *lines, counts))


def as_json(checks: tuple[Check, ...]) -> dict[str, Any]:
    return {
        "version": importlib.metadata.version("mtplx"),
        "failed": len(failed(checks)),
        "checks": [dataclasses.asdict(check) for check in checks],
    }


def _parts(data: Path) -> Iterable[tuple[str, Callable[[], Iterable[Check]]]]:
    """Yield the groups of checks in the order of the report, each with the name of a group that raises."""
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
    yield "Models", lambda: environment.models(data)


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


def _guarded(name: str, run: Callable[[], Iterable[Check]]) -> tuple[Check, ...]:
    """Run checks; one that raises is a row that says so, without its message, which could quote something private."""
    try:
        return tuple(run())
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        sentence = f"It could not be looked at ({type(error).__name__}). Please report this."
        return (Check.failed(name, sentence),)


def _redacted(data: Path, checks: Iterable[Check]) -> tuple[Check, ...]:
    redactor = Redactor.here(data)
    return tuple(dataclasses.replace(check, detail=redactor.clean(check.detail)) for check in checks)
