"""Which model a name means that a person typed, and how to tell those apart that have the same one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mtplx_engine.errors import EngineError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_engine.models.installed_model import InstalledModel

_MOST_LISTED = 20


def called(name: str, found: Sequence[InstalledModel]) -> tuple[InstalledModel, ...]:
    """Return the models that a name means: one, none, or several that it does not tell apart.

    A folder's own name comes before what people call a model, a model that we installed before one of the person's
    own with such a folder, and letters as they are before letters in any case.
    """
    for does_mean in _WAYS if name else ():
        meant = tuple(model for model in found if does_mean(name, model))
        if meant:
            return meant
    return ()


def _is_ours(name: str, model: InstalledModel) -> bool:
    return not model.place and name == model.path.name


def _is_folder(name: str, model: InstalledModel) -> bool:
    return name == model.path.name


def _is_name(name: str, model: InstalledModel) -> bool:
    return name in (model.name, model.title, model.repo)


def _is_name_in_any_case(name: str, model: InstalledModel) -> bool:
    names = (model.path.name, model.name, model.title, model.repo)
    return name.casefold() in (own.casefold() for own in names)


_WAYS: tuple[Callable[[str, InstalledModel], bool], ...] = (
    _is_ours,
    _is_folder,
    _is_name,
    _is_name_in_any_case,
)


def handle(model: InstalledModel, found: Sequence[InstalledModel]) -> str:
    """Return what means this one of all models: its name, or its folder where another one has that name too."""
    return model.name if called(model.name, found) == (model,) else str(model.path)


def check_one(name: str, meant: Sequence[InstalledModel], found: Sequence[InstalledModel]) -> None:
    """Check that a name does not mean several models.

    Args:
        name: What was typed.
        meant: The models that it means.
        found: All models.

    Raises:
        EngineError: BAD_REQUEST, with what to type instead.
    """
    if len(meant) > 1:
        candidates = " and ".join(_candidate(model, found) for model in meant)
        raise EngineError(
            ErrorKind.BAD_REQUEST,
            f'"{name}" means {len(meant)} models: {candidates}. Say which one is meant.',
        )


def listed(found: Sequence[InstalledModel]) -> str:
    """Return the names of models that can be loaded, in a line; "" when there are none."""
    usable = [model for model in found if model.complete and model.there]
    names = [handle(model, found) for model in usable[:_MOST_LISTED]]
    more = len(usable) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def choices(found: Sequence[InstalledModel]) -> tuple[tuple[str, str], ...]:
    """Return what means each model that can be loaded, and a title that no other one has."""
    titles = Counter(model.title for model in found)
    usable = ((model, handle(model, found)) for model in found if model.complete and model.there)
    return tuple(
        (typed, model.title if titles[model.title] == 1 else f"{model.title} ({typed})")
        for model, typed in usable
    )


def _candidate(model: InstalledModel, found: Sequence[InstalledModel]) -> str:
    typed = handle(model, found)
    by = f"by {model.owner}" if model.owner else ""
    place = f"in {model.path.parent}" if typed != str(model.path) else ""
    about = ", ".join(part for part in (by, place) if part)
    return f"{typed} ({about})" if about else typed
