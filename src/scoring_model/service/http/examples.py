"""Invented requests and answers for the API reference."""

from typing import Any, Final

_PERSON: Final[dict[str, Any]] = {
    "firstName": "Ada",
    "lastName": "Byron",
    "dob": "1985-12-10",
    "citizenship": "GB",
    "documentType": "PASSPORT",
    "imageUrls": ["https://images.example/passports/1.jpg"],
}
_ADDRESS: Final[dict[str, Any]] = {
    "line1": "12 Example Street",
    "line2": None,
    "city": "London",
    "region": None,
    "postalCode": "W1A 1AA",
    "country": "GB",
}
IDENTITY_INPUT: Final[dict[str, Any]] = {
    **_PERSON,
    "address": {name: value for name, value in _ADDRESS.items() if value is not None},
    "externalId": "customer-4711",
}
IDENTITY: Final[dict[str, Any]] = {
    "id": "0197b0a6-9d31-7c54-8f0e-3a5d1e2b4c6f",
    **_PERSON,
    "address": _ADDRESS,
    "externalId": "customer-4711",
    "validated": True,
    "status": "VALIDATED",
    "validationErrors": [],
    "createdAt": "2026-01-31T09:26:53.589793Z",
    "updatedAt": "2026-01-31T09:26:53.589793Z",
}
VERIFICATION_INPUTS: Final[tuple[dict[str, Any], ...]] = (
    {"identityId": IDENTITY["id"]},
    {"signals": {"device": "d-81f3", "emailAgeDays": 412, "vpn": False}, "subjectId": "customer-4711"},
)
VERIFICATION: Final[dict[str, Any]] = {
    "id": "0197b0a7-11aa-7d02-9b1c-6f5e4d3c2b1a",
    "identityId": IDENTITY["id"],
    "subjectId": None,
    "status": "COMPLETED",
    "scoringOutcome": "STEPPED_UP",
    "scoringScore": 531,
    "reasonCodes": [
        {"code": "ADDRESS_INCOMPLETE", "description": "Parts that the address needs were not given."},
    ],
    "modelVersion": "3f9a0c5b7d2e4816",
    "policyVersion": "a41c09e7735d2b68",
    "previousVerificationId": None,
    "createdAt": "2026-01-31T09:26:54.000123Z",
    "completedAt": "2026-01-31T09:26:54.017456Z",
}
PENDING: Final[dict[str, Any]] = {
    **VERIFICATION,
    "status": "PENDING",
    "scoringOutcome": None,
    "scoringScore": None,
    "reasonCodes": [],
    "modelVersion": None,
    "policyVersion": None,
    "completedAt": None,
}
WEBHOOK_INPUT: Final[dict[str, Any]] = {
    "destinationUrl": "https://hooks.example/scoring",
    "active": True,
    "eventTypes": ["verification.*"],
    "description": "Back office",
}
WEBHOOK: Final[dict[str, Any]] = {
    "id": "0197b0a8-5e6f-7a1b-8c2d-0e1f2a3b4c5d",
    **WEBHOOK_INPUT,
    "secret": None,
    "disabledReason": None,
    "createdAt": "2026-01-31T09:27:10.250000Z",
    "updatedAt": "2026-01-31T09:27:10.250000Z",
}
WEBHOOK_WITH_SECRET: Final[dict[str, Any]] = {
    **WEBHOOK,
    "secret": "whsec_ZXhhbXBsZSBvZiBhIHNlY3JldCBvZiAzMiBieXRlcyE=",
}
EVENT: Final[dict[str, Any]] = {
    "type": "verification.stepped_up",
    "timestamp": "2026-01-31T09:26:54.017456Z",
    "data": {
        "id": VERIFICATION["id"],
        "identityId": IDENTITY["id"],
        "status": "COMPLETED",
        "scoringOutcome": "STEPPED_UP",
        "scoringScore": 531,
        "modelVersion": VERIFICATION["modelVersion"],
        "sequence": 7,
    },
}
_REQUEST: Final = "5f0c6b1e-93d4-4c7a-8e25-d1b0a9f8e7c6"
PROBLEM: Final[dict[str, Any]] = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "detail": "There is no such resource.",
    "instance": f"urn:uuid:{_REQUEST}",
    "code": "not_found",
    "requestId": _REQUEST,
}
VALIDATION_PROBLEM: Final[dict[str, Any]] = {
    "type": "about:blank",
    "title": "Unprocessable Content",
    "status": 422,
    "detail": "The request breaks the rules that are listed.",
    "instance": f"urn:uuid:{_REQUEST}",
    "code": "invalid_request",
    "requestId": _REQUEST,
    "errors": [
        {"pointer": "/firstName", "code": "too_long", "detail": "must have at most 100 characters, got 131"},
        {"pointer": "/nickname", "code": "unknown_field", "detail": "is not a field that can be sent here"},
    ],
}
