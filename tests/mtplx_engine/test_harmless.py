"""What others wrote, in a line of ours: one line, seen as it is written, and no longer than there is room."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.harmless import BIDI_CONTROLS, one_line

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
