"""What can be said of a model folder before it is loaded: the check of every load, in words. Imports no mlx."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.harmless import one_line
from mtplx_engine.models import (
    chat_template,
    checkpoint,
    fit,
    hub_cache,
    identity,
    machine,
    model_config,
    shipped,
    tensor_report,
)
from mtplx_engine.models.families import supported

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.checkpoint import Checkpoint
    from mtplx_engine.models.fit import Footprint
    from mtplx_engine.models.head_source import HeadSource
    from mtplx_engine.models.probe_memory import ProbeMemory


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
        name, family = hub_cache.title(folder), one_line(model_config.model_type(folder) or "", _LONGEST)
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
    footprint = fit.measure(checked.config, checked.tensors, checked.head, machine.this())
    if not tensors:
        return checked, footprint
    compared = tensor_report.compared(checked, folder)
    if compared.head is not checked.head:
        footprint = fit.measure(compared.config, compared.tensors, compared.head, machine.this())
    return compared, footprint


def _notes(checked: Checkpoint) -> tuple[str, ...]:
    head = checked.head
    further = head is not None and head.unused and not head.problem
    one = "It has several drafting layers, of which this version uses the first." if further else ""
    notes = (chat_template.problem(checked.folder), one)
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
    verdict = memory.recall(identity.of(checked))
    if verdict is None and shipped.is_starter(checked, head):
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
