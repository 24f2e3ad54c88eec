"""What only shows from outside: imports, a second start, the end by signal, and `kill -9`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import app.__main__ as app_main
from app.chat.conversation import MessageStatus, Role
from app.storage.settings import SettingsFile
from app.storage.store import Store

ROOT = Path(__file__).parents[2]
WORDS = {"answer": "one two three four five six seven eight nine ten " * 100, "cycle_s": 0.01}

IMPORTS = """
import sys
sys.argv = ["app", "--data-dir", sys.argv[1]]
from PySide6.QtCore import QCoreApplication, QTimer
from app import application

class Watched(application.Application):
    def show(self):
        super().show()
        QTimer.singleShot(300, self, self.look)

    def look(self):
        assert self.window.isVisible()
        heavy = {"mlx", "mlx_lm", "transformers", "numpy", "tokenizers", "torch"} | {
            f"huggingface_hub.{part}" for part in ("file_download", "hf_api", "repocard_data")
        }
        print("heavy:", sorted(heavy & sys.modules.keys()))
        QCoreApplication.instance().quit()

application.Application = Watched
from app.__main__ import main
sys.exit(main())
"""

HANGING_DISK = """
import sys, time
sys.argv = ["app", "--data-dir", sys.argv[1]]
from PySide6.QtCore import QCoreApplication, QTimer
from app import application
from app.storage.database import ChatDatabase

class Watched(application.Application):
    def show(self):
        super().show()
        self.store.opened.connect(self.type)

    def type(self):
        ChatDatabase.set_draft = lambda *_: time.sleep(600)
        self.store.set_draft("", "Typed")
        QTimer.singleShot(100, QCoreApplication.instance().quit)

application.Application = Watched
from app.__main__ import main
sys.exit(main())
"""


@contextmanager
def running(data_dir, script, question="Count"):
    command = [sys.executable, "-m", "tests.support.run_app", str(data_dir), json.dumps(script), question]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def events(process, name):
    """Yield the events of a kind as they come."""
    for line in process.stdout:
        event = json.loads(line)
        if name in event:
            yield event


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_gone(pid):
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def stored_chat(data_dir, qtbot):
    """Return the messages of the only chat, read as the next start reads them."""
    store = Store(data_dir / "chats")
    try:
        with qtbot.waitSignal(store.opened, timeout=10_000) as opened:
            store.open()
        [chat] = opened.args[0]
        with qtbot.waitSignal(store.chat_loaded, timeout=10_000) as loaded:
            store.load_chat(chat.id)
        return loaded.args[0].path()
    finally:
        store.close()


def test_nothing_heavy_is_imported_with_the_window_up(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "heavy: []" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


def test_killed_program_loses_no_question_and_at_most_a_second_of_its_answer(tmp_path, qtbot):
    with running(tmp_path, WORDS, "Count to ten, often") as process:
        engine = next(events(process, "engine"))["engine"]
        shown = []
        for event in events(process, "shown"):
            shown.append(event)
            if event["at"] - shown[0]["at"] > 1.8:
                break
        process.kill()
        process.wait()
        shown += events(process, "shown")  # what was said before the end
    assert wait_gone(engine)
    question, answer = stored_chat(tmp_path, qtbot)
    assert (question.role, question.text) == (Role.USER, "Count to ten, often")
    assert answer.status is MessageStatus.INTERRUPTED
    # One second, and the time that a commit takes on a busy disk.
    due = [event["shown"] for event in shown if event["at"] < shown[-1]["at"] - 1.3]
    assert len(answer.text) >= due[-1] > 0
    assert WORDS["answer"].startswith(answer.text)


def test_killed_right_after_the_question_is_on_the_disk(tmp_path, qtbot):
    with running(tmp_path, {"load_s": 5.0}, "Keep this") as process:
        next(events(process, "committed"))
        process.kill()
        process.wait()
    question, *answers = stored_chat(tmp_path, qtbot)
    assert question.text == "Keep this"
    assert [answer.status for answer in answers] in ([], [MessageStatus.INTERRUPTED])


@pytest.mark.parametrize(
    ("number", "script"),
    [
        (signal.SIGTERM, WORDS),
        (signal.SIGINT, WORDS),
        (signal.SIGHUP, WORDS),
        (signal.SIGTERM, {"load_s": 30.0}),
        (signal.SIGTERM, {"prefill_s": 30.0}),
        (signal.SIGTERM, WORDS | {"hang_after": 2}),
        (signal.SIGTERM, WORDS | {"deaf_after": 2}),
    ],
    ids=["kill", "Ctrl-C", "terminal gone", "loading", "prefill", "engine hangs", "engine is deaf"],
)
def test_d16_asked_to_end_it_ends_and_leaves_nothing_running(tmp_path, qtbot, number, script):
    with running(tmp_path, script) as process:
        engine = next(events(process, "engine"))["engine"]
        if "answer" in script:
            next(events(process, "shown"))
        process.send_signal(number)
        assert process.wait(timeout=9) == 0  # three seconds on a machine that is not shared
    assert not alive(engine)
    question, answer = stored_chat(tmp_path, qtbot)
    assert question.text == "Count"
    assert answer.status is MessageStatus.INTERRUPTED
    assert bool(answer.text) == ("answer" in script)
    assert SettingsFile(tmp_path).value.place is not None


def test_d16_disk_that_hangs_does_not_hold_up_the_end(tmp_path):
    command = [sys.executable, "-c", HANGING_DISK, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, timeout=30, check=False)
    assert done.returncode == 0
    [log] = tmp_path.rglob("app.log")
    assert "the disk does not respond; unsaved changes: 1" in log.read_text()


def test_second_start_ends_at_once_and_raises_the_first(tmp_path):
    with running(tmp_path, {"load_s": 30.0}) as first:
        next(events(first, "engine"))
        with running(tmp_path, {}) as second:
            assert second.wait(timeout=20) == 0
            assert list(events(second, "engine")) == []
        assert first.poll() is None


def test_data_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    command = [sys.executable, "-m", "app", "--data-dir", str(tmp_path / "file" / "data")]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        sentence = process.stderr.readline()  # a box on the screen says it too, and waits
        process.kill()
    assert "cannot keep anything in its folder" in sentence
    assert str(tmp_path / "file" / "data") in sentence
    assert "Not a directory" in sentence
    assert "choose another one with --data-dir" in sentence


@pytest.mark.parametrize("display", [None, ":9876"], ids=["no display", "display that is gone"])
@pytest.mark.parametrize("data_dir", [None, "/data"])
def test_without_a_screen_the_chat_opens_in_the_terminal(monkeypatch, capsys, data_dir, display):
    started = []

    def become(path, command):
        started.append((path, command))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", become)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    if display:
        monkeypatch.setenv("DISPLAY", display)
    options = ["--data-dir", data_dir] if data_dir else []
    monkeypatch.setattr(sys, "argv", ["app", *options])
    with pytest.raises(SystemExit):
        app_main.main()
    assert "no screen" in capsys.readouterr().out
    assert started == [(sys.executable, [sys.executable, "-m", "mtplx_engine.cli.main", "chat", *options])]


def test_wrong_option_is_one_line_and_no_traceback():
    done = subprocess.run(
        [sys.executable, "-m", "app", "--nonsense"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert "unrecognized arguments: --nonsense" in done.stderr
    assert "Traceback" not in done.stderr
