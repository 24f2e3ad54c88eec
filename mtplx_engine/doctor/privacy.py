"""Takes out of a text what tells who and where somebody is: folders, names of the person and the machine, tokens."""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mtplx_engine.models.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PROGRAM = "(program)"  # what is below is known to everybody
_BELOW = r"/[^\s/,;:'\"()]+"
_PATH = re.compile(rf"(?<![\w/:)])(?:~|{_BELOW})(?:{_BELOW})+/?")
_TOKEN = re.compile(r"\bhf_\w{8,}|\b(?:sk|ghp|xox[abp])[-_]\w{8,}")
_ADDRESS = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.]+")
_SHORTEST = 3  # letters; a shorter name is part of too many words


class Redactor:
    """Replaces what is private.

    Args:
        folders: What to say instead of each folder.
        names: Names of the person and of the machine.
    """

    def __init__(self, folders: Mapping[Path, str], names: Iterable[str]) -> None:
        spelled = {str(path): word for path, word in folders.items() if len(path.parts) > 1}
        spelled |= {str(path.resolve()): word for path, word in folders.items() if len(path.parts) > 1}
        self._folders = sorted(spelled.items(), key=lambda item: -len(item[0]))
        kept = sorted({name for name in names if len(name) >= _SHORTEST}, key=len, reverse=True)
        either = "|".join(map(re.escape, kept))
        self._names = re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE) if kept else None

    @classmethod
    def here(cls, data: Path) -> Redactor:
        """Return one that knows this person, this machine and the data folder."""
        program = {Path(entry): _PROGRAM for entry in (*sys.path, sys.prefix, sys.base_prefix) if entry}
        places = dict.fromkeys(Places(data).added(), "(place)")
        own = {data: "(data folder)", Path.home(): "(home)", Path.cwd(): "(here)"}
        host = socket.gethostname()
        return cls(program | places | own, {_user(), Path.home().name, host, host.partition(".")[0]})

    def clean(self, text: str) -> str:
        """Return a text without anything private."""
        for spelled, word in self._folders:
            below = "" if word == _PROGRAM else f"(?:{_BELOW})*"
            text = re.sub(re.escape(spelled) + below, word, text)
        text = _TOKEN.sub("(token)", text)
        text = _ADDRESS.sub("(address)", text)
        text = _PATH.sub("(path)", text)
        return self._names.sub("(name)", text) if self._names else text


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return os.environ.get("USER", "")
