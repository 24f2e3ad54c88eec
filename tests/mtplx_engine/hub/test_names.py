"""Names from a hub are believed only in the forms that we need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.hub import names, plan

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
    assert names.is_wanted(name)


@pytest.mark.parametrize("name", UNWANTED)
def test_what_no_model_needs(name: str) -> None:
    assert not names.is_wanted(name)


@given(st.text())
def test_a_wanted_name_stays_in_its_folder(name: str) -> None:
    if names.is_wanted(name):
        assert ".." not in name.split("/")
        assert not name.startswith("/")
        assert name.isascii()


@pytest.mark.parametrize(
    "name", ["a", "a/b/c", "/b", "a/", "../b", "a/..", "a/b..c", "-a/b", "a b/c", "a/b\n", "a--b/c", "ä/b"]
)
def test_what_is_no_repository(name: str) -> None:
    assert not names.is_repo(name)


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,9}/[A-Za-z0-9][A-Za-z0-9._-]{0,9}", fullmatch=True))
def test_different_repositories_have_different_folders(name: str) -> None:
    if names.is_repo(name):
        folder = plan.folder_name(name)
        assert "/" not in folder
        owner, _, model = folder.rpartition("--")
        assert f"{owner}/{model}" == name
