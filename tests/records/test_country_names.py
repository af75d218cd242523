import pytest

from scoring_model.contract.rules import COUNTRIES
from scoring_model.records.country_names import _codes, _entries, country_code

NAMES = {
    "germany": "DE",
    " DEU ": "DE",
    "The Netherlands": "NL",
    "Bahamas (the)": "BS",
    "cote d’ivoire": "CI",
    "Türkiye": "TR",
    "St. Lucia": "LC",
    "saint lucia": "LC",
    "Antigua and Barbuda": "AG",
    "USA": "US",
    "UK": "GB",
    "nam": "NA",
    "British": "GB",
    "deutsch": "DE",
    "Algérienne": "DZ",
    "paraguaya": "PY",
    "Nederlandse": "NL",
    "polskie": "PL",
    "Suomi": "FI",
    "Magyarország": "HU",
    "Velká Británie": "GB",
    "Lenkija": "PL",
    "Германия": "DE",
    "대한민국": "KR",
}


@pytest.mark.parametrize(("name", "code"), NAMES.items())
def test_countries_are_found_however_they_are_written(name: str, code: str) -> None:
    """Case, accents, articles and abbreviations are ignored."""
    assert country_code(name) == code


def test_every_country_has_a_name_and_a_longer_code() -> None:
    """The table names the countries of the contract and no others, each at least twice."""
    codes = list(_codes().values())
    assert set(codes) == COUNTRIES
    assert min(map(codes.count, COUNTRIES)) >= 2


def test_no_name_is_that_of_two_countries() -> None:
    """Neither of a country nor of its citizens, in all languages."""
    assert len(set(_entries())) == len(_codes())


def test_other_text_stays_what_it_is() -> None:
    """The rule of the field applies to codes of two letters and to unknown countries."""
    assert [country_code(text) for text in ("de", "NA", "Atlantis", "")] == ["de", "NA", "Atlantis", ""]
