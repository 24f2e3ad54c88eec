"""What the probe found, by the files it looked at, so that it runs once for each pair of target and head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.json_store import JsonStore
from mtplx_engine.models.wiring import Concat, Hidden, Norms, Wiring

if TYPE_CHECKING:
    from pathlib import Path

NAME = "probes.json"
FORMAT = 1
LEAST_AGREEMENT = 0.2


@dataclass(frozen=True, slots=True)
class Verdict:
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

    def recall(self, key: str) -> Verdict | None:
        """Return the verdict on the files that `key` stands for."""
        entry = self._results.get(key)
        try:
            return None if entry is None else _parse(entry)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def remember(self, key: str, verdict: Verdict) -> None:
        """Note a verdict; the oldest ones go. Where nothing can be written, the next load probes again."""
        wiring = verdict.wiring
        entry = {
            "hidden": wiring.hidden,
            "concat": wiring.concat,
            "norms": wiring.norms,
            "agreement": verdict.agreement,
        }
        self._results.put(key, entry)


def _parse(entry: dict[str, Any]) -> Verdict:
    wiring = Wiring(Hidden(entry["hidden"]), Concat(entry["concat"]), Norms(entry["norms"]))
    agreement = tuple(float(rate) for rate in entry["agreement"])
    if not agreement or not all(0 <= rate <= 1 for rate in agreement):
        raise ValueError("no agreement")
    return Verdict(wiring, agreement)
