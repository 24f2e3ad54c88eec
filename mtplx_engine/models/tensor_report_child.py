"""The process that compares a model's tensors with mlx-lm's classes; `inspection` starts it.

`python -I -m mtplx_engine.models.tensor_report_child FOLDER ANSWER` checks the folder again before it imports mlx, and
reads no byte of the weights. It is bounded in time and memory, since a config.json may ask for any number of modules.
"""

from __future__ import annotations

import contextlib
import json
import resource
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
_MEMORY = 4 << 30  # bytes of address space, the interpreter included


def report(folder: Path) -> dict[str, str]:
    """Return why a model is `refused`, with `details`, and why its `head` is off; each empty when it is not."""
    try:
        head = _compare(checkpoint.check(folder, tokenizer=False))
    except EngineError as error:
        return {"refused": str(error), "details": error.info.details, "head": ""}
    return {"refused": "", "details": "", "head": head}


def _compare(checked: Checkpoint) -> str:
    """Return why the head is off, empty when it is not; raises REFUSED as `weights.load` does."""
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
    with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    Path(answer).write_text(json.dumps(report(Path(folder))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
