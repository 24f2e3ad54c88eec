"""Progress is one calm line on a terminal and a few lines elsewhere."""

from __future__ import annotations

import io

from mtplx_engine.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_line_that_is_taken_away() -> None:
    stream = Terminal()
    line = ProgressLine(stream)
    for fraction in (0.0, 0.5, 0.5, 1.0):
        line(fraction, "Working")
    line.close()
    line.close()
    assert stream.getvalue().split("\r\x1b[K") == ["", "Working (0%)", "Working (50%)", "Working (100%)", ""]


def test_no_name_steers_the_terminal() -> None:
    for stream in (Terminal(), io.StringIO()):
        line = ProgressLine(stream)
        line(0.5, "Getting \x1b[31mred\x1b]0;evil\x07, \x9b2Jof it")
        line.close()
        assert "Getting [31mred]0;evil, 2Jof it (50%)" in stream.getvalue()


def test_a_log_gets_a_line_a_tenth_whatever_the_details() -> None:
    stream = io.StringIO()
    line = ProgressLine(stream)
    for percent in range(0, 21, 2):
        line(percent / 100, f"Fetching, {percent} of 100 MB")
    line(0.2, "Unpacking")
    line.close()
    assert stream.getvalue().splitlines() == [
        "Fetching, 0 of 100 MB (0%)",
        "Fetching, 10 of 100 MB (10%)",
        "Fetching, 20 of 100 MB (20%)",
        "Unpacking (20%)",
    ]
