"""Behaviour of honest people: persons, times, devices, images, mail and places of verifications.

Careful frauds behave the same.
"""

from dataclasses import dataclass, field

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.records.times import DAY, HOUR
from scoring_model.synthetic.countries import COUNTRIES, WEIGHTS
from scoring_model.synthetic.draws import Draws, KeyArray
from scoring_model.synthetic.events import Channel, EventArray, blank
from scoring_model.synthetic.people import date_styles, homes, households, name_styles, settle
from scoring_model.synthetic.seasons import Calendar

_CHANNELS = (0.47, 0.24, 0.2, 0.045, 0.045)
_MAILS = (0.45, 0.25, 0.14, 0.075, 0.06, 0.025)
_FAMILY_DEVICE = 0.3
_OTHER_DEVICE = 0.22
_NEW_AFTER_MOVE = 0.5
_NEW_IMAGE = 0.3
_PLACEHOLDER_IMAGE = 0.005
_PLACEHOLDERS = 40
_FRESH_MAIL = 0.09
_AUTOFILL = 0.13
_TRAVELS = 0.03
_TABLETS = 0.5  # per unit of the country's weight: more records mean busier branches


def behave(draws: Draws, events: EventArray, progress: FloatArray) -> None:
    """Fill in the behaviour of honest people's verifications, in place.

    Parameters
    ----------
    events : EventArray of shape (n,)
        With time, key, identity, family, country, origin and address; all else is written.
    progress : ndarray of shape (n,), in [0, 1]
        Elapsed part of the history, with which habits drift.
    """
    keys, identities = events["key"], events["identity"]
    events["name_style"] = name_styles(draws, identities)
    events["date_style"] = date_styles(draws, identities, events["origin"])
    events["channel"] = draws.choice("channel", _CHANNELS, keys)
    events["image"] = _images(draws, events)
    events["device"] = _devices(draws, events)
    events["mail"] = draws.choice("mail", _MAILS, identities)
    events["mail_age"] = mail_ages(draws, identities, fresh=_FRESH_MAIL)
    events["form"] = form_seconds(draws, keys, quick=_AUTOFILL)
    events["vpn"] = draws.chance("vpn", 0.05 + 0.05 * progress, identities) | draws.chance(
        "vpn.now", 0.025, keys
    )
    events["ip"] = _networks(draws, events)


def mail_ages(draws: Draws, keys: KeyArray, *, fresh: float | FloatArray) -> FloatArray:
    """Days since each mail address was opened: a share of `fresh` ones, years for the others."""
    young = draws.lognormal("mail.young", 3.0, 1.2, keys)
    old = np.minimum(draws.lognormal("mail.old", 1100.0, 1.1, keys), 9000.0)
    days: FloatArray = np.where(draws.chance("mail.fresh", fresh, keys), young, old)
    return np.floor(days)


def form_seconds(draws: Draws, keys: KeyArray, *, quick: float | FloatArray) -> FloatArray:
    """Seconds spent on the form: a share of `quick` ones (filled in by software), minutes for the others."""
    machine = draws.lognormal("form.machine", 14.0, 0.6, keys)
    hand = draws.lognormal("form.hand", 95.0, 0.65, keys)
    seconds: FloatArray = np.where(draws.chance("form.quick", quick, keys), machine, hand)
    return np.round(seconds, 1)


def _devices(draws: Draws, events: EventArray) -> KeyArray:
    """Choose the person's or the family's device, replaced after years or with a move; in branches a tablet."""
    identities, keys = events["identity"], events["key"]
    shared = draws.chance("device.family", _FAMILY_DEVICE, identities)
    owners = np.where(shared, events["family"], identities)
    years = draws.quantile("device.years", (0.7, 1.5, 2.5, 5.0), owners)
    phase = draws.uniform("device.phase", owners)
    generation = (events["time"] / (DAY * 365.25 * years) + phase).astype(np.uint64)
    moved = draws.chance("device.moved", _NEW_AFTER_MOVE, owners)
    devices = draws.bits("device", owners, generation, np.where(moved, events["address"], 0))
    second = draws.chance("device.other", _OTHER_DEVICE, keys)
    devices = np.where(second, draws.bits("device.second", identities), devices)
    tablets = draws.bits("tablet", _branches(draws, events))
    return np.where(events["channel"] == Channel.BRANCH, tablets, devices)


def _branches(draws: Draws, events: EventArray) -> KeyArray:
    """Find a branch: large countries have more of them, and each gets a new tablet every month."""
    weights = np.array(WEIGHTS)[events["country"]]
    number = draws.below("branch", np.ceil(weights * _TABLETS).astype(np.int64), events["key"])
    month = events["time"] // (30 * DAY)
    branches: IntArray = (month * len(COUNTRIES) + events["country"]) * 1_000 + number
    return branches.astype(np.uint64)


def _images(draws: Draws, events: EventArray) -> KeyArray:
    """Send a document's image again until one moves, or a new one, or a placeholder for a failed upload."""
    identities, keys = events["identity"], events["key"]
    fresh = draws.chance("image.new", _NEW_IMAGE, keys)
    images = np.where(
        fresh, draws.bits("image.again", keys), draws.bits("image", identities, events["address"])
    )
    failed = draws.chance("image.failed", _PLACEHOLDER_IMAGE, keys)
    placeholder = draws.below("image.placeholder", _PLACEHOLDERS, keys).astype(np.uint64)
    return np.where(failed, placeholder, images)


def _networks(draws: Draws, events: EventArray) -> IntArray:
    """Draw the apparent country of each connection."""
    keys, country = events["key"], events["country"]
    anywhere = draws.choice("ip.anywhere", WEIGHTS, keys)
    elsewhere = draws.chance("ip.travels", np.where(events["vpn"], 0.5, _TRAVELS), keys)
    visits = draws.chance("ip.visits", 0.1, keys)
    return np.where(elsewhere, anywhere, np.where(visits, events["origin"], country))


_NEW = 0.74
_SOON = 0.45
_YEARS_BETWEEN_MOVES = (0.8, 2.5, 6.0, 15.0)


@dataclass(kw_only=True, slots=True)
class Population:
    """The population so far: its size, and its size at the start of each slice.

    Parameters
    ----------
    records : int
        Size of the whole history, which fixes how many new people come in a day.
    """

    draws: Draws
    calendar: Calendar
    records: int
    size: int = 0
    _starts: list[int] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)

    @property
    def daily(self) -> float:
        """Return the average number of new people per day."""
        return self.records * _NEW / ((self.calendar.end - self.calendar.start) / DAY)

    def verify(self, keys: KeyArray, times: IntArray) -> EventArray:
        """Plan the verifications at these times.

        Parameters
        ----------
        keys : ndarray of shape (n,), uint64
            Keys of the events' own draws.
        times : ndarray of shape (n,), int64
            Ascending, not before those of any earlier call.
        """
        events = blank(len(times))
        events["key"], events["time"] = keys, times
        events["identity"] = self._who(keys, times)
        events["family"] = households(self.draws, events["identity"], daily=self.daily)
        settle(self.draws, events, homes(self.draws, events["family"]))
        events["address"] = addresses_at(self.draws, events["family"], times)
        behave(self.draws, events, self.calendar.progress(times))
        return events

    def _who(self, keys: KeyArray, times: IntArray) -> KeyArray:
        if not len(keys):
            return keys
        new = self.draws.chance("new", _NEW, keys)
        if self.size == 0:
            new[0] = True
        people = self.size + np.cumsum(new) - 1
        again = np.flatnonzero(~new)
        self._remember(times, new)
        people[again] = self._earlier(times[again] - self._lags(keys[again]), times[new], keys[again])
        self.size += int(new.sum())
        return people.astype(np.uint64)

    def _remember(self, times: IntArray, new: BoolArray) -> None:
        if new.any():
            self._starts.append(int(times[new][0]))
            self._sizes.append(self.size)

    def _lags(self, keys: KeyArray) -> IntArray:
        soon = self.draws.chance("again.soon", _SOON, keys)
        hours = self.draws.lognormal("again.hours", 0.6, 1.8, keys) * HOUR
        days = self.draws.lognormal("again.days", 70.0, 1.1, keys) * DAY
        return np.where(soon, hours, days).astype(np.int64)

    def _earlier(self, times: IntArray, births: IntArray, keys: KeyArray) -> IntArray:
        """Find people who first came at about these times; any earlier person before the start."""
        current = self.size + np.searchsorted(births, times, side="right") - 1
        before = np.floor(np.interp(times, self._starts, self._sizes)).astype(np.int64)
        people = np.where(times >= self._starts[-1], current, before)
        anybody = self.draws.below("again.anybody", max(self.size, 1), keys)
        return np.where(times < self._starts[0], anybody, people)


def addresses_at(draws: Draws, families: KeyArray, times: IntArray) -> KeyArray:
    """Return the address of each household at each time; households move every few years."""
    years: FloatArray = draws.quantile("moves.years", _YEARS_BETWEEN_MOVES, families)
    phase = draws.uniform("moves.phase", families)
    moves = (times / (DAY * 365.25 * years) + phase).astype(np.uint64)
    return draws.bits("address", families, moves)
