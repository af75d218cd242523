"""Features of dates: patterns of the date of birth, the moment of the event, and the age.

Features that read the year of birth are protected, since it reveals the age; day and month do not.
"""

import math
from dataclasses import replace
from datetime import date

from scoring_model.features.catalogue import MISSING, Family, Feature, Group, ReasonTopic, group_of
from scoring_model.features.state import settled

VERSION, LOCAL_VERSION = 2, 3
"""Versions of the family without a time zone and with one, in which `event_hour` is the hour there."""

DAYS_PER_YEAR = 365.2425
_ROUND_DAYS = frozenset({1, 5, 10, 15, 20, 25, 30})
_LEAP_YEAR = 2000
_YEAR = 366
_LEAP_DAYS = tuple(date.fromordinal(date(_LEAP_YEAR, 1, 1).toordinal() + day) for day in range(_YEAR))
_DAYS = {day.isoformat()[5:]: place for place, day in enumerate(_LEAP_DAYS)}
_MONTHS = {day.month: place - 1 for place, day in enumerate(_LEAP_DAYS) if day.day == 1}
_EPOCH = date(1970, 1, 1).toordinal()
_EPOCH_WEEKDAY = date(1970, 1, 1).weekday()


def birth(dob: str | None) -> tuple[float, ...]:
    """Return day and month of birth, and the typical patterns of invented dates."""
    return _NO_BIRTH if dob is None else _BIRTHS[dob[-5:]]


def _birth(month: int, day: int) -> tuple[float, ...]:
    return (
        float(day),
        float(month),
        float(day == 1 and month == 1),
        float(day == month),
        float(day in _ROUND_DAYS),
    )


def birthday(dob: str | None, event_day: int) -> tuple[float, ...]:
    """Return the days from the event (days since 1970-01-01 UTC) to the nearest birthday, as in a leap year."""
    if dob is None:
        return (MISSING,)
    event = date.fromordinal(event_day + _EPOCH)
    apart = abs(_DAYS[dob[-5:]] - _MONTHS[event.month] - event.day)
    return (min(apart, _YEAR - apart),)


def in_leap_year(event_day: int) -> int:
    """Return the same day and month in 2000, in days since 1970-01-01 UTC."""
    return date.fromordinal(event_day + _EPOCH).replace(year=_LEAP_YEAR).toordinal() - _EPOCH


def month_and_day(dob: str) -> str:
    """The date of birth without its year, ``MM-DD``."""
    return dob[-5:]


def age(dob: str | None, event_day: int) -> tuple[float, ...]:
    """Age at the event in years; `event_day` counts days since 1970-01-01 UTC."""
    if dob is None:
        return (MISSING,)
    days = event_day + _EPOCH - date.fromisoformat(dob).toordinal()
    return (days / DAYS_PER_YEAR,)


def year(dob: str | None) -> tuple[float, ...]:
    """Return whether the year of birth is a multiple of ten."""
    return (MISSING if dob is None else float(dob[3] == "0"),)


def hour(event_hour: int) -> tuple[float, ...]:
    """Hour of the event."""
    return (event_hour,)


def weekday(event_day: int) -> tuple[float, ...]:
    """Day of the week of the event, 0 on Mondays; `event_day` counts days since 1970-01-01 UTC."""
    return ((event_day + _EPOCH_WEEKDAY) % 7,)


_NIGHT = 6
"""End of the night: earlier hours count as night."""
_SATURDAY = 5


def local_hour(hour: int) -> tuple[float, ...]:
    """Return the local hour of the event, whether it is night, and the hour on a circle."""
    return _LOCAL_HOURS[hour]


def local_weekday(day: int) -> tuple[float, ...]:
    """Return the local day of the week of the event, whether it is a weekend, and the day on a circle."""
    return _LOCAL_WEEKDAYS[(day + _EPOCH_WEEKDAY) % 7]


def _on_circle(part: int, whole: int) -> tuple[float, float]:
    angle = 2 * math.pi * part / whole
    return settled(math.sin(angle)), settled(math.cos(angle))


_LOCAL_HOURS = [(float(h), float(h < _NIGHT), *_on_circle(h, 24)) for h in range(24)]
_LOCAL_WEEKDAYS = [(float(d), float(d >= _SATURDAY), *_on_circle(d, 7)) for d in range(7)]


def family(*, local: bool = False) -> Family:
    """Return the features of dates, optionally with those of local time."""
    of_zone = (
        Group(inputs=("localHour",), features=_LOCAL_HOUR, function=local_hour),
        Group(inputs=("localDay",), features=_LOCAL_WEEKDAY, function=local_weekday),
    )
    return Family(
        name="dates",
        version=LOCAL_VERSION if local else VERSION,
        reasons=_REASONS,
        groups=(
            Group(inputs=("dob",), features=_BIRTH, function=birth),
            group_of(birthday, _BIRTHDAY, (month_and_day, in_leap_year)),
            group_of(age, _AGE),
            group_of(year, _ROUND_YEAR),
            group_of(hour, _LOCAL_EVENT_HOUR if local else _HOUR),
            group_of(weekday, _WEEKDAY),
            *(of_zone if local else ()),
        ),
    )


def _of_birth(name: str, unit: str, sentence: str) -> Feature:
    return Feature(name=f"birth_{name}", inputs=("dob",), unit=unit, reason="BIRTH_DATE", sentence=sentence)


_BIRTH = (
    _of_birth("day", "day", "Day of the month of birth."),
    _of_birth("month", "month", "Month of birth."),
    _of_birth("first_of_january", "0 or 1", "Whether the date of birth is a first of January."),
    _of_birth("day_is_month", "0 or 1", "Whether day and month of birth are the same number."),
    _of_birth("round_day", "0 or 1", "Whether the day of birth is a first or a multiple of five."),
)
_BIRTHS = {day.isoformat()[5:]: _birth(day.month, day.day) for day in _LEAP_DAYS}
_NO_BIRTH = (MISSING,) * len(_BIRTH)
_BIRTHDAY = Feature(
    name="birthday_distance",
    inputs=("dob", "eventDay"),
    unit="days",
    reason="BIRTH_DATE",
    sentence="Days between the event and the nearest birthday, as in a leap year.",
)
_AGE = Feature(
    name="age",
    inputs=("dob", "eventDay"),
    unit="years",
    reason="AGE",
    sentence="Age at the event.",
    protected="age",
)
_ROUND_YEAR = Feature(
    name="birth_round_year",
    inputs=("dob",),
    unit="0 or 1",
    reason="BIRTH_DATE",
    sentence="Whether the year of birth is a multiple of ten.",
    protected="age",
)
_HOUR = Feature(
    name="event_hour",
    inputs=("eventHour",),
    unit="hour, UTC",
    reason="EVENT_TIME",
    sentence="Hour of the event.",
)
_LOCAL_EVENT_HOUR = replace(_HOUR, inputs=("localHour",), unit="hour")
_WEEKDAY = Feature(
    name="event_weekday",
    inputs=("eventDay",),
    unit="day, 0 is Monday, UTC",
    reason="EVENT_TIME",
    sentence="Day of the week of the event.",
)


def _local(input_: str, name: str, unit: str, sentence: str) -> Feature:
    return Feature(name=f"local_{name}", inputs=(input_,), unit=unit, reason="EVENT_TIME", sentence=sentence)


_LOCAL_HOUR = (
    _local("localHour", "hour", "hour", "Hour of the event in the time zone of the use."),
    _local("localHour", "night", "0 or 1", "Whether the hour there is before six."),
    _local("localHour", "hour_sin", "sine", "Sine of the hour there on a circle of 24."),
    _local("localHour", "hour_cos", "cosine", "Cosine of the hour there on a circle of 24."),
)
_LOCAL_WEEKDAY = (
    _local(
        "localDay", "weekday", "day, 0 is Monday", "Day of the week of the event in the time zone of the use."
    ),
    _local("localDay", "weekend", "0 or 1", "Whether it is a Saturday or Sunday there."),
    _local("localDay", "weekday_sin", "sine", "Sine of the day of the week there on a circle of 7."),
    _local("localDay", "weekday_cos", "cosine", "Cosine of the day of the week there on a circle of 7."),
)

_NO_BIRTH_DATE = ("NO_BIRTH_DATE", "No date of birth was given.")
_REASONS = (
    ReasonTopic(
        code="BIRTH_DATE",
        sentence="The date of birth counted against the {event}.",
        about="the date of birth",
        present=("birth_day",),
        absence=_NO_BIRTH_DATE,
    ),
    ReasonTopic(
        code="AGE",
        sentence="The age counted against the {event}.",
        about="the age",
        present=("birth_day",),
        absence=_NO_BIRTH_DATE,
    ),
    ReasonTopic(code="EVENT_TIME", sentence="The hour or weekday of the {event} counted against it."),
)
