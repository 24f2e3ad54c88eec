"""What a repository says of itself is quoted by commands on lines of ours, harmless and short."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mtplx_engine import paths
from mtplx_engine.cli.main import main
from mtplx_engine.models import manifest
from tests.support import hostile_words, model_folder
from tests.support.fake_hub import FakeHub, running
from tests.support.hostile_words import CLAIM, EVIL, HEAD_REPO, REPO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


REPOS = hostile_words.repos()
COMMANDS = (
    "search evil",
    "search evil --max-gb 1",
    *(f"{command} {repo}" for repo in REPOS for command in ("inspect --hub", "pull")),
    *(f"pull {REPO} --head {repo}" for repo in (HEAD_REPO, f"{HEAD_REPO}-kind", f"{REPO}-kind")),
)


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    with running(FakeHub(REPOS)) as hub:
        yield hub


def check(text: str) -> None:
    for line in text.splitlines(keepends=True):
        assert hostile_words.faults(line.removesuffix("\n")) == []
        assert len(line) < 700
        assert not line.startswith(CLAIM)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_line_is_ours(hub: FakeHub, tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str) -> None:
    main([*command.split(), "--endpoint", hub.endpoint, "--data-dir", str(tmp_path)])
    out, err = capfd.readouterr()
    assert out or err
    check(out)
    check(err)


def test_names_in_a_folder_of_the_user_are_as_foreign(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names in the manifest of a folder that came from somewhere else are as foreign."""
    data = ("--data-dir", str(tmp_path / "data"))
    folder = model_folder.write(paths.models_dir(tmp_path / "data") / "own")
    manifest.write_manifest(folder, manifest.Manifest("own", EVIL, EVIL, EVIL, 1, ()))
    for line in (
        ["models"],
        ["inspect", "own"],
        ["verify", "own"],
        ["models", "default", "own"],
        ["remove", EVIL],
    ):
        main([*line, *data])
        out, err = capfd.readouterr()
        check(out)
        check(err if line[0] != "remove" else err[:0])
