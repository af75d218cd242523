"""The contract of identities (contract, "Identity")."""

import json
from datetime import date, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.fields import REQUIRED_FIELDS, RequiredField, field_pointer
from scoring_model.contract.identity import IdentityStatus, ValidationError
from scoring_model.records import RecordSchema, microseconds, parse_record
from scoring_model.service.core.errors import Invalid
from scoring_model.service.identities.assessment import TOO_OLD, TOO_YOUNG, assess, parse_identity
from scoring_model.service.identities.persons import StoredIdentity, pack_identity, unpack_identity

NOON = microseconds("2026-03-01T12:00:00Z")
WHOLE: dict[str, object] = {
    "firstName": "Ada",
    "lastName": "Müller",
    "dob": "1990-05-17",
    "citizenship": "de",
    "documentType": "PASSPORT",
    "imageUrls": ["https://images.example/1.jpg"],
    "address": {"line1": "Hauptstraße 5", "city": "Köln", "postalCode": "50667", "country": "DE"},
    "externalId": "customer-7",
}
READ_ONLY = ("id", "validated", "status", "missingFields", "validationErrors", "createdAt", "updatedAt")


def errors_of(body: dict[str, object], now: int = NOON) -> list[tuple[str, str]]:
    """Pointer and code of every error of a body."""
    with pytest.raises(Invalid) as caught:
        parse_identity(body, now)
    return [(error.pointer, error.code) for error in caught.value.errors]


def status_of(**changes: object) -> tuple[IdentityStatus, list[tuple[str, str]]]:
    """Result for a complete identity with some fields changed."""
    status, implausible, _ = assess(parse_identity({**WHOLE, **changes}, NOON), NOON)
    return status, [(error.pointer, error.code) for error in implausible]


def test_an_identity_is_what_the_same_record_in_a_file_is() -> None:
    """A body is parsed to the same values as by the contract of records."""
    of_file = parse_record(WHOLE, RecordSchema(), now=NOON).values
    assert parse_identity(WHOLE, NOON) == of_file
    assert of_file["citizenship"] == "DE"


def test_identity_all_input_fields_are_optional() -> None:
    """An empty body, and one of nulls, are identities without a value."""
    assert parse_identity({}, NOON) == {}
    assert parse_identity(dict.fromkeys(WHOLE), NOON) == {}
    assert parse_identity({"address": dict.fromkeys(("line1", "country")), "imageUrls": []}, NOON) == {}
    missing = tuple(map(field_pointer, REQUIRED_FIELDS))
    assert assess({}, NOON) == (IdentityStatus.INCOMPLETE, (), missing)


@pytest.mark.parametrize(
    "name",
    [
        *READ_ONLY,
        "address.city",
        "signals",
        "signals.device",
        "subjectId",
        "eventTime",
        "recordId",
        "label",
        "a/b~c",
    ],
)
def test_general_unknown_and_read_only_fields_are_refused(name: str) -> None:
    """Every unknown field is reported with an escaped pointer, null or not."""
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    assert errors_of({**WHOLE, name: None}) == [(pointer, "unknown_field")]
    assert errors_of({"address": {name: "x"}}) == [("/address" + pointer, "unknown_field")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"firstName": " "}, ("/firstName", "blank")),
        ({"lastName": "x" * 101}, ("/lastName", "too_long")),
        ({"lastName": 7}, ("/lastName", "wrong_type")),
        ({"lastName": "\ud800"}, ("/lastName", "lone_surrogate")),
        ({"dob": "17.05.1990"}, ("/dob", "not_a_date")),
        ({"dob": "1990-02-30"}, ("/dob", "not_a_date")),
        ({"dob": "1899-12-31"}, ("/dob", "too_early")),
        ({"dob": "2026-03-02"}, ("/dob", "in_future")),
        ({"citizenship": "XX"}, ("/citizenship", "not_listed")),
        ({"documentType": "passport"}, ("/documentType", "not_listed")),
        ({"imageUrls": "https://images.example/"}, ("/imageUrls", "wrong_type")),
        ({"imageUrls": ["https://a.example/", "http://a.example/"]}, ("/imageUrls/1", "not_https")),
        ({"imageUrls": ["https://a.example/", None]}, ("/imageUrls/1", "wrong_type")),
        ({"imageUrls": ["https://a.example/" + "x" * 2048]}, ("/imageUrls/0", "too_long")),
        ({"imageUrls": ["https://a.example/"] * 11}, ("/imageUrls", "too_many")),
        ({"address": "Köln"}, ("/address", "wrong_type")),
        ({"address": {"postalCode": 50667}}, ("/address/postalCode", "wrong_type")),
        ({"address": {"country": "Germany"}}, ("/address/country", "not_listed")),
        ({"externalId": "x" * 129}, ("/externalId", "too_long")),
    ],
)
def test_identity_a_malformed_field_is_refused(body: dict[str, object], expected: tuple[str, str]) -> None:
    """Every rule of the table has its pointer and its code."""
    assert errors_of(body) == [expected]


def test_identity_nobody_is_born_after_today() -> None:
    """The date of birth may be today in UTC, at any time of day, and not later."""
    midnight = microseconds("2026-03-02T00:00:00Z")
    assert errors_of({"dob": "2026-03-02"}, midnight - 1) == [("/dob", "in_future")]
    assert parse_identity({"dob": "2026-03-02"}, midnight) == {"dob": "2026-03-02"}


BROKEN: dict[str, object] = {
    "firstName": "",
    "lastName": 1,
    "dob": "2999-01-01",
    "citizenship": "??",
    "documentType": "LIBRARY_CARD",
    "imageUrls": ["ftp://a.example/", 5],
    "address": {"line1": [], "country": "??", "planet": "Earth"},
    "externalId": False,
    "status": "VALIDATED",
}
BROKEN_AT = {
    "firstName": ["/firstName"],
    "lastName": ["/lastName"],
    "dob": ["/dob"],
    "citizenship": ["/citizenship"],
    "documentType": ["/documentType"],
    "imageUrls": ["/imageUrls/0", "/imageUrls/1"],
    "address": ["/address/line1", "/address/country", "/address/planet"],
    "externalId": ["/externalId"],
    "status": ["/status"],
}


@given(st.sets(st.sampled_from(sorted(BROKEN)), min_size=1))
def test_errors_all_problems_are_reported_at_once(names: set[str]) -> None:
    """Errors point exactly at the broken fields."""
    found = errors_of({**WHOLE, **{name: BROKEN[name] for name in names}})
    assert sorted(pointer for pointer, _ in found) == sorted(
        where for name in names for where in BROKEN_AT[name]
    )


def test_errors_values_are_never_echoed_and_types_are_those_of_json() -> None:
    """No error repeats a value or mentions Python."""
    with pytest.raises(Invalid) as caught:
        parse_identity(
            {"firstName": {"canary": 1}, "lastName": "canary" * 50, "dob": "canary", "imageUrls": [1]}, NOON
        )
    details = [error.detail for error in caught.value.errors]
    assert "canary" not in str(caught.value) + "".join(details)
    assert details[0] == "must be text, got an object"
    assert details[-1].endswith("got a number")


@pytest.mark.parametrize(
    "missing", ["firstName", "lastName", "dob", "citizenship", "documentType", "imageUrls", "address"]
)
def test_identity_is_validated_when_everything_is_there(missing: str) -> None:
    """A complete identity is VALIDATED, and INCOMPLETE without any of the required fields."""
    assert status_of() == (IdentityStatus.VALIDATED, [])
    assert status_of(externalId=None, address={"country": "DE"}) == (IdentityStatus.VALIDATED, [])
    assert status_of(**{missing: None}) == (IdentityStatus.INCOMPLETE, [])


def test_identity_an_address_needs_its_country() -> None:
    """An address without a country leaves the identity INCOMPLETE."""
    assert status_of(address={"line1": "Hauptstraße 5", "city": "Köln"}) == (IdentityStatus.INCOMPLETE, [])


@pytest.mark.parametrize(
    ("dob", "expected"),
    [
        ("2010-03-01", []),
        ("2010-03-02", [("/dob", "too_young")]),
        ("2026-03-01", [("/dob", "too_young")]),
        ("1905-03-02", []),
        ("1905-03-01", [("/dob", "too_old")]),
    ],
)
def test_identity_ages_below_16_and_above_120_are_implausible(
    dob: str, expected: list[tuple[str, str]]
) -> None:
    """The 16th birthday is old enough, the 121st too old."""
    status = IdentityStatus.INVALID if expected else IdentityStatus.VALIDATED
    assert status_of(dob=dob) == (status, expected)


def test_identity_a_birthday_on_the_29th_of_february_is_the_1st_of_march() -> None:
    """A person born on a leap day turns 16 on the leap day sixteen years later, and 18 by the same rule."""
    leap = parse_identity({"dob": "2008-02-29"}, NOON)
    assert assess(leap, microseconds("2024-02-28T23:59:59Z"))[1] == (TOO_YOUNG,)
    assert assess(leap, microseconds("2024-02-29T00:00:00Z"))[1] == ()
    old = {"dob": "1904-02-29"}
    assert assess(old, microseconds("2025-02-28T23:59:59Z"))[1] == ()
    assert assess(old, microseconds("2025-03-01T00:00:00Z"))[1] == (TOO_OLD,)


@given(st.dates(date(1900, 1, 1), date(2040, 12, 31)), st.integers(0, 140 * 366))
def test_identity_a_year_passes_at_each_birthday(born: date, days: int) -> None:
    """An age is implausible exactly when the number of past birthdays is below 16 or above 120."""
    today = born + timedelta(days=days)
    birthdays = 0
    while (birthdays + 1 + born.year, born.month, born.day) <= (today.year, today.month, today.day):
        birthdays += 1
    found = assess({"dob": born.isoformat()}, microseconds(today))[1]
    assert [error.code for error in found] == ["too_young"] * (birthdays < 16) + ["too_old"] * (
        birthdays > 120
    )


@pytest.mark.parametrize(
    ("first", "last", "is_plausible"),
    [
        ("123", "-", False),
        ("१२३", "...", False),
        ("-", "Suharto", True),
        ("Ada", "?", True),
        ("李", "明", True),
    ],
)
def test_identity_first_and_last_name_without_a_letter_are_implausible(
    first: str, last: str, is_plausible: bool
) -> None:
    """One of the names must contain a letter of any script."""
    both = [("/firstName", "no_letter"), ("/lastName", "no_letter")]
    expected = (IdentityStatus.VALIDATED, []) if is_plausible else (IdentityStatus.INVALID, both)
    assert status_of(firstName=first, lastName=last) == expected


def test_identity_incomplete_wins_and_what_is_implausible_is_listed() -> None:
    """An incomplete and implausible identity is INCOMPLETE, with the errors of the present fields."""
    status, errors = status_of(dob="2020-01-01", firstName="1", lastName="2", imageUrls=None)
    assert status is IdentityStatus.INCOMPLETE
    assert errors == [("/dob", "too_young"), ("/firstName", "no_letter"), ("/lastName", "no_letter")]
    assert status_of(firstName="1", lastName=None) == (IdentityStatus.INCOMPLETE, [])


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(
    st.dictionaries(st.sampled_from([name for name in WHOLE if name not in ("imageUrls", "address")]), texts),
    st.none() | st.lists(texts, min_size=1, max_size=10).map(tuple),
    st.lists(st.builds(ValidationError, pointer=texts, code=texts), max_size=3).map(tuple),
    st.lists(texts, max_size=3).map(tuple),
)
def test_what_is_packed_comes_back(
    values: dict[str, object],
    urls: tuple[str, ...] | None,
    errors: tuple[ValidationError, ...],
    missing: tuple[str, ...],
) -> None:
    """Values, errors and missing fields come back equal and of the same types."""
    if urls is not None:
        values["imageUrls"] = urls
    stored = StoredIdentity(values, errors, missing)
    assert unpack_identity(pack_identity(stored)) == stored


def test_what_is_packed_is_compact() -> None:
    """Text is UTF-8 without escapes and JSON without blanks."""
    packed = pack_identity(StoredIdentity({"firstName": "Zoë"}, (TOO_OLD,), ("/lastName",)))
    assert packed == '[{"firstName":"Zoë"},[["/dob","too_old"]],["/lastName"]]'.encode()
    assert json.loads(packed)


@given(st.sets(st.sampled_from(get_args(RequiredField))), st.sets(st.sampled_from(get_args(RequiredField))))
def test_an_identity_is_complete_exactly_if_it_has_what_is_required(has: set[str], needed: set[str]) -> None:
    """Missing fields are those required and not there, as JSON Pointers; INCOMPLETE wins over INVALID."""
    values = {name: "1990-05-17" if name == "dob" else "x" for name in has}
    found = assess(values, NOON, tuple(sorted(needed)))
    assert set(found.missing) == {field_pointer(name) for name in needed - has}
    assert (found.status is IdentityStatus.VALIDATED) is (needed <= has)
    young = assess({**values, "dob": "2020-01-01"}, NOON, tuple(needed))
    assert young.status is (IdentityStatus.INVALID if needed <= {*has, "dob"} else IdentityStatus.INCOMPLETE)
