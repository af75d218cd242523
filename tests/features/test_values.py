"""Value functions of dates, documents, addresses, images and categories, on values with known results."""

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feature_tables import values_of
from scoring_model.contract.rules import COUNTRIES
from scoring_model.features import addresses, dates, documents, images, postal
from scoring_model.features.state import MAX_LEVELS, MIN_PERSONS, NgramTable, ShareTable, Vocabulary


def test_birth_has_day_month_and_patterns() -> None:
    """A first of January, a day like its month and a round day are marked."""
    found = values_of(dates.family(), {"dob": "1990-01-01", "eventDay": 0, "eventHour": 0})
    names = ("birth_day", "birth_month", "birth_first_of_january", "birth_day_is_month", "birth_round_day")
    assert [found[name] for name in names] == [1.0, 1.0, 1.0, 1.0, 1.0]
    assert dates.birth("1990-10-01") == (1.0, 10.0, 0.0, 0.0, 1.0)
    assert dates.birth("1990-10-12") == (12.0, 10.0, 0.0, 0.0, 0.0)
    assert all(map(math.isnan, dates.birth(None)))


@pytest.mark.parametrize(
    ("dob", "event", "days"),
    [
        ("1990-03-01", "2024-03-01", 0),
        ("1990-03-02", "2024-03-01", 1),
        ("1990-12-31", "2023-01-01", 1),
        ("1992-02-29", "2023-03-01", 1),
        ("1990-07-02", "2024-01-01", 183),
    ],
)
def test_birthdays_are_near_or_far(dob: str, event: str, days: int) -> None:
    """Days to the nearest birthday, before or after, across the turn of the year."""
    event_day = date.fromisoformat(event).toordinal() - date(1970, 1, 1).toordinal()
    assert dates.birthday(dob, event_day) == (float(days),)


@given(st.dates(date(1, 1, 1)))
def test_days_of_the_week_are_those_of_the_calendar(event: date) -> None:
    """Monday is 0, before 1970 too."""
    assert dates.weekday(event.toordinal() - date(1970, 1, 1).toordinal()) == (float(event.weekday()),)


@given(st.dates(date(1900, 1, 1), date(2026, 1, 1)), st.integers(0, 120 * 365))
def test_age_grows_with_time(born: date, later: int) -> None:
    """Age is the days between, in mean Gregorian years."""
    event_day = born.toordinal() + later - date(1970, 1, 1).toordinal()
    (age,) = dates.age(born.isoformat(), event_day)
    assert math.isclose(age * 365.2425, later, abs_tol=1e-6)


def test_citizens_abroad() -> None:
    """Living elsewhere than one's citizenship says is 1, unknown is missing."""
    assert documents.abroad("NA", "NA") == (0.0,)
    assert documents.abroad("NA", "DE") == (1.0,)
    assert math.isnan(documents.abroad(None, "DE")[0])


def test_document_types_have_fixed_codes() -> None:
    """Codes are part of the contract, not of the data."""
    types = ("PASSPORT", "NATIONAL_ID", "DRIVERS_LICENSE", "RESIDENCE_PERMIT")
    assert [documents.document(t)[0] for t in types] == [0.0, 1.0, 2.0, 3.0]


def test_a_citizen_with_a_residence_permit_contradicts_himself() -> None:
    """A permit applies to non-citizens; unknown is missing."""
    assert documents.contradiction("RESIDENCE_PERMIT", "DE", "DE") == (1.0,)
    assert documents.contradiction("RESIDENCE_PERMIT", "FR", "DE") == (0.0,)
    assert documents.contradiction("PASSPORT", "DE", "DE") == (0.0,)
    assert math.isnan(documents.contradiction("RESIDENCE_PERMIT", None, "DE")[0])


def test_rare_documents_of_a_country_have_more_bits() -> None:
    """The rarer within its country, the more; of a country that nobody came from nothing is said."""
    table = ShareTable.fit([("DE", "NATIONAL_ID", 90), ("DE", "PASSPORT", 10), ("FR", "PASSPORT", 4)])
    assert 0 <= table.rarity("DE", "NATIONAL_ID") < table.rarity("DE", "PASSPORT")
    assert table.rarity("DE", "PASSPORT") < table.rarity("DE", "RESIDENCE_PERMIT")
    assert "FR" not in table.counts
    assert math.isnan(table.rarity("FR", "PASSPORT"))


def test_address_parts_are_counted() -> None:
    """What is there, and what the country asks for: a region in the USA, a code in Germany, neither in Ireland."""
    assert addresses.completeness("a", None, "b", None, None, "DE") == (3.0, 1.0)
    assert addresses.completeness("a", None, "b", None, "1", "US") == (4.0, 1.0)
    assert addresses.completeness("a", None, "b", None, None, "IE") == (3.0, 0.0)
    assert addresses.completeness(*[None] * 6) == (0.0, 2.0)


def of_address(**parts: str) -> dict[str, float]:
    """The features of an address."""
    family = addresses.family(Vocabulary(["DE"]), NgramTable.fit([("12 High St", 9)]))
    return values_of(family, {f"address.{part}": value for part, value in parts.items()})


def test_first_line_of_an_address() -> None:
    """Length, words, digits, capitals and the number."""
    found = of_address(line1="12 High St")
    names = ("length", "words", "digits", "upper_share", "number")
    assert [found[f"address_line_{name}"] for name in names] == [10.0, 3.0, 2.0, 2 / 6, 12.0]
    assert math.isnan(of_address(line1="High St")["address_line_number"])


@pytest.mark.parametrize(
    ("feature", "lines", "others"),
    [
        (
            "po_box",
            ("P.O. Box 12", "po box 3", "Postfach 44", "Boîte postale 7", "BP 91", "PO BOX"),
            ("Boxer Street 1", "B Street 7", "Postfachweg 3"),
        ),
        ("number_pattern", ("123 Main St", "Main St 777", "4321 Main St"), ("12 Main St", "124 Main St")),
        ("unit", ("Main St 7, Apt 2", "кв. 7, Main St"), ("Aptown Road 7",)),
        ("care_of", ("c/o Smith, Main St 7", "Hotel Post"), ("Hotelier Road 1",)),
        ("placeholder", ("test", "12345", "None", "?"), ("Teststraße 1", "李 7")),
    ],
)
def test_kinds_of_places_show(feature: str, lines: tuple[str, ...], others: tuple[str, ...]) -> None:
    """Boxes, made-up numbers, flats, places of guests and post, and what is no address."""
    assert [of_address(line1=line)[f"address_line_{feature}"] for line in lines] == [1.0] * len(lines)
    assert [of_address(line1=line)[f"address_line_{feature}"] for line in others] == [0.0] * len(others)


@given(st.one_of(st.text(min_size=1), st.text("aB1 .", min_size=1)))
def test_numbers_of_a_line_are_those_of_the_definition(line: str) -> None:
    """Short cuts for ASCII change nothing: digits and the share of capitals are as a page would define them."""
    found = of_address(line1=line)
    capital, small = sum(c.isupper() for c in line), sum(c.islower() for c in line)
    share = found["address_line_upper_share"]
    assert found["address_line_digits"] == sum(c.isdecimal() for c in line)
    assert share == capital / (capital + small) if capital + small else math.isnan(share)


def test_parts_of_an_address_are_compared() -> None:
    """The city again in the line, and a name that is typed unlike the city."""
    assert of_address(line1="Main St 7, KÖLN", city="Köln")["address_line_repeats_city"] == 1.0
    assert of_address(line1="Main St 7", city="Köln")["address_line_repeats_city"] == 0.0
    assert addresses.typing("SMITH", "Köln") == (1.0,)
    assert addresses.typing("McDonald", "Köln") == (0.0,)
    assert math.isnan(addresses.typing("李", "Köln")[0])


def test_postal_codes_that_are_typed_without_a_thought_show() -> None:
    """Sequences and repetitions."""
    for code in ("12345", "00000", "543-21"):
        assert of_address(postalCode=code)["postal_code_pattern"] == 1.0
    assert of_address(postalCode="10115")["postal_code_pattern"] == 0.0


@pytest.mark.parametrize(
    ("country", "codes", "others"),
    [
        ("DE", ("10115", "D-10115", "DE 10115"), ("1011", "101155", "SW1A 1AA")),
        ("GB", ("SW1A 1AA", "m1 1ae", "BFPO 12"), ("10115", "SW1A")),
        ("US", ("10001", "10001-1234"), ("1000", "SW1A 1AA")),
        ("NL", ("1012 AB", "1012ab"), ("1012", "1012 SS")),
        ("LV", ("LV-1010", "1010"), ("101",)),
        ("PT", ("4066-784",), ("4066",)),
    ],
)
def test_postal_codes_are_those_of_their_country(
    country: str, codes: tuple[str, ...], others: tuple[str, ...]
) -> None:
    """A code of another form than the country's shows; blanks, hyphens, case and the country before it do not."""
    assert [addresses.postal_form(code, country) for code in codes] == [(0.0,)] * len(codes)
    assert [addresses.postal_form(code, country) for code in others] == [(1.0,)] * len(others)


def test_countries_of_the_post_are_countries_of_the_contract() -> None:
    """No code is misspelt or repeated; a country without codes has no entry."""
    listed = [c for patterns in postal._ALL for countries in patterns.values() for c in countries.split()]
    asked = [country for countries in postal._REQUIRED.values() for country in countries.split()]
    for countries in (listed, asked):
        assert set(countries) <= COUNTRIES
        assert len(set(countries)) == len(countries)
    assert math.isnan(addresses.postal_form("10115", "AE")[0])


def of_images(*urls: str) -> dict[str, float]:
    """The features of some images."""
    return values_of(images.family(), {"imageUrls": urls or None})


def test_image_references() -> None:
    """Count, hosts, repeats, files, paths and queries."""
    found = of_images(
        "https://a.example/1.jpg",
        "https://A.example/x/1.jpg?x=1",
        "https://b.example/scan",
        "https://b.example/scan",
    )
    expected = {
        "image_count": 4.0,
        "image_hosts": 2.0,
        "image_repeats": 1.0,
        "image_same_names": 2.0,
        "image_path_length": (6 + 8 + 5 + 5) / 4,
        "image_depth": 1 / 4,
        "image_digit_share": 2 / 24,
        "image_queries": 1.0,
        "image_no_ending": 2.0,
        "image_public_hosts": 0.0,
        "image_bare_hosts": 0.0,
    }
    assert found == expected
    assert of_images()["image_count"] == 0.0


@pytest.mark.parametrize(
    ("url", "public", "bare"),
    [
        ("https://i.imgur.com/a.png", 1.0, 0.0),
        ("https://imgur.com", 1.0, 0.0),
        ("https://notimgur.com/a.png", 0.0, 0.0),
        ("https://192.0.2.7/a.png", 0.0, 1.0),
        ("https://[2001:db8::1]/a.png", 0.0, 1.0),
        ("https://u@host.example/a.png", 0.0, 1.0),
        ("https://host.example:8443/a.png", 0.0, 1.0),
    ],
)
def test_hosts_of_images_are_of_kinds(url: str, public: float, bare: float) -> None:
    """Public image hosts, and hosts without their own name."""
    found = of_images(url)
    assert (found["image_public_hosts"], found["image_bare_hosts"]) == (public, bare)


def test_vocabulary_orders_by_persons_and_drops_the_rare() -> None:
    """Codes go from the most frequent; ties by name; the rare share the code of the unseen."""
    vocabulary = Vocabulary.fit([("rare", MIN_PERSONS - 1), ("b", 9), ("a", 9), ("top", 10)])
    assert vocabulary.values == ("top", "a", "b")
    assert [vocabulary.code(v) for v in ("top", "a", "b", "rare", "never")] == [0.0, 1.0, 2.0, 3.0, 3.0]
    assert math.isnan(vocabulary.code(None))


def test_vocabulary_is_bounded() -> None:
    """However many values there are, the levels are."""
    assert len(Vocabulary.fit([(str(i), 10 + i) for i in range(1000)]).values) == MAX_LEVELS
