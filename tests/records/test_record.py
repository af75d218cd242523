from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.rules import Rule, SignalType
from scoring_model.contract.violation import Violation
from scoring_model.records.record import InvalidRecord, flatten, parse_record, violation
from scoring_model.records.schema import RecordSchema

SCHEMA = RecordSchema(
    signals={
        "risk": SignalType.NUMBER,
        "vpn": SignalType.BOOLEAN,
        "channel": SignalType.CATEGORY,
        "device": SignalType.IDENTIFIER,
    }
)
NOON = 12 * 3600 * 10**6  # of 1970-01-01
BODY: Mapping[str, object] = {
    "recordId": "r1",
    "eventTime": "1970-01-01T12:00:00Z",
    "firstName": " Zoe\u0308 ",
    "lastName": None,
    "dob": "1969-12-31",
    "citizenship": "na",
    "documentType": "PASSPORT",
    "imageUrls": ["https://a.example/1"],
    "address": {"line1": "", "city": "Windhoek", "country": "NA"},
    "signals": {"risk": 1, "vpn": True, "channel": "web", "device": None, "other": 5},
}


def found(body: Mapping[str, object], *, now: int | None = None) -> list[tuple[str, str]]:
    """List the fields and rules that a body breaks."""
    with pytest.raises(InvalidRecord) as caught:
        parse_record(body, SCHEMA, now=now)
    return [(found.field, found.code) for found in caught.value.violations]


def test_a_record_is_canonical_and_holds_what_is_there() -> None:
    """Text is NFC and trimmed, codes are upper case, signals are floats; what is missing is absent."""
    record = parse_record(BODY, SCHEMA)
    assert record.record_id == "r1"
    assert record.event_time == NOON
    assert record.values == {
        "firstName": "Zoë",
        "dob": "1969-12-31",
        "citizenship": "NA",
        "documentType": "PASSPORT",
        "imageUrls": ("https://a.example/1",),
        "address.city": "Windhoek",
        "address.country": "NA",
        "signals.risk": 1.0,
        "signals.vpn": 1.0,
        "signals.channel": "web",
    }


def test_all_problems_come_at_once_in_the_order_of_the_fields() -> None:
    """One error names every wrong field, in any order of the body."""
    body = {
        "nonsense": 1,
        "signals": {"risk": "high", "other": [1]},
        "address": {"country": "XX", "street": "a"},
        "dob": "1899-01-01",
        "firstName": " ",
        "eventTime": "yesterday",
        "label": "fraud",
    }
    assert found(body) == [
        ("eventTime", Rule.NOT_A_TIME),
        ("label", Rule.UNKNOWN_FIELD),
        ("firstName", Rule.BLANK),
        ("dob", Rule.TOO_EARLY),
        ("address.country", Rule.NOT_LISTED),
        ("signals.risk", Rule.WRONG_TYPE),
        ("signals.other", Rule.WRONG_TYPE),
        ("nonsense", Rule.UNKNOWN_FIELD),
        ("address.street", Rule.UNKNOWN_FIELD),
    ]


def test_now_stands_for_an_event_time_that_is_missing() -> None:
    """The event time is the body's own, else the one given, else a problem."""
    body = {"firstName": "Ann", "eventTime": None}
    assert parse_record(body, SCHEMA, now=0).event_time == 0
    assert parse_record({**body, "eventTime": "1970-01-02"}, SCHEMA, now=0).event_time == 2 * NOON
    assert found(body) == [("eventTime", Rule.MISSING)]


def test_nobody_is_born_after_the_event() -> None:
    """The day of the event is the last day of birth."""
    assert parse_record({"dob": "1970-01-01"}, SCHEMA, now=NOON).values
    assert parse_record({"dob": "1970-01-01"}, SCHEMA, now=0).values
    assert found({"dob": "1970-01-02"}, now=NOON) == [("dob", Rule.IN_FUTURE)]
    assert found({"dob": "1970-01-02"}) == [("eventTime", Rule.MISSING)]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"externalId": "x", "subjectId": "y"},
        {"address": {"line1": " "}, "imageUrls": []},
        {"signals": {"other": 1, "risk": None}},
    ],
)
def test_a_record_says_something(body: Mapping[str, object]) -> None:
    """References, blanks, nulls and unused signals make no record."""
    assert found(body, now=0) == [("", Rule.EMPTY_RECORD)]


def test_signals_alone_are_a_record() -> None:
    """A client with an identity provider of its own sends no identity."""
    assert parse_record({"signals": {"device": "d"}}, SCHEMA, now=0).values == {"signals.device": "d"}


def test_the_number_of_signals_is_bounded() -> None:
    """200 names pass, read or not; one more is refused."""
    signals: dict[str, object] = {f"s{place}": place for place in range(199)}
    assert parse_record({"signals": {**signals, "risk": 0}}, SCHEMA, now=0).values == {"signals.risk": 0.0}
    assert found({"signals": {**signals, "risk": 0, "x": None}}, now=0) == [("signals", Rule.TOO_MANY)]


def test_an_error_names_fields_and_never_values() -> None:
    """The text of the error has the fields; the values that were sent are not in it."""
    with pytest.raises(InvalidRecord) as caught:
        parse_record({"firstName": "x" * 101, "dob": "secret", "citizenship": "Atlantis"}, SCHEMA, now=0)
    text = str(caught.value)
    assert all(field in text for field in ("firstName", "dob", "citizenship"))
    assert not any(value in text for value in ("xxx", "secret", "Atlantis"))
    assert caught.value.violations[0] == Violation(
        "/firstName", Rule.TOO_LONG, "must have at most 100 characters, got 101"
    )


parts = st.dictionaries(st.sampled_from(["line1", "city", "x.y"]), st.integers())


@given(address=parts, signals=parts, name=st.integers())
def test_nested_and_dotted_bodies_are_the_same(
    address: dict[str, int], signals: dict[str, int], name: int
) -> None:
    """Writing the dots out gives what nesting gives, and a flat body stays as it is."""
    nested = {"firstName": name, "address": address, "signals": signals}
    flat, violations = flatten(nested)
    assert not violations
    assert flatten(flat) == (flat, [])
    assert flat == {
        "firstName": name,
        **{f"address.{part}": value for part, value in address.items()},
        **{f"signals.{part}": value for part, value in signals.items()},
    }


def test_null_parts_are_missing_and_others_are_refused() -> None:
    """Null is an empty object; text, numbers and lists are refused."""
    assert flatten({"address": None, "signals": {}}) == ({}, [])
    flat, violations = flatten({"address": "Main St 1", "signals": [1]})
    assert flat == {}
    assert violations == [
        violation("address", Rule.WRONG_TYPE, "must be an object, got text"),
        violation("signals", Rule.WRONG_TYPE, "must be an object, got an array"),
    ]


def test_a_field_comes_once() -> None:
    """A field that is both nested and dotted is ambiguous."""
    _, violations = flatten({"address": {"city": "a"}, "address.city": "b"})
    assert [(found.pointer, found.code) for found in violations] == [("/address/city", Rule.REPEATED_FIELD)]
