"""Chat templates, rendered in a child process, where they can neither hang the engine nor exhaust its memory."""

from __future__ import annotations

import atexit
import functools
import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


MAX_TEMPLATE = 64 << 10  # characters
CHARACTERS_PER_TOKEN = 8  # of the context window: the most that a template may add to the text of the chat

_PATIENCE_S = 30.0  # wall time, the start of the process included; its own limit is 2 s of CPU time


class TemplateProcess:
    """A child process that renders templates, started again after a template has killed it."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()  # answers and counts are rendered on threads of their own

    def start(self) -> None:
        """Start the process unless it runs; returns at once."""
        with self._lock:
            if self._child is not None and self._child.poll() is None:
                return
            self.close()
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-m", "mtplx_engine.text.template_child"],
                stdin=subprocess.PIPE,  # the process exits at end of file
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C at the terminal is for the command alone
            )

    def close(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def render(self, template: str, turns: Sequence[Mapping[str, str]], names: Mapping[str, Any], window: int) -> str:
        """Render a chat, ready for the answer unless `names` say otherwise.

        `turns` have role, content and thinking; `names` are the template's other variables: control tokens, as in
        "bos_token", and switches. The context `window` is in tokens.

        Raises:
            EngineError: UNSUPPORTED for a template that is broken or too large, makes too much of the chat, or takes
                too long or too much memory; BAD_REQUEST for a chat that it refuses.
        """
        if len(template) > MAX_TEMPLATE:
            raise EngineError(
                ErrorKind.UNSUPPORTED,
                f"This model's chat template is {len(template):,} characters long, and at most {MAX_TEMPLATE:,} "
                "are read; choose another model.",
            )
        # The text of the chat itself is not limited here: only the tokenizer knows how many tokens it has.
        written = sum(len(text) for turn in turns for text in turn.values())
        limit = CHARACTERS_PER_TOKEN * window + 2 * written
        request = {"template": template, "turns": list(turns), "names": dict(names), "limit": limit}
        with self._lock:
            reply = self._ask(json.dumps(request, default=str).encode() + b"\n")
        if "text" in reply:
            text: str = reply["text"]
            return text
        if "length" in reply:
            raise _hostile(f"makes {reply['length']:,} characters of this chat")
        if reply["error"].startswith("MemoryError"):
            raise _hostile("takes more than 1 GB of memory")
        if reply["broken"]:
            raise EngineError(
                ErrorKind.UNSUPPORTED,
                "This model's chat template is broken: it cannot write even the simplest chat. Choose another model, "
                "or get this one again.",
                reply["error"],
            )
        raise EngineError(ErrorKind.BAD_REQUEST, "The model's chat template does not accept this chat.", reply["error"])

    def _ask(self, line: bytes) -> dict[str, Any]:
        self.start()
        child = self._child
        if child is None or child.stdin is None or child.stdout is None:
            raise RuntimeError("the process was started with pipes")
        watchdog = threading.Timer(_PATIENCE_S, child.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            child.stdin.write(line)
            child.stdin.flush()
            answer = child.stdout.readline()
        except BrokenPipeError:
            answer = b""
        except BaseException:
            self.close()  # or its reply would be taken for that to the next request
            raise
        finally:
            watchdog.cancel()
            watchdog.join()
        if not answer.endswith(b"\n"):
            self.close()
            raise _hostile("takes longer than 2 seconds")
        reply: dict[str, Any] = json.loads(answer)
        return reply


def _hostile(how: str) -> EngineError:
    return EngineError(
        ErrorKind.UNSUPPORTED, f"This model's chat template {how}, so it was stopped; choose another model."
    )


@functools.cache
def shared() -> TemplateProcess:
    """Return the `TemplateProcess` that all models of this process share; it is closed at exit."""
    process = TemplateProcess()
    atexit.register(process.close)
    return process
