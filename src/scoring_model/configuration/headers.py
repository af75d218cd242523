"""Compares headers and cells with the synonyms, whatever their case, accents and separators."""

import re
import unicodedata
from collections.abc import Collection
from functools import cache
from typing import Final

from scoring_model.configuration import synonyms

_WORDS: Final = 200  # characters; combining marks take time that grows with the square of their number
_COMPOUND: Final = (
    5  # letters from which a word counts as the beginning or end of a longer one: id is in every third
)

_LATIN: Final = str.maketrans(
    dict(
        zip(
            "øłđðıαβγδεζηικλμνξοπρςστυφωабвгдезийклмнопрстуфхцыієґјћђ",
            "olddiavgdeziiklmnxoprsstyfoabvgdezijklmnoprstufhcyiegjcd",
            strict=True,
        )
    )
    | {"æ": "ae", "œ": "oe", "þ": "th", "θ": "th", "χ": "ch", "ψ": "ps", "ж": "zh", "ч": "ch", "ш": "sh"}
    | {"щ": "sch", "ю": "yu", "я": "ya", "э": "e", "љ": "lj", "њ": "nj", "џ": "dz", "ь": None, "ъ": None}
)
"""Letters that are no Latin ones with accents."""
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
"""Letters as systems write them that have none: `Gekuendigt`."""
_ABBREVIATED: Final = dict(pair.split("=") for pair in synonyms.ABBREVIATIONS.split())
_INITIAL: Final = re.compile("(?<![a-z])([fl])_name(?![a-z])")
"""First and last names of warehouses: DRV_L_NM."""
_BEHIND: Final = re.compile(r"\d.*")
"""What a code has behind its letters."""
_NUMBERED: Final = re.compile("(?<=...)(nro?|no|szam|id)$")
"""Ends of compounds: `Kundennr`, `CARDNO`, `klientid`."""
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""Letters of scripts that write words, or compounds of them, without blanks between them."""


def words_of(name: str) -> str:
    """Convert the beginning of a name to snake case: Latin, Greek and Cyrillic letters in ASCII, others as they are.

    Abbreviations become words.

    Examples
    --------
    >>> words_of("Geb.-Datum"), words_of("№ заявки"), words_of("申込日時"), words_of("CUST_LAST_NM")
    ('geb_datum', 'no_zayavki', '申込日時', 'customer_last_name')
    """
    singular = re.sub(r"(?<=\w)\([A-Za-z]{1,2}\)", "", name.strip()[:_WORDS])  # Vorname(n)
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", singular)
    parts = unicodedata.normalize("NFKD", parted.casefold()).casefold().translate(_LATIN)
    bare = "".join(letter for letter in parts if not unicodedata.combining(letter))
    letters = unicodedata.normalize("NFC", bare)  # joins the parts of Korean syllables again
    whole = re.sub(r"\W+", "_", letters).strip("_")
    return _INITIAL.sub(_named_by_initial, "_".join(map(_full, whole.split("_"))))


def _named_by_initial(found: re.Match[str]) -> str:
    return {"f": "first_name", "l": "last_name"}[found[1]]


def _full(part: str) -> str:
    """Return the word that a part abbreviates, with the number at its end: addr2."""
    letters = part.rstrip("0123456789")
    return _ABBREVIATED.get(part) or _ABBREVIATED.get(letters, letters) + part[len(letters) :]


@cache
def known(text: str) -> tuple[str, ...]:
    """Return the entries of a list of synonyms as `words_of` writes them, in their order, also without umlauts."""
    spellings = (each for entry in text.split() for each in (entry, entry.translate(_UMLAUTS)))
    return tuple(dict.fromkeys(map(words_of, spellings)))


def joined(words: str) -> str:
    """Return a header in one word, without those that say nothing.

    Examples
    --------
    >>> joined(words_of("Fecha de la operación")), joined(words_of("PLZ"))
    ('fechaoperacion', 'plz')
    """
    fillers = known(synonyms.FILLERS)
    parts = words.split("_")
    return "".join(part for part in parts if part not in fillers) or "".join(parts)


def without_persons(words: str) -> str:
    """Return a header without the words that say whose it is.

    Examples
    --------
    >>> without_persons("nome_completo_do_titular"), without_persons("customer_last_name")
    ('nome_completo', 'last_name')
    """
    around = {*known(synonyms.PERSONS), *known(synonyms.FILLERS)} - {"name", "birth", "address", "document"}
    return "_".join(part for part in words.split("_") if part not in around)


@cache
def ranks(text: str) -> dict[str, int]:
    """Return the place of each entry of a list of synonyms, as `joined` writes it; the first one counts."""
    return {name: place for place, name in reversed(list(enumerate(map(joined, known(text)))))}


def tells(words: str, text: str) -> bool:
    """Return whether one of the words is a synonym, or begins or ends with one as compounds do.

    So is a code that begins with one, up to its first digit: `frd01`, `dpd30`.

    Parameters
    ----------
    words : str
        In snake case.
    text : str
        The synonyms. Only those of five letters or more are looked for in compounds, and those of scripts without
        blanks, of two or more. One of several words is looked for as a whole.

    Examples
    --------
    >>> tells("transaktionsbetrag", "betrag"), tells("ist_betrugsfall", "betrug"), tells("midlands", "id")
    (True, True, False)
    >>> tells("不正フラグ", "不正"), tells(words_of("사기판매 여부"), "사기"), tells("case_id_theft", "id_theft")
    (True, True, True)
    >>> tells("frd3p", "frd")
    True
    """
    entries = known(text)
    parts = words.split("_")
    long = tuple(entry for entry in entries if len(entry) >= _COMPOUND)
    return (
        not set(entries).isdisjoint([*parts, *(_BEHIND.sub("", part) for part in parts)])
        or any(part.startswith(long) or part.endswith(long) for part in parts)
        or any(entry in words for entry in unspaced(text))
        or any(f"_{entry}_" in f"_{words}_" for entry in entries if "_" in entry)
    )


@cache
def unspaced(text: str) -> tuple[str, ...]:
    """Return the entries of two letters or more of a list of synonyms that are written without blanks."""
    return tuple(entry for entry in known(text) if len(entry) > 1 and _UNSPACED.match(entry))


def is_one_of(text: str, entries: Collection[str]) -> bool:
    """Return whether a cell is an entry of several words or one: `carte d'identité` is `carte_identite`."""
    words = words_of(text)
    return words in entries or joined(words) in {entry.replace("_", "") for entry in entries}


def links_records(words: str) -> bool:
    """Return whether a header names what connects records: a card, an account, a customer, the number of either.

    The last word counts, or the first where it is a word for numbers, as in `numero_carte`. Measures never do:
    `kundenalter`, `age_client`.
    """
    if tells(words, synonyms.MEASURES):
        return False
    fillers = {*known(synonyms.FILLERS)}
    parts = [part for part in words.split("_") if part not in fillers]
    numbers, stems = known(synonyms.NUMBERS), known(synonyms.LINKS)
    long = tuple(entry for entry in stems if len(entry) >= _COMPOUND)
    while len(parts) > 1 and parts[-1] in numbers:
        parts.pop()
    numbered = len(parts) > 1 and parts[0] in numbers
    while len(parts) > 1 and parts[0] in numbers:
        parts.pop(0)
    if not parts:
        return False
    ends = tuple(entry for entry in known(synonyms.NUMBERS) if len(entry) >= _COMPOUND)
    return (
        parts[-1] in stems
        or _NUMBERED.sub("", parts[-1]) in stems
        or (numbered and parts[0] in stems)
        or parts[-1].endswith(long)
        or _without_number(parts[-1]).endswith(unspaced(synonyms.LINKS))
        or (parts[-1].endswith(ends) and parts[-1].startswith(long))
    )


def is_of_something_else(words: str) -> bool:
    """Return whether a header has a word beside those of what connects records, and none for numbers.

    The number of a card, but not its country: `pays_carte`, `ancienneté client`. In some languages what the header is
    about stands first, in others last.
    """
    parts, numbers = {*words.split("_")} - {*known(synonyms.FILLERS)}, known(synonyms.NUMBERS)
    ends = tuple(entry for entry in numbers if len(entry) >= _COMPOUND)
    numbered = any(part in numbers or part.endswith(ends) or _NUMBERED.search(part) for part in parts)
    return not numbered and not parts <= {*known(synonyms.LINKS)}


def _without_number(word: str) -> str:
    """Return a word of a script without blanks without the word for numbers at its end: 顧客番号, 端末id."""
    if not _UNSPACED.search(word):
        return word
    ending = next((entry for entry in known(synonyms.NUMBERS) if word.endswith(entry)), "")
    return word.removesuffix(ending) or word
