"""A chat session between a fake store and a fake engine, before and after a model is loaded."""

from __future__ import annotations

import pytest

from tests.support.session_bench import make_bench


@pytest.fixture
def bench(qapp):
    made = make_bench()
    yield made
    made.line.deleteLater()  # which looks at the clock while an answer is awaited


@pytest.fixture
def ready(bench):
    bench.link.become_ready()
    return bench
