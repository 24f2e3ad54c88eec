"""The checks of system, packages and models, and the redaction of private text in reports."""

from __future__ import annotations

import getpass
import importlib
import importlib.metadata
import os
import platform
import re
import socket
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.hub import catalogue
from mtplx_engine.hub.credentials import system_keychain
from mtplx_engine.models import library, starter
from mtplx_engine.models.families.supported import PLAIN_ONLY, SUPPORTED
from mtplx_engine.models.folders import UserFolders
from mtplx_engine.models.inspection import ProbeMemory, Tier, inspect
from mtplx_engine.util import formatting, system
from mtplx_engine.util.system import Power

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mtplx_engine.models.folders import InstalledModel
    from mtplx_engine.models.inspection import Inspection


class CheckResult(StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"  # it does not apply to this machine, or could not be found out


@dataclass(frozen=True, slots=True)
class Check:
    """A row of the report.

    `detail` is one sentence for the user with the numbers; of a failed check also one thing to do.
    """

    name: str
    verdict: CheckResult
    detail: str

    @classmethod
    def passed(cls, name: str, detail: str) -> Check:
        return cls(name, CheckResult.PASSED, detail)

    @classmethod
    def failed(cls, name: str, detail: str) -> Check:
        return cls(name, CheckResult.FAILED, detail)

    @classmethod
    def unknown(cls, name: str, detail: str) -> Check:
        """Return a check that does not apply, or could not be made."""
        return cls(name, CheckResult.UNKNOWN, detail)


def failed(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    return tuple(check for check in checks if check.verdict is CheckResult.FAILED)


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
_OLDEST_SQLITE = (3, 51, 3)  # earlier ones can lose data in a crash


def python() -> Check:
    """The version of Python, which decides what there are wheels for."""
    name, version = "Python", platform.python_version()
    runs = f"{platform.python_implementation()} {version}, {platform.machine()}"
    if sys.version_info[:2] != (3, 11):
        return Check.failed(name, f"{runs}; MTPLX is made for 3.11. Install it with Python 3.11.")
    return Check.passed(name, f"{runs}.")


def operating_system() -> Check:
    mac = platform.mac_ver()[0]
    version = f"macOS {mac}" if mac else f"{platform.system()} {platform.release()}"
    chip = system.chip_name() or "a processor of unknown name"
    return Check.passed("System", f"{version}, {chip}, {os.cpu_count()} cores.")


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
        return Check.failed(name, sentence)
    return Check.passed(name, f"{', '.join(found)}.")


def sqlite() -> Check:
    name = "SQLite"
    try:
        apsw = importlib.import_module("apsw")
    except ImportError:
        return Check.failed(name, "apsw is not installed, so no chats can be kept. Install MTPLX again.")
    version: str = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < _OLDEST_SQLITE:
        least = ".".join(map(str, _OLDEST_SQLITE))
        return Check.failed(name, f"{version}, but {least} is needed. Install MTPLX again.")
    return Check.passed(name, f"{version}.")


def keychain_kind() -> Check:
    """Which keychain is used; whether it works is a check of its own."""
    name, found = "Keychain kind", system_keychain()
    if found is None:
        return Check.unknown(name, "None that is trusted here; tokens are kept in memory only.")
    return Check.passed(name, f"{type(found).__module__}.{type(found).__qualname__}.")


def circumstances() -> Check:
    """Load, power and heat, which change all measurements."""
    now = system.system_state()
    load = "unknown" if now.load is None else f"{now.load:.1f}"
    saving = {None: "unknown", True: "on", False: "off"}[now.low_power]
    sentence = f"Load {load}, power: {now.power}, Low Power Mode: {saving}, heat: {now.thermal or 'unknown'}."
    known = now.power is not Power.UNKNOWN or now.thermal
    return Check("Conditions", CheckResult.PASSED if known else CheckResult.UNKNOWN, sentence)


_PROGRAM = "(program)"  # paths below it are public
_BELOW = r"/[^\s/,;:'\"()]+"
_PATH = re.compile(rf"(?<![\w/:)])(?:~|{_BELOW})(?:{_BELOW})+/?")
_TOKEN = re.compile(r"\bhf_\w{8,}|\b(?:sk|ghp|xox[abp])[-_]\w{8,}")
_ADDRESS = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.]+")
_SHORTEST = 3  # letters; a shorter name is part of too many words


class Redactor:
    """Replaces private text: folders by given texts, and the names of the user and of the machine."""

    def __init__(self, folders: Mapping[Path, str], names: Iterable[str]) -> None:
        spelled = {str(path): word for path, word in folders.items() if len(path.parts) > 1}
        spelled |= {str(path.resolve()): word for path, word in folders.items() if len(path.parts) > 1}
        self._folders = sorted(spelled.items(), key=lambda item: -len(item[0]))
        kept = sorted({name for name in names if len(name) >= _SHORTEST}, key=len, reverse=True)
        either = "|".join(map(re.escape, kept))
        self._names = re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE) if kept else None

    @classmethod
    def here(cls, data: Path) -> Redactor:
        program = {Path(entry): _PROGRAM for entry in (*sys.path, sys.prefix, sys.base_prefix) if entry}
        added = dict.fromkeys(UserFolders(data).added(), "(place)")
        own = {data: "(data folder)", Path.home(): "(home)", Path.cwd(): "(here)"}
        host = socket.gethostname()
        return cls(program | added | own, {_user(), Path.home().name, host, host.partition(".")[0]})

    def clean(self, text: str) -> str:
        for spelled, word in self._folders:
            below = "" if word == _PROGRAM else f"(?:{_BELOW})*"
            text = re.sub(re.escape(spelled) + below, word, text)
        text = _TOKEN.sub("(token)", text)
        text = _ADDRESS.sub("(address)", text)
        text = _PATH.sub("(path)", text)
        return self._names.sub("(name)", text) if self._names else text


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return os.environ.get("USER", "")


_MOST = 30  # models; a report has to fit into a message


def models(data: Path) -> tuple[Check, ...]:
    """Return a check of each installed model; one that says so when there is none."""
    found = library.installed_models(data)
    if not found:
        return (Check.unknown("Models", "None is installed."),)
    memory = ProbeMemory(data)
    checks = tuple(_model(number, model, memory) for number, model in enumerate(found[:_MOST], 1))
    more = len(found) - len(checks)
    return (*checks, Check.unknown("Models", f"{more} more were not looked at.")) if more else checks


def _model(number: int, model: InstalledModel, memory: ProbeMemory) -> Check:
    name = f"Model {number}"
    if not model.there:
        return Check.unknown(name, "Its disk is not connected.")
    if not model.complete:
        return Check.failed(name, f"{formatting.size(model.size)}: parts of it are missing. Get it again.")
    inspection = inspect(model.path, memory)
    verdict = {Tier.REFUSED: CheckResult.FAILED, Tier.UNSUPPORTED: CheckResult.UNKNOWN}.get(
        inspection.tier, CheckResult.PASSED
    )
    described = f"{_public_name(model, inspection)}, {formatting.size(model.size)}: {_tier(inspection)}"
    return Check(name, verdict, described)


def _public_name(model: InstalledModel, inspection: Inspection) -> str:
    """Return the name of a public model; of others, which may be private, only the architecture."""
    public = {starter.shipped_recipe().name, *(entry.title for entry in catalogue.entries())}
    if model.title in public:
        return model.title
    family = inspection.family if inspection.family in (*SUPPORTED, *PLAIN_ONLY) else "some"
    return f"A {family} model"


def _tier(inspection: Inspection) -> str:
    # With the reason only where that is no sentence about the user's files.
    if inspection.tier is Tier.REFUSED:
        return "refused as unsafe or damaged; `mtplx inspect` says why. Get it again."
    return f"{inspection.tier}. {inspection.reason}" if inspection.loads else f"{inspection.tier}."
