"""What two versions of a paragraph share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render.blocks import Mark, Run
from app.render.difference import difference

runs = st.lists(
    st.builds(
        Run,
        st.text("ab👩", min_size=1, max_size=4),
        st.sampled_from([Mark.NONE, Mark.STRONG, Mark.MATH]),
        drawn=st.booleans(),
    ),
    max_size=4,
)


@given(runs, runs)
def test_what_is_kept_and_what_is_behind_it_are_the_new_one(old, new):
    old = [Run(run.text, run.marks, drawn=run.drawn and run.marks is Mark.MATH) for run in old]
    kept, same, rest = difference(old, new)
    assert old[:same] == new[:same]
    assert len(rest) == len(new) - same
    shared = kept - sum(run.length for run in old[:same])
    assert shared >= 0
    if rest:
        first = new[same]
        assert first.text.endswith(rest[0].text)
        assert Run(first.text[: len(first.text) - len(rest[0].text)]).length == shared
        assert list(rest[1:]) == new[same + 1 :]
    else:
        assert shared == 0


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ([Run("ab")], [Run("abc")], (2, 0, [Run("c")])),
        ([Run("a"), Run("b", Mark.STRONG)], [Run("a")], (1, 1, [])),
        ([Run("$x$", Mark.MATH, drawn=True)], [Run("$x$", Mark.MATH), Run("a")], (1, 1, [Run("a")])),
        ([Run("$x$", Mark.MATH)], [Run("$x$$", Mark.MATH)], (0, 0, [Run("$x$$", Mark.MATH)])),
    ],
)
def test_examples(old, new, result):
    assert difference(old, new) == result
