"""What is said of models: fit, downloads, uses; every sentence follows from the numbers."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model_manager import details_page, row_state, rows
from app.model_manager.downloads import DownloadState
from app.model_manager.row_state import Action
from app.palette import Tone
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.models import memory_fit
from mtplx_engine.models.memory_fit import Fit, MemoryVerdict
from tests.support.fake_models import GB, MACHINE, error, look, row

sizes = st.integers(0, 200 * GB)


@given(sizes, sizes, sizes, st.integers(4 * GB, 200 * GB), st.integers(2 * GB, 200 * GB))
def test_the_two_numbers_never_contradict_the_verdict(weights, cache, scratch, memory, limit):
    judged = Fit(8192, weights, 0, cache, scratch, memory_fit.RESERVE, memory, limit)
    assert (judged.total > row_state.for_models(judged)) == (judged.verdict is MemoryVerdict.TOO_BIG)


@given(sizes, sizes, sizes, sizes)
def test_the_lines_of_the_sum_add_up(weights, head, cache, scratch):
    judged = Fit(8192, weights, head, cache, scratch, memory_fit.RESERVE, 16 * GB, 16 * GB)
    assert sum(size for _, size in row_state.parts(judged)) == judged.total


@pytest.mark.parametrize(
    ("size", "words", "tone"),
    [(3, "fits", Tone.GOOD), (10.5, "tight", Tone.DOUBT), (18, "will not fit", Tone.BAD)],
)
def test_a_verdict_is_said_with_its_numbers(size, words, tone):
    judged = row_state.judge(look("a/b", round(size * GB)).found, MACHINE)
    sentence, loud = row_state.fit_text(judged)
    assert sentence.startswith(f"{words} (needs ")
    assert sentence.endswith(" of 11.5 GB)")
    assert loud is tone


def test_no_fit_of_what_does_not_load():
    assert row_state.judge(look("a/b", GB, loads=False).found, MACHINE) is None


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (look("a/b", GB, own_head=True), "drafts for itself (MTP)"),
        (look("a/b", GB, head_size=80_000_000), "drafts for itself (MTP), its head adds 80 MB"),
        (look("a/b", GB), ""),
        (look("a/b", GB, loads=False), ""),
    ],
)
def test_a_head_is_named(seen, words):
    assert row_state.drafts(seen) == words


@given(st.integers(1, 2_000_000), st.integers(1, 2_000_000))
def test_every_context_has_a_step_up_to_the_window(window, context):
    steps = details_page.steps(window)
    assert list(steps) == sorted(set(steps))
    assert steps[-1] == window
    chosen = steps[details_page.nearest(steps, context)]
    assert chosen >= min(context, window)


@pytest.mark.parametrize(
    ("download", "words"),
    [
        (row("a--b", done=1_200_000_000, total=2_900_000_000, bytes_s=38e6, seconds_left=45.0),
         "1.2 of 2.9 GB · 38 MB/s · 45 s left"),
        (row("a--b", done=20_000_000, total=2_900_000_000), "20 MB of 2.9 GB"),
        (row("a--b", done=40_000_000, total=290_000_000, bytes_s=2e6), "40 MB of 290 MB · 2 MB/s"),
        (row("a--b", done=3 * GB), "3.0 of 3.0 GB · checking"),
        (row("a--b", DownloadState.PAUSED, done=GB), "Paused · 1.0 of 3.0 GB"),
        (row("a--b", DownloadState.QUEUED), "Waiting for the downloads before it · 3.0 GB"),
        (row("a--b", DownloadState.DONE, done=3 * GB), "Installed · 3.0 GB"),
    ],
)  # fmt: skip
def test_progress_is_bytes_speed_and_time(download, words):
    assert rows.progress(download) == words


@pytest.mark.parametrize("state", DownloadState)
def test_every_download_can_be_got_rid_of(state):
    face = rows.downloads([row("a--b", state)])[0]
    assert {Action.CANCEL, Action.CLEAR} & set(face.actions)
    if state is DownloadState.DONE:
        assert face.fraction is None  # what is done needs no bar
    else:
        assert 0 <= face.fraction <= 1


@pytest.mark.parametrize("problem", [*HubErrorKind, None])
def test_a_failure_is_its_sentence_and_one_action(problem):
    failed = dataclasses.replace(row("a--b", DownloadState.FAILED, done=GB), error=error("It broke."), problem=problem)
    [face] = rows.downloads([failed])
    assert face.problem == "It broke."
    assert face.remedy == (problem.value if problem else "Try Again")
