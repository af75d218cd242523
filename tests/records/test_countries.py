from scoring_model.contract.rules import COUNTRIES


def test_the_countries_are_the_officially_assigned_codes() -> None:
    """ISO 3166-1 assigns 249 codes; Namibia has one, exceptional and user-assigned codes are none."""
    assert len(COUNTRIES) == 249
    assert all(len(code) == 2 and code.isascii() and code.isupper() for code in COUNTRIES)
    assert {"NA", "TW", "AX", "BQ", "SS"} <= COUNTRIES
    assert not {"UK", "EU", "XK", "AN", "SU", "ZZ"} & COUNTRIES
