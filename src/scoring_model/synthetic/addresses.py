"""Addresses written out in the habit of their country."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.synthetic.countries import COUNTRIES, City, Country
from scoring_model.synthetic.draws import Draws, KeyArray
from scoring_model.synthetic.streets import LATIN, NATIVE, Habit

_NATIVE_SCRIPT = 0.5
_IN_FLATS = 0.4
_FLATS = 40
_NUMBERS = (1, 4, 9, 15, 24, 38, 57, 90, 160, 420)
_POSTAL_LETTERS = "ABEHJLNPRSTWXY"  # valid at every place of the British, Canadian, Dutch and Irish codes


@dataclass(frozen=True, kw_only=True, slots=True)
class Addresses:
    """Written addresses, each field a list of n strings or None."""

    line1: list[str | None]
    line2: list[str | None]
    city: list[str | None]
    region: list[str | None]
    postal: list[str | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    habit: Habit
    native: bool
    city: City
    country: Country

    def line1(self, street: int, number: int) -> str:
        streets = self.habit.streets
        return self.habit.pattern.format(street=streets[street % len(streets)], number=number)

    def line2(self, unit: int) -> str | None:
        return self.habit.unit.format(unit=unit) if unit and self.habit.unit else None

    def postal(self, digits: int) -> str | None:
        if self.country.postal is None:
            return None
        return self.city.postal + _filled(self.country.postal, digits)


def written_addresses(draws: Draws, keys: KeyArray, countries: IntArray) -> Addresses:
    """Write the address of each key, the same wherever the key returns.

    Parameters
    ----------
    keys : ndarray of shape (n,), uint64
    countries : ndarray of shape (n,), int64
        Positions in COUNTRIES.
    """
    places = [
        _place(country, city, native)
        for country, city, native in zip(
            countries.tolist(),
            draws.below("address.city", 1 << 20, keys).tolist(),
            draws.chance("address.native", _NATIVE_SCRIPT, keys).tolist(),
            strict=True,
        )
    ]
    streets = draws.below("address.street", 1 << 20, keys).tolist()
    numbers = draws.quantile("address.number", _NUMBERS, keys).astype(np.int64).tolist()
    flats = draws.chance("address.flats", _IN_FLATS, keys)
    units = np.where(flats, draws.below("address.unit", _FLATS, keys) + 1, 0).tolist()
    postal = draws.below("address.postal", 1 << 40, keys).tolist()
    return Addresses(
        line1=[place.line1(*part) for place, *part in zip(places, streets, numbers, strict=True)],
        line2=[place.line2(unit) for place, unit in zip(places, units, strict=True)],
        city=[place.city.native if place.native else place.city.name for place in places],
        region=[place.city.region for place in places],
        postal=[place.postal(digits) for place, digits in zip(places, postal, strict=True)],
    )


def _place(country: int, city: int, native: bool) -> _Place:
    return _places()[country][native][city % len(COUNTRIES[country].cities)]


@cache
def _places() -> list[tuple[list[_Place], list[_Place]]]:
    return [(_written(country, native=False), _written(country, native=True)) for country in COUNTRIES]


def _written(country: Country, *, native: bool) -> list[_Place]:
    own = native and country.street in NATIVE
    habit = (NATIVE if own else LATIN)[country.street]
    return [_Place(habit=habit, native=own, city=city, country=country) for city in country.cities]


def _filled(template: str, digits: int) -> str:
    """Replace each 9 by a digit and each A by a letter, taken from `digits` from its low end."""
    text = ""
    for sign in template:
        if sign == "9":
            digits, digit = divmod(digits, 10)
            text += str(digit)
        elif sign == "A":
            digits, letter = divmod(digits, len(_POSTAL_LETTERS))
            text += _POSTAL_LETTERS[letter]
        else:
            text += sign
    return text
