"""Named values, for modules that `tutti run` loads: dataclasses and named tuples take longer to load than all of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Dict, Tuple


class Record:
    """A subclass names its FIELDS, in the order in which they may be given, and DEFAULTS for some.

    Nothing changes them afterwards.
    """

    FIELDS: ClassVar[Tuple[str, ...]] = ()
    DEFAULTS: ClassVar[Dict[str, Any]] = {}

    def __init__(self, *values: Any, **named: Any) -> None:
        given = {**self.DEFAULTS, **dict(zip(self.FIELDS, values)), **named}
        if len(values) > len(self.FIELDS) or set(given) != set(self.FIELDS):
            raise TypeError(f"{type(self).__name__} has {', '.join(self.FIELDS)}")
        self.__dict__.update(given)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self.FIELDS))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} does not change")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.FIELDS)
        return f"{type(self).__name__}({values})"

    def with_changes(self, **named: Any) -> Any:
        """A copy with other values for some fields."""
        return type(self)(**{**self.__dict__, **named})
