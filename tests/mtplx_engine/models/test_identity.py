"""What stands for a model changes with every tensor of it, and with what makes other numbers of them."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.models import checkpoint, identity
from tests.support.toy import TOY

if TYPE_CHECKING:
    from pathlib import Path


CHECKED = checkpoint.check(TOY)
WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the toy."""
    return shutil.copytree(TOY, tmp_path / "toy")


def of(folder: Path) -> str:
    return identity.identity_of(checkpoint.check(folder))


def flip(folder: Path, place: int) -> None:
    """Change one byte of the weights, and not when they were written."""
    path = folder / WEIGHTS
    before = path.stat().st_mtime_ns
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(before, before))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.json", '"rope_theta": 10000.0', '"rope_theta": 20000.0'),
        ("config.json", '"rms_norm_eps": 1e-06', '"rms_norm_eps": 1e-05'),
        ("tokenizer.json", '"version"', '"Version"'),
        ("tokenizer_config.json", '"pad_token"', '"unk_token"'),
    ],
)
def test_the_key_changes_with_configuration_and_tokenizer(
    tmp_path: Path, file: str, old: str, new: str
) -> None:
    folder = shutil.copytree(TOY, tmp_path / "toy")
    before = of(folder)
    with (folder / "generation_config.json").open("a") as settings:
        settings.write(" ")  # how answers are sampled is no matter
    assert of(folder) == before
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    assert of(folder) != before
    (folder / file).write_text((TOY / file).read_text())
    assert of(folder) == before
    (folder / "added_tokens.json").write_text("{}")
    assert of(folder) != before


@pytest.mark.parametrize("most_read", [0, identity._MOST_READ], ids=["large head", "small head"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_every_tensor_counts_at_its_start_middle_and_end(
    folder: Path, share: float, most_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_MOST_READ", most_read)
    assert CHECKED.head
    heads = (location.spec for location in CHECKED.head.tensors.values())
    seen = {before := of(folder)}
    for spec in (*CHECKED.tensors.values(), *heads):
        place = spec.begin + int((spec.size - 1) * share)
        flip(folder, place)
        now = of(folder)
        assert now not in seen, spec
        seen.add(now)
        flip(folder, place)
    assert of(folder) == before


def test_every_byte_of_a_head_counts(folder: Path) -> None:
    assert CHECKED.head
    spec = CHECKED.head.tensors["fc.weight"].spec
    before = of(folder)
    for place in range(spec.begin, spec.begin + spec.size, spec.size // 37):
        flip(folder, place)
        assert of(folder) != before, place
        flip(folder, place)


def test_a_change_that_no_sample_meets_shows_in_the_time(folder: Path) -> None:
    spec = max(CHECKED.tensors.values(), key=lambda spec: spec.size)
    before, place = of(folder), spec.begin + spec.size // 4
    flip(folder, place)
    assert of(folder) == before
    os.utime(folder / WEIGHTS)
    assert of(folder) != before


def test_the_place_of_a_model_is_no_matter(folder: Path) -> None:
    assert of(folder) == of(folder.rename(folder.parent / "elsewhere"))
