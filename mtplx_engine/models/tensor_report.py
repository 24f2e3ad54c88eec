"""Whether a model has every tensor that it needs, in its shape and type, asked of mlx-lm in a child process.

What runs there is `tensor_report_child`. Imports no mlx.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.util import child_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtplx_engine.models.checkpoint import Checkpoint


_CHILD = "mtplx_engine.models.tensor_report_child"
_LONGEST_S = 120.0


def compared(checked: Checkpoint, folder: Path) -> Checkpoint:
    """Return a checked model with what mlx-lm says of its drafting head; none of its weights is read.

    Args:
        checked: The model.
        folder: The folder that it was asked for by, that of a pair too.

    Raises:
        EngineError: REFUSED, when its tensors are not those that its config.json asks for, or that cannot be used;
            INTERNAL, when the child process does not answer.
    """
    with tempfile.TemporaryDirectory(prefix="mtplx-tensors-") as place:
        answer, log = Path(place) / "answer.json", Path(place) / "log"
        code = child_process.run(_CHILD, [str(folder), str(answer)], log, _limit(checked.name))
        if code or not answer.exists():
            raise _unanswered(checked.name, f"code {code}\n{log.read_text(errors='replace')}")
        found = json.loads(answer.read_bytes())
    if found["refused"]:
        raise EngineError(ErrorKind.REFUSED, found["refused"], found["details"])
    if checked.head is None or not found["head"]:
        return checked
    return replace(checked, head=replace(checked.head, problem=found["head"]))


def _limit(name: str) -> Callable[[], None]:
    end = time.monotonic() + _LONGEST_S

    def tick() -> None:
        if time.monotonic() > end:
            raise _unanswered(name, f"no answer in {_LONGEST_S:g} s")

    return tick


def _unanswered(name: str, details: str) -> EngineError:
    return EngineError(
        ErrorKind.INTERNAL,
        f"The tensors of {name} could not be compared with its config.json; please report this.",
        details,
    )
