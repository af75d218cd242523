"""Canonicalisation: one spelling for values that differ in case, accents, punctuation or abbreviations.

Links compare hashes of normalised values, so a changed result separates every person from their own history: raise
`NORMALISATION_VERSION` whenever a result changes; no history mixes versions. Link keys may encode the result further;
see `key_encodings`.
"""

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from scoring_model.contract import rules
from scoring_model.contract.fields import SIGNAL_PREFIX
from scoring_model.contract.rules import HTTPS, IDENTITY_RULES, ValueRule

NORMALISATION_VERSION: Final = 1
Normaliser: TypeAlias = Callable[[Any], str | None]

# Letters that Unicode does not decompose, with their usual transliterations.
_PLAIN_LETTERS: Final = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h", "ı": "i"}
)
# English, German, French and Spanish. One form may stand for words of several languages: lines are compared
# within one country, where the others do not occur.
_ABBREVIATIONS: Final = {
    "st": "street str strasse saint sankt",
    "ave": "avenue av avenida avda",
    "rd": "road",
    "ln": "lane",
    "dr": "drive",
    "ct": "court",
    "cres": "crescent",
    "hwy": "highway",
    "pkwy": "parkway",
    "ter": "terrace terr",
    "blvd": "boulevard bd bld boul",
    "pl": "place platz plaza plz pza",
    "sq": "square",
    "r": "rue",
    "ch": "chemin",
    "imp": "impasse",
    "rte": "route",
    "all": "allee",
    "fbg": "faubourg fg",
    "c": "calle cl",
    "ctra": "carretera",
    "pso": "paseo",
    "apt": "apartment appartement apartamento apto appt",
    "no": "number num nummer numero nr nro",
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
}
_SHORT: Final = {word: short for short, words in _ABBREVIATIONS.items() for word in words.split()}
_ASCII_BREAKS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
_COMPOUND: Final = "strasse"  # German writes it as one word with the name of the street


def normalise_name(name: str) -> str | None:
    """Reduce a name to its letters, without case and accents.

    Letters of all scripts are kept, and so are the marks that are letters to their script (the vowels of Thai
    and of the scripts of India, the voicing of kana). The points of Hebrew and Arabic, which are rarely
    written, are removed like accents.

    Parameters
    ----------
    name : str
        Canonical text.

    Returns
    -------
    str or None
        None if nothing is left.

    References
    ----------
    Unicode Standard Annex 15 (NFKD), and section 4.3 (combining classes).

    Examples
    --------
    >>> normalise_name("Ann-Zoë Ó Brádaigh")
    'annzoeobradaigh'
    """
    return letters_of(fold(name)) or None


def normalise_text(text: str) -> str | None:
    """Reduce text to its words: no case, no accents, one blank for every other character.

    Parameters
    ----------
    text : str
        Canonical text.

    Returns
    -------
    str or None
        None if nothing is left.
    """
    return " ".join(_words(text)) or None


def normalise_line(line: str) -> str | None:
    """Reduce a line of an address to its words, with one form for common abbreviations.

    Parameters
    ----------
    line : str
        Canonical text.

    Returns
    -------
    str or None
        None if nothing is left.

    Examples
    --------
    >>> normalise_line("Hauptstraße 5"), normalise_line("12, MAIN Street")
    ('hauptstr 5', '12 main st')
    """
    return " ".join(map(_shorten, _words(line))) or None


def normalise_postal(code: str) -> str | None:
    """Reduce a postal code to its letters and digits, in upper case.

    Parameters
    ----------
    code : str
        Canonical text.

    Returns
    -------
    str or None
        None if nothing is left.
    """
    return "".join(filter(str.isalnum, fold(code))).upper() or None


def normalise_url(url: str) -> str | None:
    """Reduce a URL to its host, without case, and its path.

    Drops the query, which may hold signatures that change from link to link, and user, port and fragment.

    Parameters
    ----------
    url : str
        Canonical https URL.

    Returns
    -------
    str or None
        None if the text is not an https URL.

    Examples
    --------
    >>> normalise_url("https://Images.example/a/B.jpg?signature=1")
    'images.example/a/B.jpg'
    """
    match = HTTPS.fullmatch(url)
    return match and match["host"].casefold() + (match["path"] or "/")


def normalise_signal(value: str | float) -> str | None:
    """Write a signal, a date or a code as text: text unchanged, a number with its shortest digits.

    Parameters
    ----------
    value : str or float
        Canonical value.

    Returns
    -------
    str or None
        None if nothing is left.

    Examples
    --------
    >>> normalise_signal("aB-7"), normalise_signal(3.0)
    ('aB-7', '3')
    """
    return (value if isinstance(value, str) else repr(value).removesuffix(".0")) or None


def normaliser(field: str) -> Normaliser:
    """Find the normaliser of a field.

    Parameters
    ----------
    field : str
        Field name, a signal's included.

    Returns
    -------
    callable
        Canonical value to text, or None if nothing is left. For `imageUrls` it takes one URL, not the list.

    Raises
    ------
    KeyError
        If the field cannot link records.
    """
    return normalise_signal if field.startswith(SIGNAL_PREFIX) else NORMALISERS[field]


_OF_RULES: Final[Mapping[ValueRule, Normaliser]] = {
    rules.name: normalise_name,
    rules.image_urls: normalise_url,
    rules.address_part: normalise_text,
}
NORMALISERS: Final[Mapping[str, Normaliser]] = {
    **{field: _OF_RULES.get(rule, normalise_signal) for field, rule in IDENTITY_RULES.items()},
    "address.line1": normalise_line,
    "address.line2": normalise_line,
    "address.postalCode": normalise_postal,
}
"""Those of the fields of an identity: by the rule of a field, but for lines and postal codes."""


def fold(text: str) -> str:
    """Remove case and accents, in any script.

    Returns
    -------
    str
        Composed text (NFC).
    """
    if text.isascii():
        return text.lower()  # fast path: the rest does not apply to ASCII
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    kept = "".join(character for character in decomposed if not _is_accent(character))
    return unicodedata.normalize("NFC", kept.translate(_PLAIN_LETTERS))


def _is_accent(character: str) -> bool:
    """By combining class: overlays (1), points of Hebrew, Arabic and Syriac (10 to 36), accents (200 up)."""
    place = unicodedata.combining(character)
    return place == 1 or 10 <= place <= 36 or place >= 200


def letters_of(text: str) -> str:
    """Keep the letters of text, and the marks that are letters to their script."""
    return "".join(filter(str.isalpha if text.isascii() else _is_letter, text))


def _is_letter(character: str) -> bool:
    return character.isalpha() or unicodedata.category(character) in ("Mn", "Mc")


def _words(text: str) -> list[str]:
    folded = fold(text)
    if folded.isascii():
        return folded.translate(_ASCII_BREAKS).split()
    return "".join([c if c.isalnum() or _is_letter(c) else " " for c in folded]).split()


def _shorten(word: str) -> str:
    if word in _SHORT:
        return _SHORT[word]
    return word.removesuffix(_COMPOUND) + "str" if word.endswith(_COMPOUND) else word
