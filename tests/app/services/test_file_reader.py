"""Files come back as attachments in order, refused ones with a sentence, and one that hangs is ended."""

from __future__ import annotations

import pytest

from app.chat.conversation import Attachment
from app.services.file_reader import FileReader, sentence
from app.services.file_text import Refusal


@pytest.fixture
def reader(qapp):
    reader = FileReader()
    reader.events = []
    reader.read.connect(reader.events.append)
    reader.refused.connect(reader.events.append)
    yield reader
    reader.close()


def test_files_are_read_in_order_and_refused_ones_named(reader, qtbot, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\0")
    (tmp_path / "b.py").write_text("x = 1\n")
    (tmp_path / "c.png").write_bytes(b"\x89PNG")
    reader.add([tmp_path / name for name in ("a.csv", "b.py", "c.png", "gone.txt")])
    qtbot.waitUntil(lambda: len(reader.events) == 4, timeout=20_000)
    assert reader.events == [
        "“a.csv” is no text; only text, code, CSV and PDF are read.",
        Attachment("b.py", 6, "x = 1\n"),
        "“c.png” is an image; only text, code, CSV and PDF are read.",
        "“gone.txt” cannot be read; check that it is a file and that you may open it.",
    ]
    assert not reader.busy


def test_one_that_takes_too_long_is_ended_and_the_next_one_read(reader, qtbot, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x")
    reader._process._patience.setInterval(1)  # less than any process takes to start
    reader.refused.connect(lambda: reader._process._patience.setInterval(20_000))
    reader.add([tmp_path / "a.txt", tmp_path / "b.txt"])
    qtbot.waitUntil(lambda: len(reader.events) == 2, timeout=20_000)
    assert reader.events == [sentence("a.txt", Refusal.DAMAGED), Attachment("b.txt", 1, "x")]


def test_closing_ends_what_is_read(reader, qtbot, tmp_path):
    (tmp_path / "b.txt").write_text("x")
    reader.add([tmp_path / "b.txt"] * 3)
    reader.close()
    assert not reader.busy


def test_a_name_is_one_line_that_reads_as_it_is_written(reader, qtbot, tmp_path):
    good, bad = tmp_path / "tides\n\u202etxt.exe.txt", tmp_path / "a\n\u2066b.bin"
    good.write_text("x")
    bad.write_bytes(b"\x7fELF\0\0")
    reader.add([good, bad])
    qtbot.waitUntil(lambda: len(reader.events) == 2, timeout=20_000)
    assert reader.events[0] == Attachment("tides txt.exe.txt", 1, "x")
    assert reader.events[1].startswith("“a b.bin” is no text")


@pytest.mark.parametrize("why", Refusal)
def test_every_refusal_is_one_sentence_with_the_name(why):
    words = sentence("a.bin", why)
    assert words.startswith("“a.bin” ")
    assert words.endswith(".")
    assert "{" not in words
