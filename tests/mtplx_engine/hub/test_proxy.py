"""The password in the address of a proxy is found, taken out, and comes back; no file has it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.hub import proxy, settings
from mtplx_engine.hub.settings import HubSettings
from tests.support.fake_keychain import FakeKeychain

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.text("abcXYZ0189._-", min_size=1)
SERVERS = st.sampled_from(["proxy.example", "proxy.example:3128", "[::1]:8080", "10.0.0.1:80"])


@given(st.sampled_from(["http", "https"]), NAMES, SERVERS, st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_password_comes_back(scheme: str, name: str, server: str, password: str) -> None:
    plain = f"{scheme}://{name}@{server}"
    whole = proxy.with_password(plain, password)
    assert proxy.without_password(whole) == (plain, password)
    assert unquote(urlsplit(whole).password or "") == password


@pytest.mark.parametrize("typed", ["p@ss:word", "p%40ss:word", "p@ss%3Aword"])
def test_a_password_may_be_typed_as_it_is(typed: str) -> None:
    assert proxy.without_password(f"http://ada:{typed}@proxy.example") == (
        "http://ada@proxy.example",
        "p@ss:word",
    )


@pytest.mark.parametrize("address", ["", "http://proxy.example:3128", "http://ada@proxy.example", "what"])
def test_an_address_without_one_stays_as_it_is(address: str) -> None:
    assert proxy.without_password(address) == (address, "")


def test_each_proxy_and_name_has_a_password_of_its_own() -> None:
    keychain = FakeKeychain()
    ada = proxy.store("http://ada@proxy.example:3128", keychain)
    eve = proxy.store("http://eve@proxy.example:3128", keychain)
    assert ada is not None
    assert eve is not None
    ada.set("s3cret")
    assert (ada.get(), eve.get()) == ("s3cret", None)
    assert proxy.store("http://proxy.example:3128", keychain) is None


def test_settings_are_readable_for_nobody_else_and_hold_no_password(tmp_path: Path) -> None:
    (tmp_path / "hub.json").write_text("{}")
    (tmp_path / "hub.json").chmod(0o644)
    settings.write(tmp_path, HubSettings(proxy="http://ada:s3cret@proxy.example"))
    assert settings.read(tmp_path).proxy == "http://ada@proxy.example"
    assert b"s3cret" not in (tmp_path / "hub.json").read_bytes()
    assert (tmp_path / "hub.json").stat().st_mode & 0o777 == 0o600
