"""The contract of verifications as they are asked for (contract, "Verification")."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.ids import to_text
from scoring_model.records import RecordSchema, SignalType, parse_record
from scoring_model.service.core.errors import Invalid
from scoring_model.service.scoring.request import (
    VerificationRequest,
    canonical_values,
    not_to_be_followed,
    pack_stored,
    parse_request,
    unknown_identity_id,
    unknown_previous_id,
    unpack_payload,
)

SOMEONE = bytes(range(16))
SCHEMA = RecordSchema(
    signals={
        "velocity": SignalType.NUMBER,
        "vpn": SignalType.BOOLEAN,
        "channel": SignalType.CATEGORY,
        "device": SignalType.IDENTIFIER,
        "a/b~c": SignalType.NUMBER,
    }
)
READ_ONLY = (
    *("id", "status", "scoringOutcome", "scoringScore", "reasonCodes", "modelVersion", "policyVersion"),
    *("createdAt", "completedAt"),
)


def errors_of(body: dict[str, object]) -> list[tuple[str, str]]:
    """Pointer and code of everything that is wrong with a body."""
    with pytest.raises(Invalid) as caught:
        parse_request(body, SCHEMA)
    return [(error.pointer, error.code) for error in caught.value.errors]


def test_verification_takes_an_identity_signals_or_both() -> None:
    """Each alone and both together are requests; identifiers come as bytes, in either case of letters."""
    text = to_text(SOMEONE)
    alone = parse_request({"identityId": text.upper()}, SCHEMA)
    assert alone == VerificationRequest(SOMEONE, None, None, {}, {})
    both = parse_request(
        {"identityId": text, "signals": {"velocity": 2}, "previousVerificationId": text}, SCHEMA
    )
    assert both == VerificationRequest(SOMEONE, SOMEONE, None, {"velocity": 2}, {"signals.velocity": 2.0})
    signals = parse_request({"signals": {"vpn": True}, "subjectId": " p-1 "}, SCHEMA)
    assert signals == VerificationRequest(
        None, None, "p-1", {"vpn": True}, {"signals.vpn": 1.0, "subjectId": "p-1"}
    )


@pytest.mark.parametrize("body", [{}, {"identityId": None, "signals": None}, {"subjectId": "p-1"}])
def test_verification_neither_identity_nor_signals_is_refused(body: dict[str, object]) -> None:
    """The whole body is pointed at, null being missing."""
    assert errors_of(body) == [("", "missing")]


def test_verification_an_empty_object_of_signals_is_given() -> None:
    """All signals are then missing values."""
    assert parse_request({"signals": {}}, SCHEMA) == VerificationRequest(None, None, None, {}, {})


def test_signals_are_what_the_same_record_in_a_file_has() -> None:
    """The values of a request are those that the contract of records gives."""
    signals = {
        "velocity": -0.0,
        "vpn": False,
        "channel": " ｅ\u0301 ",
        "device": "D-1",
        "other": 1,
        "gone": None,
    }
    body = {"signals": signals, "subjectId": "p-1"}
    request = parse_request(body, SCHEMA)
    assert request.values == parse_record(body, SCHEMA, now=0).values
    assert canonical_values(request.signals, request.subject_id, SCHEMA) == request.values


def test_signals_unused_names_are_kept_and_missing_ones_are_missing() -> None:
    """What the model does not use is kept as it was sent; nulls are left out."""
    request = parse_request({"signals": {"unused": " as sent ", "velocity": None, "huge": 10**300}}, SCHEMA)
    assert request.signals == {"unused": " as sent ", "huge": 10**300}
    assert request.values == {}


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("velocity", "3", "wrong_type"),
        ("velocity", True, "wrong_type"),
        ("velocity", 10**400, "not_finite"),
        ("vpn", 1, "wrong_type"),
        ("channel", 7, "wrong_type"),
        ("device", False, "wrong_type"),
        ("channel", "x" * 257, "too_long"),
        ("unused", "x" * 257, "too_long"),
        ("unused", "\ud800", "lone_surrogate"),
        ("unused", {}, "wrong_type"),
        ("unused", [1], "wrong_type"),
        ("velocity", [1], "wrong_type"),
        ("unused", float("inf"), "not_finite"),
        ("", 1, "blank"),
        ("x" * 129, None, "too_long"),
    ],
)
def test_signals_a_wrong_type_is_refused(name: str, value: object, code: str) -> None:
    """The signal is pointed at by its name."""
    assert errors_of({"signals": {name: value}}) == [(f"/signals/{name}", code)]


def test_signals_pointers_are_escaped() -> None:
    """Slashes and tildes in names of signals follow RFC 6901."""
    assert errors_of({"signals": {"a/b~c": "x", "~/": []}}) == [
        ("/signals/a~1b~0c", "wrong_type"),
        ("/signals/~0~1", "wrong_type"),
    ]


def test_signals_names_are_unicode() -> None:
    """Half a surrogate pair in a name is refused, and the error can be written in UTF-8."""
    with pytest.raises(Invalid) as caught:
        parse_request({"signals": {"\udfff": 1}}, SCHEMA)
    (error,) = caught.value.errors
    assert error.code == "lone_surrogate"
    assert error.pointer.encode().startswith(b"/signals/")


def test_signals_are_at_most_200() -> None:
    """200 names pass, 201 do not, nulls counted."""
    names: dict[str, object] = {f"s{i}": None for i in range(200)}
    assert parse_request({"signals": names}, SCHEMA).signals == {}
    assert errors_of({"signals": {**names, "last": 1}}) == [("/signals", "too_many")]


@pytest.mark.parametrize("signals", ["x", 1, [], [{"velocity": 1}], True])
def test_signals_are_an_object(signals: object) -> None:
    """Anything else is refused, and counts as given."""
    assert errors_of({"signals": signals}) == [("/signals", "wrong_type")]


@pytest.mark.parametrize("name", ["identityId", "previousVerificationId"])
@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "not_a_uuid"),
        ("not-a-uuid", "not_a_uuid"),
        ("{00010203-0405-0607-0809-0a0b0c0d0e0f}", "not_a_uuid"),
        ("000102030405060708090a0b0c0d0e0f", "not_a_uuid"),
        (7, "wrong_type"),
        ({}, "wrong_type"),
    ],
)
def test_verification_a_malformed_id_in_a_body_is_refused(name: str, value: object, code: str) -> None:
    """It is pointed at like one that is unknown."""
    assert errors_of({"signals": {}, name: value}) == [(f"/{name}", code)]


@pytest.mark.parametrize(("value", "code"), [("x" * 129, "too_long"), (7, "wrong_type")])
def test_verification_a_subject_has_at_most_128_characters(value: object, code: str) -> None:
    """It is text, and missing when blank."""
    assert errors_of({"signals": {}, "subjectId": value}) == [("/subjectId", code)]
    assert parse_request({"signals": {}, "subjectId": "x" * 128}, SCHEMA).subject_id == "x" * 128
    assert parse_request({"signals": {}, "subjectId": "  "}, SCHEMA).subject_id is None


@pytest.mark.parametrize("name", [*READ_ONLY, "signals.velocity", "firstName", "eventTime"])
def test_general_unknown_and_read_only_fields_are_refused(name: str) -> None:
    """Whatever is no input field is refused, null or not."""
    assert errors_of({"signals": {}, name: None}) == [(f"/{name}", "unknown_field")]


BROKEN: dict[str, object] = {
    "identityId": "x",
    "previousVerificationId": 1,
    "subjectId": [],
    "signals": {"velocity": "x", "other": {}, "device": True},
    "status": "COMPLETED",
}
BROKEN_AT = {name: [f"/{name}"] for name in BROKEN} | {
    "signals": ["/signals/velocity", "/signals/other", "/signals/device"]
}


@given(st.sets(st.sampled_from(sorted(BROKEN)), min_size=1))
def test_errors_all_problems_are_told_at_once(names: set[str]) -> None:
    """Whichever parts are broken, exactly they are pointed at."""
    found = errors_of({"signals": {"velocity": 1}, **{name: BROKEN[name] for name in names}})
    assert sorted(pointer for pointer, _ in found) == sorted(
        where for name in names for where in BROKEN_AT[name]
    )


def test_errors_types_are_those_of_json() -> None:
    """What an unused signal may be is said whole, and nothing that was sent is echoed."""
    with pytest.raises(Invalid) as caught:
        parse_request({"signals": {"unused": ["canary"], "velocity": "canary"}}, SCHEMA)
    assert [error.detail for error in caught.value.errors] == [
        "must be a number, a boolean, text or null, got an array",
        "must be a number, got text",
    ]


def test_errors_of_look_ups_point_into_the_body() -> None:
    """Unknown and foreign ids, and what can't be followed, are 422 with their pointers."""
    found = [make().errors[0] for make in (unknown_identity_id, unknown_previous_id, not_to_be_followed)]
    assert [(error.pointer, error.code) for error in found] == [
        ("/identityId", "not_found"),
        ("/previousVerificationId", "not_found"),
        ("/previousVerificationId", "not_stepped_up"),
    ]


def test_another_model_may_ask_for_another_type() -> None:
    """Kept signals that a later schema takes for something else are refused, by pointer."""
    changed = RecordSchema(signals={"vpn": SignalType.CATEGORY})
    with pytest.raises(Invalid) as caught:
        canonical_values({"vpn": True}, None, changed)
    assert caught.value.errors[0].pointer == "/signals/vpn"


scalars = (
    st.booleans()
    | st.integers(-(10**308), 10**308)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(
    st.dictionaries(names, scalars, max_size=20),
    st.none() | names.filter(lambda name: name.strip() == name),
    st.none() | st.binary(max_size=80),
)
def test_what_is_packed_comes_back(
    signals: dict[str, object], subject: str | None, row: bytes | None
) -> None:
    """Signals, subject and row come back equal and of the same types, an empty row included."""
    found = unpack_payload(pack_stored(signals, subject, row))
    assert found == (signals, subject, row)
    assert repr(found[0]) == repr(signals)  # 1, 1.0 and True are equal, but not the same


used = st.fixed_dictionaries(
    {},
    optional={
        "velocity": st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        "vpn": st.none() | st.booleans(),
        "channel": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    },
)
unused = st.dictionaries(names.map(lambda name: f"x{name}"), st.none() | scalars, max_size=10)


@given(used, unused)
def test_whatever_passes_can_be_kept(known: dict[str, object], unknown: dict[str, object]) -> None:
    """A request that was taken gives the same values when it is read again."""
    request = parse_request({"signals": {**known, **unknown}, "subjectId": "p-1"}, SCHEMA)
    kept, subject, _ = unpack_payload(pack_stored(request.signals, request.subject_id, None))
    assert canonical_values(kept, subject, SCHEMA) == request.values


def test_personal_data_is_in_no_representation() -> None:
    """A request that is printed shows neither signals nor subject."""
    request = parse_request({"signals": {"device": "canary"}, "subjectId": "canary"}, SCHEMA)
    assert "canary" not in repr(request)
