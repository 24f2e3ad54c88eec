"""The tensors of a model or of a drafting head, and whether a file has them. Imports no mlx."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtplx_engine.models import tensor_check
from mtplx_engine.models.published import packed
from mtplx_engine.models.tensor_check import Want

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mtplx_engine.models.families.shapes import Shapes
    from mtplx_engine.models.published import Layout
    from mtplx_engine.models.tensor_check import Stored


@dataclass(frozen=True, slots=True)
class TensorList:
    """The tensors of one family's trunks or heads.

    Attributes:
        shapes: Name and shape of each by a config.json, as mlx-lm holds them, unpacked.
        own_name: A file's name to that name, None for tensors that loading leaves out; takes the config.json too.
        layouts: The other layouts in which they are published, in the order in which they are looked for.
        never_packed: How the names of matrices end that mlx-lm does not pack.
    """

    shapes: Callable[[Mapping[str, Any]], Shapes]
    own_name: Callable[[str, Mapping[str, Any]], str | None]
    layouts: tuple[Layout, ...] = ()
    never_packed: tuple[str, ...] = ()

    def mismatch(
        self, config: Mapping[str, Any], found: Mapping[str, Stored], packings: Mapping[str, Any] | None
    ) -> str:
        """Say in one clause what does not fit among the tensors of a file; empty when all do.

        Args:
            config: The config.json.
            found: The file's tensors.
            packings: See `published.packed`.

        Raises:
            EngineError: REFUSED, when the config.json lacks a number, or has one that cannot be.
        """
        spelled: dict[str, str] = {}
        named: dict[str, Stored] = {}
        for name, stored in found.items():
            own = self.own_name(name, config)
            if own in named:
                return f"{name} is there twice, as {spelled[own]} too"
            if own is not None:
                named[own], spelled[own] = stored, name
        wanted = self.wanted(config, named, packings)
        return tensor_check.mismatch(
            wanted, named, lambda own: spelled.get(own) or _spelled_like(own, spelled)
        )

    def wanted(
        self, config: Mapping[str, Any], found: Mapping[str, Stored], packings: Mapping[str, Any] | None
    ) -> dict[str, Want]:
        """Return what a file in the layout of `found`, by own names, must have; arguments as above."""
        wanted = {name: Want(shape) for name, shape in self.shapes(config).items()}
        for layout in self.layouts:
            wanted = layout(wanted, found)
        return packed(wanted, found, packings, self.never_packed)


def as_it_is(name: str, _: Mapping[str, Any]) -> str:
    """Return a file's name of a tensor where mlx-lm has the same."""
    return name


def _spelled_like(own: str, spelled: Mapping[str, str]) -> str:
    """Return how a file would name a tensor that it lacks, judged by the ones nearest to it that it has."""
    parts = own.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        path, rest = ".".join(parts[:cut]), ".".join(parts[cut:])
        for other, name in spelled.items():
            tail = other.removeprefix(f"{path}.")
            if tail != other and f".{name}".endswith(f".{tail}"):
                return name.removesuffix(tail) + rest
    return own
