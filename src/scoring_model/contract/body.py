"""Request bodies: null, unknown fields, and all violations at once."""

from collections.abc import Callable, Mapping
from typing import ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, WithJsonSchema
from pydantic.alias_generators import to_camel

from scoring_model.contract.resource import Schema
from scoring_model.contract.rules import Rule, RuleError, kind_of
from scoring_model.contract.violation import MOST_ERRORS, Violation, pointer

UNKNOWN_FIELD: Final = "is not a field that can be sent here"
MISSING: Final = "must be there"


class InvalidBody(ValueError):
    """A body breaks rules.

    Attributes
    ----------
    violations : tuple of Violation
        The first of them, at least one and at most `MOST_ERRORS`.
    omitted : int
        How many there are besides.
    """

    def __init__(self, violations: tuple[Violation, ...], omitted: int = 0) -> None:
        super().__init__("; ".join(f"{violation.pointer}: {violation.detail}" for violation in violations))
        self.violations = violations[:MOST_ERRORS]
        self.omitted = omitted + len(violations[MOST_ERRORS:])


class Body(BaseModel):
    """A request body. null equals missing; unknown fields are violations."""

    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)

    @classmethod
    def parse(cls, body: Mapping[str, object], context: object = None) -> Self:
        """Check a body and bring it into canonical form.

        Parameters
        ----------
        body : mapping of str to object
            As JSON has it.
        context : object, optional
            What the rules of this body need to know besides it.

        Raises
        ------
        InvalidBody
            With all violations: those of fields in the order of the class, unknown fields in the order of the body,
            and those of the whole body.
        """
        violations = cls.violations_of_whole(body)
        known, omitted = cls.bounded(body)
        try:
            found = cls.model_validate(known, context=context)
        except ValidationError as error:
            raise InvalidBody((*_violations(error), *violations), omitted) from None
        if violations:
            raise InvalidBody(violations)
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
    """Annotate a field that one rule checks.

    Parameters
    ----------
    rule : callable
        Raw value to canonical value; raises `RuleError`. It may take pydantic's `ValidationInfo` as well.
    schema : dict
        JSON Schema of what is taken.
    """
    return PlainValidator(rule), WithJsonSchema(schema)


def missing() -> RuleError:
    """Make the error of a field that must be there and is null."""
    return RuleError(Rule.MISSING, MISSING)


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
