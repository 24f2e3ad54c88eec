"""What a hub's answer, or the lack of one, means to the person who waits for a model."""

from __future__ import annotations

import email.utils
import errno
import socket
import ssl
import time
from typing import TYPE_CHECKING

import httpx2

from mtplx_engine.hub.problem import HubError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_WAIT_S = 3600.0


def refusal(
    status: int, headers: Mapping[str, str], *, what: str, host: str, has_token: bool
) -> HubError | None:
    """Return why an answer is no success, None when it is one or a redirection.

    Args:
        status: The HTTP status.
        headers: The answer's headers; names in any case must be found.
        what: The model or file that was asked for, for people.
        host: Who answered.
        has_token: Whether a token was sent.
    """
    if status < 400:
        return None
    code = headers.get("X-Error-Code", "")
    details = f"HTTP {status} {code} from {host}".replace("  ", " ")
    if code == "GatedRepo":
        return _gated(what, details, has_token=has_token)
    if status == 401 and not (code == "RepoNotFound" and has_token):
        return _unauthorised(what, host, details, has_token=has_token)
    if status == 403:
        sentence = f"{host} does not let this account or network fetch {what} (403)."
        return HubError(Problem.FORBIDDEN, f"{sentence} Use a token that may read it.", details)
    if status in (401, 404, 410):
        sentence = f"{host} has no {what}: it was renamed or removed, or is private."
        return HubError(Problem.NOT_FOUND, f"{sentence} Check the name or choose another model.", details)
    if status == 407:
        sentence = "The proxy wants a name and password (407)."
        return HubError(Problem.PROXY, f"{sentence} Put them into the proxy's address in Settings.", details)
    if status == 429:
        wait = wait_seconds(headers)
        when = f"in {wait:.0f} s" if wait else "in a few minutes"
        sentence = f"{host} gets too many requests from here (429). Try again {when}."
        return HubError(Problem.RATE_LIMITED, sentence, details, wait_s=wait)
    sentence = f"{host} cannot serve {what} at the moment (error {status}). Try again in a few minutes."
    return HubError(Problem.UNREACHABLE, sentence, details, wait_s=wait_seconds(headers))


def failure(error: httpx2.HTTPError | OSError, *, host: str, via_proxy: bool) -> HubError:
    """Return what a connection that failed means.

    Args:
        error: As it was raised.
        host: Who was to be reached.
        via_proxy: Whether a proxy stood in between.
    """
    causes = _causes(error)
    details = repr(error)
    if isinstance(error, httpx2.ProxyError) or (via_proxy and isinstance(error, httpx2.ConnectError)):
        sentence = f"The proxy does not let us through to {host}. Check its address in Settings."
        return HubError(Problem.PROXY, sentence, details)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        sentence = (
            f"The certificate of {host} is not valid here, so nothing was fetched. Check this computer's date, or "
            "whether the network reads along."
        )
        return HubError(Problem.CERTIFICATE, sentence, details)
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        sentence = f"{host} cannot be found: this computer seems to be offline. Try again when it is online."
        return HubError(Problem.NO_NETWORK, sentence, details)
    if any(getattr(cause, "errno", None) in (errno.ENETUNREACH, errno.ENETDOWN) for cause in causes):
        sentence = f"There is no network to reach {host} by. Try again when this computer is online."
        return HubError(Problem.NO_NETWORK, sentence, details)
    if isinstance(error, httpx2.TimeoutException):
        sentence = f"{host} stopped answering. Check the connection and try again."
        return HubError(Problem.UNREACHABLE, sentence, details)
    sentence = f"The connection to {host} broke off. Check the connection and try again."
    return HubError(Problem.UNREACHABLE, sentence, details)


def portal(host: str, details: str) -> HubError:
    """Return that somebody else answered in the name of `host`, as the sign-in page of a hotel does."""
    sentence = (
        f"This network answers for {host} with a page of its own. Open a browser and sign in to it first."
    )
    return HubError(Problem.PORTAL, sentence, details)


def disk_failure(error: OSError, what: str) -> HubError:
    """Return what a write that failed means."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        sentence = (
            f"The disk is full, so {what} is paused; what has arrived is kept. Make room and try again."
        )
        return HubError(Problem.DISK_FULL, sentence, repr(error))
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        sentence = f"The models folder cannot be written, so {what} cannot be kept. Choose another folder."
        return HubError(Problem.READ_ONLY, sentence, repr(error))
    sentence = f"The disk did not take {what} ({error.strerror}). Check the disk and try again."
    return HubError(Problem.READ_ONLY, sentence, repr(error))


def wait_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that Retry-After asks for, as a number or a date, at most an hour; None without one."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), _LONGEST_WAIT_S)
    parsed = email.utils.parsedate_tz(value) if value else None
    if parsed is None:
        return None
    try:
        return min(max(email.utils.mktime_tz(parsed) - time.time(), 0.0), _LONGEST_WAIT_S)
    except (OverflowError, ValueError):
        return None


def _gated(what: str, details: str, *, has_token: bool) -> HubError:
    if has_token:
        sentence = f"{what} is gated: the token was accepted, the licence not yet. Accept it on its page."
        return HubError(Problem.LICENCE, sentence, details)
    sentence = (
        f"{what} is gated: it wants an account that has accepted its licence. Add that account's token."
    )
    return HubError(Problem.NO_TOKEN, sentence, details)


def _unauthorised(what: str, host: str, details: str, *, has_token: bool) -> HubError:
    if has_token:
        sentence = f"{host} does not accept the token (401): it is wrong, or was revoked. Change it."
        return HubError(Problem.BAD_TOKEN, sentence, details)
    # The hub says 401 of a name that does not exist too, so as not to tell which private ones do.
    sentence = f"{what} is private, or there is no such model (401). Check the name, or add a token."
    return HubError(Problem.NO_TOKEN, sentence, details)


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and what led to it."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found
