"""What is no model in MLX form is said to be what it is, from the list of its files; nothing of it is fetched."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.hub import listing, look, names, repo
from mtplx_engine.hub.connection import Connection
from mtplx_engine.hub.problem import HubError, Problem
from tests.support import model_folder, wrong_repos
from tests.support.fake_hub import FakeHub, FakeRepo, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REPO, HEAD = "makers/model", "makers/head"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "sound").iterdir()}
    with running(FakeHub({REPO: FakeRepo(files)})) as hub:
        yield hub


def refusal(hub: FakeHub, repo_id: str = REPO, head: str = "") -> HubError:
    with pytest.raises(HubError) as caught:
        look.plan(Connection(hub.endpoint), repo_id, head=head)
    return caught.value


@pytest.mark.parametrize("name", wrong_repos.REPOS)
def test_what_it_is_instead(hub: FakeHub, name: str) -> None:
    hub.repos[REPO] = wrong_repos.REPOS[name]
    error = refusal(hub)
    assert str(error).startswith(f"{REPO} ")
    assert wrong_repos.WORDS[name] in str(error)
    assert error.problem is Problem.NO_MODEL
    assert hub.asked == []


@pytest.mark.parametrize("name", set(wrong_repos.REPOS) - {"other weights"})
def test_nor_is_it_a_head(hub: FakeHub, name: str) -> None:
    hub.repos[HEAD] = wrong_repos.REPOS[name]
    error = refusal(hub, head=HEAD)
    assert str(error).startswith(f"{HEAD} is no drafting head: it ")
    assert wrong_repos.WORDS[name] in str(error)
    assert error.problem is Problem.UNFIT_HEAD
    assert hub.asked == []


@pytest.mark.parametrize("kind", ["datasets", "spaces"])
def test_the_address_of_something_else(hub: FakeHub, kind: str) -> None:
    error = refusal(hub, f"{kind}/makers/x")
    assert error.problem is Problem.NO_MODEL
    assert "no model" in str(error)
    assert hub.paths == []


@pytest.mark.parametrize("name", sorted(names._OTHERS))
def test_no_file_is_larger_than_an_honest_one(hub: FakeHub, name: str) -> None:
    """Weights aside, the largest file is a tokenizer; more than one can have is told from the list."""
    sound = hub.repos[REPO]
    sound.files.setdefault(name, b"{}")
    size = listing.MOST_BYTES + 1
    sound.listed = lambda entries: [
        item | {"size": size} if item["path"] == name else item for item in entries
    ]
    error = refusal(hub)
    assert f"its {name} is larger than 134 MB" in str(error)
    assert error.problem is Problem.UNSAFE
    assert hub.asked == []


def test_what_may_be_one_is_left_to_a_look(hub: FakeHub) -> None:
    found = repo.read(Connection(hub.endpoint), REPO)
    listing.check_model(found)
    listing.check_model(dataclasses.replace(found, left_out=("a.gguf", "pytorch_model.bin", "x/config.json")))
