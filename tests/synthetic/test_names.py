import unicodedata

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scoring_model.synthetic.countries import COUNTRIES
from scoring_model.synthetic.name_stocks import LATIN, NATIVE

SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARABIC", "DEVANAGARI", "CJK", "HANGUL")


def _script(name: str) -> str:
    return unicodedata.name(next(filter(str.isalpha, name)), "").split()[0]


@pytest.mark.parametrize("culture", sorted(NATIVE))
def test_scripts_are_parallel(culture: str) -> None:
    """A culture with two scripts has as many names in one as in the other."""
    latin, native = LATIN[culture], NATIVE[culture]
    sizes = [(len(stock.female), len(stock.male), len(stock.family)) for stock in (latin, native)]
    assert sizes[0] == sizes[1]


def test_every_country_has_names() -> None:
    """Each country's culture has a stock of names, and each stock belongs to a country."""
    assert {country.culture for country in COUNTRIES} == set(LATIN)


def test_history_is_written_in_many_scripts(history: pa.Table) -> None:
    """Names are in Latin letters with and without accents, and in six other scripts."""
    names = pc.unique(history["firstName"]).to_pylist()
    assert {_script(name) for name in names} >= set(SCRIPTS)
    assert any(not name.isascii() and _script(name) == "LATIN" for name in names)


def test_a_person_keeps_the_name(history: pa.Table) -> None:
    """Most records of a returning person have the same name, and some have typos."""
    frame = history.select(["truth.person", "firstName", "lastName"]).to_pandas()
    frame["name"] = (frame["firstName"] + " " + frame["lastName"]).str.lower()
    again = frame.dropna().groupby("truth.person")["name"]
    spellings = again.nunique()[again.size() == 2]
    assert len(spellings) > 3000
    assert 0.01 < (spellings > 1).mean() < 0.12


def test_names_are_various(history: pa.Table) -> None:
    """No full name is on more than 1 % of the records."""
    full = pc.binary_join_element_wise(history["firstName"], history["lastName"], " ")
    assert pc.max(pc.value_counts(full).field("counts")).as_py() < len(history) / 100
