"""The body of a verification: whose it is, the signals, and how they are kept."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from scoring_model.records import RecordSchema
from scoring_model.records.fields import SIGNAL_PREFIX
from scoring_model.records.rules import SIGNAL_RULES, SIGNALS, Rule, RuleError, any_signal, reference
from scoring_model.service.core import ids
from scoring_model.service.core.body import (
    Errors,
    broken,
    checked,
    note_unknown,
    pointer,
    refuse_if,
    wrong_type,
)
from scoring_model.service.core.compact import from_json, to_json
from scoring_model.service.core.errors import FieldError, Invalid

NAME_LENGTH: Final = 128
NOT_A_UUID: Final = "not_a_uuid"
NOT_FOUND: Final = "not_found"
NOT_STEPPED_UP: Final = "not_stepped_up"
_FIELDS: Final = ("identityId", "signals", "subjectId", "previousVerificationId")
_SCALAR: Final = "a number, a boolean, text or null"
_NEITHER: Final = FieldError("", Rule.MISSING.value, "must have an identityId, signals or both")
_HEAD: Final = struct.Struct("<?I")  # whether a row follows, bytes of JSON


@dataclass(frozen=True, slots=True)
class VerificationRequest:
    """What is to be verified.

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

    Signals are given when there is an object, even an empty one: every signal is then missing. Names of
    signals have 1 to 128 characters, unless the model uses a longer one.

    Parameters
    ----------
    body : mapping of str to object
        As JSON has it; null equals missing.
    schema : RecordSchema
        Names the signals that the model uses, and their types.

    Returns
    -------
    VerificationRequest

    Raises
    ------
    Invalid
        If any rule is broken, with all that are: identifiers, subject, signals in the order of the body, then
        unknown fields. Of more than 200 signals only the first 200 are looked at.
    """
    errors = Errors()
    identity_id = _identifier(body.get("identityId"), "/identityId", errors)
    previous_id = _identifier(body.get("previousVerificationId"), "/previousVerificationId", errors)
    subject_id = checked(body.get("subjectId"), reference, "/subjectId", errors)
    signals, values = _signals(body.get("signals"), schema, errors)
    if body.get("identityId") is None and body.get("signals") is None:
        errors.append(_NEITHER)
    note_unknown(body, _FIELDS, errors)
    refuse_if(errors)
    if not isinstance(subject_id, str):
        return VerificationRequest(identity_id, previous_id, None, signals, values)
    values["subjectId"] = subject_id
    return VerificationRequest(identity_id, previous_id, subject_id, signals, values)


def _identifier(value: object, where: str, errors: list[FieldError]) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        errors.append(wrong_type(where, "text", value))
        return None
    found = ids.from_text(value)
    if found is None:
        errors.append(FieldError(where, NOT_A_UUID, "must be a UUID: 36 characters, hexadecimal with dashes"))
    return found


def _signals(
    sent: object, schema: RecordSchema, errors: list[FieldError]
) -> tuple[dict[str, object], dict[str, object]]:
    """Raw signals that are not null by name, and canonical ones that are used by field name."""
    if sent is None:
        return {}, {}
    if not isinstance(sent, Mapping):
        errors.append(wrong_type("/signals", "an object", sent))
        return {}, {}
    if len(sent) > SIGNALS:
        detail = f"must hold at most {SIGNALS} signals, got {len(sent)}"
        errors.append(FieldError("/signals", Rule.TOO_MANY.value, detail))
    used = schema.signals
    values: dict[str, object] = {}
    for name, value in islice(sent.items(), SIGNALS):
        kind = used.get(name)
        try:
            canonical = any_signal(value) if kind is None else SIGNAL_RULES[kind](value)
        except RuleError as error:
            errors.append(_broken_signal(name, error, value, is_used=kind is not None))
            continue
        if kind is None:
            errors += _broken_name(name)
        elif canonical is not None:
            values[SIGNAL_PREFIX + name] = canonical
    return {name: value for name, value in sent.items() if value is not None}, values


def _broken_signal(name: str, error: RuleError, value: object, *, is_used: bool) -> FieldError:
    where = pointer("signals", name)
    if error.rule is Rule.WRONG_TYPE and not is_used:
        return wrong_type(where, _SCALAR, value)
    return broken(where, error, value)


def _broken_name(name: str) -> tuple[FieldError, ...]:
    if 1 <= len(name) <= NAME_LENGTH:
        return () if name.isascii() or _is_unicode(name) else (_name_error(name, Rule.LONE_SURROGATE),)
    return (_name_error(name, Rule.TOO_LONG if name else Rule.BLANK),)


def _is_unicode(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _name_error(name: str, rule: Rule) -> FieldError:
    detail = f"names of signals must have 1 to {NAME_LENGTH} characters of Unicode, got {len(name)}"
    return FieldError(pointer("signals", name), rule.value, detail)


def canonical_values(
    signals: Mapping[str, object], subject_id: str | None, schema: RecordSchema
) -> dict[str, object]:
    """Bring kept signals into canonical form again, perhaps for another model than the first.

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
    errors = Errors()
    values = _signals(signals, schema, errors)[1]
    refuse_if(errors)
    return values if subject_id is None else {**values, "subjectId": subject_id}


def pack_payload(request: VerificationRequest, row: bytes | None = None) -> bytes:
    """Write what is kept, and sealed, of a verification.

    Parameters
    ----------
    request : VerificationRequest
    row : bytes, optional
        The feature row that was scored, float64.

    Returns
    -------
    bytes
        What `unpack_payload` reads.
    """
    return pack_stored(request.signals, request.subject_id, row)


def pack_stored(signals: Mapping[str, object] | None, subject_id: str | None, row: bytes | None) -> bytes:
    """Write the parts that `unpack_payload` gives.

    Parameters
    ----------
    signals : mapping of str to object or None
        None where there were some that are kept no longer; see `signals_are_gone`.
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
    """Read what `pack_payload` wrote: equal values of equal types.

    Parameters
    ----------
    packed : bytes

    Returns
    -------
    signals : dict of str to object
        Empty where they are kept no longer, too.
    subject_id : str or None
    row : bytes or None
    """
    has_row, length = _HEAD.unpack_from(packed)
    end = _HEAD.size + length
    parts: tuple[dict[str, Any] | None, str | None]
    parts = from_json(packed[_HEAD.size : end])
    signals, subject_id = parts
    return signals or {}, subject_id, packed[end:] if has_row else None


def signals_are_gone(packed: bytes) -> bool:
    """Tell whether what `pack_stored` wrote once had signals that are kept no longer."""
    return packed[_HEAD.size : _HEAD.size + 5] == b"[null"


def unknown_identity_id() -> Invalid:
    """Make the error of an identity that is not there, or another client's."""
    return Invalid((FieldError("/identityId", NOT_FOUND, "must be an identity of this client"),))


def unknown_previous_id() -> Invalid:
    """Make the error of a previous verification that is not there, or another client's."""
    detail = "must be a verification of this client"
    return Invalid((FieldError("/previousVerificationId", NOT_FOUND, detail),))


def not_to_be_followed() -> Invalid:
    """Make the error of a previous verification of someone else, or that asked for no further one."""
    detail = "must be a verification of the same person whose outcome was STEPPED_UP"
    return Invalid((FieldError("/previousVerificationId", NOT_STEPPED_UP, detail),))
