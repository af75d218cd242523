"""Types of settings that people write as text: durations and instants."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

from scoring_model.records.times import microseconds, parse_duration

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

DURATION_PATTERN: Final = "^[0-9]{1,6}[dhms]$"
INSTANT_PATTERN: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$"
"""What a JSON Schema says of such text; `times` knows more."""


class _ReadFrom:
    """Converts text to microseconds in a schema validator. Without one it is inert."""

    def __init__(self, read: Callable[[Any], int], pattern: str) -> None:
        self._read = read
        self._pattern = pattern

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        # The rooms that use these types do not need a validator; the one that reads configurations does.
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> dict[str, object]:
        return {"anyOf": [{"type": "string", "pattern": self._pattern}, {"type": "integer"}]}

    def _checked(self, value: object) -> object:
        if isinstance(value, int):
            return value
        try:
            return self._read(value)
        except TypeError as error:
            raise ValueError(str(error)) from error


def _duration(value: object) -> int:
    if not isinstance(value, str):
        raise TypeError("a duration is text such as 90d, 24h, 30m or 10s")
    return parse_duration(value)


Duration = Annotated[int, _ReadFrom(_duration, DURATION_PATTERN)]
"""Microseconds; written as ``90d``, ``24h``, ``30m`` or ``10s``."""

Instant = Annotated[int, _ReadFrom(microseconds, INSTANT_PATTERN)]
"""Microseconds since 1970-01-01 UTC; written as RFC 3339 or as a date."""
