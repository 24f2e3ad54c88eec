"""A model and the folder of its head become one installed model, and neither folder is touched."""

from __future__ import annotations

import json
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mtplx_engine.engine import Engine
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, library, manifest, pairing
from tests.support import model_folder, toy_pair
from tests.support.checkpoints import shards
from tests.support.checkpoints.glm4_moe_lite import TINY
from tests.support.engine_runs import check_error, load, run, tokens_of
from tests.support.toy import TOY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.toy_pair import ToyPair


@pytest.fixture
def toys(tmp_path: Path) -> ToyPair:
    return toy_pair.write(tmp_path / "elsewhere")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def refuse(kind: ErrorKind, *words: str, **arguments: Any) -> None:
    """Assert that nothing is joined, and why."""
    with pytest.raises(EngineError) as caught:
        pairing.join(**arguments)
    check_error(caught, kind, *words)
    assert not library.installed_models(arguments["data"])


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_pair_is_listed_and_drafts_like_the_whole(toys: ToyPair, data: Path) -> None:
    before = contents(toys.target.parent)
    folder = pairing.join(*toys, data)
    (listed,) = library.installed_models(data)
    assert (listed.name, listed.path, listed.has_head, listed.complete) == ("toy+mtp", folder, True, True)
    assert listed.size == sum(len(data) for data, _ in before.values())
    assert library.resolve_model("TOY+mtp", data) == folder
    joined, whole = Engine(), Engine()
    info = joined.load("toy+mtp", data, lambda *_: None, threading.Event())
    whole.load(str(TOY), data, lambda *_: None, threading.Event())
    assert (info.name, info.drafter, info.drafter_note) == ("toy+mtp", "mtp", "")
    one, other = (run(engine, temperature=0, speculative_depth=3) for engine in (joined, whole))
    assert tokens_of(one) == tokens_of(other)
    assert one[-1].stats.accepted == other[-1].stats.accepted > 0
    assert contents(toys.target.parent) == before
    assert [path.name for path in folder.iterdir()] == [manifest.MANIFEST_NAME]


def test_a_pair_that_is_split_is_gone_and_its_folders_stay(toys: ToyPair, data: Path) -> None:
    before = contents(toys.target.parent)
    pairing.split(pairing.join(*toys, data, "any name"))
    assert library.installed_models(data) == ()
    assert contents(toys.target.parent) == before
    with pytest.raises(EngineError, match="was not joined") as caught:
        pairing.split(toys.target)
    assert caught.value.kind is ErrorKind.BAD_REQUEST


# ---------------------------------------------------------------- what does not belong together


def test_a_head_of_another_size_is_refused(toys: ToyPair, data: Path, tmp_path: Path) -> None:
    other = model_folder.write(tmp_path / "other")
    refuse(ErrorKind.UNSUPPORTED, "hidden_size", "128", target=other, head=toys.head, data=data)


def test_a_head_that_repeats_tensors_of_another_model_is_refused(data: Path, tmp_path: Path) -> None:
    ours, head = TINY.apart(TINY.converted())
    theirs, _ = TINY.apart(TINY.converted(seed=1))
    for name, tensors in {"ours": ours, "theirs": theirs, "head": head}.items():
        kind = {"model_type": "glm4_moe_lite_mtp"} if name == "head" else {}
        shards.write(tmp_path / name, {**TINY.config, **kind}, tensors)
    pairing.split(pairing.join(tmp_path / "ours", tmp_path / "head", data))
    sides = {"target": tmp_path / "theirs", "head": tmp_path / "head"}
    refuse(ErrorKind.UNSUPPORTED, "does not share", "another model", **sides, data=data)


def test_what_is_no_head_and_what_is_no_model(toys: ToyPair, data: Path) -> None:
    refuse(ErrorKind.UNSUPPORTED, "toy is no folder", target=toys.head, head=toys.target, data=data)
    refuse(ErrorKind.UNSUPPORTED, "no model of its own", target=toys.head, head=toys.head, data=data)
    refuse(ErrorKind.NOT_FOUND, "no folder", target=toys.target, head=data, data=data)
    refuse(ErrorKind.NOT_FOUND, "no folder", target=data, head=toys.head, data=data)
    refuse(ErrorKind.UNSUPPORTED, "already", target=TOY, head=toys.head, data=data)


def test_a_head_folder_with_code_is_refused(toys: ToyPair, data: Path) -> None:
    (toys.head / "modeling.py").write_text("")
    refuse(ErrorKind.REFUSED, "modeling.py", **toys._asdict(), data=data)
    (toys.head / "modeling.py").unlink()
    config = json.loads((toys.head / "config.json").read_text())
    (toys.head / "config.json").write_text(json.dumps({**config, "auto_map": {}}))
    refuse(ErrorKind.REFUSED, "auto_map", **toys._asdict(), data=data)


def test_names(toys: ToyPair, data: Path) -> None:
    first = pairing.join(*toys, data, "Qwen 4B")
    assert (first.parent, first.name) == (data / "models", "Qwen--4B")
    assert pairing.join(*toys, data, "Qwen 4B") == first  # once more
    model_folder.write(data / "models" / "taken")
    long = "n" * 101
    odd = (
        "..",
        "../../evil",
        "/tmp/x",
        "a/b",
        ".hidden",
        "-x",
        "--x",
        "_",
        " x",
        "a\nb",
        "\x1b[31mred",
        long,
    )
    for name, word in (("taken", "already"), *((name, "letters") for name in odd)):
        with pytest.raises(EngineError) as caught:
            pairing.join(*toys, data, name)
        check_error(caught, ErrorKind.BAD_REQUEST, word)
    other = toys.head.with_name("other")
    shutil.copytree(toys.head, other)
    with pytest.raises(EngineError, match="choose another name"):
        pairing.join(toys.target, other, data, "Qwen 4B")


# ---------------------------------------------------------------- what changes later


def test_a_target_that_changed_is_noticed_at_load(toys: ToyPair, data: Path) -> None:
    folder = pairing.join(*toys, data)
    toy_pair.scale(toys.target, 1.25)
    info = load(Engine(), folder)
    assert info.drafter == "none"
    assert "installed for other weights than these, so it is off; join the two again" in info.drafter_note
    pairing.join(*toys, data)
    assert load(Engine(), folder).drafter == "mtp"


@pytest.mark.parametrize("part", ["target", "head"])
def test_a_part_that_is_gone_makes_it_incomplete(toys: ToyPair, data: Path, part: str) -> None:
    folder = pairing.join(*toys, data)
    gone = getattr(toys, part)
    gone.rename(gone.with_name("moved"))
    (listed,) = library.installed_models(data)
    assert not listed.complete
    with pytest.raises(EngineError) as caught:
        checkpoint.check(folder)
    check_error(caught, ErrorKind.NOT_FOUND, '"toy+mtp" is joined', str(gone), "mtplx models join")


def test_code_that_comes_later_is_refused_at_load(toys: ToyPair, data: Path) -> None:
    folder = pairing.join(*toys, data)
    (toys.head / "evil.so").write_bytes(b"")
    with pytest.raises(EngineError, match=r"evil\.so") as caught:
        checkpoint.check(folder)
    assert caught.value.kind is ErrorKind.REFUSED


@pytest.mark.parametrize("change", [{"target": "toy"}, {"folder": "toy-MTP"}, {"target": ""}])
def test_a_binding_that_is_half_here_and_half_elsewhere_counts_for_nothing(
    toys: ToyPair, data: Path, change: dict[str, str]
) -> None:
    folder = pairing.join(*toys, data)
    body = json.loads((folder / manifest.MANIFEST_NAME).read_text())
    body["binding"] |= change
    (folder / manifest.MANIFEST_NAME).write_text(json.dumps(body))
    assert manifest.read_manifest(folder) is None
