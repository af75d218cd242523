"""Matches headers with fields: by synonyms, by words around several fields of a person, by cut words."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from typing import Final

from scoring_model.configuration import synonyms
from scoring_model.configuration.headers import joined, known, ranks, unspaced, without_persons, words_of
from scoring_model.configuration.profiles import Profile
from scoring_model.contract.fields import IDENTITY_FIELDS, TIME_FIELDS

_OF_PERSONS: Final = ("firstName", "lastName", "dob")
_CUT: Final = ("firstName", "lastName", "citizenship", "address.postalCode", "address.city", "address.region")
"""Fields whose headers may be the beginning of a word, or lack vowels: VORN, STAATSANG, SURNM."""
_VOWELS: Final = re.compile("(?<!^)[aeiou]")
_SILENT: Final = (
    dict.fromkeys((*TIME_FIELDS, "dob"), synonyms.TIMES)
    | {"recordId": synonyms.NUMBERS}
    | dict.fromkeys(("citizenship", "address.country"), "iso iso2 iso3 alpha2 alpha3 code name")
)
"""Words that a header has in one form or another: `DT_CHIUSURA` and `data_chiusura`."""
_OF_NAMES: Final = re.compile("(naam|name|namn|navn)$")
"""Ends of compounds: `Straatnaam`, `Ortname`."""
_OF_ADDRESSES: Final = re.compile(r"\w+(address|adress|adresse|adres|adresa|anschrift)")
"""Compounds around the parts of an address: `bezorgadres.plaats`."""
_FEWEST_LETTERS: Final = 4
_AROUND: Final = 1_000
"""Place, after all synonyms, of a header with words around it that the file alone explains."""
_BEGINNING: Final = 2_000
"""Place, after those, of a header that is a cut synonym."""


def rank(column: Profile, name: str, persons: Collection[str] = ()) -> int | None:
    """Return the place of a header among those of a field.

    Of what objects hold, such as `applicant.address.zip`, the last words count for a field of identities, if the others
    name a person. Around a part of an address words for numbers count for nothing: `Strasse/Nr.`, `ADDR_CITY_NM`.

    Parameters
    ----------
    persons : collection of str
        Words that name a person in this file, as `person_words` finds them.
    """
    headers = spellings(column, name)
    if (place := _place(headers, name)) is not None or name not in IDENTITY_FIELDS:
        return place
    bare = ["_".join(part for part in header.split("_") if part not in persons) for header in headers]
    bare += [header.removesuffix("1") for header in bare]  # the first of several, as in CITY1
    if (place := _place(bare, name)) is not None:
        return _AROUND + place
    cut = name in _CUT and any(_cut(header) == name for header in (*headers, *bare) if header)
    return _BEGINNING if cut else None


def spellings(column: Profile, name: str) -> list[str]:
    """List a header with and without the words that say whose it is."""
    *parents, last = column.name.split(".")
    headers = [column.words]
    if parents and name in IDENTITY_FIELDS and _name_persons(parents):
        headers += [words_of(f"{parents[-1]}_{last}"), words_of(last)]
    if name in IDENTITY_FIELDS:
        headers.append(without_persons(column.words))
    if name.startswith("address."):
        around = {"name", "address", *known(synonyms.NUMBERS)}
        parts = headers[-1].split("_")
        headers.append(
            "_".join(part for part in parts if part not in around and not _OF_ADDRESSES.fullmatch(part))
        )
        headers.append(_OF_NAMES.sub("", headers[-1]))
    return headers


def _place(headers: Sequence[str], name: str) -> int | None:
    places, text = ranks(synonyms.HEADERS.get(name, "")), _SILENT.get(name, "")
    found = (
        -1 if joined(header) == joined(words_of(name)) else places.get(joined(header))
        for header in headers
        if header
    )
    if (place := next((place for place in found if place is not None), None)) is not None:
        return place
    beside = ranks(synonyms.HEADERS["address.postalCode"]) if name == "address.city" else {}
    for header in headers:  # town_city, and plz_ort for 8001 Zürich
        parts = {*header.split("_")} - {*known(synonyms.FILLERS)}
        if len(parts) > 1 and not parts.isdisjoint(places) and places.keys() | beside.keys() >= parts:
            return _AROUND
    ends = unspaced(synonyms.HEADERS.get(name, "")) if name in IDENTITY_FIELDS else ()
    if any(header.endswith(ends) for header in headers):  # 详细地址
        return _AROUND
    if not text:
        return None
    bare = (_without(header, text) for header in headers)
    return _AROUND if any(one and one in _bare_entries(name) for one in bare) else None


@cache
def _bare_entries(name: str) -> frozenset[str]:
    """Return the headers of a field without the words that it may lack or have in another form."""
    text = _SILENT[name]
    bare = {_without(entry, text) for entry in known(synonyms.HEADERS[name])}
    return frozenset(entry for entry in bare if len(entry) > 1 or not entry.isascii())  # y of fecha_y_hora


def _without(header: str, text: str) -> str:
    return joined("_".join(part for part in header.split("_") if part not in known(text)))


def _name_persons(parents: Sequence[str]) -> bool:
    parts = {part for parent in parents for part in words_of(parent).split("_")}
    return parts <= {"to", *known(synonyms.PERSONS)}


@cache
def person_words(headers: tuple[str, ...]) -> frozenset[str]:
    """Return the words that stand around several fields of a person, one of them a first or last name or a birth.

    Examples
    --------
    >>> sorted(person_words(("kd_vorname", "kd_nachname", "haendler_ort", "haendler_land")))
    ['kd']
    >>> sorted(person_words(("vorname_gesuch", "name_gesuch", "name_haendler")))
    ['gesuch']
    """
    held: defaultdict[str, set[str]] = defaultdict(set)  # headers without the words around them
    named: set[str] = set()
    for words in headers:
        parts = words.split("_")
        for place in range(1, len(parts)):
            for around, rest in ((parts[:place], parts[place:]), (parts[place:], parts[:place])):
                header = joined("_".join(rest))
                if any(header in ranks(synonyms.HEADERS[name]) for name in _OF_PERSONS):
                    held["_".join(around)].add(header)
                elif header in ranks(synonyms.WHOLE_NAMES):
                    named.add("_".join(around))
    return frozenset(
        word
        for around, rests in held.items()
        if len(rests) + (around in named) > 1
        for word in around.split("_")
    )


@cache
def _cut(words: str) -> str | None:
    """Return the only field that has a synonym which begins with a header, or is the header with vowels.

    Each word of the one may be the beginning of a word of the other: kod_poczt.
    """
    header = joined(words)
    if len(header) < _FEWEST_LETTERS:
        return None
    fields = {
        name
        for name, text in synonyms.HEADERS.items()
        if any(
            _are_cut(words, entry)
            if "_" in entry
            else entry.startswith(header) or _has_vowels_more(entry, header)
            for entry in known(text)
        )
    }
    return next(iter(fields)) if len(fields) == 1 else None


def _are_cut(words: str, entry: str) -> bool:
    parts, whole = words.split("_"), entry.split("_")
    return (
        len(parts) == len(whole)
        and max(map(len, parts)) >= _FEWEST_LETTERS
        and all(full.startswith(part) for full, part in zip(whole, parts, strict=True))
    )


def _has_vowels_more(entry: str, header: str) -> bool:
    """Return whether a header lacks some vowels of an entry, and has no other one: SURNM, PSTCD."""
    letters = iter(entry)
    within = all(letter in letters for letter in header)
    return within and len(header) < len(entry) and _VOWELS.sub("", header) == _VOWELS.sub("", entry)
