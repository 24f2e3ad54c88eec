"""One measured answer, and what can be measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading

    from mtplx_engine.stats import DecodeStats

BASELINE = "mlx-lm"  # the method that all others are compared with
PLAIN = "depth 0"  # ours without drafts


@dataclass(frozen=True, slots=True)
class Run:
    """One answer of one method.

    Attributes:
        method: Its name.
        prompt: Index of the prompt.
        tokens: The ids.
        wall_s: From the call to the last token.
        decode_s: From the first event with tokens to the last.
        decode_tokens: Tokens after the first event.
        stats: The engine's counts; None for mlx-lm.
        peak_bytes: The most memory that mlx held meanwhile, the model included.
    """

    method: str
    prompt: int
    tokens: tuple[int, ...]
    wall_s: float
    decode_s: float
    decode_tokens: int
    stats: DecodeStats | None
    peak_bytes: int

    @property
    def decode_tps(self) -> float:
        """Tokens per second after the first event."""
        return self.decode_tokens / self.decode_s


class Method(Protocol):
    """A way of decoding."""

    name: str

    def run(
        self, prompt: int, ids: list[int], temperature: float, tokens: int, cancelled: threading.Event
    ) -> Run | None:
        """Answer prompt number `prompt` (`ids`) with exactly `tokens` tokens; None soon after it is cancelled."""
        ...
