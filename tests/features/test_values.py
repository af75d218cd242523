"""Value functions of dates, documents, addresses, images and categories on values whose answer is known."""

import math
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from scoring_model.features import addresses, dates, documents, images
from scoring_model.features.vocabulary import MAX_LEVELS, MIN_PERSONS, Vocabulary


def test_birth_has_day_month_and_first_of_january() -> None:
    """A first of January is marked."""
    assert dates.birth("1990-01-01") == (1.0, 1.0, 1.0)
    assert dates.birth("1990-10-01") == (1.0, 10.0, 0.0)
    assert all(map(math.isnan, dates.birth(None)))


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


def test_address_parts_are_counted() -> None:
    """Completeness counts what is there; of nothing it is zero."""
    assert addresses.completeness("a", None, "b", None, None, "DE") == (3.0,)
    assert addresses.completeness(*[None] * 6) == (0.0,)


def test_first_line_of_an_address() -> None:
    """Length, words, digits, capitals and post-office boxes."""
    assert addresses.line("12 High St") == (10.0, 3.0, 2.0, 2 / 6, 0.0)
    for box in ("P.O. Box 12", "po box 3", "Postfach 44", "Boîte postale 7", "BP 9"):
        assert addresses.line(box)[4] == 1.0, box
    assert addresses.line("Boxer Street 1")[4] == 0.0


@given(st.one_of(st.text(min_size=1), st.text("aB1 .", min_size=1)))
def test_numbers_of_a_line_are_those_of_the_definition(line: str) -> None:
    """Short cuts for ASCII change nothing: digits and the share of capitals are as a page would define them."""
    letters = [c for c in line if c.upper() != c.lower()]
    _, _, digits, share, _ = addresses.line(line)
    assert digits == sum(c.isdigit() for c in line)
    assert share == sum(c.isupper() for c in letters) / len(letters) if letters else math.isnan(share)


def test_image_references() -> None:
    """Count, hosts, repeats, mean path length and queries."""
    urls = (
        "https://a.example/1.jpg",
        "https://A.example/1.jpg?x=1",
        "https://b.example/12.jpg",
        "https://b.example/12.jpg",
    )
    assert images.references(urls) == (4.0, 2.0, 1.0, 6.5, 1.0)
    assert images.references(None)[0] == 0.0


def test_vocabulary_orders_by_persons_and_drops_the_rare() -> None:
    """Codes go from the most frequent; ties by name; the rare share the code of the unseen."""
    vocabulary = Vocabulary.fit([("rare", MIN_PERSONS - 1), ("b", 9), ("a", 9), ("top", 10)])
    assert vocabulary.values == ("top", "a", "b")
    assert [vocabulary.code(v) for v in ("top", "a", "b", "rare", "never")] == [0.0, 1.0, 2.0, 3.0, 3.0]
    assert math.isnan(vocabulary.code(None))


def test_vocabulary_is_bounded() -> None:
    """However many values there are, the levels are."""
    assert len(Vocabulary.fit([(str(i), 10 + i) for i in range(1000)]).values) == MAX_LEVELS
