"""Hooks that give schemathesis knowledge that the OpenAPI description cannot express."""

from ipaddress import IPv4Address
from itertools import count
from typing import Any, Final

import schemathesis
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import RejectedPositiveData, UseAfterFree

OF_THE_STATE: Final = {
    *("not_found", "not_stepped_up", "in_future", "too_early", "invalid_cursor"),
    *("unknown_key", "list_differs", "too_many_lists"),
}
"""Codes of 422 that depend on what the service or its clock knows: ids, days to come, cursors, and lists."""

_numbers: Final = count(1)
_addresses: Final = map(IPv4Address, count(int(IPv4Address("10.0.0.1"))))


@schemathesis.hook
def before_load_schema(context: HookContext, raw_schema: dict[str, Any]) -> None:
    """Leave out how long the URL of a receiver may be, which `tests/contract` proves: drawing the longest took 10 s."""
    for name in ("WebhookInput", "WebhookUpdate"):
        del raw_schema["components"]["schemas"][name]["properties"]["destinationUrl"]["maxLength"]


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, object]) -> None:
    """Make valid idempotency keys unique, as different requests require, and the addresses of clients.

    An address may fail to authenticate 60 times a minute: schemathesis would wait for as long as the refusal says.
    """
    case.headers["X-Forwarded-For"] = str(next(_addresses))
    is_right = case.meta is not None and case.meta.generation.mode.is_positive
    if is_right and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = f"{next(_numbers)} {case.headers['Idempotency-Key']}"[:255].strip()


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """Keep every failure except state conflicts of valid requests, and the remains of erasure."""
    if isinstance(failure, RejectedPositiveData) and response.status_code == 422:
        return not all(
            _is_of_the_state(error["pointer"], error["code"]) for error in response.json()["errors"]
        )
    if isinstance(failure, AcceptedNegativeData) and case.path == "/scoring/v1/labels":
        # Each label has an answer of its own.
        return not response.json()["refused"]
    if isinstance(failure, UseAfterFree) and case.path.startswith("/scoring/v1/identities"):
        # An erased identity still exists, without a person; `If-None-Match: *` tests for existence.
        return response.status_code != 304 and response.json().get("status") != "REDACTED"
    return True


def _is_of_the_state(pointer: str, code: str) -> bool:
    # The types of signals are those of the served model.
    # The fields of a list's values are those of its link key.
    return (
        code in OF_THE_STATE
        or (code == "wrong_type" and pointer.startswith("/signals/"))
        or pointer.startswith("/values/")
        or (pointer, code) == ("/list", "not_listed")
    )
