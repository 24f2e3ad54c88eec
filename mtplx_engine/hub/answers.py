"""Translates HTTP responses, failed connections and disk errors into a `HubError` with a sentence for the user."""

from __future__ import annotations

import email.utils
import errno
import re
import socket
import ssl
import time
from typing import TYPE_CHECKING

import httpx2
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import hf_raise_for_status

from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.retries import LONGEST_S, asked_for

if TYPE_CHECKING:
    from collections.abc import Mapping


_RESET = re.compile(r";\s*t\s*=\s*(\d{1,18})")  # in a RateLimit header: "api";r=0;t=55
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
_PASSING = (408, 416, 425, 429)  # 4xx statuses after which the same request may succeed


def refusal(
    status: int, headers: Mapping[str, str], *, host: str, has_token: bool, repo: str = "", file: str = ""
) -> HubError | None:
    """Return the error that an HTTP response stands for, None for a success or a redirection.

    The names of `headers` are case-insensitive; `repo` is "" for a request about the hub itself, such as a search.
    """
    if status < 400:
        return None
    code = headers.get("X-Error-Code", "")
    details = f"HTTP {status} {code} from {host}".replace("  ", " ")
    error = _library_error(status, code)
    if isinstance(error, GatedRepoError):
        return _gated(repo, details, has_token=has_token)
    if status == 401 and not (isinstance(error, RepositoryNotFoundError) and has_token):
        return _unauthorised(repo, host, details, has_token=has_token)
    if status == 403:
        wish = f"fetch {repo}" if repo else "ask it"
        sentence = f"{host} does not let this account or network {wish} (403)."
        return HubError(HubErrorKind.FORBIDDEN, f"{sentence} Use a token that may.", details)
    if status in (401, 404, 410):
        return _missing(repo, file, host, details, is_revision=isinstance(error, RevisionNotFoundError))
    if status == 407:
        return _proxy_password(details)
    if status < 500 and status not in _PASSING:
        sentence = f"{host} does not understand what a hub of models is asked (error {status})."
        return HubError(HubErrorKind.ADDRESS, f"{sentence} Check its address in Settings.", details)
    return _busy(status, wait_seconds(headers), host, details)


def _library_error(status: int, code: str) -> HfHubHTTPError | None:
    """Return the library's error for a response; the body is left out, since it may be of any length."""
    headers = {"X-Error-Code": code} if code.isascii() else {}
    try:
        hf_raise_for_status(httpx2.Response(status, headers=headers, request=httpx2.Request("GET", "")))
    except HfHubHTTPError as error:
        return error
    return None


def _busy(status: int, wait: float | None, host: str, details: str) -> HubError:
    if status == 429:
        if wait is None:
            sentence = f"{host} gets too many requests from here (429). Try again in a few minutes."
        else:
            sentence = f"{host} asks {asked_for(wait, time.time())} (429). Try again then."
        return HubError(HubErrorKind.RATE_LIMITED, sentence, details, wait_s=wait)
    asks = "" if wait is None else f", and asks {asked_for(wait, time.time())}"
    sentence = f"{host} cannot answer at the moment (error {status}){asks}. Try again in a few minutes."
    return HubError(HubErrorKind.UNREACHABLE, sentence, details, wait_s=wait)


def failure(error: httpx2.HTTPError | OSError, *, host: str, via_proxy: bool) -> HubError:
    """Return the error that a failed connection stands for."""
    causes = _causes(error)
    # The address of a proxy may hold its password.
    details = type(error).__name__ if via_proxy else repr(error)
    if isinstance(error, httpx2.ProxyError):
        return _refused_by_proxy(error, host, details)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        sentence = (
            f"The certificate of {host} is not valid here, so nothing was fetched. Check this computer's date, or "
            "whether the network reads along."
        )
        return HubError(HubErrorKind.CERTIFICATE, sentence, details)
    if any(isinstance(cause, ssl.SSLError) and cause.reason in _NOT_TLS for cause in causes):
        sentence = f"{host} does not speak HTTPS there, so nothing was fetched. Check its address in Settings."
        return HubError(HubErrorKind.ADDRESS, sentence, details)
    if via_proxy and isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        sentence = f"The proxy on the way to {host} cannot be reached. Check its address in Settings."
        return HubError(HubErrorKind.PROXY, sentence, details)
    return _unreachable(error, causes, host, details)


def _unreachable(error: BaseException, causes: list[BaseException], host: str, details: str) -> HubError:
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        sentence = f"{host} cannot be found: this computer seems to be offline. Try again when it is online."
        return HubError(HubErrorKind.NO_NETWORK, sentence, details)
    numbers = {getattr(cause, "errno", None) for cause in causes}
    if numbers & {errno.ENETUNREACH, errno.ENETDOWN}:
        sentence = f"There is no network to reach {host} by. Try again when this computer is online."
        return HubError(HubErrorKind.NO_NETWORK, sentence, details)
    if errno.ECONNREFUSED in numbers:
        sentence = f"{host} takes no connections at the moment (refused). Try again, or check its address in Settings."
    elif isinstance(error, httpx2.ConnectTimeout):
        sentence = f"{host} cannot be reached: no answer to a call. Check the connection and try again."
    elif isinstance(error, httpx2.TimeoutException):
        sentence = f"{host} stopped answering. Check the connection and try again."
    else:
        sentence = f"The connection to {host} broke off. Check the connection and try again."
    return HubError(HubErrorKind.UNREACHABLE, sentence, details)


def portal(host: str, details: str) -> HubError:
    """Return the error for a response of somebody else in the name of `host`, such as a captive portal's."""
    sentence = f"This network answers for {host} with a page of its own. Open a browser and sign in to it first."
    return HubError(HubErrorKind.PORTAL, sentence, details)


def no_hub(host: str, details: str) -> HubError:
    """Return the error for a server that is no model hub."""
    sentence = f"{host} does not answer as a hub of models does. Check its address in Settings."
    return HubError(HubErrorKind.ADDRESS, sentence, details)


def odd(repo: str, problem: str, details: str = "") -> HubError:
    """Return the error for a description of a repository that makes no sense."""
    return HubError(HubErrorKind.UNSAFE, f"{repo} cannot be fetched: {problem}. Choose another model.", details)


def disk_failure(error: OSError, what: str) -> HubError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        sentence = f"The disk is full, so {what} is paused; what has arrived is kept. Make room and try again."
        return HubError(HubErrorKind.DISK_FULL, sentence, repr(error))
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        sentence = f"The models folder cannot be written, so {what} cannot be kept. Choose another folder."
        return HubError(HubErrorKind.READ_ONLY, sentence, repr(error))
    if error.errno == errno.ENOENT:
        sentence = f"What had arrived of {what} is gone: it was deleted, or its disk taken away. Download it again."
        return HubError(HubErrorKind.WRONG_HASH, sentence, repr(error))
    sentence = f"The disk did not take {what} ({error.strerror}). Check the disk and try again."
    return HubError(HubErrorKind.READ_ONLY, sentence, repr(error))


def wait_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a hub asks to wait, at most a day; None without a valid request to wait.

    Read from Retry-After, a number or a date (RFC 9110, 10.2.3), or from RateLimit, the seconds until the quota is
    reset (draft-ietf-httpapi-ratelimit-headers).
    """
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:18]), LONGEST_S)
    parsed = email.utils.parsedate_tz(value) if value else None
    if parsed is not None:
        try:
            return min(max(email.utils.mktime_tz(parsed) - time.time(), 0.0), LONGEST_S)
        except (OverflowError, ValueError):
            return None
    reset = _RESET.search(headers.get("RateLimit", ""))
    return min(float(reset[1]), LONGEST_S) if reset else None


def _gated(repo: str, details: str, *, has_token: bool) -> HubError:
    if has_token:
        sentence = f"{repo} is gated: the token was accepted, the licence not yet. Accept it on its page."
        return HubError(HubErrorKind.LICENCE, sentence, details)
    sentence = f"{repo} is gated: it wants an account that has accepted its licence. Add that account's token."
    return HubError(HubErrorKind.NO_TOKEN, sentence, details)


def _unauthorised(repo: str, host: str, details: str, *, has_token: bool) -> HubError:
    if has_token:
        sentence = f"{host} does not accept the token (401): it is wrong, or was revoked. Change it."
        return HubError(HubErrorKind.BAD_TOKEN, sentence, details)
    if not repo:
        sentence = f"{host} answers only who has an access token (401). Add one."
        return HubError(HubErrorKind.NO_TOKEN, sentence, details)
    # The hub says 401 of a name that does not exist too, so as not to tell which private ones do.
    sentence = f"{repo} is private, or there is no such model (401). Check the name, or add a token."
    return HubError(HubErrorKind.NO_TOKEN, sentence, details)


def _missing(repo: str, file: str, host: str, details: str, *, is_revision: bool) -> HubError:
    if not repo:
        return no_hub(host, details)
    if is_revision:
        sentence = f"{repo} has no such branch, tag or commit at {host} (any more). Ask for another one, or for none."
        return HubError(HubErrorKind.NOT_FOUND, sentence, details)
    if file:
        sentence = f"{repo} has no {file} at {host} any more. Look at the model again, or choose another one."
        return HubError(HubErrorKind.NOT_FOUND, sentence, details)
    sentence = f"{host} has no {repo}: it was renamed or removed, or is private."
    return HubError(HubErrorKind.NOT_FOUND, f"{sentence} Check the name or choose another model.", details)


def _refused_by_proxy(error: httpx2.ProxyError, host: str, details: str) -> HubError:
    said = str(error)  # begins with the proxy's status, if there is one
    if said.startswith("407"):
        return _proxy_password(details)
    status = f" ({said[:3]})" if said[:3].isdigit() else ""
    sentence = f"The proxy does not let us through to {host}{status}. Check its address in Settings."
    return HubError(HubErrorKind.PROXY, sentence, details)


def _proxy_password(details: str) -> HubError:
    sentence = (
        "The proxy wants a name and a password, or others (407). Type them into its address in Settings, as in "
        "http://name:password@proxy:8080; the password goes to the keychain, and where there is none it is known until "
        "MTPLX quits."
    )
    return HubError(HubErrorKind.PROXY, sentence, details)


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and its chain of causes."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found
