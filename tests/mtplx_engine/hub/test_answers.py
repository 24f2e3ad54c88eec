"""What answers and failures mean, whatever stands in them."""

from __future__ import annotations

import email.utils
import ssl
import time

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_engine.hub import answers
from mtplx_engine.hub.errors import HubErrorKind
from mtplx_engine.hub.retries import LONGEST_S, asked_for

PASSWORD = "s3cret"


@given(st.one_of(st.text(st.characters(codec="ascii")), st.integers().map(str), st.floats().map(str)))
def test_any_retry_after_is_harmless(value: str) -> None:
    seconds = answers.wait_seconds({"Retry-After": value})
    assert seconds is None or 0 <= seconds <= LONGEST_S
    error = answers.refusal(429, {"Retry-After": value}, host="hub.example", has_token=False)
    assert error is not None
    assert str(error).startswith("hub.example ")


def test_a_wait_is_said_in_each_of_its_forms() -> None:
    date = email.utils.formatdate(time.time() + 600, usegmt=True)
    assert answers.wait_seconds({"Retry-After": date}) == pytest.approx(600, abs=5)
    assert answers.wait_seconds({"Retry-After": "7"}) == 7
    assert answers.wait_seconds({"RateLimit": '"api";r=0;t=55'}) == 55
    assert answers.wait_seconds({"RateLimit": '"api";r=0;t=' + "9" * 17}) == LONGEST_S
    assert answers.wait_seconds({}) is None
    noon = time.mktime((2026, 11, 29, 12, 0, 0, 0, 0, -1))
    assert asked_for(7, noon) == "to wait 7 s"
    assert asked_for(140 * 60, noon) == "to wait until 14:20"
    assert asked_for(13 * 3600, noon) == "to wait until 01:00 tomorrow"


FILE = {"repo": "makers/model", "file": "model.safetensors"}


@pytest.mark.parametrize(
    ("status", "code", "has_token"),
    [
        (401, "", False),
        (401, "RepoNotFound", True),
        (403, "", True),
        (403, "GatedRepo", False),
        (403, "GatedRepo", True),
        (404, "", False),
        (410, "EntryNotFound", True),
    ],
)
def test_a_fault_of_a_file_names_its_repository_first(status: int, code: str, *, has_token: bool) -> None:
    headers = {"X-Error-Code": code}
    error = answers.refusal(status, headers, host="hub.example", has_token=has_token, **FILE)
    assert error is not None
    assert "makers/model" in str(error)
    assert "makers/model" in str(error).partition("model.safetensors")[0]


def failed(error: Exception, cause: Exception | None = None, *, via_proxy: bool = False) -> tuple[HubErrorKind, str]:
    error.__cause__ = cause
    found = answers.failure(error, host="hub.example", via_proxy=via_proxy)  # type: ignore[arg-type]
    assert PASSWORD not in found.info.details
    return found.problem, str(found)


@pytest.mark.parametrize("via_proxy", [False, True])
def test_a_certificate_is_no_fault_of_a_proxy(*, via_proxy: bool) -> None:
    error = httpx2.ConnectError("certificate verify failed")
    problem, said = failed(error, ssl.SSLCertVerificationError(1, "self-signed"), via_proxy=via_proxy)
    assert problem is HubErrorKind.CERTIFICATE
    assert "certificate of hub.example" in said


def test_what_a_proxy_says_is_told() -> None:
    problem, said = failed(httpx2.ProxyError("407 Proxy Authentication Required"), via_proxy=True)
    assert (problem, "(407)" in said, "keychain" in said) == (HubErrorKind.PROXY, True, True)
    assert "(403)" in failed(httpx2.ProxyError("403 Forbidden"), via_proxy=True)[1]
    assert failed(httpx2.ConnectError(f"http://ada:{PASSWORD}@proxy"), via_proxy=True)[0] is HubErrorKind.PROXY


def test_each_cause_has_its_own_words() -> None:
    refused = ConnectionRefusedError(111, "refused")
    said = {
        failed(httpx2.ConnectError("x"), refused)[1],
        failed(httpx2.ConnectTimeout("x"))[1],
        failed(httpx2.ReadTimeout("x"))[1],
        failed(httpx2.RemoteProtocolError("x"))[1],
        failed(httpx2.ConnectError("x"), OSError(101, "unreachable"))[1],
    }
    assert len(said) == 5
