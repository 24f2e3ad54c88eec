"""Has the app ask its starter model something by itself, and takes a picture of its window.

For a Mac without anybody in front of it; run by the app's own interpreter, and so with all that the app has and
nothing else: `MTPLX.app/Contents/Helpers/mtplx-engine packaging/scripted_chat.py DATA_DIR PICTURE`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app import program

_QUESTION = "Please write one sentence about the sea."
_PATIENCE_MS = 180_000
_PAINTED_MS = 500
_answers: list[str] = []


class _Chat(program.Application):
    """The app, which asks as soon as its window is there; what it is asked waits for the model by itself."""

    picture = Path()

    def show(self) -> None:
        super().show()
        self.session.activity.connect(self._note)
        QTimer.singleShot(0, self, self._ask)
        QTimer.singleShot(_PATIENCE_MS, self, QApplication.quit)

    def _ask(self) -> None:
        self.window.pane.composer.set_text(_QUESTION)
        self.window.pane.composer.edit.submitted.emit()

    def _note(self, busy: frozenset[str]) -> None:
        path = self.session.shown.path()
        if not busy and len(path) > 1 and path[-1].text:
            _answers.append(path[-1].text)
            QTimer.singleShot(_PAINTED_MS, self, self._finish)

    def _finish(self) -> None:
        self.window.grab().save(str(self.picture))
        QApplication.quit()


def main() -> int:
    """Run the app until it has its answer; return 0 when there was one."""
    data_dir, _Chat.picture = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    program.Application = _Chat  # type: ignore[misc]
    code = program.run(data_dir, data_dir / "logs")
    sys.stdout.write(f"asked: {_QUESTION}\nanswered: {_answers[-1] if _answers else 'nothing'}\n")
    return code or int(not _answers)


if __name__ == "__main__":
    sys.exit(main())
