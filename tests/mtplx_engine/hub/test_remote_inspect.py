"""What a repository is, from a few of its bytes: the same as an inspection says once all of it is there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.hub import catalogue, head_extract, remote_inspect
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.retries import Retries
from mtplx_engine.models import checkpoint, inspection, memory_fit
from mtplx_engine.models.inspection import ProbeMemory, Tier
from mtplx_engine.util.system import Machine
from tests.support import model_folder, odd_folders
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running
from tests.support.model_folder import CONFIG, HEAD, TENSORS
from tests.support.odd_folders import GOOD, WRONG, Case

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_engine.hub.remote_inspect import RepoInspection


REPO, HEAD_REPO = "makers/model", "makers/model-MTP"
# These are about what only a folder has: links, a manifest, an earlier load; or about the tokenizer's inside.
ONLY_HERE = {
    "dangling page",
    "dangling settings",
    "dangling weights",
    "dangling tokenizer",
    "false starter",
    "pair",
    "other weights",
    "remembered",
    "remembered as useless",
    "large ids",
    "head folder",
    "other size",
    "named file",
}
CASES = [case for case in (*GOOD, *WRONG) if case.name not in ONLY_HERE]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with running(FakeHub()) as hub:
        yield hub


def looked(hub: FakeHub, repo: str = REPO, head: str = "") -> RepoInspection:
    connection = HubConnection(hub.endpoint)
    wanted = remote_inspect.plan_download(connection, repo, head=head)
    return remote_inspect.inspect_repo(connection, wanted, retries=Retries(limit=2, first_s=0.001))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_it_is_what_an_inspection_says(hub: FakeHub, tmp_path: Path, case: Case) -> None:
    folder = tmp_path / "model"
    case.build(folder)
    hub.repos[REPO] = FakeRepo(files_of(folder))
    here = inspection.inspect(folder, ProbeMemory(tmp_path))
    there = looked(hub).found
    assert (there.tier, there.reason, there.family) == (here.tier, here.reason, here.family)
    assert (there.name, there.notes, there.footprint) == (here.name, here.notes, here.footprint)
    assert (there.head and there.head.size) == (here.head and here.head.size)


def test_little_is_fetched(hub: FakeHub) -> None:
    """20 MB of weights and a large tokenizer cost a few hundred KB, whatever the header is like."""
    config = CONFIG | {"vocab_size": 500_000, "hidden_size": 4}
    tensors = TENSORS | {"model.embed_tokens.weight": ("F32", (500_000, 4))}
    files = {
        "config.json": json.dumps(config).encode(),
        "model.safetensors": model_folder.safetensors(tensors),
        "tokenizer.json": b" " * (5 << 20),
        "README.md": b"#" * (1 << 20),
    }
    hub.repos[REPO] = FakeRepo(files)
    found = looked(hub)
    assert found.found.tier is Tier.NO_HEAD, found.found.reason
    assert found.fetched == (128 << 10) + len(files["config.json"])
    assert hub.sent < 300_000
    assert {asked.name for asked in hub.asked} == {"config.json", "model.safetensors"}
    assert found.plan.size == sum(map(len, files.values()))


@pytest.mark.parametrize("ranges", [True, False])
def test_a_long_header_is_read_to_its_end(hub: FakeHub, tmp_path: Path, *, ranges: bool) -> None:
    """By a second request; from a server that only gives whole files too."""
    layers = 400
    config = CONFIG | {"num_hidden_layers": layers, "model_type": "mimo"}
    tensors = model_folder.tensors({f"model.layers.{n}.{'x' * 400}": (2,) for n in range(layers)})
    folder = model_folder.write(tmp_path, config=config, files={"model.safetensors": model_folder.safetensors(tensors)})
    hub.repos[REPO] = FakeRepo(files_of(folder))
    if not ranges:
        hub.repos[REPO].fault = lambda handler, data, asked: handler.serve(data, asked, ranged=False)
    found = looked(hub)
    assert found.found.tier is Tier.NO_HEAD
    assert found.found.footprint is not None
    header = int.from_bytes(hub.repos[REPO].files["model.safetensors"][:8], "little")
    assert header > 128 << 10
    assert found.fetched < header + 2000
    assert found.found.footprint.weights == 4 * 2 * layers


def test_a_head_in_a_repository_of_its_own(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos[REPO] = FakeRepo(files_of(model_folder.write(tmp_path / "target")))
    odd_folders._head_folder(tmp_path / "head")
    hub.repos[HEAD_REPO] = FakeRepo(files_of(tmp_path / "head"))
    assert looked(hub).found.tier is Tier.NO_HEAD
    found = looked(hub, head=HEAD_REPO)
    assert found.found.tier is Tier.UNVERIFIED
    assert found.found.head
    assert found.found.head.size == sum(4 * a * (b or 1) for a, b in ((*s, 0)[:2] for _, s in HEAD.values()))
    assert found.plan.head_size == sum(map(len, hub.repos[HEAD_REPO].files.values()))
    assert looked(hub, HEAD_REPO).found.tier is Tier.UNSUPPORTED


def test_the_head_that_we_know_of_comes_along(hub: FakeHub, tmp_path: Path) -> None:
    entry = catalogue.entries()[0]
    hub.repos[entry.target] = FakeRepo(files_of(model_folder.write(tmp_path / "target")))
    odd_folders._head_folder(tmp_path / "head")
    hub.repos[entry.head] = FakeRepo(files_of(tmp_path / "head"))
    found = looked(hub, entry.target)
    assert found.plan.head
    assert (found.plan.title, found.plan.head.id) == (entry.title, entry.head)


def test_too_large_is_an_answer(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos[REPO] = FakeRepo(files_of(model_folder.write(tmp_path)))
    footprint = looked(hub).found.footprint
    assert footprint
    small = Machine(1 << 20, 1 << 20, packed=True, chunk=512)
    assert memory_fit.judge_fit(footprint, memory_fit.CONTEXT, small).verdict is memory_fit.MemoryVerdict.TOO_BIG


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["modeling.py"], "'modeling.py' that can"),
        (["modeling.py", "pytorch_model.bin"], "'modeling.py' and 1 more file that can"),
        (["modeling.py", "pytorch_model.bin", "tool.pkl"], "'modeling.py' and 2 more files that can"),
    ],
)
def test_code_is_told_of_and_never_fetched(hub: FakeHub, tmp_path: Path, names: list[str], said: str) -> None:
    more = dict.fromkeys((*names, "notes.txt"), b"")
    hub.repos[REPO] = FakeRepo(files_of(model_folder.write(tmp_path)) | more)
    found = looked(hub)
    assert found.found.loads
    assert found.warnings == (f"It also holds {said} run code when they are read; they are never fetched.",)
    assert not {asked.name for asked in hub.asked} & more.keys()


def test_who_needs_many_bytes_to_say_what_it_is_is_refused(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_extract, "MAX_BYTES", 100_000)
    index = json.dumps({"weight_map": dict.fromkeys(map(str, range(10_000)), "model.safetensors")}).encode()
    hub.repos[REPO] = FakeRepo(files_of(model_folder.write(tmp_path)) | {checkpoint.WEIGHT_INDEX: index})
    assert looked(hub).found.tier is Tier.REFUSED  # larger than allowed: not even begun
    monkeypatch.setattr(head_extract, "MAX_BYTES", len(index) + 10)
    with pytest.raises(HubError, match="no honest model") as caught:
        looked(hub)
    assert caught.value.problem is HubErrorKind.UNSAFE


def test_a_look_survives_a_bad_line(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos[REPO] = FakeRepo(files_of(model_folder.write(tmp_path)))
    hub.faults.append(Fault(lambda handler, *_: handler.reply(503), times=1))
    hub.faults.append(Fault(lambda handler, *_: handler.cut(), "model.safetensors", times=1))
    assert looked(hub).found.loads
