"""The whole program in a process of its own, with an engine that follows a script, so that it can be killed.

`python -m tests.support.run_app DATA_DIR SCRIPT QUESTION` asks the question and prints one JSON line for whatever
happens: {"engine": pid}, {"shown": characters, "at": seconds}, {"committed": message id}.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from PySide6.QtCore import QTimer

from app import program
from mtplx_engine.ipc.client import EngineClient
from mtplx_engine.models import starter
from tests.support.fake_host import fake_host_command
from tests.support.fake_script import Script


def say(**event):
    # One write: two threads have something to say.
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def main():
    data_dir, script, question = Path(sys.argv[1]), Script(**json.loads(sys.argv[2])), sys.argv[3]

    def make_client(log_dir):
        client = EngineClient(log_dir, fake_host_command(script))
        say(engine=client.pid)
        return client

    class Watched(program.Application):
        def show(self):
            super().show()
            self.session.streamed.connect(self.tell)
            self.store.committed.connect(lambda message_id: say(committed=message_id))
            QTimer.singleShot(0, self, self.ask)

        def ask(self):
            self.window.pane.composer.set_text(question)
            self.window.pane.composer.edit.submitted.emit()

        def tell(self):
            say(shown=len(self.session.shown.path()[-1].text), at=time.monotonic())

    program.EngineClient = make_client
    program.Application = Watched
    starter.is_installed = lambda *_: True
    return program.run(data_dir, data_dir / "logs")


if __name__ == "__main__":
    sys.exit(main())
