import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scoring_model.synthetic.addresses import written_addresses
from scoring_model.synthetic.countries import CODES, COUNTRIES
from scoring_model.synthetic.draws import Draws

POSTAL = {
    "GB": r"[A-Z]{2}[0-9] [0-9][A-Z]{2}",
    "US": "[0-9]{5}",
    "CA": r"[A-Z][0-9][A-Z] [0-9][A-Z][0-9]",
    "NL": r"[0-9]{4} [A-Z]{2}",
    "PL": "[0-9]{2}-[0-9]{3}",
    "BR": "[0-9]{5}-[0-9]{3}",
    "JP": "[0-9]{3}-[0-9]{4}",
    "SE": "[0-9]{3} [0-9]{2}",
    "IE": r"[A-Z][0-9]{2} [A-Z][0-9][A-Z][0-9]",
    "IN": "[0-9]{6}",
    "CH": "[0-9]{4}",
    "NA": "[0-9]{5}",
}


@pytest.mark.parametrize("code", sorted(POSTAL))
def test_postal_codes_have_the_shape_of_their_country(history: pa.Table, code: str) -> None:
    """Every postal code matches the pattern of its country."""
    here = history.filter(pc.equal(history["address.country"], code))["address.postalCode"].drop_null()
    assert len(here) > 50
    assert pc.all(pc.match_substring_regex(here, f"^{POSTAL[code]}$")).as_py()


def test_a_country_without_postal_codes_has_none(history: pa.Table) -> None:
    """Addresses in the United Arab Emirates have no postal code."""
    here = history.filter(pc.equal(history["address.country"], "AE"))
    assert here.num_rows > 100
    assert here["address.postalCode"].null_count == here.num_rows


def test_a_key_gives_one_address() -> None:
    """A key gives the same text in any batch, and different keys give different texts."""
    keys = np.arange(5000, dtype=np.uint64)
    countries = np.arange(5000) % len(COUNTRIES)
    whole = written_addresses(Draws(3), keys, countries)
    part = written_addresses(Draws(3), keys[7::9], countries[7::9])
    assert part.line1 == whole.line1[7::9]
    assert part.postal == whole.postal[7::9]
    assert len(set(zip(whole.line1, whole.city, whole.postal, strict=True))) > 4900


def test_people_live_in_many_countries(history: pa.Table) -> None:
    """At least 25 countries occur, Namibia among them, all from the list."""
    seen = set(pc.unique(history["address.country"].drop_null()).to_pylist())
    assert len(seen) >= 25
    assert "NA" in seen
    assert seen <= set(CODES)
