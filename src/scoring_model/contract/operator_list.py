"""Lists: values of a link key whose applicants pass, are stepped up or fail."""

import re
from functools import partial
from typing import Annotated, Final

from pydantic import ConfigDict, Field, PlainValidator, ValidationInfo, WithJsonSchema

from scoring_model.contract import rules
from scoring_model.contract.identity import NOT_BLANK
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resource import (
    Body,
    Instant,
    PresentContext,
    Resource,
    example,
    missing,
    moment,
    one_of,
    ruled,
)
from scoring_model.contract.rules import Rule, RuleError

MOST_VALUES: Final = 1_000
"""Values of one request."""

_KEY_LENGTH: Final = 64
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_NAME: Final = {"type": "string", "pattern": f"^{NAME.pattern}$"}
_LIST: Final = {**_NAME, "description": "Name of the list."}


def _text(value: object) -> str:
    found = rules.definite_text(value, limit=_KEY_LENGTH)
    if found is None:
        raise missing()
    return found


def list_name(value: object) -> str:
    """Check the name of a list; raises `RuleError`."""
    found = _text(value)
    if not NAME.fullmatch(found):
        detail = "must be 1 to 64 letters, digits, hyphens and underscores, a letter or digit first"
        raise RuleError("malformed", detail)
    return found


def _until(value: object, info: ValidationInfo) -> int | None:
    if value is None:
        return None
    found = moment(value)
    if isinstance(info.context, PresentContext) and found <= info.context.now:
        raise RuleError(Rule.TOO_EARLY, "must be later than now")
    return found


def _values(value: object) -> tuple[object, ...]:
    """Check the array as a whole; each value is checked by the link key of its list."""
    if value is None:
        raise missing()
    if not isinstance(value, list):
        raise rules.wrong_type("an array", value)
    if not value:
        raise RuleError("too_few", "must hold at least one value")
    if len(value) > MOST_VALUES:
        raise RuleError(Rule.TOO_MANY, f"must hold at most {MOST_VALUES:,} values, got {len(value):,}")
    return tuple(value)


Name = Annotated[str, PlainValidator(list_name), WithJsonSchema(_LIST)]
Values = Annotated[
    tuple[object, ...],
    PlainValidator(_values),
    WithJsonSchema(
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_VALUES,
            "items": {
                "type": ["string", "object"],
                "minLength": 1,
                "pattern": NOT_BLANK,
                "minProperties": 1,
            },
            "description": "Text where the link key has one field, such as a device. Else objects of its fields by "
            'name, such as `{"firstName": "Ann", "lastName": "Lee", "dob": "1990-02-01"}` for `person`.',
        }
    ),
]


class ListEntriesInput(Body):
    """Values to add to a list, which is made if there is none with its name."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "list": "stolen-devices",
                    "key": "device",
                    "outcome": "FAILED",
                    "until": "2027-03-01T00:00:00Z",
                    "values": ["d-4711", "d-4712"],
                }
            ]
        }
    )

    list: Name
    key: Annotated[
        str,
        PlainValidator(_text),
        WithJsonSchema(
            {
                "type": "string",
                "minLength": 1,
                "maxLength": _KEY_LENGTH,
                "pattern": NOT_BLANK,
                "description": "Link key of the model. It never changes.",
            }
        ),
    ]
    outcome: Annotated[
        str,
        PlainValidator(partial(one_of, tuple(Outcome))),
        WithJsonSchema(
            {"enum": [*Outcome], "description": "Of applicants with one of the values. It never changes."}
        ),
    ]
    until: (
        Annotated[
            int,
            *ruled(
                _until,
                {
                    "type": "string",
                    "format": "date-time",
                    "description": "End, RFC 3339, later than now: verifications from then on are not subject to the "
                    "values. By default none.",
                },
            ),
        ]
        | None
    ) = None
    values: Annotated[Values, Field(repr=False)]


class ListRemovalInput(Body):
    """Values to remove from a list."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"list": "stolen-devices", "values": ["d-4711"]}]}
    )

    list: Name
    values: Annotated[Values, Field(repr=False)]


class ListChanged(Resource):
    """What a change of a list did."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"list": "stolen-devices", "changed": 2, "unchanged": 0, "entries": 14}]
        }
    )

    list: str
    changed: Annotated[int, Field(ge=0, description="Values that were added or removed.")]
    unchanged: Annotated[
        int,
        Field(ge=0, description="Values that were on the list with this end already, or were not on it."),
    ]
    entries: Annotated[int, Field(ge=0, description="Values that were added and not removed.")]


class OperatorList(Resource):
    """A list. Its values are stored as hashes and are never shown."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "list": "stolen-devices",
                    "key": "device",
                    "outcome": "FAILED",
                    "entries": 14,
                    "changedAt": "2026-02-01T10:15:02.114302Z",
                }
            ]
        }
    )

    list: str
    key: str
    outcome: Annotated[str, WithJsonSchema({"enum": [*Outcome]})]
    entries: Annotated[int, Field(ge=0, description="Values that were added and not removed.")]
    changed_at: Annotated[Instant, Field(description="When it was last changed.")]


class OperatorLists(Resource):
    """The lists of a client's history scope."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"lists": [example(OperatorList)]}]})

    lists: Annotated[tuple[OperatorList, ...], Field(description="By name, at most 40.")]
