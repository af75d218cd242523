"""Features of dates: patterns of the date of birth, the hour of the event, and the age."""

from datetime import date

from scoring_model.features.catalogue import MISSING, Family, Feature, Group

VERSION = 1

DAYS_PER_YEAR = 365.2425


def birth(dob: str | None) -> tuple[float, ...]:
    """Day and month of birth, and whether they are the first of January."""
    if dob is None:
        return (MISSING,) * 3
    month, day = int(dob[5:7]), int(dob[8:10])
    return float(day), float(month), float(day == 1 and month == 1)


def age(dob: str | None, event_day: int) -> tuple[float, ...]:
    """Age at the event in years; `event_day` counts days since 1970-01-01 UTC."""
    if dob is None:
        return (MISSING,)
    days = event_day + _EPOCH - date.fromisoformat(dob).toordinal()
    return (days / DAYS_PER_YEAR,)


def hour(event_hour: int) -> tuple[float, ...]:
    """Hour of the event."""
    return (float(event_hour),)


_EPOCH = date(1970, 1, 1).toordinal()


def family() -> Family:
    """The features of dates."""
    return Family(
        name="dates",
        version=VERSION,
        groups=(
            Group(inputs=("dob",), features=_BIRTH, function=birth),
            Group(inputs=("dob", "eventDay"), features=(_AGE,), function=age),
            Group(inputs=("eventHour",), features=(_HOUR,), function=hour),
        ),
    )


_BIRTH = (
    Feature(
        name="birth_day",
        inputs=("dob",),
        unit="day",
        reason="BIRTH_DATE_PATTERN",
        sentence="Day of the month of birth.",
    ),
    Feature(
        name="birth_month",
        inputs=("dob",),
        unit="month",
        reason="BIRTH_DATE_PATTERN",
        sentence="Month of birth.",
    ),
    Feature(
        name="birth_first_of_january",
        inputs=("dob",),
        unit="0 or 1",
        reason="BIRTH_DATE_PATTERN",
        sentence="Whether the date of birth is a first of January.",
    ),
)
_AGE = Feature(
    name="age",
    inputs=("dob", "eventDay"),
    unit="years",
    reason="AGE",
    sentence="Age at the event.",
    protected="age",
)
_HOUR = Feature(
    name="event_hour",
    inputs=("eventHour",),
    unit="hour, UTC",
    reason="TIME_OF_DAY",
    sentence="Hour of the event.",
)
