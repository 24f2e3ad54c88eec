"""What the program runs on: Python, packages, the system, SQLite and the keychain, each as a row."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import sys

from mtplx_engine import conditions
from mtplx_engine.conditions import Power
from mtplx_engine.doctor.check import Check, Verdict
from mtplx_engine.hub.secret import system_keychain
from mtplx_engine.models import machine

_PACKAGES = (
    "mtplx",
    "mlx",
    "mlx-lm",
    "transformers",
    "tokenizers",
    "numpy",
    "huggingface-hub",
    "keyring",
    "PySide6-Essentials",
)
_OLDEST_SQLITE = (3, 51, 3)  # earlier ones can lose what a crash interrupts


def python() -> Check:
    """Which Python runs, which decides what there are wheels for."""
    name, version = "Python", platform.python_version()
    runs = f"{platform.python_implementation()} {version}, {platform.machine()}"
    if sys.version_info[:2] != (3, 11):
        return Check(name, Verdict.FAILED, f"{runs}; MTPLX is made for 3.11. Install it with Python 3.11.")
    return Check(name, Verdict.PASSED, f"{runs}.")


def system() -> Check:
    """The system and the processor."""
    mac = platform.mac_ver()[0]
    version = f"macOS {mac}" if mac else f"{platform.system()} {platform.release()}"
    chip = machine.chip() or "a processor of unknown name"
    return Check("System", Verdict.PASSED, f"{version}, {chip}, {os.cpu_count()} cores.")


def packages() -> Check:
    """The versions of what is installed."""
    name, found, missing = "Packages", [], []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    if missing:
        sentence = f"{', '.join(missing)} not installed; install MTPLX again. Found: {', '.join(found)}."
        return Check(name, Verdict.FAILED, sentence)
    return Check(name, Verdict.PASSED, f"{', '.join(found)}.")


def sqlite() -> Check:
    """The SQLite that chats are kept with."""
    name = "SQLite"
    try:
        apsw = importlib.import_module("apsw")
    except ImportError:
        return Check(
            name, Verdict.FAILED, "apsw is not installed, so no chats can be kept. Install MTPLX again."
        )
    version: str = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < _OLDEST_SQLITE:
        least = ".".join(map(str, _OLDEST_SQLITE))
        return Check(name, Verdict.FAILED, f"{version}, but {least} is needed. Install MTPLX again.")
    return Check(name, Verdict.PASSED, f"{version}.")


def keychain_kind() -> Check:
    """Which keychain is used; whether it works is a check of its own."""
    name, found = "Keychain kind", system_keychain()
    if found is None:
        return Check(name, Verdict.UNKNOWN, "None that is trusted here; tokens are kept in memory only.")
    return Check(name, Verdict.PASSED, f"{type(found).__module__}.{type(found).__qualname__}.")


def circumstances() -> Check:
    """What else makes figures better or worse: load, power and heat."""
    now = conditions.now()
    load = "unknown" if now.load is None else f"{now.load:.1f}"
    saving = {None: "unknown", True: "on", False: "off"}[now.low_power]
    sentence = f"Load {load}, power: {now.power}, Low Power Mode: {saving}, heat: {now.thermal or 'unknown'}."
    known = now.power is not Power.UNKNOWN or now.thermal
    return Check("Conditions", Verdict.PASSED if known else Verdict.UNKNOWN, sentence)
