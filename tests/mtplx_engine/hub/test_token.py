"""The token is kept in the keychain or in memory, and is found nowhere else."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import repo, secret
from mtplx_engine.hub.connection import Connection
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.plan import Plan, folder_name
from mtplx_engine.hub.problem import HubError
from mtplx_engine.hub.retry import Retries
from mtplx_engine.hub.token import TokenStore
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running
from tests.support.fake_keychain import FakeKeychain

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "hf_canaryCANARYcanary0123456789"


def test_a_token_lasts_in_the_keychain() -> None:
    keychain = FakeKeychain()
    store = TokenStore("hub.example", keychain)
    store.set(f"  {CANARY}\n")
    assert keychain.kept == {("MTPLX", "hub.example"): CANARY}
    again = TokenStore("hub.example", keychain)
    assert again.lasts
    assert again.get() == CANARY
    assert TokenStore("mirror.example", keychain).get() is None
    again.forget()
    again.forget()
    assert keychain.kept == {}
    assert again.get() is None


def test_the_keychain_is_asked_late_and_once() -> None:
    keychain = FakeKeychain()
    store = TokenStore("hub.example", keychain)
    assert keychain.asked == 0
    store.get()
    store.get()
    assert keychain.asked == 1


def test_without_a_keychain_it_lives_for_this_run() -> None:
    store = TokenStore("hub.example", None)
    assert not store.lasts
    store.set(CANARY)
    assert store.get() == CANARY
    assert TokenStore("hub.example", None).get() is None


@pytest.mark.parametrize("keychain", [FakeKeychain(refuses=True), FakeKeychain(forgets=True)])
def test_a_keychain_that_does_not_keep_it_is_said(keychain: FakeKeychain) -> None:
    store = TokenStore("hub.example", keychain)
    with pytest.raises(EngineError) as raised:
        store.set(CANARY)
    assert raised.value.kind is ErrorKind.STORAGE
    assert store.get() == CANARY
    assert CANARY not in repr(raised.value.info)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "No access token was entered"),
        (" \n", "No access token was entered"),
        ("short", "too short for an access token: it has 5 of at least 8"),
        ("two words here", "without spaces"),
        ("line\nline-line", "without spaces"),
        ("ключ-ключ-ключ", "letters A to Z"),
        ("x" * 600, "too long for an access token: it has 600 of at most 512"),
    ],
)
def test_what_is_no_token_is_refused_for_what_it_is(text: str, said: str) -> None:
    store = TokenStore("hub.example", FakeKeychain())
    with pytest.raises(EngineError, match=said) as raised:
        store.set(text)
    assert raised.value.kind is ErrorKind.BAD_REQUEST
    assert store.get() is None


def test_only_a_mac_has_a_keychain_that_we_trust() -> None:
    assert (secret.system_keychain() is not None) == (sys.platform == "darwin")


def test_the_token_is_in_no_artefact(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "original").iterdir()}
    texts = [repr(TokenStore("hub.example", FakeKeychain()))]
    with running(FakeHub({"a/b": FakeRepo(files)})) as hub:
        connection = Connection(hub.endpoint, CANARY)
        texts.append(repr(connection))
        plan = Plan(folder_name("a/b"), "A model", repo.read(connection, "a/b"))
        for status in (401, 403, 404, 429, 500):
            hub.faults[:] = [
                Fault(lambda handler, _data, _asked, code=status: handler.reply(code), "config.json")
            ]
            with pytest.raises(HubError) as raised:
                Download(plan, tmp_path, connection, Retries(limit=2, first_s=0.001)).run()
            texts += [str(raised.value), repr(raised.value.info), *traceback.format_exception(raised.value)]
        hub.faults.clear()
        Download(plan, tmp_path, connection).run()
        assert any(asked.authorized for asked in hub.asked)
    texts += [record.getMessage() for record in caplog.records]
    texts += capfd.readouterr()
    artefacts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(artefacts) > len(files)
    assert not any(CANARY.encode() in data for data in artefacts)
    assert not any(CANARY in text for text in texts)
