"""The access token of a hub."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub.secret import SecretStore

if TYPE_CHECKING:
    from mtplx_engine.hub.secret import Keychain

_SHORTEST, _LONGEST = 8, 512
_SIGNS = re.compile(r"[\x21-\x7e]+")  # what may stand in a header


class TokenStore(SecretStore):
    """The token of one hub, under the name of its host."""

    def __init__(self, host: str, keychain: Keychain | None) -> None:
        super().__init__(host, keychain, "the token")

    def set(self, secret: str) -> None:
        """Keep a token, see `SecretStore.set`.

        Raises:
            EngineError: BAD_REQUEST, when it is none; STORAGE.
        """
        super().set(cleaned(secret))


def cleaned(text: str) -> str:
    """Return the token in what a person pasted.

    Raises:
        EngineError: BAD_REQUEST, when there is none.
    """
    token = text.strip()
    if not token:
        problem = "No access token was entered."
    elif len(token.split()) > 1:
        problem = "This is no access token: one is a single word without spaces and line breaks."
    elif not _SIGNS.fullmatch(token):
        problem = "This is no access token: one has only the letters A to Z, digits and common signs."
    elif len(token) < _SHORTEST:
        problem = (
            f"This is too short for an access token: it has {len(token)} of at least {_SHORTEST} characters."
        )
    elif len(token) > _LONGEST:
        problem = (
            f"This is too long for an access token: it has {len(token):,} of at most {_LONGEST} characters."
        )
    else:
        return token
    raise EngineError(ErrorKind.BAD_REQUEST, f"{problem} Copy it again from the hub's settings.")
