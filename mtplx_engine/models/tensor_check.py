"""Compares the tensors that a model must have with those that are there: name, shape and type. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FLOATING = frozenset({"F16", "BF16", "F32", "F64"})
BYTES = frozenset({"U8", "F8_E4M3", "F8_E8M0"})
WORDS = frozenset({"U32"})
INTEGERS = frozenset({"I32", "I64"})

_LONGEST_NAME = 100


class Stored(Protocol):
    """A tensor that is there: its dtype as safetensors spells it, and its shape."""

    @property
    def dtype(self) -> str: ...  # noqa: D102 - the class says it

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102 - the class says it


class Want(NamedTuple):
    """What a tensor must be."""

    shape: tuple[int, ...]
    dtypes: frozenset[str] = FLOATING


def mismatch(
    wanted: Mapping[str, Want], found: Mapping[str, Stored], spell: Callable[[str], str] = str
) -> str:
    """Say in one clause what does not fit: the first tensor of each kind of mistake, and how many more there are.

    Args:
        wanted: What must be there.
        found: What is there.
        spell: Turns a name into how people know it.

    Returns:
        The clause, empty when every wanted tensor is there, none is there besides, and all fit.
    """
    missing = [name for name in wanted if name not in found]
    wrong = [name for name, want in wanted.items() if name in found and not _fits(found[name], want)]
    unknown = [name for name in found if name not in wanted]
    clauses = []
    if missing:
        clauses.append(_clause(missing, "is missing", spell))
    if wrong:
        clauses.append(_clause(wrong, _difference(found[wrong[0]], wanted[wrong[0]]), spell))
    if unknown:
        clauses.append(_clause(unknown, "is unknown", spell))
    return "; ".join(clauses)


def _fits(stored: Stored, want: Want) -> bool:
    return stored.shape == want.shape and stored.dtype in want.dtypes


def _difference(stored: Stored, want: Want) -> str:
    if stored.shape != want.shape:
        return f"has the shape {list(stored.shape)} instead of {list(want.shape)}"
    return f"has the type {stored.dtype} instead of {' or '.join(sorted(want.dtypes))}"


def _clause(names: Sequence[str], predicate: str, spell: Callable[[str], str]) -> str:
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return f"{spell(names[0])[:_LONGEST_NAME]} {predicate}{more}"
