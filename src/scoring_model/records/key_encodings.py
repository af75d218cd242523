"""Encodings of link keys (blocking keys): phonetic, truncated and others.

Link keys join records with equal values, so a typo separates them. An encoding keeps what certain typos do not
change: the sound of a name, its first letters, the digits of a line. `NORMALISATION_VERSION` covers encodings too:
raise it when the result of one changes.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final, TypeAlias

from scoring_model.contract import rules
from scoring_model.contract.fields import SIGNAL_PREFIX
from scoring_model.contract.rules import COUNTRIES, IDENTITY_RULES
from scoring_model.records.ip import IPV6_BITS, network_of, read_ip
from scoring_model.records.mail import read_mail
from scoring_model.records.normalisation import Normaliser, fold, letters_of, normaliser
from scoring_model.records.phone import read_phone

KeyEncoding: TypeAlias = Callable[[str], str]
LONGEST_START: Final = 9

_SILENT: Final = str.maketrans("", "", "hw")
_VOWEL: Final = "0"
_SOUNDEX: Final = {
    ord(letter): code
    for code, letters in zip(
        ("1", "2", "3", "4", "5", "6", _VOWEL),
        ("bfpv", "cgjkqsxz", "dt", "l", "mn", "r", "aeiouy"),
        strict=True,
    )
    for letter in letters
}


def encode_letters(text: str) -> str:
    """Keep the letters of all scripts, without blanks.

    Examples
    --------
    >>> encode_letters("12 main st")
    'mainst'
    """
    return letters_of(text)


def encode_digits(text: str) -> str:
    """Keep the digits.

    Examples
    --------
    >>> encode_digits("flat 3 12 main st")
    '312'
    """
    return "".join(filter(str.isdigit, text))


def encode_sorted(text: str) -> str:
    """Sort the characters, without blanks, so that transposed characters give the same result.

    Examples
    --------
    >>> encode_sorted("2165"), encode_sorted("2156")
    ('1256', '1256')
    """
    return "".join(sorted(text.replace(" ", "")))


def encode_words(text: str) -> str:
    """Sort the words.

    Examples
    --------
    >>> encode_words("12 main st")
    '12 main st'
    >>> encode_words("main st 12")
    '12 main st'
    """
    return " ".join(sorted(text.split()))


def encode_start(text: str, *, length: int) -> str:
    """Keep the first characters, blanks not counted.

    Examples
    --------
    >>> encode_start("st james", length=3)
    'stj'
    """
    return text.replace(" ", "")[:length]


def encode_phonetic(text: str) -> str:
    """Encode letters by their Soundex code, of any length: the first letter, then the digits of the consonants.

    ``phonetic:start4`` is the code of the census without zero padding. Letters of scripts other than Latin are
    kept.

    References
    ----------
    The Soundex Indexing System, National Archives of the United States, General Information Leaflet 55:
    neighbours of one code count once, also with an h or w between them and also as the first letter.

    Examples
    --------
    >>> encode_phonetic("smith"), encode_phonetic("schmidt"), encode_phonetic("tymczak")
    ('s53', 's53', 't522')
    """
    letters = letters_of(text)
    codes = (letters[:1] + letters[1:].translate(_SILENT)).translate(_SOUNDEX)
    new = [code for before, code in pairwise(codes) if code != before]
    return letters[:1] + "".join(new).replace(_VOWEL, "")


def encode_year(date: str) -> str:
    """Keep the year of a date.

    Examples
    --------
    >>> encode_year("1990-02-01")
    '1990'
    """
    return date[:4]


def encode_month_day(date: str) -> str:
    """Keep month and day of a date.

    Examples
    --------
    >>> encode_month_day("1990-02-01")
    '02-01'
    """
    return date[5:]


def encode_unordered(date: str) -> str:
    """Sort month and day of a date, so that swapped day and month give the same result.

    Examples
    --------
    >>> encode_unordered("1990-02-01"), encode_unordered("1990-01-02")
    ('1990-01-02', '1990-01-02')
    """
    year, *rest = date.split("-")
    return "-".join([year, *sorted(rest)])


def encode_mailbox(text: str) -> str:
    """Read a mail address and keep its mailbox; empty where the text is none, as in the encodings below.

    Examples
    --------
    >>> encode_mailbox("Ann.Lee+shop@googlemail.com"), encode_mailbox("ann.lee")
    ('annlee@gmail.com', '')
    """
    address = read_mail(text)
    return "" if address is None else address.mailbox


def encode_domain(text: str) -> str:
    """Read a mail address and keep its domain.

    Examples
    --------
    >>> encode_domain("ann@Shop.EXAMPLE")
    'shop.example'
    """
    address = read_mail(text)
    return "" if address is None else address.domain


def encode_e164(text: str, *, country: str | None = None) -> str:
    """Read a phone number and write it in international form.

    Parameters
    ----------
    country : str, optional
        Code of the country in which numbers without ``+`` are dialled.

    Examples
    --------
    >>> encode_e164("07400 123456", country="GB"), encode_e164("+44 (0)7400 123456")
    ('+447400123456', '+447400123456')
    """
    number = read_phone(text, country)
    return "" if number is None else number.e164


def encode_network(text: str, *, bits: int) -> str:
    """Read an IP address and keep its network.

    Examples
    --------
    >>> encode_network("192.0.2.7", bits=24)
    '192.0.2.0/24'
    """
    address = read_ip(text)
    return "" if address is None else network_of(address, bits)


READING_ENCODINGS: Final[Mapping[str, KeyEncoding]] = {
    "domain": encode_domain,
    "e164": encode_e164,
    **{f"e164-{country}": partial(encode_e164, country=country) for country in sorted(COUNTRIES)},
    "mailbox": encode_mailbox,
    **{f"net{bits}": partial(encode_network, bits=bits) for bits in IPV6_BITS},
}
"""Encodings that read a signal as it was sent: a mail address, a phone number, an IP address."""

TEXT_ENCODINGS: Final[Mapping[str, KeyEncoding]] = {
    "digits": encode_digits,
    "letters": encode_letters,
    "phonetic": encode_phonetic,
    "sorted": encode_sorted,
    **{f"start{length}": partial(encode_start, length=length) for length in range(1, LONGEST_START + 1)},
    "words": encode_words,
}
"""Encodings for typed text. They ignore case and accents even if the field keeps them."""

DATE_ENCODINGS: Final[Mapping[str, KeyEncoding]] = {
    "month-day": encode_month_day,
    "unordered": encode_unordered,
    "year": encode_year,
}

_SIGNAL_ENCODINGS: Final = {**TEXT_ENCODINGS, **READING_ENCODINGS}
_TEXT_FIELDS: Final = frozenset(
    field for field, rule in IDENTITY_RULES.items() if rule in (rules.name, rules.address_part)
)


def encodings_of(field: str) -> Mapping[str, KeyEncoding]:
    """Find the encodings of a field, by name.

    Parameters
    ----------
    field : str
        Field name, a signal's included.

    Returns
    -------
    mapping of str to callable
        Empty for codes, URLs and references.
    """
    if field.startswith(SIGNAL_PREFIX):
        return _SIGNAL_ENCODINGS
    if field in _TEXT_FIELDS:
        return TEXT_ENCODINGS
    return DATE_ENCODINGS if field == "dob" else {}


@cache
def encoded_normaliser(field: str, encodings: tuple[str, ...]) -> Normaliser:
    """Return a normaliser for a field that also applies encodings in order.

    Parameters
    ----------
    field : str
        Field name, a signal's included.
    encodings : tuple of str
        Names among `encodings_of` the field, the first to be applied first.

    Returns
    -------
    callable
        Canonical value (not None) to text, or None if nothing is left. For `imageUrls` the first URL counts.

    Raises
    ------
    KeyError
        If the field cannot link records or lacks an encoding.
    """
    normalise = normaliser(field)
    if field == "imageUrls":
        return lambda urls: normalise(urls[0]) if urls else None
    known = encodings_of(field)
    steps = [known[name] for name in encodings]
    if not steps:
        return normalise

    def encoded(value: Any) -> str | None:
        text = normalise(value) or ""
        if encodings[0] not in READING_ENCODINGS:
            text = fold(text)
        for step in steps:
            text = step(text)
        return text or None

    return encoded
