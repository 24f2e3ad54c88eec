"""The numbers of a config.json that shapes depend on, each checked when it is asked for. Imports no mlx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtplx_engine.models import model_config
from mtplx_engine.models.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST = 2**31 - 1


class Sizes:
    """The numbers of one config.json.

    Args:
        config: The parsed file, laid flat.
        defaults: What mlx-lm takes for numbers that it does not say.
    """

    def __init__(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self._values = {**defaults, **config}

    def __getitem__(self, name: str) -> int:
        """Return a number.

        Raises:
            EngineError: REFUSED, when it is missing or not a whole one.
        """
        value = self.get(name)
        if value is None:
            raise refused(model_config.NAME, f"does not say {name}")
        return value

    def get(self, name: str) -> int | None:
        """Return a number, or None where there is none; raises as above."""
        value = self._values.get(name)
        if value is None:
            return None
        if not is_size(value):
            raise refused(
                model_config.NAME, f"says {name} is {str(value)[:20]!r}, but it must be a whole number"
            )
        number: int = value
        return number

    def period(self, name: str) -> int:
        """Return a number that counts layers off, at least 1; raises as above."""
        value = self[name]
        if not value:
            raise refused(model_config.NAME, f"says {name} is 0, but it must be at least 1")
        return value

    def says(self, name: str) -> bool:
        """Whether a switch is on."""
        return bool(self._values.get(name))

    def items(self, name: str) -> list[Any]:
        """Return a list, empty where there is none.

        Raises:
            EngineError: REFUSED, when it is something else.
        """
        value = self._values.get(name) or []
        if not isinstance(value, list):
            raise refused(model_config.NAME, f"says {name} is {str(value)[:20]!r}, but it must be a list")
        return value


def is_size(value: Any) -> bool:
    """Whether a value can be a dimension."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
