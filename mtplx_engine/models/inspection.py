"""The verdict on a model folder, remembered until the folder changes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import (
    checkpoint,
    config_checks,
    hub_cache,
    identity,
    manifest,
    memory_fit,
    tensor_report,
)
from mtplx_engine.models.families import supported
from mtplx_engine.models.manifest import Concat, Hidden, Norms, Wiring
from mtplx_engine.util import system
from mtplx_engine.util.files import JsonStore
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.memory_fit import Footprint


_LONGEST = 60


class Tier(StrEnum):
    """How well this version runs a model."""

    VERIFIED = "verified"
    UNVERIFIED = "supported, unverified"
    LATER = "supported later: plain decoding"
    NO_HEAD = "no MTP heads"
    UNSUPPORTED = "unsupported architecture"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known of a model folder.

    Attributes:
        folder: Where it is.
        name: Name for people.
        tier: How well it runs.
        reason: Why, in a sentence or two.
        family: Its architecture, config.json's model_type; empty when that cannot be read.
        head: Its drafting head, None without one or when the model does not load.
        footprint: What it takes on this machine, None when the model does not load.
        notes: What else there is to know before it is used, a sentence each.
    """

    folder: Path
    name: str
    tier: Tier
    reason: str
    family: str
    head: HeadSource | None = None
    footprint: Footprint | None = None
    notes: tuple[str, ...] = ()

    @property
    def loads(self) -> bool:
        """Whether this version loads it."""
        return self.footprint is not None


def inspect(
    folder: Path, memory: ProbeMemory, *, tokenizer: bool = True, tensors: bool = False
) -> Inspection:
    """Look at a model folder.

    Args:
        folder: The folder.
        memory: What the probe found when models were loaded.
        tokenizer: Whether to look into its tokenizer too.
        tensors: Whether to ask mlx-lm in a child process, which takes seconds, if every tensor is there and fits.

    Raises:
        EngineError: NOT_FOUND, when no model is there.
    """
    try:
        checked, footprint = check(folder, tokenizer=tokenizer, tensors=tensors)
    except EngineError as error:
        tier = {ErrorKind.REFUSED: Tier.REFUSED, ErrorKind.UNSUPPORTED: Tier.UNSUPPORTED}.get(error.kind)
        if tier is None:
            raise
        name, family = hub_cache.title(folder), one_line(config_checks.model_type(folder) or "", _LONGEST)
        if error.kind is ErrorKind.UNSUPPORTED and (later := supported.why_later(family)):
            return Inspection(folder, name, Tier.LATER, later, family)
        return Inspection(folder, name, tier, str(error), family)
    tier, reason = _judge(checked, memory)
    return Inspection(
        folder=folder,
        name=checked.name,
        tier=tier,
        reason=reason,
        family=checked.config["model_type"],
        head=checked.head,
        footprint=footprint,
        notes=_notes(checked),
    )


def check(folder: Path, *, tokenizer: bool = True, tensors: bool = False) -> tuple[Checkpoint, Footprint]:
    """Refuse a model folder that this version does not load; return what it says of itself, and what it takes here.

    Args:
        folder: The folder.
        tokenizer: Whether to look into its tokenizer too.
        tensors: As above.

    Raises:
        EngineError: NOT_FOUND, REFUSED or UNSUPPORTED, with the reason.
    """
    checked = checkpoint.check(folder, tokenizer=tokenizer)
    footprint = memory_fit.measure_footprint(
        checked.config, checked.tensors, checked.head, system.this_machine()
    )
    if not tensors:
        return checked, footprint
    compared = tensor_report.compared(checked, folder)
    if compared.head is not checked.head:
        footprint = memory_fit.measure_footprint(
            compared.config, compared.tensors, compared.head, system.this_machine()
        )
    return compared, footprint


def _notes(checked: Checkpoint) -> tuple[str, ...]:
    head = checked.head
    further = head is not None and head.unused and not head.problem
    one = "It has several drafting layers, of which this version uses the first." if further else ""
    notes = (config_checks.chat_template_problem(checked.folder), one)
    return tuple(note for note in notes if note)


def _judge(checked: Checkpoint, memory: ProbeMemory) -> tuple[Tier, str]:
    """Return the tier of a sound model, and why."""
    head, config = checked.head, checked.config
    reason = supported.why_plain(config, checked.tensors, head=head is not None)
    if head is None or reason:
        is_later = head is not None or supported.has_head(config, checked.tensors)
        return (Tier.LATER if is_later else Tier.NO_HEAD), reason
    if head.problem:
        return Tier.NO_HEAD, head.problem
    verdict = memory.recall(identity.identity_of(checked))
    if verdict is None and identity.is_starter(checked, head):
        return Tier.VERIFIED, "Its head comes with this program and was trained on it."
    if verdict is None:
        return Tier.UNVERIFIED, "It has a drafting head, which is tried when the model is loaded first."
    if not verdict.usable:
        return Tier.NO_HEAD, (
            f"Its head agreed with it on {verdict.score:.0%} of a known text, too little to draft with; "
            "it decodes plainly."
        )
    return (
        Tier.VERIFIED,
        f"Its head agreed with it on {verdict.score:.0%} of a known text when it was loaded.",
    )


NAME = "probes.json"
FORMAT = 1
LEAST_AGREEMENT = 0.2


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How well a head predicts its target.

    Attributes:
        wiring: The wiring with which it predicts best.
        agreement: At chained positions 1, 2, ..., how often its best guess is the target's, 0..1.
    """

    wiring: Wiring
    agreement: tuple[float, ...]

    @property
    def score(self) -> float:
        """Mean agreement: the first position alone hardly tells one wiring from another."""
        return sum(self.agreement) / len(self.agreement)

    @property
    def usable(self) -> bool:
        """Whether drafting with this head can be worth anything."""
        return self.score >= LEAST_AGREEMENT


class ProbeMemory:
    """The verdicts in a data folder, by what `identity.of` says of target and head.

    Args:
        data: The data folder; it may not exist yet.
    """

    def __init__(self, data: Path) -> None:
        self._results = JsonStore(data / NAME, FORMAT)

    def recall(self, key: str) -> ProbeResult | None:
        """Return the verdict on the files that `key` stands for."""
        entry = self._results.get(key)
        try:
            return None if entry is None else _parse(entry)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def remember(self, key: str, verdict: ProbeResult) -> None:
        """Note a verdict; the oldest ones go. Where nothing can be written, the next load probes again."""
        wiring = verdict.wiring
        entry = {
            "hidden": wiring.hidden,
            "concat": wiring.concat,
            "norms": wiring.norms,
            "agreement": verdict.agreement,
        }
        self._results.put(key, entry)


def _parse(entry: dict[str, Any]) -> ProbeResult:
    wiring = Wiring(Hidden(entry["hidden"]), Concat(entry["concat"]), Norms(entry["norms"]))
    agreement = tuple(float(rate) for rate in entry["agreement"])
    if not agreement or not all(0 <= rate <= 1 for rate in agreement):
        raise ValueError("no agreement")
    return ProbeResult(wiring, agreement)


_NAME, _FORMAT = "inspected.json", 1


@dataclass(frozen=True, slots=True)
class Grade:
    """The part of an inspection that a list shows.

    Attributes:
        tier: How well the model runs.
        reason: Why, in a sentence or two.
        loads: Whether this version loads it.
    """

    tier: Tier
    reason: str
    loads: bool


class Inspections:
    """Those of one data folder.

    An inspection reads a tokenizer and the tensors of a head, which takes longer than a list may. So it is believed as
    long as no file of the model has another size or time, the probe has found nothing new, and the program is the same.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._kept = JsonStore(data / _NAME, _FORMAT)

    def grade(self, folder: Path) -> Grade | None:
        """Return how well the model in a folder runs, None when there is none to be read."""
        try:
            state = self._state(folder)
            known = self._known(folder, state)
            if known is not None:
                return known
            found = inspect(folder, ProbeMemory(self._data))
        except (EngineError, OSError):
            return None
        grade = Grade(found.tier, found.reason, found.loads)
        entry = {"state": state, "tier": grade.tier, "reason": grade.reason, "loads": grade.loads}
        self._kept.put(str(folder), entry)
        return grade

    def _known(self, folder: Path, state: str) -> Grade | None:
        entry = self._kept.get(str(folder))
        try:
            if entry is None or entry["state"] != state:
                return None
            return Grade(Tier(entry["tier"]), str(entry["reason"]), entry["loads"] is True)
        except (TypeError, KeyError, ValueError):
            return None

    def _state(self, folder: Path) -> str:
        """Return what stands for everything that an inspection of a folder depends on.

        Raises:
            OSError: A file cannot be looked at.
        """
        probes = self._data / NAME
        parts = [importlib.metadata.version("mtplx"), _stamp(probes) if probes.exists() else ""]
        for part in _folders(folder):
            parts += (_stamp(path) for path in sorted(part.rglob("*")) if not path.is_dir())
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the folder of a model, and those that it joins."""
    yield folder
    if pair := manifest.read_pair(folder):
        yield from (Path(pair[1].target), Path(pair[1].folder))


def _stamp(path: Path) -> str:
    state = path.stat()
    return f"{os.fspath(path)} {path.resolve()} {state.st_size} {state.st_mtime_ns}"
