"""Queries of lists, and their pages: a JSON array, with the next page in `Link`."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from starlette.responses import Response

from scoring_model.contract import rules
from scoring_model.contract.delivery import DELIVERY_STATUSES
from scoring_model.contract.identity import NOT_BLANK, REFERENCE, IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resolution import Result
from scoring_model.contract.resource import UUID, Resource, Schema
from scoring_model.contract.rules import Rule, RuleError
from scoring_model.contract.texts import from_rfc3339, from_text
from scoring_model.contract.verification import VerificationStatus
from scoring_model.contract.violation import Violation
from scoring_model.service.core.errors import Invalid
from scoring_model.service.http.operation import PAGE, Call, Parameter
from scoring_model.service.requests.lists import CURSOR_LENGTH, NO_RESOLUTION, ListFilter
from scoring_model.service.store import Position

R = TypeVar("R", bound=Resource)
Read = Callable[[ListFilter, int, Position | None], Awaitable[tuple[Sequence[R], Position | None]]]
"""Reads a page: filters, most rows, and where it begins. Returns it, and where the next one begins."""

VERSION_LENGTH: Final = 64
_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
_REFERENCE: Final[Schema] = {**REFERENCE, "minLength": 1, "pattern": NOT_BLANK}


def _instant(text: str) -> int:
    found = from_rfc3339(text)
    if found is None:
        raise RuleError(Rule.NOT_A_TIME, "must be a time of RFC 3339 with a zone; write + as %2B")
    return found


def _identifier(text: str) -> bytes:
    found = from_text(text)
    if found is None:
        raise RuleError("not_a_uuid", "must be a UUID: 36 characters, hexadecimal with dashes")
    return found


def _reference(text: str) -> str:
    found = rules.reference(text)
    if found is None:
        raise RuleError(Rule.BLANK, "must not be blank")
    return found


def _version(text: str) -> str:
    if not re.fullmatch(f"[0-9A-Za-z._-]{{1,{VERSION_LENGTH}}}", text):
        raise RuleError("not_a_version", "must be a version as answers have it")
    return text


def _one_of(name: str, description: str, values: Sequence[str]) -> Parameter:
    def parse(text: str) -> str:
        if text not in values:
            raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(values)}")
        return text

    return Parameter(name, description, {"type": "string", "enum": list(values)}, parse)


_RESOLUTIONS: Final = {result.value.lower(): result.value for result in Result} | {"none": NO_RESOLUTION}


def _resolution(text: str) -> str:
    if text not in _RESOLUTIONS:
        raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(_RESOLUTIONS)}")
    return _RESOLUTIONS[text]


def _limit(text: str) -> int:
    limit = int(text) if re.fullmatch("[0-9]{1,3}", text) else 0
    if not 1 <= limit <= PAGE:
        raise RuleError("invalid_limit", f"must be 1 to {PAGE}")
    return limit


LIMIT: Final = Parameter(
    "Limit",
    "Most items on a page.",
    {"type": "integer", "minimum": 1, "maximum": PAGE, "default": PAGE},
    _limit,
)
CURSOR: Final = Parameter(
    "Cursor",
    "From the `Link` header of the page before, with the same filters.",
    {"type": "string", "minLength": CURSOR_LENGTH, "maxLength": CURSOR_LENGTH, "pattern": "^[A-Za-z0-9_-]*$"},
    str,
)
_CREATED: Final = {
    "createdAfter": Parameter("CreatedAfter", "Created later than this.", _TIME, _instant),
    "createdBefore": Parameter("CreatedBefore", "Created earlier than this.", _TIME, _instant),
}
_PAGING: Final = {"limit": LIMIT, "cursor": CURSOR}
OF_VERIFICATIONS: Final[Mapping[str, Parameter]] = {
    **_CREATED,
    "outcome": _one_of("Outcome", "Verifications with this `scoringOutcome`.", [*Outcome]),
    "status": _one_of("VerificationStatus", "Verifications with this status.", [*VerificationStatus]),
    "identityId": Parameter("IdentityId", "Verifications of this identity.", UUID, _identifier),
    "subjectId": Parameter(
        "SubjectId", "Verifications with this reference, unless erased.", _REFERENCE, _reference
    ),
    "modelVersion": Parameter(
        "ModelVersion",
        "Verifications by this model.",
        {"type": "string", "pattern": f"^[0-9A-Za-z._-]{{1,{VERSION_LENGTH}}}$"},
        _version,
    ),
    "resolution": Parameter(
        "Resolution",
        "Verifications whose latest resolution has this result, or that have none.",
        {"type": "string", "enum": [*_RESOLUTIONS]},
        _resolution,
    ),
    **_PAGING,
}
OF_IDENTITIES: Final[Mapping[str, Parameter]] = {
    **_CREATED,
    "status": _one_of("IdentityStatus", "Identities with this status.", [*IdentityStatus]),
    "externalId": Parameter(
        "ExternalId", "Identities with this reference, unless erased.", _REFERENCE, _reference
    ),
    **_PAGING,
}
OF_DELIVERIES: Final[Mapping[str, Parameter]] = {
    "status": _one_of("DeliveryStatus", "Deliveries with this status.", DELIVERY_STATUSES),
    **_PAGING,
}
_FILTERS: Final = {
    "createdAfter": "created_after",
    "createdBefore": "created_before",
    "outcome": "outcome",
    "status": "status",
    "identityId": "identity_id",
    "subjectId": "subject_id",
    "externalId": "external_id",
    "modelVersion": "model_version",
    "resolution": "resolution",
}


async def page(call: Call, path: str, parameters: Mapping[str, Parameter], read: Read[R]) -> Response:
    """Answer with a page of a list.

    Raises
    ------
    Invalid
        With everything that is wrong with the query.
    """
    values, errors = parsed_query(call.query, parameters)
    filters = {name: text for name, text in call.query.items() if name in _FILTERS}
    cursors, client, after = call.service.cursors, call.caller.client, None
    if "cursor" in call.query:
        after = cursors.read(client, path, filters, call.query["cursor"])
        if after is None:
            detail = "query parameter cursor must be that of a Link to the same list with the same filters"
            errors.append(Violation("", "invalid_cursor", detail))
    if errors:
        raise Invalid(tuple(errors))
    wanted = ListFilter(**{field: values[name] for name, field in _FILTERS.items() if name in values})
    limit = values.get("limit", PAGE)
    found, end = await read(wanted, limit, after)
    headers = {}
    if end is not None:
        query = {**filters, "limit": limit, "cursor": cursors.write(client, path, filters, end)}
        headers["Link"] = f'<{path}?{urlencode(query)}>; rel="next"'
    body = b"[" + b",".join([call.write(one) for one in found]) + b"]"
    return Response(body, headers=headers, media_type="application/json")


def parsed_query(
    query: Mapping[str, str], parameters: Mapping[str, Parameter]
) -> tuple[dict[str, Any], list[Violation]]:
    """Parse known parameters; returns values by name, and what is wrong with the others."""
    values: dict[str, Any] = {}
    errors = []
    for name, text in query.items():
        try:
            values[name] = parameters[name].parse(text)
        except RuleError as error:
            errors.append(Violation("", error.type, f"query parameter {name} {error.message()}"))
    return values, errors
