"""Inspect a model folder before it is loaded: its tier, memory footprint and drafting head. Imports no mlx.

`inspect` checks a folder now, `Inspections` remembers its result for lists until the folder changes, and `ProbeMemory`
holds what the probe of a drafting head (`probe`) measured when the model was loaded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import tempfile
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, config_checks, hub_cache, identity, manifest, memory_fit
from mtplx_engine.models.families import supported
from mtplx_engine.models.manifest import Concat, Hidden, Norms, Wiring
from mtplx_engine.util import child_process, system
from mtplx_engine.util.files import JsonStore
from mtplx_engine.util.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.memory_fit import Footprint


LEAST_AGREEMENT = 0.2
"""The mean agreement with its target that a head must have to draft, see `ProbeResult.score`."""

_LONGEST_FAMILY = 60
_TENSOR_CHILD = "mtplx_engine.models.tensor_report_child"
_TENSOR_LIMIT_S = 120.0
_PROBES, _PROBES_FORMAT = "probes.json", 1
_GRADES, _GRADES_FORMAT = "inspected.json", 1


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
    """The result of inspecting a model folder.

    Attributes:
        reason: Why, in a sentence or two.
        family: Its architecture, config.json's model_type; empty when that cannot be read.
        head: Its drafting head, None without one or when the model does not load.
        footprint: Its memory use on this machine, None when the model does not load.
        notes: Further hints for the user, a sentence each.
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
        return self.footprint is not None


def inspect(folder: Path, memory: ProbeMemory, *, tokenizer: bool = True, tensors: bool = False) -> Inspection:
    """Inspect a model folder, with the results of earlier probes in `memory`.

    `tokenizer` says whether to read its tokenizer too, `tensors` whether to compare every tensor with mlx-lm's classes,
    in a child process, which takes seconds.

    Raises:
        EngineError: NOT_FOUND, when no model is there.
    """
    try:
        checked, footprint = check(folder, tokenizer=tokenizer, tensors=tensors)
    except EngineError as error:
        tier = {ErrorKind.REFUSED: Tier.REFUSED, ErrorKind.UNSUPPORTED: Tier.UNSUPPORTED}.get(error.kind)
        if tier is None:
            raise
        name, family = (
            hub_cache.title(folder),
            one_line(config_checks.model_type(folder) or "", _LONGEST_FAMILY),
        )
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
    """Check that this version loads the model in a folder; return it and its memory footprint on this machine.

    `tokenizer` and `tensors` are as for `inspect`.

    Raises:
        EngineError: NOT_FOUND, REFUSED or UNSUPPORTED, with the reason; INTERNAL, when the child does not answer.
    """
    checked = checkpoint.check(folder, tokenizer=tokenizer)
    footprint = _footprint(checked)  # may refuse before a child is started
    if tensors:
        checked = _compare_tensors(checked, folder)
        footprint = _footprint(checked)
    return checked, footprint


def _footprint(checked: Checkpoint) -> Footprint:
    return memory_fit.measure_footprint(checked.config, checked.tensors, checked.head, system.this_machine())


def _compare_tensors(checked: Checkpoint, folder: Path) -> Checkpoint:
    """Return a checked model, its head marked with what mlx-lm finds wrong with it; raises as `check`.

    `folder` is the one that `checked` was made from, also that of a pair.
    """
    with tempfile.TemporaryDirectory(prefix="mtplx-tensors-") as work:
        answer, log = Path(work) / "answer.json", Path(work) / "log"
        arguments = [str(folder), str(answer)]
        code = child_process.run(_TENSOR_CHILD, arguments, log, _tensor_time_limit(checked.name))
        if code or not answer.exists():
            raise _no_answer(checked.name, f"code {code}\n{log.read_text(errors='replace')}")
        found = json.loads(answer.read_bytes())
    if found["refused"]:
        raise EngineError(ErrorKind.REFUSED, found["refused"], found["details"])
    if checked.head is None or not found["head"]:
        return checked
    return replace(checked, head=replace(checked.head, problem=found["head"]))


def _tensor_time_limit(name: str) -> Callable[[], None]:
    end = time.monotonic() + _TENSOR_LIMIT_S

    def tick() -> None:
        if time.monotonic() > end:
            raise _no_answer(name, f"no answer in {_TENSOR_LIMIT_S:g} s")

    return tick


def _no_answer(name: str, details: str) -> EngineError:
    return EngineError(
        ErrorKind.INTERNAL,
        f"The tensors of {name} could not be compared with its config.json; please report this.",
        details,
    )


def _notes(checked: Checkpoint) -> tuple[str, ...]:
    head = checked.head
    has_further = head is not None and head.unused and not head.problem
    further = "It has several drafting layers, of which this version uses the first." if has_further else ""
    return tuple(filter(None, (config_checks.chat_template_problem(checked.folder), further)))


def _judge(checked: Checkpoint, memory: ProbeMemory) -> tuple[Tier, str]:
    """Return the tier of a sound model, and why."""
    head, config = checked.head, checked.config
    reason = supported.why_plain(config, checked.tensors, head=head is not None)
    if head is None or reason:
        is_later = head is not None or supported.has_head(config, checked.tensors)
        return (Tier.LATER if is_later else Tier.NO_HEAD), reason
    if head.problem:
        return Tier.NO_HEAD, head.problem
    result = memory.recall(identity.identity_of(checked))
    if result is None and identity.is_starter(checked, head):
        return Tier.VERIFIED, "Its head comes with this program and was trained on it."
    if result is None:
        return Tier.UNVERIFIED, "It has a drafting head, which is tried when the model is loaded first."
    if not result.usable:
        return Tier.NO_HEAD, (
            f"Its head agreed with it on {result.score:.0%} of a known text, too little to draft with; "
            "it decodes plainly."
        )
    return (
        Tier.VERIFIED,
        f"Its head agreed with it on {result.score:.0%} of a known text when it was loaded.",
    )


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How well a head predicts its target.

    Attributes:
        wiring: The wiring with which it predicts best.
        agreement: At draft positions 1, 2, ..., how often its top token is the target's, 0..1.
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
    """Probe results in a data folder, which may not exist yet, keyed by `identity.identity_of` target and head."""

    def __init__(self, data: Path) -> None:
        self._results = JsonStore(data / _PROBES, _PROBES_FORMAT)

    def recall(self, key: str) -> ProbeResult | None:
        """Return the result for a key, None when there is none that can be read."""
        entry = self._results.get(key)
        try:
            return None if entry is None else _parse(entry)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def remember(self, key: str, result: ProbeResult) -> None:
        """Store a result; the oldest ones go. Where nothing can be written, the next load probes again."""
        wiring = result.wiring
        entry = {
            "hidden": wiring.hidden,
            "concat": wiring.concat,
            "norms": wiring.norms,
            "agreement": result.agreement,
        }
        self._results.put(key, entry)


def _parse(entry: dict[str, Any]) -> ProbeResult:
    wiring = Wiring(Hidden(entry["hidden"]), Concat(entry["concat"]), Norms(entry["norms"]))
    agreement = tuple(float(rate) for rate in entry["agreement"])
    if not agreement or not all(0 <= rate <= 1 for rate in agreement):
        raise ValueError("no agreement")
    return ProbeResult(wiring, agreement)


@dataclass(frozen=True, slots=True)
class Grade:
    """The part of an inspection that a list shows."""

    tier: Tier
    reason: str
    loads: bool


class Inspections:
    """Grades of models, cached in a data folder.

    An inspection reads a tokenizer and the tensors of a head, which takes longer than a list may. So its grade is
    valid as long as no file of the model has another size or time, no probe result is new, and the program is the same.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._store = JsonStore(data / _GRADES, _GRADES_FORMAT)

    def grade(self, folder: Path) -> Grade | None:
        """Return the grade of the model in a folder, None when none can be read there."""
        try:
            state = self._state(folder)
            if cached := self._cached(folder, state):
                return cached
            found = inspect(folder, ProbeMemory(self._data))
        except (EngineError, OSError):
            return None
        grade = Grade(found.tier, found.reason, found.loads)
        entry = {"state": state, "tier": grade.tier, "reason": grade.reason, "loads": grade.loads}
        self._store.put(str(folder), entry)
        return grade

    def _cached(self, folder: Path, state: str) -> Grade | None:
        entry = self._store.get(str(folder))
        try:
            if entry is None or entry["state"] != state:
                return None
            return Grade(Tier(entry["tier"]), str(entry["reason"]), entry["loads"] is True)
        except (TypeError, KeyError, ValueError):
            return None

    def _state(self, folder: Path) -> str:
        """Return a hash over everything that an inspection of a folder depends on; raises OSError."""
        probes = self._data / _PROBES
        parts = [importlib.metadata.version("mtplx"), _stamp(probes) if probes.exists() else ""]
        for part in _folders(folder):
            parts += (_stamp(path) for path in sorted(part.rglob("*")) if not path.is_dir())
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _folders(folder: Path) -> Iterator[Path]:
    yield folder
    if pair := manifest.read_pair(folder):
        yield from (Path(pair[1].target), Path(pair[1].folder))


def _stamp(path: Path) -> str:
    state = path.stat()
    return f"{os.fspath(path)} {path.resolve()} {state.st_size} {state.st_mtime_ns}"
