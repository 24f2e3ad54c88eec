"""A head from a few ranges of the repository that a model was made from: found, judged, fetched, bound and loaded."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import pytest

from mtplx_engine.engine import Engine
from mtplx_engine.hub import download, head_extract, partial, plan, remote_inspect
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.errors import CancelledError, HubError, HubErrorKind
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.retries import Retries
from mtplx_engine.models import checkpoint, manifest, safetensors_header
from mtplx_engine.models.inspection import Tier
from tests.support import hub_child, model_folder, module_shapes, toy_pair
from tests.support.checkpoints import family_case, hybrid, layouts, shards
from tests.support.engine_runs import load
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running
from tests.support.toy import TOY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mtplx_engine.hub.remote_inspect import RepoInspection
    from tests.support.fake_hub import Asked, Handler


REPO, BASE = "makers/model-4bit", "makers/model"
NAME = "makers--model-4bit"
APPENDED = ("deepseek_v3", "glm4_moe", "glm4_moe_lite")
RETRIES = Retries(limit=2, first_s=0.001)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def converted(name: str, array: mx.array) -> tuple[str, mx.array]:
    """Return a tensor of a trunk, published by the makers of Qwen, as mlx-lm's conversion has it."""
    own = name.replace("model.language_model.", "language_model.model.")
    own = own if own != name else f"language_model.{name}"
    if "conv1d" in name:
        return own, mx.contiguous(array.moveaxis(1, 2))
    return own, (array + 1).astype(array.dtype) if hybrid.is_shifted(name) else array


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """A conversion of the toy without its head, and what it was made from: three shards with the head all over them."""
    root = tmp_path_factory.mktemp("toys")
    target = toy_pair.write(root).target
    tensors = mx.load(str(TOY / "model.safetensors"))
    trunk = dict(converted(*item) for item in tensors.items() if not item[0].startswith("mtp."))
    mx.save_safetensors(str(target / "model.safetensors"), trunk)
    shards.write(root / "original", json.loads((TOY / "config.json").read_text()), tensors)
    return files_of(target), files_of(root / "original")


@pytest.fixture
def hub(models: tuple[dict[str, bytes], dict[str, bytes]]) -> Iterator[FakeHub]:
    target, whole_model = models
    repos = {
        REPO: FakeRepo(dict(target), card={"base_model": BASE}),
        BASE: FakeRepo(dict(whole_model), commit="b" * 40),
    }
    with running(FakeHub(repos)) as hub:
        yield hub


def looked(hub: FakeHub, repo: str = REPO) -> RepoInspection:
    connection = HubConnection(hub.endpoint)
    return remote_inspect.inspect_repo(connection, remote_inspect.plan_download(connection, repo), retries=RETRIES)


def started(hub: FakeHub, data: Path, found: RepoInspection | None = None) -> Download:
    wanted = (found or looked(hub)).plan
    assert wanted.taken is not None
    return Download(wanted, data, HubConnection(hub.endpoint), RETRIES)


def tensors_of(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return all of a file's tensors: type, shape and bytes."""
    data = path.read_bytes()
    return {
        name: (spec.dtype, spec.shape, data[spec.begin : spec.begin + spec.size])
        for name, spec in safetensors_header.read(path).items()
    }


def from_base(hub: FakeHub) -> list[Asked]:
    return [asked for asked in hub.asked if asked.name.startswith("model-0")]


# ---------------------------------------------------------------- what is found


def test_the_head_is_found_with_its_size(hub: FakeHub) -> None:
    found = looked(hub)
    taken = found.plan.taken
    assert taken
    assert found.found.tier is Tier.UNVERIFIED
    assert found.found.head
    assert found.found.head.size == sum(part.size for part in taken.parts)
    assert found.plan.size == found.plan.target.size + taken.size
    assert (found.plan.head_repo, found.plan.head_size) == (BASE, taken.size)
    assert (taken.original.revision, taken.original.licence) == ("b" * 40, "apache-2.0")
    assert found.warnings == ()
    assert not any(asked.name == "tokenizer.json" for asked in hub.asked)


def test_a_plan_with_a_taken_head_is_kept(hub: FakeHub, tmp_path: Path) -> None:
    wanted = looked(hub).plan
    folder = plan.staging(tmp_path, wanted.id)
    plan.write_plan(folder, wanted)
    assert plan.read_plan(folder) == wanted
    assert plan.unfinished_plans(tmp_path) == (wanted,)
    assert wanted.asked == remote_inspect.plan_download(HubConnection(hub.endpoint), REPO)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("begin", -1),
        ("begin", 1 << 40),
        ("shape", [1 << 40]),
        ("shape", [-1, -1]),
        ("shape", [1] * 9),
        ("dtype", "X9"),
        ("file", "other.safetensors"),
        ("name", ""),
    ],
)
def test_a_plan_cannot_take_other_bytes(hub: FakeHub, tmp_path: Path, field: str, value: object) -> None:
    wanted = looked(hub).plan
    folder = plan.staging(tmp_path, wanted.id)
    plan.write_plan(folder, wanted)
    body = json.loads((folder / plan.PLAN_NAME).read_text())
    for part in body["taken"]["parts"][:2]:
        part[field] = value  # two of one name are none either
    (folder / plan.PLAN_NAME).write_text(json.dumps(body))
    assert plan.read_plan(folder) is None


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"base_model": None},
        {"base_model": 7},
        {"base_model": {"a": 1}},
        {"base_model": []},
        {"base_model": [BASE, "makers/other"]},
        {"base_model": REPO.upper()},
        {"base_model": "model"},
        {"base_model": "../../etc/passwd"},
        {"base_model": f"{BASE}/../{BASE}"},
        {"base_model": "https://evil.example/makers/model"},
        {"base_model": f"{BASE}?x=y"},
        {"base_model": [[BASE]]},
    ],
    ids=str,
)
def test_nobody_is_asked_whom_the_card_does_not_name_well(hub: FakeHub, card: dict[str, Any]) -> None:
    hub.repos[REPO].card = card
    found = looked(hub)
    assert found.plan.taken is None
    assert found.found.tier is Tier.NO_HEAD
    assert found.warnings == ()
    assert {path.split("/")[4] for path in hub.paths if path.startswith("/api/")} == {REPO.partition("/")[2]}


def test_a_list_of_one_is_a_name(hub: FakeHub) -> None:
    hub.repos[REPO].card = {"base_model": [BASE]}
    assert looked(hub).plan.taken


def test_who_has_a_head_is_not_given_another(hub: FakeHub) -> None:
    hub.repos[REPO].files = files_of(TOY)
    assert looked(hub).plan.taken is None
    assert not from_base(hub)


def test_an_original_without_a_head_is_no_fault(hub: FakeHub) -> None:
    hub.repos[BASE].files = dict(hub.repos[REPO].files)
    found = looked(hub)
    assert (found.plan.taken, found.found.tier, found.warnings) == (None, Tier.NO_HEAD, ())


def change_config(hub: FakeHub, **changes: object) -> None:
    files = hub.repos[BASE].files
    body = json.loads(files["config.json"])
    body["text_config"] |= changes
    files["config.json"] = json.dumps(body).encode()


def drop(hub: FakeHub, name: str) -> None:
    del hub.repos[BASE].files[name]


def make_index(hub: FakeHub, table: object) -> None:
    hub.repos[BASE].files[checkpoint.WEIGHT_INDEX] = json.dumps({"weight_map": table}).encode()


def shard(number: int) -> str:
    return f"model-{number:05d}-of-00003.safetensors"


def lie(hub: FakeHub) -> None:
    """Let the header of a shard name a tensor that overlaps another."""
    data = hub.repos[BASE].files[shard(1)]
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    name = next(name for name in header if name.startswith("mtp."))
    header[name]["data_offsets"][0] += 4
    text = json.dumps(header).encode()
    hub.repos[BASE].files[shard(1)] = len(text).to_bytes(8, "little") + text + data[8 + length :]


def widen(hub: FakeHub) -> None:
    """Let a tensor of the head be there in another shape."""
    path = shard(1)
    header = {"mtp.norm.weight": {"dtype": "F32", "shape": [7], "data_offsets": [0, 28]}}
    hub.repos[BASE].files = {
        "config.json": hub.repos[BASE].files["config.json"],
        path: model_folder.raw_safetensors(header, 28),
    }


HOSTILE: dict[str, tuple[Callable[[FakeHub], object], str]] = {
    "other sizes": (lambda hub: change_config(hub, hidden_size=64), "is another kind of model"),
    "other depth": (lambda hub: change_config(hub, num_hidden_layers=5), "is another kind of model"),
    "other vocabulary": (lambda hub: change_config(hub, vocab_size=7), "is another kind of model"),
    "no settings": (lambda hub: drop(hub, "config.json"), "has no config.json"),
    "settings that are none": (
        lambda hub: hub.repos[BASE].files.update({"config.json": b"[]"}),
        "holds a list where an object belongs",
    ),
    "a file that is missing": (lambda hub: drop(hub, shard(2)), f"has no file '{shard(2)}'"),
    "an index that leads out": (
        lambda hub: make_index(hub, {"mtp.norm.weight": "../../evil"}),
        "does not say which file holds which tensor",
    ),
    "an index of code": (
        lambda hub: make_index(hub, {"mtp.norm.weight": "modeling.py"}),
        "has no file 'modeling.py'",
    ),
    "an index that is none": (lambda hub: make_index(hub, 3), "does not say which file holds which tensor"),
    "a header that lies": (lie, "another number of bytes"),
    "another shape": (widen, "does not fit this model"),
    "a header of nothing": (
        lambda hub: hub.repos[BASE].files.update({shard(1): bytes(9)}),
        "is not valid JSON",
    ),
    "a huge header": (
        lambda hub: hub.repos[BASE].files.update({shard(1): (1 << 62).to_bytes(8, "little") + bytes(90)}),
        "is cut off or no safetensors file",
    ),
    "gated": (
        lambda hub: hub.faults.append(
            Fault(
                lambda handler, *_: handler.reply(403, headers={"X-Error-Code": "GatedRepo"}),
                checkpoint.WEIGHT_INDEX,
            )
        ),
        "is gated",
    ),
    "gone": (lambda hub: hub.repos.pop(BASE), "is private, or there is no such model"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_strange_original_is_told_of_and_the_model_stays(hub: FakeHub, name: str) -> None:
    act, words = HOSTILE[name]
    act(hub)
    found = looked(hub)
    assert found.plan.taken is None
    assert found.found.loads
    assert found.found.tier is Tier.NO_HEAD
    (sentence,) = found.warnings
    assert sentence.startswith(f"No drafting head is taken from {BASE}, its original: ")
    assert words in sentence
    assert "Nothing was loaded" not in sentence


def test_a_head_without_end_is_none(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_extract, "_LARGEST_HEAD", 1000)
    assert "has a drafting head of more than" in looked(hub).warnings[0]


@pytest.mark.parametrize(("licence", "said"), [("mit", "mit"), ("", "not stated")])
def test_another_licence_is_told_of(hub: FakeHub, licence: str, said: str) -> None:
    hub.repos[BASE].licence = licence
    found = looked(hub)
    assert found.plan.taken
    assert found.warnings == (f"The drafting head is from {BASE}, whose licence is {said}.",)


def test_two_heads_are_none(hub: FakeHub) -> None:
    hub.repos[BASE].files["mtp.safetensors"] = model_folder.safetensors({"norm.weight": ("F32", (128,))})
    assert "has no single drafting head" in looked(hub).warnings[0]


def test_a_hub_that_cannot_be_reached_is_no_answer(hub: FakeHub) -> None:
    hub.faults.append(Fault(lambda handler, *_: handler.reply(503), checkpoint.WEIGHT_INDEX))
    with pytest.raises(HubError) as raised:
        looked(hub)
    assert raised.value.problem is HubErrorKind.UNREACHABLE


def test_one_file_needs_no_index(hub: FakeHub) -> None:
    hub.repos[BASE].files = files_of(TOY)
    taken = looked(hub).plan.taken
    assert taken
    assert [header.file for header in taken.headers] == ["model.safetensors"]


# ---------------------------------------------------------------- what is fetched


def test_only_the_ranges_are_fetched_and_the_head_drafts(hub: FakeHub, tmp_path: Path) -> None:
    """The probe finds out how the gains of the original are stored."""
    found = looked(hub)
    hub.asked.clear()
    job = started(hub, tmp_path, found)
    folder = job.run()
    assert job.tally.done == job.total == found.plan.size
    taken = found.plan.taken
    assert taken
    head = tensors_of(folder / plan.HEAD_FOLDER / "model.safetensors")
    for name, data in hub.repos[BASE].files.items():
        (tmp_path / name).write_bytes(data)
    whole: dict[str, Any] = {}
    for number in (1, 2, 3):
        whole |= tensors_of(tmp_path / shard(number))
    assert head == {n.removeprefix("mtp."): entry for n, entry in whole.items() if n.startswith("mtp.")}
    asked = sum((item.last or 0) + 1 - item.first for item in from_base(hub))
    assert asked == sum(header.size for header in taken.headers) + sum(part.size for part in taken.parts)
    noted = manifest.read_manifest(folder)
    assert noted
    assert noted.binding
    assert manifest.differing_files(folder, noted, lambda *_: None) == ()
    assert checkpoint.check(folder).head
    info = load(Engine(), folder)
    assert (info.drafter, info.drafter_note) == ("mtp", "")


@pytest.mark.parametrize("family", APPENDED)
@pytest.mark.parametrize("repeats", [True, False])
def test_a_layer_behind_the_last_is_a_head(tmp_path: Path, family: str, *, repeats: bool) -> None:
    """What it repeats of its model is not fetched; the model drafts as its original does."""
    tiny = layouts.TINIES[family]
    tensors = tiny.converted()
    published = tiny.original(tensors, repeats=repeats)
    source = family_case.write(tmp_path / "original", tiny, published)
    target = family_case.write(tmp_path / "target", tiny, layouts.without_head(family, tensors))
    repos = {
        REPO: FakeRepo(files_of(target), card={"base_model": BASE}),
        BASE: FakeRepo(files_of(source), commit="b" * 40),
    }
    with running(FakeHub(repos)) as hub:
        found = looked(hub)
        assert found.plan.taken, found.warnings
        names = [part.name for part in found.plan.taken.parts]
        assert not any("embed_tokens" in name or "shared_head.head" in name for name in names)
        folder = started(hub, tmp_path / "data", found).run()
    family_case.check_same(family_case.numbers(family_case.load(folder)), family_case.numbers(family_case.load(source)))


def test_a_head_in_fp8_is_one(tmp_path: Path) -> None:
    family = "deepseek_v3"
    tiny = layouts.TINIES[family]
    tensors = tiny.converted()
    published, _ = shards.pack_fp8(tiny.original(tensors, repeats=True))
    source = family_case.write(tmp_path / "original", tiny, published)
    target = family_case.write(tmp_path / "target", tiny, layouts.without_head(family, tensors))
    repos = {
        REPO: FakeRepo(files_of(target), card={"base_model": BASE}),
        BASE: FakeRepo(files_of(source), commit="b" * 40),
    }
    with running(FakeHub(repos)) as hub:
        found = looked(hub)
        assert found.plan.taken, found.warnings
        assert family_case.load(started(hub, tmp_path / "data", found).run()).new_drafter


@pytest.mark.parametrize("family", ["qwen3_5", "qwen3_5_moe", "qwen3_next"])
@pytest.mark.parametrize("packing", [layouts.packed(4, 64), layouts.converted], ids=["packed", "plain"])
def test_every_hybrid_family_is_known(tmp_path: Path, family: str, packing: Callable[[str], layouts.Layout]) -> None:
    tiny = layouts.TINIES[family]
    family_case.write(tmp_path / "original", tiny, tiny.original(tiny.converted()))
    layout = packing(family)
    shards.write(tmp_path / "target", layout.config, layout.tensors)
    repos = {
        REPO: FakeRepo(files_of(tmp_path / "target"), card={"base_model": BASE}),
        BASE: FakeRepo(files_of(tmp_path / "original"), commit="b" * 40),
    }
    with running(FakeHub(repos)) as hub:
        found = looked(hub)
        assert found.plan.taken, found.warnings
        folder = started(hub, tmp_path / "data", found).run()
    head = checkpoint.check(folder).head
    assert head
    assert not head.problem


# ---------------------------------------------------------------- faults


@pytest.fixture
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "SEGMENT", 64 << 10)


def ranged(data: bytes, first: int, last: int, etag: str = "") -> tuple[int, bytes, dict[str, str]]:
    etag = etag or f'"{hashlib.sha256(data).hexdigest()}"'
    return 206, data[first : last + 1], {"Content-Range": f"bytes {first}-{last}/{len(data)}", "ETag": etag}


def other_range(handler: Handler, data: bytes, asked: Asked) -> None:
    handler.reply(*ranged(data, asked.first + 8, min((asked.last or 0) + 8, len(data) - 1)))


def whole(handler: Handler, data: bytes, asked: Asked) -> None:
    handler.serve(data, asked, ranged=False)


def other_etag(handler: Handler, data: bytes, asked: Asked) -> None:
    """Honour If-Range, as a server with another content does."""
    handler.serve(data, asked, ranged=True, etag='"other"')


def other_etag_unasked(handler: Handler, data: bytes, asked: Asked) -> None:
    handler.reply(*ranged(data, asked.first, asked.last or 0, '"other"'))


def other_size(handler: Handler, data: bytes, asked: Asked) -> None:
    handler.serve(data + bytes(4), asked, ranged=True)


def cut(handler: Handler, data: bytes, asked: Asked) -> None:
    code, body, headers = ranged(data, asked.first, asked.last or 0)
    handler.reply(code, body[: len(body) // 2], headers, announced=len(body))


def short(handler: Handler, data: bytes, asked: Asked) -> None:
    """Send less than was asked for, and say so."""
    last = asked.first + ((asked.last or 0) - asked.first) // 2
    handler.reply(*ranged(data, asked.first, last))


def status(code: int) -> Callable[[Handler, bytes, Asked], None]:
    return lambda handler, _data, _asked: handler.reply(code)


LASTING: dict[str, tuple[Callable[[Handler, bytes, Asked], None], HubErrorKind]] = {
    "a later range": (other_range, HubErrorKind.CHANGED),
    "200 on Range": (whole, HubErrorKind.NOT_FOUND),
    "changed ETag": (other_etag, HubErrorKind.CHANGED),
    "changed ETag in a range": (other_etag_unasked, HubErrorKind.CHANGED),
    "another size": (other_size, HubErrorKind.CHANGED),
    "truncated": (cut, HubErrorKind.UNREACHABLE),
    "404": (status(404), HubErrorKind.NOT_FOUND),
    "416": (status(416), HubErrorKind.UNREACHABLE),
    "429": (status(429), HubErrorKind.RATE_LIMITED),
    "503": (status(503), HubErrorKind.UNREACHABLE),
}


@pytest.mark.parametrize("name", LASTING)
@pytest.mark.usefixtures("_small_segments")
def test_a_fault_that_lasts_is_said_and_nothing_is_installed(hub: FakeHub, tmp_path: Path, name: str) -> None:
    """After the headers were recognised; what is right is fetched once the fault is over."""
    act, problem = LASTING[name]
    job = started(hub, tmp_path)
    hub.faults += [Fault(act, shard(number), after=1) for number in (1, 2, 3)]
    with pytest.raises(HubError) as raised:
        job.run()
    assert raised.value.problem is problem
    assert not (tmp_path / "models" / NAME).exists()
    hub.faults.clear()
    (wanted,) = plan.unfinished_plans(tmp_path)
    folder = Download(wanted, tmp_path, HubConnection(hub.endpoint), RETRIES).run()
    assert checkpoint.check(folder).head


@pytest.mark.parametrize("act", [cut, short, status(503)], ids=["truncated", "short", "503"])
@pytest.mark.usefixtures("_small_segments")
def test_a_fault_that_passes_costs_nothing(
    hub: FakeHub, tmp_path: Path, act: Callable[[Handler, bytes, Asked], None]
) -> None:
    job = started(hub, tmp_path)
    hub.faults += [Fault(act, shard(number), times=1, after=1) for number in (1, 2, 3)]
    assert checkpoint.check(job.run()).head


def test_a_hub_without_ranges_is_told_apart(hub: FakeHub, tmp_path: Path) -> None:
    job = started(hub, tmp_path)
    hub.repos[BASE].fault = whole
    with pytest.raises(HubError, match="gives only all of") as raised:
        job.run()
    assert raised.value.problem is HubErrorKind.NOT_FOUND


def test_another_header_than_was_looked_at_is_a_change(hub: FakeHub, tmp_path: Path) -> None:
    job = started(hub, tmp_path)
    data = bytearray(hub.repos[BASE].files[shard(2)])
    data[20] ^= 1
    hub.repos[BASE].files[shard(2)] = bytes(data)
    with pytest.raises(HubError) as raised:
        job.run()
    assert raised.value.problem is HubErrorKind.CHANGED


def test_wrong_bytes_of_the_head_are_found_by_the_probe(hub: FakeHub, tmp_path: Path) -> None:
    """Nobody tells their hash: header, size and ETag agree, and only the model knows better."""
    job = started(hub, tmp_path)

    def noise(handler: Handler, data: bytes, asked: Asked) -> None:
        length = int.from_bytes(data[:8], "little") + 8
        # Floats around one, whatever they were.
        wrong = data[:length] + b"\x80\x3f" * ((len(data) - length) // 2)
        handler.serve(wrong, asked, ranged=True, etag=f'"{hashlib.sha256(data).hexdigest()}"')

    hub.repos[BASE].fault = noise
    info = load(Engine(), job.run())
    assert info.drafter != "mtp"
    assert "does not predict this model" in info.drafter_note


@pytest.mark.usefixtures("_small_segments")
def test_a_changed_file_starts_the_head_over(hub: FakeHub, tmp_path: Path) -> None:
    """Under the same commit, which only a mirror does: what has arrived is of another content."""
    hub.faults.append(Fault(cut, shard(3), after=2))
    with pytest.raises(HubError):
        started(hub, tmp_path).run()
    hub.faults.clear()
    hub.repos[BASE].fault = lambda handler, data, asked: handler.serve(
        data, asked, ranged=True, etag='"the mirror\'s own"'
    )
    (wanted,) = plan.unfinished_plans(tmp_path)
    job = Download(wanted, tmp_path, HubConnection(hub.endpoint), RETRIES)
    hub.asked.clear()
    assert checkpoint.check(job.run()).head
    assert job.tally.done == job.total
    assert wanted.taken
    ranges = sum((item.last or 0) + 1 - item.first for item in from_base(hub))
    assert ranges >= sum(part.size for part in wanted.taken.parts)


def test_stop_ends_it_at_once_and_it_goes_on(hub: FakeHub, tmp_path: Path) -> None:
    job, go_on = started(hub, tmp_path), threading.Event()

    def stall(*_: object) -> None:
        job.stop()
        go_on.wait(30)

    hub.faults.append(Fault(stall, shard(1), after=1))
    try:
        with pytest.raises(CancelledError):
            job.run()
    finally:
        go_on.set()
    hub.faults.clear()
    (wanted,) = plan.unfinished_plans(tmp_path)
    assert Download(wanted, tmp_path, HubConnection(hub.endpoint), RETRIES).run().is_dir()


def test_kills_cost_little(tmp_path: Path) -> None:
    """Of a head of 7 MB; what is sent again after each is counted."""
    sizes = {
        "hidden_size": 256,
        "intermediate_size": 4096,
        "num_hidden_layers": 1,
        "full_attention_interval": 1,
    }
    config = json.loads((TOY / "config.json").read_text())
    config["text_config"] |= sizes
    trunk = {name: ("BF16", shape) for name, shape in module_shapes.trunk(config).items()}
    head = {f"mtp.{name}": ("BF16", shape) for name, shape in module_shapes.head(config).items()}
    common = {name: data for name, data in files_of(TOY).items() if "token" in name}
    common["config.json"] = json.dumps(config).encode()
    repos = {
        REPO: FakeRepo(common | {"model.safetensors": model_folder.safetensors(trunk)}, card={"base_model": BASE}),
        BASE: FakeRepo(common | {"model.safetensors": model_folder.safetensors(trunk | head)}, commit="b" * 40),
    }
    rng, again = random.Random(9), []
    with running(FakeHub(repos, pause_s=0.002)) as hub:
        wanted = looked(hub).plan
        assert wanted.head_size > 6_500_000
        plan.write_plan(plan.staging(tmp_path, NAME), wanted)
        while not (tmp_path / "models" / NAME).is_dir():
            sent, there = hub.sent, download.present(tmp_path, wanted)
            # The first ones while the model arrives, the others while its head does.
            limit = None if len(again) >= 8 else rng.randint(1 << 19, 3 << 20)
            hub_child.run_until(hub, REPO, tmp_path, 1 << 20, limit)
            again.append(hub.sent - sent - (download.present(tmp_path, wanted) - there))
    again.pop()  # nothing is there any more when it is installed
    print(f"{len(again)} kills of a download with a taken head: at most {max(again):,} bytes were sent again")
    assert len(again) >= 5
    assert max(again) <= 2 << 20
