"""A head that somebody names is judged before anything is fetched, and what is promised of it is what is installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.hub import plan, remote_inspect
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.models import inspection
from mtplx_engine.models.inspection import ProbeMemory, Tier
from tests.support import model_folder, module_shapes, odd_folders
from tests.support.fake_hub import FakeHub, FakeRepo, running
from tests.support.model_folder import CONFIG, HEAD, HIDDEN, ROWS, TENSORS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_engine.hub.remote_inspect import RepoInspection


TARGET, NAMED = "makers/model", "makers/model-MTP"
HEAD_CONFIG = {"model_type": "llama_mtp", "hidden_size": HIDDEN, "vocab_size": ROWS}
HEAD_FILES = {"model.safetensors": model_folder.safetensors(HEAD)}
OTHER_FAMILY = {
    "model.safetensors": model_folder.safetensors(
        model_folder.tensors(module_shapes.head(CONFIG | odd_folders.EXPERTS | {"model_type": "glm4_moe"}))
    )
}


def model(config: dict[str, object] | None = None, **more: bytes) -> FakeRepo:
    files = {
        "config.json": json.dumps(CONFIG | (config or {})).encode(),
        "tokenizer.json": json.dumps(model_folder.TOKENIZER).encode(),
        "model.safetensors": model_folder.safetensors(TENSORS),
    }
    return FakeRepo(files | {name.replace("__", "."): data for name, data in more.items()})


def head(config: dict[str, object] | None = None, files: dict[str, bytes] = HEAD_FILES) -> FakeRepo:
    return FakeRepo({"config.json": json.dumps(HEAD_CONFIG | (config or {})).encode(), **files})


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with running(FakeHub({TARGET: model(), NAMED: head()})) as hub:
        yield hub


def looked(hub: FakeHub) -> RepoInspection:
    connection = HubConnection(hub.endpoint)
    return remote_inspect.inspect_repo(connection, remote_inspect.plan_download(connection, TARGET, head=NAMED))


@pytest.mark.parametrize(
    ("target", "named", "said"),
    [
        (model(), model(), "its config.json names a model of its own (llama)"),
        (model(), head({"model_type": "l\u202el\n"}), "its config.json names a model of its own (ll)"),
        (model(), head({"hidden_size": 8}), "made for a model with hidden_size 8, but this one has 4"),
        (model(), head({"vocab_size": 99}), "made for a model with vocab_size 99, but this one has 16"),
        (model(), head({"model_type": "glm4_moe_mtp"}, OTHER_FAMILY), "does not fit this model"),
        (model(), head(files={"model.safetensors": b"short"}), "cut off"),
        (model(), head({"auto_map": {"AutoModel": "evil.Model"}}), "asks to run code"),
        (model({"model_type": "mimo"}), head(), "come in a later version"),
    ],
)
def test_one_that_is_none_is_refused(hub: FakeHub, target: FakeRepo, named: FakeRepo, said: str) -> None:
    hub.repos |= {TARGET: target, NAMED: named}
    with pytest.raises(HubError) as caught:
        looked(hub)
    assert caught.value.problem is HubErrorKind.UNFIT_HEAD
    assert str(caught.value).startswith(f"{NAMED} is not fetched as a drafting head: ")
    assert said in str(caught.value)
    assert hub.sent < 20_000


def test_a_whole_model_costs_only_its_settings(hub: FakeHub) -> None:
    hub.repos[NAMED] = model()
    hub.repos[NAMED].files["model.safetensors"] += bytes(5_000_000)
    with pytest.raises(HubError):
        looked(hub)
    assert [asked.name for asked in hub.asked].count("model.safetensors") == 1  # the target's header
    assert hub.sent < 20_000


OWN = model_folder.safetensors(HEAD)
UNFIT = model_folder.safetensors(HEAD | {"norm.weight": ("F32", (HIDDEN, 2 * HIDDEN))})


@pytest.mark.parametrize(
    ("target", "tier", "fetched", "note"),
    [
        (model(), Tier.UNVERIFIED, NAMED, ""),
        (model(mtp__safetensors=OWN), Tier.UNVERIFIED, "", "a drafting head of its own, which is used"),
        (model(mtp__safetensors=UNFIT), Tier.NO_HEAD, "", "a drafting head of its own, which does not fit"),
    ],
    ids=["none", "own", "unfit"],
)
def test_what_is_promised_is_what_is_installed(
    hub: FakeHub, tmp_path: Path, target: FakeRepo, tier: Tier, fetched: str, note: str
) -> None:
    hub.repos[TARGET] = target
    found = looked(hub)
    assert (found.found.tier, found.plan.head_repo) == (tier, fetched)
    assert note in " ".join(found.warnings)
    folder = Download(plan.placed(tmp_path, found.plan), tmp_path, HubConnection(hub.endpoint)).run()
    here = inspection.inspect(folder, ProbeMemory(tmp_path))
    assert (here.tier, here.reason) == (found.found.tier, found.found.reason)
    assert (here.head and here.head.size) == (found.found.head and found.found.head.size)
