"""How what is asked for stands to what is installed already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from mtplx_engine.hub import origin
from mtplx_engine.models import manifest
from mtplx_engine.models.homes import Homes

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.hub.origin import Origin
    from mtplx_engine.hub.plan import Plan


@dataclass(frozen=True, slots=True)
class Standing:
    """A model that was installed from a hub.

    Attributes:
        folder: Where it is.
        model: Where it came from.
        head: Where its drafting head came from, None when it has none or carries it itself.
        missing: The files that are not as they were installed.
    """

    folder: Path
    model: Origin
    head: Origin | None
    missing: tuple[str, ...]

    @classmethod
    def find(cls, data: Path, name: str) -> Self | None:
        """Return what is installed in a folder of this name, None when nothing is, or it is not from a hub."""
        for home in Homes(data).all():
            noted = manifest.read(home / name)
            model = origin.read(noted.source) if noted else None
            if noted is not None and model is not None:
                head = origin.read(noted.head_source)
                return cls(home / name, model, head, manifest.missing(home / name, noted))
        return None

    @property
    def head_repo(self) -> str:
        """The repository that its head is all of, "" without one."""
        return self.head.repo if self.head is not None and not self.head.taken else ""

    def difference(self, wanted: Plan, *, looked: bool) -> str:
        """Return in words why what is wanted is not there, "" when it is.

        Args:
            wanted: What is asked for.
            looked: Whether it is known too if a head can be taken out of another repository, and if the one that was
                asked for is of use.
        """
        name, head = wanted.target.id, origin.head(wanted)
        if (self.model.repo, self.model.revision) != (name, wanted.target.revision):
            return (
                f"{self.model.in_words()} is installed; commit {wanted.target.revision[:7]} of {name} takes its place, "
                "and files that are the same are kept."
            )
        if head != self.head and (looked or wanted.head is not None):
            own = (
                f"with the drafting head of {self.head.in_words()}"
                if self.head
                else "without another drafting head"
            )
            other = f"that of {head.in_words()}" if head else "none beside it"
            return f"{name} is installed {own}; it gets {other}."
        if self.missing:
            more = f" and {len(self.missing) - 1} more" if len(self.missing) > 1 else ""
            return (
                f"{name} is installed, but damaged: {self.missing[0]}{more} is not what was installed and is fetched "
                "again."
            )
        return ""
