"""The password in the address of a proxy is found, taken out, and comes back; no file has it."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import credentials, repository, settings
from mtplx_engine.hub.credentials import TokenStore
from mtplx_engine.hub.download import Download
from mtplx_engine.hub.errors import HubError
from mtplx_engine.hub.http import HubConnection
from mtplx_engine.hub.plan import DownloadPlan, folder_name
from mtplx_engine.hub.retries import Retries
from mtplx_engine.hub.settings import HubSettings
from tests.support import model_folder
from tests.support.fake_hub import FakeHub, FakeRepo, Fault, running
from tests.support.fake_keychain import FakeKeychain

if TYPE_CHECKING:
    from pathlib import Path


NAMES = st.text("abcXYZ0189._-", min_size=1)
SERVERS = st.sampled_from(["proxy.example", "proxy.example:3128", "[::1]:8080", "10.0.0.1:80"])


@given(st.sampled_from(["http", "https"]), NAMES, SERVERS, st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_password_comes_back(scheme: str, name: str, server: str, password: str) -> None:
    plain = f"{scheme}://{name}@{server}"
    whole = credentials.with_password(plain, password)
    assert credentials.without_password(whole) == (plain, password)
    assert unquote(urlsplit(whole).password or "") == password


@pytest.mark.parametrize("typed", ["p@ss:word", "p%40ss:word", "p@ss%3Aword"])
def test_a_password_may_be_typed_as_it_is(typed: str) -> None:
    assert credentials.without_password(f"http://ada:{typed}@proxy.example") == (
        "http://ada@proxy.example",
        "p@ss:word",
    )


@pytest.mark.parametrize("address", ["", "http://proxy.example:3128", "http://ada@proxy.example", "what"])
def test_an_address_without_one_stays_as_it_is(address: str) -> None:
    assert credentials.without_password(address) == (address, "")


def test_each_proxy_and_name_has_a_password_of_its_own() -> None:
    keychain = FakeKeychain()
    ada = credentials.store_proxy("http://ada@proxy.example:3128", keychain)
    eve = credentials.store_proxy("http://eve@proxy.example:3128", keychain)
    assert ada is not None
    assert eve is not None
    ada.set("s3cret")
    assert (ada.get(), eve.get()) == ("s3cret", None)
    assert credentials.store_proxy("http://proxy.example:3128", keychain) is None


def test_settings_are_readable_for_nobody_else_and_hold_no_password(tmp_path: Path) -> None:
    (tmp_path / "hub.json").write_text("{}")
    (tmp_path / "hub.json").chmod(0o644)
    settings.write_settings(tmp_path, HubSettings(proxy="http://ada:s3cret@proxy.example"))
    assert settings.read_settings(tmp_path).proxy == "http://ada@proxy.example"
    assert b"s3cret" not in (tmp_path / "hub.json").read_bytes()
    assert (tmp_path / "hub.json").stat().st_mode & 0o777 == 0o600


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
    assert (credentials.system_keychain() is not None) == (sys.platform == "darwin")


def test_the_token_is_in_no_artefact(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    files = {path.name: path.read_bytes() for path in model_folder.write(tmp_path / "original").iterdir()}
    texts = [repr(TokenStore("hub.example", FakeKeychain()))]
    with running(FakeHub({"a/b": FakeRepo(files)})) as hub:
        connection = HubConnection(hub.endpoint, CANARY)
        texts.append(repr(connection))
        plan = DownloadPlan(folder_name("a/b"), "A model", repository.read_repo(connection, "a/b"))
        for status in (401, 403, 404, 429, 500):
            hub.faults[:] = [Fault(lambda handler, _data, _asked, code=status: handler.reply(code), "config.json")]
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
