"""One theme for every test of the window."""

from __future__ import annotations

import pytest

from app.theme import Theme


@pytest.fixture
def theme(qapp):
    made = Theme(qapp)
    yield made
    made.deleteLater()
