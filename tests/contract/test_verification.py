"""The body of a new verification (contract, "Verification")."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.rules import SignalType
from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import VerificationContext, VerificationInput
from scoring_model.contract.violation import Invalid
from scoring_model.records import RecordSchema, parse_record

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
NAMES: dict[str, object] = {f"s{i}": None for i in range(200)}


def parsed(body: dict[str, object], schema: RecordSchema = SCHEMA) -> VerificationInput:
    """What a body says to a model that uses these signals."""
    return VerificationInput.parse(body, VerificationContext(schema.signals))


def errors_of(body: dict[str, object]) -> list[tuple[str, str]]:
    """Pointer and code of everything that is wrong with a body."""
    with pytest.raises(Invalid) as caught:
        parsed(body)
    return [(error.pointer, error.code) for error in caught.value.violations]


def test_verification_takes_an_identity_signals_or_both() -> None:
    """Each alone and both together are requests; identifiers come as bytes, in either case of letters."""
    text = to_text(SOMEONE)
    alone = parsed({"identityId": text.upper()})
    assert (alone.identity_id, alone.signals, alone.values()) == (SOMEONE, None, {})
    both = parsed({"identityId": text, "signals": {"velocity": 2}, "previousVerificationId": text})
    assert (both.identity_id, both.previous_verification_id) == (SOMEONE, SOMEONE)
    assert (both.signals, both.values()) == ({"velocity": 2}, {"signals.velocity": 2.0})
    signals = parsed({"signals": {"vpn": True}, "subjectId": " p-1 "})
    assert (signals.subject_id, signals.signals) == ("p-1", {"vpn": True})
    assert signals.values() == {"signals.vpn": 1.0, "subjectId": "p-1"}
    assert parsed({"signals": {}}).signals == parsed({"signals": NAMES}).signals == {}
    assert parsed({"signals": {}, "subjectId": "x" * 128}).subject_id == "x" * 128
    assert parsed({"signals": {}, "subjectId": "  "}).subject_id is None


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "", "missing"),
        ({"identityId": None, "signals": None}, "", "missing"),
        ({"subjectId": "p-1"}, "", "missing"),
        ({"signals": {**NAMES, "last": 1}}, "/signals", "too_many"),
        *(({"signals": value}, "/signals", "wrong_type") for value in ("x", 1, [], [{"velocity": 1}], True)),
        ({"signals": {}, "subjectId": "x" * 129}, "/subjectId", "too_long"),
        ({"signals": {}, "subjectId": 7}, "/subjectId", "wrong_type"),
        *(
            ({"signals": {}, name: None}, f"/{name}", "unknown_field")
            for name in (*READ_ONLY, "signals.velocity", "firstName", "eventTime")
        ),
        ({"signals": {"a/b~c": "x"}}, "/signals/a~1b~0c", "wrong_type"),
        ({"signals": {"~/": []}}, "/signals/~0~1", "wrong_type"),
    ],
)
def test_verification_bodies_that_break_a_rule(body: dict[str, object], pointer: str, code: str) -> None:
    """The field is pointed at (RFC 6901), the whole body where something is missing; null is missing."""
    assert errors_of(body) == [(pointer, code)]


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
    body: dict[str, object] = {"signals": signals, "subjectId": "p-1"}
    assert parsed(body).values() == parse_record(body, SCHEMA, now=0).values


def test_signals_unused_names_are_kept_and_missing_ones_are_missing() -> None:
    """What the model does not use is kept as it was sent; nulls are left out."""
    request = parsed({"signals": {"unused": " as sent ", "velocity": None, "huge": 10**300}})
    assert request.signals == {"unused": " as sent ", "huge": 10**300}
    assert request.values() == {}


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


def test_signals_names_are_unicode() -> None:
    """Half a surrogate pair in a name is refused, and the error can be written in UTF-8."""
    ((pointer, code),) = errors_of({"signals": {"\udfff": 1}})
    assert code == "lone_surrogate"
    assert pointer.encode().startswith(b"/signals/")


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
def test_errors_all_problems_are_reported_at_once(names: set[str]) -> None:
    """Whichever parts are broken, exactly they are pointed at."""
    found = errors_of({"signals": {"velocity": 1}, **{name: BROKEN[name] for name in names}})
    assert sorted(pointer for pointer, _ in found) == sorted(
        where for name in names for where in BROKEN_AT[name]
    )


def test_errors_types_are_those_of_json() -> None:
    """What an unused signal may be is said whole, and nothing that was sent is echoed."""
    with pytest.raises(Invalid) as caught:
        parsed({"signals": {"unused": ["canary"], "velocity": "canary"}})
    assert [error.detail for error in caught.value.violations] == [
        "must be a number, a boolean, text or null, got an array",
        "must be a number, got text",
    ]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(
    used=st.fixed_dictionaries(
        {},
        optional={
            "velocity": st.none() | st.integers() | NUMBERS,
            "vpn": st.none() | st.booleans(),
            "channel": st.none() | TEXTS,
        },
    ),
    unused=st.dictionaries(
        TEXTS.map(lambda name: f"x{name}"), st.none() | st.booleans() | NUMBERS | TEXTS, max_size=10
    ),
)
def test_what_was_taken_is_taken_again(used: dict[str, object], unused: dict[str, object]) -> None:
    """The signals and the subject that are kept of a request give the same values when they are read again."""
    request = parsed({"signals": {**used, **unused}, "subjectId": "p-1"})
    again = parsed({"signals": request.signals, "subjectId": request.subject_id})
    assert again.values() == request.values()


def test_another_model_may_ask_for_another_type() -> None:
    """Kept signals that a later schema takes for something else are refused, by pointer."""
    with pytest.raises(Invalid) as caught:
        parsed({"signals": {"vpn": True}}, RecordSchema(signals={"vpn": SignalType.CATEGORY}))
    assert caught.value.violations[0].pointer == "/signals/vpn"


def test_personal_data_is_in_no_representation() -> None:
    """A request that is printed shows neither signals nor subject."""
    assert "canary" not in repr(parsed({"signals": {"device": "canary"}, "subjectId": "canary"}))
