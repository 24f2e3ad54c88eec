"""What we recommend can be asked for, and is put the same way everywhere."""

from __future__ import annotations

from mtplx_engine.hub import catalogue, repository


def test_every_recommendation_is_a_model_with_its_head() -> None:
    found = catalogue.entries()
    assert len(found) >= 5
    assert len({entry.target for entry in found}) == len({entry.title for entry in found}) == len(found)
    for entry in found:
        assert repository.is_repo(entry.target)
        assert repository.is_repo(entry.head)
        assert entry.title
        assert entry.good_for


def test_a_head_is_found_by_its_model() -> None:
    entry = catalogue.entries()[0]
    assert catalogue.entry_of(entry.target.upper()) is entry
    assert catalogue.entry_of(entry.head) is None
