"""Errors out of HTTP answers (RFC 9457). What is malformed in one is left out; the status is always there."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx
from pydantic import TypeAdapter, ValidationError

from scoring_model.client.errors import ERRORS, ApiError, Unreadable
from scoring_model.contract.violation import Violation

_SECONDS: Final = re.compile(r"\d{1,9}", re.ASCII)
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
_VIOLATIONS: Final = TypeAdapter(tuple[Violation, ...])


def retry_after(response: httpx.Response) -> float | None:
    """Seconds after which the service asks to try again.

    Returns
    -------
    float or None
        At least 0; None where the header is missing or malformed.

    References
    ----------
    RFC 9110, section 10.2.3: a number of seconds, or a date.
    """
    text = response.headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        # The zone "-0000" is read as no zone at all.
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def problem(response: httpx.Response) -> ApiError:
    """The error that an answer reports.

    Texts are taken from `application/problem+json` alone: what a proxy writes may repeat what was sent.
    """
    fields = _problem_fields(response)
    kind = ERRORS.get(response.status_code, ApiError)
    return kind(
        response.status_code,
        _text(fields, "code"),
        _text(fields, "detail"),
        _request_id(response),
        _violations(fields),
        retry_after(response),
        _errors_omitted(fields),
    )


def unreadable(response: httpx.Response, why: str) -> Unreadable:
    """The error of an answer that is not what the interface promises.

    Parameters
    ----------
    why : str
        The field and the rule.
    """
    return Unreadable(response.status_code, "unreadable_answer", why, _request_id(response))


def _problem_fields(response: httpx.Response) -> Mapping[str, object]:
    media = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media != "application/problem+json":
        return {}
    try:
        found = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _request_id(response: httpx.Response) -> str | None:
    text = response.headers.get("X-Request-Id", "")
    return text if _REQUEST_ID.fullmatch(text) else None


def _violations(fields: Mapping[str, object]) -> tuple[Violation, ...]:
    try:
        return _VIOLATIONS.validate_python(fields.get("errors", ()))
    except ValidationError:
        return ()


def _errors_omitted(fields: Mapping[str, object]) -> int:
    value = fields.get("errorsOmitted")
    return max(0, value) if type(value) is int else 0
