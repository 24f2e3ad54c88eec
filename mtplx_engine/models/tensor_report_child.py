"""The process that compares tensors with mlx-lm's classes: `python -I -m mtplx_engine.models.tensor_report_child`.

Started by `tensor_report`. It checks the folder again before it imports mlx, and reads no byte of the weights.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError
from mtplx_engine.models import checkpoint, stored_tensors
from mtplx_engine.models.families import supported

if TYPE_CHECKING:
    from mtplx_engine.models.checkpoint import Checkpoint


_CPU_S = 60.0


def report(folder: Path) -> dict[str, str]:
    """Return why a model is refused, and why its drafting head is off, each empty when it is not."""
    try:
        checked = checkpoint.check(folder, tokenizer=False)
        head = _compare(checked)
    except EngineError as error:
        return {"refused": str(error), "details": error.info.details, "head": ""}
    return {"refused": "", "details": "", "head": head}


def _compare(checked: Checkpoint) -> str:
    """Return why the head is off, empty when it is not.

    Raises:
        EngineError: REFUSED, see `weights.load`.
    """
    from mtplx_engine.models import head_builder, weights
    from mtplx_engine.models.families.registry import family_for

    weights.load(checked)
    config, head = checked.config, checked.head
    if head is None or head.problem or supported.why_plain(config, checked.tensors, head=True):
        return ""
    family = family_for(config)
    wiring = family.wiring({name: spec.shape for name, spec in checked.tensors.items()})
    try:
        head_builder.assemble(family, config, head_builder.read(head), wiring)
    except head_builder.HeadMismatchError as error:
        return stored_tensors.unfit(str(error))
    return ""


def _main(folder: str, answer: str) -> None:
    signal.setitimer(signal.ITIMER_PROF, _CPU_S)  # nobody handles its signal, so it ends the process
    Path(answer).write_text(json.dumps(report(Path(folder))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
