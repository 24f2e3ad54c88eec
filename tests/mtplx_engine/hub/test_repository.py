"""What is no model in MLX form is said to be what it is, from the list of its files; nothing of it is fetched."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.hub import plan, remote_inspect, repository
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.http import HubConnection
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
        remote_inspect.plan_download(HubConnection(hub.endpoint), repo_id, head=head)
    return caught.value


@pytest.mark.parametrize("name", wrong_repos.REPOS)
def test_what_it_is_instead(hub: FakeHub, name: str) -> None:
    hub.repos[REPO] = wrong_repos.REPOS[name]
    error = refusal(hub)
    assert str(error).startswith(f"{REPO} ")
    assert wrong_repos.WORDS[name] in str(error)
    assert error.problem is HubErrorKind.NO_MODEL
    assert hub.asked == []


@pytest.mark.parametrize("name", set(wrong_repos.REPOS) - {"other weights"})
def test_nor_is_it_a_head(hub: FakeHub, name: str) -> None:
    hub.repos[HEAD] = wrong_repos.REPOS[name]
    error = refusal(hub, head=HEAD)
    assert str(error).startswith(f"{HEAD} is no drafting head: it ")
    assert wrong_repos.WORDS[name] in str(error)
    assert error.problem is HubErrorKind.UNFIT_HEAD
    assert hub.asked == []


@pytest.mark.parametrize("kind", ["datasets", "spaces"])
def test_the_address_of_something_else(hub: FakeHub, kind: str) -> None:
    error = refusal(hub, f"{kind}/makers/x")
    assert error.problem is HubErrorKind.NO_MODEL
    assert "no model" in str(error)
    assert hub.paths == []


@pytest.mark.parametrize("name", sorted(repository._OTHERS))
def test_no_file_is_larger_than_an_honest_one(hub: FakeHub, name: str) -> None:
    """Weights aside, the largest file is a tokenizer; more than one can have is told from the list."""
    sound = hub.repos[REPO]
    sound.files.setdefault(name, b"{}")
    size = repository.MOST_BYTES + 1
    sound.listed = lambda entries: [item | {"size": size} if item["path"] == name else item for item in entries]
    error = refusal(hub)
    assert f"its {name} is larger than 134 MB" in str(error)
    assert error.problem is HubErrorKind.UNSAFE
    assert hub.asked == []


def test_what_may_be_one_is_left_to_a_look(hub: FakeHub) -> None:
    found = repository.read_repo(HubConnection(hub.endpoint), REPO)
    repository.check_model(found)
    repository.check_model(dataclasses.replace(found, left_out=("a.gguf", "pytorch_model.bin", "x/config.json")))


WANTED = (
    "config.json",
    "tokenizer.json",
    "chat_template.jinja",
    "model.safetensors",
    "model-00001-of-00002.safetensors",
    "model.safetensors.index.json",
    "mtp.safetensors",
    "mtp/weights.safetensors",
    "README.md",
    "LICENSE",
)
UNWANTED = (
    "modeling.py",
    "pytorch_model.bin",
    "model.pt",
    "weights.pkl",
    "../config.json",
    "/etc/config.json",
    "sub/config.json",
    "config.json/../../x.safetensors",
    "..safetensors",
    "model.safetensors\0",
    "model.safetensors\n",
    "model.safetensors.py",
    "MODEL.SAFETENSORS",
    ".model.safetensors",
    "mtp/../weights.safetensors",
    "a\\b.safetensors",
    "\u202egpj.safetensors",
    "modèle.safetensors",
    ".git/hooks/post-checkout",
    "config.json ",
    "",
)


@pytest.mark.parametrize("name", WANTED)
def test_what_a_model_needs(name: str) -> None:
    assert repository.is_wanted(name)


@pytest.mark.parametrize("name", UNWANTED)
def test_what_no_model_needs(name: str) -> None:
    assert not repository.is_wanted(name)


@given(st.text())
def test_a_wanted_name_stays_in_its_folder(name: str) -> None:
    if repository.is_wanted(name):
        assert ".." not in name.split("/")
        assert not name.startswith("/")
        assert name.isascii()


@pytest.mark.parametrize(
    "name", ["a", "a/b/c", "/b", "a/", "../b", "a/..", "a/b..c", "-a/b", "a b/c", "a/b\n", "a--b/c", "ä/b"]
)
def test_what_is_no_repository(name: str) -> None:
    assert not repository.is_repo(name)


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,9}/[A-Za-z0-9][A-Za-z0-9._-]{0,9}", fullmatch=True))
def test_different_repositories_have_different_folders(name: str) -> None:
    if repository.is_repo(name):
        folder = plan.folder_name(name)
        assert "/" not in folder
        owner, _, model = folder.rpartition("--")
        assert f"{owner}/{model}" == name
