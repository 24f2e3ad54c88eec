"""Hostile repositories are refused before the model stack is imported; nothing of theirs runs, or is left anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

from mtplx_engine import paths
from mtplx_engine.cli.main import FAILED, main
from mtplx_engine.models import manifest
from mtplx_engine.util.formatting import BIDI_CONTROLS
from tests.support import hostile_repos, odd_folders, wrong_repos
from tests.support.fake_hub import FakeHub, running

if TYPE_CHECKING:
    from pathlib import Path


REPOS = hostile_repos.all_of_them() | wrong_repos.REPOS
NAMES = (
    "../evil",
    "../../etc/passwd",
    "/etc/passwd",
    "a/../b",
    "a/b/c",
    "a/.b",
    "a/b\u202e",
    "a/b c",
    "a\\b",
    "a/b?x=1",
    "a/b#x",
    "a/%2e%2e",
    "a--b/c",
    "a/" + "b" * 200,
    "https://example.com/a/b",
)
# One process for all of them: what it imported and what it left behind belongs to them together.
PULL_ALL = """
import contextlib, io, json, sys
from mtplx_engine.cli.main import main
endpoint, data, *repos = sys.argv[1:]
found = {}
for repo in repos:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            code = main(["pull", repo, "--endpoint", endpoint, "--data-dir", data])
        except SystemExit as error:
            code = error.code
    found[repo] = [code, said.getvalue()]
stack = {"mlx", "mlx_lm", "numpy", "transformers", "tokenizers", "safetensors", "torch"}
print(json.dumps({"found": found, "imported": sorted(stack & set(sys.modules))}))
"""


class Outcome(NamedTuple):
    """What became of all of them: exit code and words by repository, and what was imported and left anywhere.

    And where, and how often each one's weights were asked for.
    """

    said: dict[str, tuple[int, str]]
    imported: list[str]
    left: list[str]
    canary: bool
    root: str
    weights: Counter[str]


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    root = tmp_path_factory.mktemp("hostile")
    for name in ("home", "tmp"):
        (root / name).mkdir()
    canary = odd_folders.canary(root / "home")
    repos = {f"evil/r{number}": repo for number, repo in enumerate(REPOS.values())}
    for repo in repos.values():
        for name in repo.files:
            if name.endswith(".py"):
                repo.files[name] = f"open({str(canary)!r}, 'w').close()".encode()
    places = {name: str(root / "home") for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    with running(FakeHub(repos)) as hub:
        done = subprocess.run(
            [sys.executable, "-c", PULL_ALL, hub.endpoint, str(root / "data"), *repos, *NAMES],
            capture_output=True,
            text=True,
            check=True,
            cwd=root / "tmp",
            env={**os.environ, **places, "TMPDIR": str(root / "tmp")},
        )
        asked = (path.split("/resolve/") for path in hub.paths if path.endswith(".safetensors"))
        weights = Counter(repo.removeprefix("/") for repo, _ in asked)
    told = json.loads(done.stdout)
    names = dict(zip(repos, REPOS, strict=True))
    said = {names.get(repo, repo): (code, words) for repo, (code, words) in told["found"].items()}
    left = [name for name in below(root) if name not in ("home", "tmp", "data", "data/models", "data/models/.incoming")]
    return Outcome(
        said,
        told["imported"],
        left,
        canary.exists(),
        str(root),
        Counter({names[repo]: count for repo, count in weights.items()}),
    )


def test_there_are_many() -> None:
    assert len(REPOS) >= 60


@pytest.mark.parametrize("name", [*REPOS, *NAMES])
def test_it_is_refused_in_a_sentence(outcome: Outcome, name: str) -> None:
    code, words = outcome.said[name]
    assert code == FAILED, words
    last = words.strip().splitlines()[-1]
    assert last.endswith((".", "?")), last
    assert "fault in the program" not in words
    assert "Traceback" not in words
    assert outcome.root not in words  # a temporary path says nothing to anybody
    assert "mtplx-look" not in words
    assert "get the model again" not in words
    assert not BIDI_CONTROLS & set(words)


@pytest.mark.parametrize("name", [name for name, repo in REPOS.items() if repo.fault is None])
def test_their_weights_are_never_begun(outcome: Outcome, name: str) -> None:
    """One look at the header of each file is enough to know, and at the rest of a long one."""
    files = [data for file, data in REPOS[name].files.items() if file.endswith(".safetensors")]
    assert outcome.weights[name] <= sum(2 if len(data) > 128 << 10 else 1 for data in files)


def test_nothing_of_theirs_ran_or_stayed(outcome: Outcome) -> None:
    assert not outcome.canary
    assert outcome.imported == []
    assert outcome.left == []


def test_names_and_etags_lead_nowhere(tmp_path: Path) -> None:
    """A sound model among them is installed, and nothing but its own files."""
    canary = tmp_path / "canary"
    repo = hostile_repos.harmless_names(canary)
    data = tmp_path / "deep" / "data"
    with running(FakeHub({"evil/names": repo})) as hub:
        assert main(["pull", "evil/names", "--endpoint", hub.endpoint, "--data-dir", str(data)]) == 0
    folder = paths.models_dir(data) / "evil--names"
    files = {"config.json", "tokenizer.json", "model.safetensors"}
    assert set(below(folder)) == files | {manifest.MANIFEST_NAME}
    assert {path for path in below(tmp_path) if "evil" in path and "evil--names" not in path} == set()
    noted = manifest.read_manifest(folder)
    assert noted is not None
    assert {record.name for record in noted.files} == files
    assert not canary.exists()
