"""The body of a verification request, and the payload that is stored of it."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json, to_json

from scoring_model.contract.verification import VerificationContext, VerificationInput
from scoring_model.contract.violation import Violation
from scoring_model.records import RecordSchema
from scoring_model.service.core.errors import Invalid, parsed

NOT_FOUND: Final = "not_found"
NOT_STEPPED_UP: Final = "not_stepped_up"
_HEAD: Final = struct.Struct("<?I")  # whether a row follows, bytes of JSON


@dataclass(frozen=True, slots=True)
class VerificationRequest:
    """A parsed request.

    Parameters
    ----------
    identity_id, previous_id : bytes or None
        16 bytes; not looked up yet.
    subject_id : str or None
        The client's own reference for the person, after NFC and trimming.
    signals : mapping of str to object
        By name, as they were sent; those that are null are left out. Empty where none were sent.
    values : dict of str to object
        Canonical values by field name, to be added to the identity's: `signals.NAME` of each signal that the
        model uses and that is not missing, and `subjectId` where there is one.
    """

    identity_id: bytes | None
    previous_id: bytes | None
    subject_id: str | None = field(repr=False)
    signals: Mapping[str, object] = field(repr=False)
    values: dict[str, object] = field(repr=False)


def parse_request(body: Mapping[str, object], schema: RecordSchema) -> VerificationRequest:
    """Check the body of a new verification.

    Parameters
    ----------
    body : mapping of str to object
        As JSON has it; null equals missing.
    schema : RecordSchema
        Names the signals that the model uses, and their types.

    Raises
    ------
    Invalid
        If any rule is broken.
    """
    found = parsed(VerificationInput, body, VerificationContext(schema.signals))
    return VerificationRequest(
        found.identity_id,
        found.previous_verification_id,
        found.subject_id,
        found.signals or {},
        found.values(),
    )


def canonical_values(
    signals: Mapping[str, object], subject_id: str | None, schema: RecordSchema
) -> dict[str, object]:
    """Bring stored signals into canonical form again, perhaps for another model.

    Parameters
    ----------
    signals : mapping of str to object
        Of `VerificationRequest` or `unpack_payload`.
    subject_id : str or None
        Likewise.
    schema : RecordSchema

    Returns
    -------
    dict of str to object
        As `VerificationRequest.values`.

    Raises
    ------
    Invalid
        If this schema asks for another type of a signal than it has.
    """
    body = {"signals": signals, "subjectId": subject_id}
    return parsed(VerificationInput, body, VerificationContext(schema.signals)).values()


def pack_stored(signals: Mapping[str, object] | None, subject_id: str | None, row: bytes | None) -> bytes:
    """Write the payload of a verification, which is then sealed.

    Parameters
    ----------
    signals : mapping of str to object or None
        None where they were removed; see `signals_are_gone`.
    subject_id : str or None
    row : bytes or None

    Returns
    -------
    bytes
        A head of 5 bytes, UTF-8 JSON of signals and subject, and the row.
    """
    text = to_json([None if signals is None else dict(signals), subject_id])
    return _HEAD.pack(row is not None, len(text)) + text + (row or b"")


def unpack_payload(packed: bytes) -> tuple[dict[str, object], str | None, bytes | None]:
    """Read what `pack_stored` wrote: equal values of equal types.

    Parameters
    ----------
    packed : bytes

    Returns
    -------
    signals : dict of str to object
        Empty where they were removed.
    subject_id : str or None
    row : bytes or None
    """
    has_row, length = _HEAD.unpack_from(packed)
    end = _HEAD.size + length
    parts: tuple[dict[str, Any] | None, str | None]
    parts = from_json(packed[_HEAD.size : end], cache_strings=False)
    signals, subject_id = parts
    return signals or {}, subject_id, packed[end:] if has_row else None


def signals_are_gone(packed: bytes) -> bool:
    """Whether the signals of a payload were removed."""
    return packed[_HEAD.size : _HEAD.size + 5] == b"[null"


def unknown_identity_id() -> Invalid:
    """Make the error of an identity that is not there, or another client's."""
    return Invalid((Violation("/identityId", NOT_FOUND, "must be an identity of this client"),))


def unknown_previous_id() -> Invalid:
    """Make the error of a previous verification that is not there, or another client's."""
    detail = "must be a verification of this client"
    return Invalid((Violation("/previousVerificationId", NOT_FOUND, detail),))


def not_to_be_followed() -> Invalid:
    """Make the error of a previous verification of someone else, or that asked for no further one."""
    detail = "must be a verification of the same person whose outcome was STEPPED_UP"
    return Invalid((Violation("/previousVerificationId", NOT_STEPPED_UP, detail),))
