"""The process that renders chat templates: `python -I -m mtplx_engine.text.template_child`, started by `template`.

A template is a program of the model's maker. Jinja's sandbox denies it files and code, but not time and memory, and no
thread can be stopped in the middle of a huge multiplication: so it runs here, under limits of the operating system.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import sys
from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template

_CPU_S = 2.0
_MEMORY = 1 << 30  # bytes, the interpreter included
_SIMPLEST = [{"role": "user", "content": "Hello"}]


def _render(request: dict[str, Any]) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_PROF, _CPU_S)  # its signal has no handler, so it kills the process
    try:
        text = _text(request, request["turns"])
    except Exception as error:  # noqa: BLE001 - a template can raise anything
        return {"error": repr(error)[:500], "broken": not _takes_simplest(request)}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"text": text} if len(text) <= request["limit"] else {"length": len(text)}


def _text(request: dict[str, Any], turns: list[dict[str, str]]) -> str:
    result: Any = render_jinja_template(
        conversations=[turns],
        chat_template=request["template"],
        **{"add_generation_prompt": True, **request["names"]},
    )
    text: str = result[0][0]  # of the first chat; the declared type is wrong
    return text


def _takes_simplest(request: dict[str, Any]) -> bool:
    """Whether the template renders the simplest chat, so that the fault lies with the other chat."""
    try:
        _text(request, _SIMPLEST)
    except Exception:  # noqa: BLE001 - a template can raise anything
        return False
    return True


def _main() -> None:
    with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(_render(json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _main()
