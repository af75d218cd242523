"""The bases of the models of the interface, resources of answers and bodies of requests, and the types of fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails

from scoring_model.contract.rules import Rule, RuleError, kind_of, wrong_type
from scoring_model.contract.texts import EPOCH, from_rfc3339, instant_text
from scoring_model.contract.violation import MOST_ERRORS, Invalid, Violation, pointer

T = TypeVar("T")
Schema = dict[str, Any]
UNKNOWN_FIELD: Final = "is not a field that can be sent here"
MISSING: Final = "must be there"
UUID: Final[Schema] = {"type": "string", "format": "uuid"}
POINTER: Final[Schema] = {"type": "string", "format": "json-pointer"}
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
    return EPOCH + timedelta(0, 0, micros)


def is_none(value: object) -> bool:
    """Return True for fields that are absent without a value (`exclude_if`)."""
    return value is None


Uuid = Annotated[str, WithJsonSchema(UUID)]
Sandbox = Annotated[
    bool | None,
    WithJsonSchema(
        {"const": True, "description": "Only for sandbox clients: nothing here is about a real person."}
    ),
    Field(exclude_if=is_none),
]
Instant = Annotated[AwareDatetime, PlainSerializer(instant_text, return_type=str), WithJsonSchema(TIME)]


class Body(BaseModel):
    """A request body. null equals missing; unknown fields are violations."""

    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)

    @classmethod
    def parse(cls, body: Mapping[str, object], context: object = None) -> Self:
        """Check a body and bring it into canonical form; `context` is what its rules need to know besides it.

        Raises
        ------
        Invalid
            With all violations: those of fields in the order of the class, unknown fields in the order of the body,
            and those of the whole body.
        """
        violations = cls.violations_of_whole(body)
        known, omitted = cls.bounded(body)
        try:
            found: Self = cls.__pydantic_validator__.validate_python(known, context=context)
        except ValidationError as error:
            raise Invalid((*_violations(error), *violations), omitted=omitted) from None
        if violations:
            raise Invalid(violations)
        return found

    @classmethod
    def violations_of_whole(cls, _body: Mapping[str, object]) -> tuple[Violation, ...]:
        """Check the rules of the whole body."""
        return ()

    @classmethod
    def bounded(cls, body: Mapping[str, object]) -> tuple[Mapping[str, object], int]:
        """Drop unknown fields beyond `MOST_ERRORS`, so that they cost no time; returns also their number."""
        if len(body) <= MOST_ERRORS:
            return body, 0
        names = {field.alias for field in cls.model_fields.values()}
        unknown = [name for name in body if name not in names]
        left_out = set(unknown[MOST_ERRORS:])
        return {name: value for name, value in body.items() if name not in left_out}, len(left_out)


class Nothing(Body):
    """An object without fields."""


def ruled(rule: Callable[..., object], schema: Schema) -> tuple[PlainValidator, WithJsonSchema]:
    """Annotate a field that one rule checks, which raises `RuleError` or returns the canonical value.

    The rule may take pydantic's `ValidationInfo` as well. The schema is that of what is taken.
    """
    return PlainValidator(rule), WithJsonSchema(schema)


def check_items(items: Sequence[object], check: Callable[[object], T], limit: int, noun: str) -> list[T]:
    """Check a list item by item, so that each bad one has its pointer; of too many only as many as are allowed."""
    found: list[T] = []
    errors: list[InitErrorDetails] = []
    if len(items) > limit:
        too_many = RuleError(Rule.TOO_MANY, f"must hold at most {limit} {noun}, got {len(items)}")
        errors.append(InitErrorDetails(type=too_many, input=None))
    for place, item in enumerate(items[:limit]):
        try:
            found.append(check(item))
        except RuleError as error:
            errors.append(InitErrorDetails(type=error, loc=(place,), input=None))
    if errors:
        raise ValidationError.from_exception_data(noun, errors)
    return found


def moment(value: object) -> int:
    """Check a time of RFC 3339 in a body: microseconds since 1970-01-01 UTC; raises `RuleError`."""
    if value is None:
        raise missing()
    if not isinstance(value, str):
        raise wrong_type("text", value)
    found = from_rfc3339(value)
    if found is None:
        raise RuleError(Rule.NOT_A_TIME, "must be a time of RFC 3339 within the years 1 to 9999")
    return found


def missing() -> RuleError:
    """Make the error of a field that must be there and is null."""
    return RuleError(Rule.MISSING, MISSING)


@dataclass(frozen=True, slots=True)
class PresentContext:
    """Validation context: the present, microseconds since 1970-01-01 UTC."""

    now: int


def past_moment(value: object, info: ValidationInfo) -> int:
    """Parse an instant that is not later than the present; raises `RuleError`."""
    found = moment(value)
    if isinstance(info.context, PresentContext) and found > info.context.now:
        raise RuleError(Rule.IN_FUTURE, "must not be later than now")
    return found


def one_of(values: tuple[str, ...], value: object) -> str:
    """Check that a value is one of some words; raises `RuleError`."""
    if value is None:
        raise missing()
    if not isinstance(value, str):
        raise wrong_type("text", value)
    if value not in values:
        raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(values)}")
    return value


def _violations(error: ValidationError) -> list[Violation]:
    """Make violations of pydantic's errors. Its own kinds of errors get the codes of the contract."""
    found = []
    for item in error.errors(include_url=False, include_context=False):
        code, detail = item["type"], item["msg"]
        if code == "extra_forbidden":
            code, detail = Rule.UNKNOWN_FIELD.value, UNKNOWN_FIELD
        elif code == "missing":
            detail = MISSING
        elif code in ("model_type", "dict_type"):
            code, detail = Rule.WRONG_TYPE.value, f"must be an object, got {kind_of(item['input'])}"
        found.append(Violation(pointer(*item["loc"]), code, detail))
    return found
