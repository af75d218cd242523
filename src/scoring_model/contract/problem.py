"""Errors as the service reports them (RFC 9457)."""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, WithJsonSchema

from scoring_model.contract.resource import POINTER, UUID, Resource
from scoring_model.contract.violation import MOST_ERRORS, Violation

_REQUEST: Final = "5f0c6b1e-93d4-4c7a-8e25-d1b0a9f8e7c6"
_EXAMPLE: Final[dict[str, Any]] = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "detail": "There is no such resource.",
    "instance": f"urn:uuid:{_REQUEST}",
    "code": "not_found",
    "requestId": _REQUEST,
}


class Problem(Resource):
    """RFC 9457."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    type: Annotated[str, Field(json_schema_extra={"format": "uri-reference"})] = "about:blank"
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    instance: Annotated[
        str, Field(description="`urn:uuid:` and the request id.", json_schema_extra={"format": "uri"})
    ]
    code: Annotated[str, Field(pattern="^[a-z][a-z_]*$", description="Stable; compare this one.")]
    request_id: Annotated[str, WithJsonSchema({**UUID, "description": "As in `X-Request-Id`."})]


class ConflictProblem(Problem):
    """RFC 9457, with what an identity that is not validated lacks."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": list(_EXAMPLE),
            "examples": [
                {
                    **_EXAMPLE,
                    "title": "Conflict",
                    "status": 409,
                    "detail": "The identity is not validated.",
                    "code": "identity_not_validated",
                    "missingFields": ["/dob", "/address/country"],
                }
            ],
        }
    )

    missing_fields: Annotated[
        tuple[Annotated[str, WithJsonSchema(POINTER)], ...] | None,
        Field(exclude_if=lambda missing: missing is None),
        WithJsonSchema(
            {
                "type": "array",
                "items": POINTER,
                "description": "`missingFields` of the identity; only with `identity_not_validated`.",
            }
        ),
    ] = None


class ValidationProblem(Problem):
    """RFC 9457, with what is wrong with the request."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": [*_EXAMPLE, "errors"],
            "examples": [
                {
                    **_EXAMPLE,
                    "title": "Unprocessable Content",
                    "status": 422,
                    "detail": "The request breaks the rules that are listed.",
                    "code": "invalid_request",
                    "errors": [
                        {
                            "pointer": "/firstName",
                            "code": "too_long",
                            "detail": "must have at most 100 characters, got 131",
                        },
                        {
                            "pointer": "/nickname",
                            "code": "unknown_field",
                            "detail": "is not a field that can be sent here",
                        },
                    ],
                }
            ],
        }
    )

    errors: Annotated[
        tuple[Violation, ...],
        Field(min_length=1, max_length=MOST_ERRORS, description=f"All of them at once, up to {MOST_ERRORS}."),
    ]
    errors_omitted: Annotated[
        int | None,
        Field(exclude_if=lambda number: number is None),
        WithJsonSchema(
            {
                "type": "integer",
                "minimum": 1,
                "description": f"How many there are beyond the first {MOST_ERRORS}; absent when there are none.",
            }
        ),
    ] = None
