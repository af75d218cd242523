"""The base of the resources of the interface, and the types of their fields."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

Schema = dict[str, Any]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
UUID: Final[Schema] = {"type": "string", "format": "uuid"}
TIME: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$",
    "description": "UTC, always with six digits of a second.",
}


class Resource(BaseModel):
    """A resource of an answer. Every field is present, null when it has no value.

    Readers ignore fields that they do not know, since a later service may add some.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="ignore",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
        json_schema_serialization_defaults_required=True,
    )

    def to_json(self) -> bytes:
        """Write the resource as JSON (RFC 8259) in UTF-8."""
        return self.__pydantic_serializer__.to_json(self)


def example(kind: type[BaseModel]) -> Schema:
    """Give the first example of a model."""
    found: Any = kind.model_config["json_schema_extra"]
    return dict(found["examples"][0])


def instant(micros: int) -> datetime:
    """Make an aware time of microseconds since 1970-01-01 UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def _six_digits(time: datetime) -> str:
    if time.tzinfo is not UTC:
        time = time.astimezone(UTC)
    return f"{time.isoformat(timespec='microseconds')[:-6]}Z"


Uuid = Annotated[str, WithJsonSchema(UUID)]
Instant = Annotated[AwareDatetime, PlainSerializer(_six_digits, return_type=str), WithJsonSchema(TIME)]
