"""People as numbers: household, origin, sex and date of birth follow from an id by draws."""

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import IntArray
from scoring_model.records.times import DAY
from scoring_model.synthetic.countries import COUNTRIES, WEIGHTS
from scoring_model.synthetic.draws import Draws, KeyArray
from scoring_model.synthetic.events import DateStyle, EventArray

_JOINS = 0.3
_OWN_FAMILY_NAME = 0.18
_MIGRANT = 0.13
_NATURALISED = 0.35
_NATIVE_SCRIPT = 0.5
_AGES = (18.05, 20.5, 23, 26, 29, 32, 36, 40, 45, 50, 56, 63, 71, 94)
_EXTREME_AGES = (18.01, 18.3, 84, 103)
_DAYS_A_YEAR = 365.25
_EARLIEST = np.datetime64("1902-01-01")  # keeps every style at 1900 or later
_UNKNOWN_BIRTHDAY = frozenset({"EG", "IN", "NG", "KE", "MA", "VN", "TR", "AE"})
_WEAK_REGISTRY = np.array([country.code in _UNKNOWN_BIRTHDAY for country in COUNTRIES])


def households(draws: Draws, people: KeyArray, *, daily: float) -> KeyArray:
    """Return the household of each person: the id of its founder.

    A person founds a household, or joins that of an earlier person: soon after, when a family signs up
    together, or within half a year.

    Parameters
    ----------
    people : ndarray of shape (n,), uint64
        Ids in order of first appearance, from 0.
    daily : float
        New people a day.
    """
    current = people.copy()
    open_ = np.arange(len(people))
    while len(open_):
        person = current[open_]
        joins = draws.chance("household.joins", _JOINS, person)
        soon = draws.chance("household.soon", 0.4, person)
        days = draws.uniform("household.days", person) ** 2 * np.where(soon, 2.0, 180.0)
        back = (days * daily).astype(np.int64) + 1
        joins &= back <= person.astype(np.int64)
        open_ = open_[joins]
        current[open_] -= back[joins].astype(np.uint64)
    return current


def homes(draws: Draws, families: KeyArray) -> IntArray:
    """Country where each household lives, as position in COUNTRIES."""
    return draws.choice("home", WEIGHTS, families)


def origins(draws: Draws, families: KeyArray, countries: IntArray) -> IntArray:
    """Country that each household comes from: its own for most."""
    migrant = draws.chance("migrant", _MIGRANT, families)
    return np.where(migrant, draws.choice("origin", WEIGHTS, families), countries)


def settle(draws: Draws, events: EventArray, countries: IntArray) -> None:
    """Give each event's household its origin, passports and script, for a life in `countries`; in place."""
    families = events["family"]
    events["country"] = countries
    events["origin"] = origins(draws, families, countries)
    naturalised = draws.chance("naturalised", _NATURALISED, families)
    events["citizen"] = np.where(naturalised, countries, events["origin"])
    native = draws.chance("script.native", _NATIVE_SCRIPT, families)
    events["native"] = native & (events["origin"] == countries)


def sexes(draws: Draws, identities: KeyArray) -> IntArray:
    """Sex of each identity: 0 female, 1 male, 2 another."""
    return draws.choice("sex", (0.496, 0.496, 0.008), identities)


def surname_keys(draws: Draws, identities: KeyArray, families: KeyArray) -> KeyArray:
    """Return the key of each family name: the household's, or the person's own if kept."""
    own = draws.chance("surname.own", _OWN_FAMILY_NAME, identities)
    return np.where(own & (identities != families), identities, families)


def name_styles(draws: Draws, identities: KeyArray) -> IntArray:
    """Return name styles of honest people, including unusual ones."""
    weights = (0.9665, 0.026, 0.001, 0.003, 0.002, 0.0015)
    return draws.choice("style.name", weights, identities)


def date_styles(draws: Draws, identities: KeyArray, countries: IntArray) -> IntArray:
    """Date styles of honest people: 1 January where registers are young, a few odd ones elsewhere."""
    unknown = draws.chance("style.new_year", np.where(_WEAK_REGISTRY[countries], 0.12, 0.012), identities)
    odd = draws.choice("style.date", (0.962, 0.0, 0.02, 0.018), identities)
    return np.where(unknown, int(DateStyle.NEW_YEAR), odd)


def births(draws: Draws, events: EventArray, start: int) -> NDArray[np.datetime64]:
    """Date of birth of each event's identity.

    Parameters
    ----------
    start : int
        Start of the history, microseconds: ages are drawn for this day, so that no one is ever under age.

    Returns
    -------
    ndarray of shape (n,), datetime64[D]
    """
    identities, styles = events["identity"], events["date_style"]
    usual = draws.quantile("age", _AGES, identities)
    extreme = draws.quantile("age.extreme", _EXTREME_AGES, identities)
    ages = np.where(styles == DateStyle.EXTREME, extreme, usual)
    days = np.int64(start // DAY) - (ages * _DAYS_A_YEAR).astype(np.int64) - 1
    dates = np.maximum(days.astype("datetime64[D]"), _EARLIEST)
    years = dates.astype("datetime64[Y]")
    drawn = draws.below("birth.month", 12, identities)
    months, days_on = drawn.astype("timedelta64[M]"), drawn.astype("timedelta64[D]")
    new_year = years.astype("datetime64[D]")
    repeated = (years.astype("datetime64[M]") + months).astype("datetime64[D]") + days_on
    # A year earlier where the style's day may lie after the drawn one: the age stays at least the drawn one.
    earlier = (years - np.timedelta64(1, "Y")).astype("datetime64[M]") + months
    repeated = np.where(repeated > dates, earlier.astype("datetime64[D]") + days_on, repeated)
    chosen = np.where(styles == DateStyle.NEW_YEAR, new_year, dates)
    return np.asarray(np.where(styles == DateStyle.REPEATED, repeated, chosen))
