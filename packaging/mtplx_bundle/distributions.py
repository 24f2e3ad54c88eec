"""The wheels that are in the app, by what they say of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from email.parser import HeaderParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_bundle.layout import Layout


_CLASSIFIERS = {  # for wheels that name their licence only in words
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
}
_WORDS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "any-OSI": "LicenseRef-any-OSI",
}


OWN = "mtplx"
"""The key of our own wheel."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A wheel as it was installed.

    Attributes:
        name: Of the project, as it writes it.
        version: Of the project.
        licence: An SPDX expression, "" when it gives none.
        folder: Its `.dist-info`.
    """

    name: str
    version: str
    licence: str
    folder: Path

    @property
    def key(self) -> str:
        """The name as file names have it."""
        return self.folder.name.partition("-")[0]


def shipped(layout: Layout) -> tuple[Distribution, ...]:
    """Return the wheels in the app, by name."""
    return tuple(_read(folder) for folder in sorted(layout.site.glob("*.dist-info")))


def version(layout: Layout) -> str:
    """Return our own version, which stands in pyproject.toml and nowhere else."""
    return next(item.version for item in shipped(layout) if item.key == OWN)


def _read(folder: Path) -> Distribution:
    about = HeaderParser().parsestr((folder / "METADATA").read_text(encoding="utf-8"))
    licence = about["License-Expression"] or ""
    if not licence:
        said = (about["License"] or "").strip()
        classified = (_CLASSIFIERS[line] for line in about.get_all("Classifier", []) if line in _CLASSIFIERS)
        # A whole licence text stands there at times.
        licence = _WORDS.get(said, said if said and "\n" not in said else next(classified, ""))
    return Distribution(about["Name"], about["Version"], licence, folder)
