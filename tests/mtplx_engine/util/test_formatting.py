"""What others wrote, in a line of ours: one line, seen as it is written, and no longer than there is room."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.util import formatting
from mtplx_engine.util.formatting import BIDI_CONTROLS, ProgressLine, one_line

ODD = "".join(BIDI_CONTROLS) + "\n\r\x1b\x9b\x85\u2028\u2029\u200b\ufeff\ud800\udc00\0\t "
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from(ODD), max_size=60)


def is_one_line(text: str) -> bool:
    seen = not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text.replace("\t", ""))
    return seen and not BIDI_CONTROLS & set(text) and len(text.splitlines()) <= 1


@given(TEXTS, st.integers(1, 80))
def test_it_is_one_line(text: str, longest: int) -> None:
    found = one_line(text, longest)
    assert is_one_line(found)
    assert len(found) <= longest
    assert one_line(found, longest) == found
    assert is_one_line(str(EngineError(ErrorKind.REFUSED, text)))
    assert EngineError(ErrorKind.REFUSED, text).info.message == str(EngineError(ErrorKind.REFUSED, text))


@given(st.text(st.characters(categories=("L", "N", "P")), max_size=40))
def test_what_is_harmless_stays(text: str) -> None:
    assert one_line(text, 40) == text


@pytest.mark.parametrize(
    ("text", "longest", "seen"),
    [
        ("apache-2.0\n\nVerified by\tMTPLX ", None, "apache-2.0 Verified by MTPLX"),
        ("a\u202enosj.safetensors", None, "anosj.safetensors"),
        ("model-" + "x" * 90 + ".safetensors", 21, "model-xxxxxxx…tensors"),
        ("👩\u200d💻 עברית", None, "👩\u200d💻 עברית"),
    ],
)
def test_how_it_looks(text: str, longest: int | None, seen: str) -> None:
    assert one_line(text, longest) == seen


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


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (3570, "1 h"), (3540, "59 min"), (12_000, "3 h 20 min")],
)
def test_times(seconds: float, said: str) -> None:
    assert formatting.duration(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (12_400, "12 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (430_400_000, "430 MB"),
        (999_499_999, "999 MB"),
        (999_500_000, "1.0 GB"),
        (99_400_000_000, "99.4 GB"),
        (99_500_000_000, "100 GB"),
        (2_940_000_000_000, "2,940 GB"),
    ],
)
def test_sizes(count: int, said: str) -> None:
    assert formatting.size(count) == said
