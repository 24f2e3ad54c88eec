"""The workflow for Macs cannot run here, so it is at least held to what keeps it safe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
# `make` targets and files of ours that a step names.
OURS = re.compile(r"(?:packaging|tests)/[\w/]+(?:\.py)?")


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.name)
def text(request: pytest.FixtureRequest) -> str:
    return request.param.read_text()


@pytest.fixture
def steps(text: str) -> list[dict]:
    return [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]


def test_there_is_one_for_macs():
    assert [path.name for path in WORKFLOWS] == ["mac.yml"]


def test_actions_are_pinned_by_hash_with_the_version_beside_it(text, steps):
    used = [line.strip().removeprefix("- ") for line in text.splitlines() if "uses:" in line]
    assert len(used) == sum("uses" in step for step in steps) > 0
    assert [line for line in used if not PINNED.fullmatch(line)] == []


def test_it_may_read_and_nothing_more_and_ends_by_itself(text):
    body = yaml.safe_load(text)
    assert body["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    assert "pull_request_target" not in text
    assert all(0 < job["timeout-minutes"] <= 60 for job in body["jobs"].values())


def test_nothing_from_outside_becomes_part_of_a_command(steps):
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


def test_whatever_it_names_is_there(steps):
    commands = "\n".join(step.get("run", "") for step in steps)
    makefile = (ROOT / "Makefile").read_text()
    targets = {word for line in re.findall(r"make ([\w ./-]+)", commands) for word in line.split()}
    assert {"app", "check-app"} <= targets
    for target in targets:
        assert re.search(rf"^{re.escape(target.replace('.stamps', '$(STAMPS)'))}:", makefile, re.MULTILINE), target
    named = OURS.findall(commands)
    assert "packaging/scripted_chat.py" in named
    assert [name for name in named if not (ROOT / name).exists()] == []
    modules = re.findall(r"-m (mtplx_engine[\w.]+)", commands)
    assert [name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").is_file()] == []
