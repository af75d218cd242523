"""Names as text: from the stocks of a culture, or in the style of made-up names."""

from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.synthetic.countries import COUNTRIES
from scoring_model.synthetic.draws import Draws, KeyArray
from scoring_model.synthetic.events import EventArray, NameStyle
from scoring_model.synthetic.name_stocks import LATIN, NATIVE, Stock
from scoring_model.synthetic.people import sexes, surname_keys

_RARE_FAMILY = 0.3
_TWO_GIVEN = 0.11
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class _Pool:
    """Many lists of names laid end to end, so that one gather takes a name from each row's own list."""

    def __init__(self, lists: list[tuple[str, ...]]) -> None:
        self._names = np.array([name for names in lists for name in names], dtype=object)
        self._sizes = np.array([len(names) for names in lists])
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])

    def draw(self, draws: Draws, purpose: str, lists: IntArray, keys: KeyArray) -> NDArray[np.object_]:
        """Take for each row a name of its list."""
        return self._names[self._starts[lists] + draws.below(purpose, self._sizes[lists], keys)]


def full_names(draws: Draws, events: EventArray) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Write the given and family name of each event's identity.

    Returns
    -------
    tuple of two ndarrays of shape (n,), str
        Given and family names, the same for the same identity and household.
    """
    identities, families, styles = events["identity"], events["family"], events["name_style"]
    origin, native = events["origin"], events["native"]
    other = draws.below("style.other_culture", len(COUNTRIES), identities)
    given = _given(draws, identities, origin, native)
    surnames = surname_keys(draws, identities, families)
    mixed = styles == NameStyle.MIXED
    family = _family(draws, surnames, np.where(mixed, other, origin), native & ~mixed)
    for row in np.flatnonzero(styles > NameStyle.MIXED):
        dice = draws.uniform("name.odd", np.repeat(identities[row], 32), np.arange(32, dtype=np.uint64))
        given[row], family[row] = _odd(NameStyle(styles[row]), given[row], family[row], dice.tolist())
    return given, family


def _given(draws: Draws, identities: KeyArray, origin: IntArray, native: BoolArray) -> NDArray[np.object_]:
    pools = _pools()["given"]
    sex = sexes(draws, identities) % 2  # others draw from the female lists, as good as any
    lists = (origin * 2 + native) * 2 + sex
    names = pools.draw(draws, "given", lists, identities)
    twice = np.flatnonzero(draws.chance("given.two", _TWO_GIVEN, identities) & ~native)
    second = pools.draw(draws, "given.second", lists[twice], identities[twice])
    names[twice] = np.where(second == names[twice], second, names[twice] + " " + second)
    return names


def _family(draws: Draws, keys: KeyArray, origin: IntArray, native: BoolArray) -> NDArray[np.object_]:
    pools = _pools()
    lists = origin * 2 + native
    rare = draws.chance("family.rare", _RARE_FAMILY, keys)
    common = pools["family"].draw(draws, "family", lists, keys)
    return np.where(rare, pools["rare"].draw(draws, "family.blend", lists, keys), common)


@cache
def _pools() -> Mapping[str, _Pool]:
    stocks = [stock for country in COUNTRIES for stock in _stocks(country.culture)]
    return {
        "given": _Pool([names for stock in stocks for names in (stock.female, stock.male)]),
        "family": _Pool([stock.family for stock in stocks]),
        "rare": _Pool([_blends(stock.family) for stock in stocks]),
    }


def _stocks(culture: str) -> tuple[Stock, Stock]:
    return LATIN[culture], NATIVE.get(culture, LATIN[culture])


def _blends(names: tuple[str, ...]) -> tuple[str, ...]:
    """Family names beyond the lists: the head of one name with the tail of another of its culture."""
    long = [name for name in names if len(name) >= 5 and " " not in name] or list(names)
    pairs = [(head, tail) for head in long for tail in long if head != tail]
    return tuple(head[: (len(head) + 1) // 2] + tail[len(tail) // 2 :].lower() for head, tail in pairs)


def _odd(style: NameStyle, given: str, family: str, dice: list[float]) -> tuple[str, str]:
    """Names in a style that is not ordinary, by 32 numbers from [0, 1)."""
    if style is NameStyle.KEYBOARD:
        return _walk(dice[:3]).capitalize(), _walk(dice[3:6]).capitalize()
    if style is NameStyle.SCRAMBLED:
        return given, _scramble(dice).capitalize()
    if style is NameStyle.REPEATED:
        return given, given
    return f"{given}{1 + int(dice[0] * 998)}", family


def _walk(dice: list[float]) -> str:
    row = _ROWS[int(dice[0] * len(_ROWS))]
    start = int(dice[1] * (len(row) - 3))
    return row[start : start + 3 + int(dice[2] * 4)]


def _scramble(dice: list[float]) -> str:
    length = 5 + int(dice[0] * 6)
    return "".join(_LETTERS[int(die * len(_LETTERS))] for die in dice[1 : 1 + length])
