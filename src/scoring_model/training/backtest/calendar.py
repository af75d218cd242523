"""Periods of a backtest, whole months or weeks in UTC, and how often models are trained."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from scoring_model.records.times import DAY

_MONDAY: Final = 3  # 1970-01-01 was a Thursday
_TEXT: Final = re.compile(r"([1-9]\d{0,2})(m|w)", re.ASCII)


class BacktestError(ValueError):
    """A backtest that cannot be run as asked for."""


class Unit(StrEnum):
    """Length of a period."""

    MONTH = "month"
    WEEK = "week"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cadence:
    """How often a model is trained: every `periods` months or weeks."""

    periods: int
    unit: Unit

    def __str__(self) -> str:
        return f"{self.periods}{self.unit[0]}"


def parse_cadences(texts: str | Sequence[str]) -> tuple[Cadence, ...]:
    """Read cadences such as ``1m,3m`` or ``2w``: whole months, or whole weeks.

    Returns
    -------
    tuple of Cadence
        Distinct, the most frequent first.

    Raises
    ------
    BacktestError
        If one is of another form, or months and weeks are mixed.
    """
    given = [text.strip() for text in (texts.split(",") if isinstance(texts, str) else texts)]
    matches = [_TEXT.fullmatch(text) for text in given]
    if bad := [text for text, match in zip(given, matches, strict=True) if match is None]:
        raise BacktestError(
            f"cadence: must be months or weeks such as 1m, 3m or 2w, got {', '.join(map(repr, bad))}"
        )
    units = {"m": Unit.MONTH, "w": Unit.WEEK}
    found = {Cadence(periods=int(match[1]), unit=units[match[2]]) for match in matches if match is not None}
    if len({cadence.unit for cadence in found}) != 1:
        raise BacktestError("cadence: must all be months or all be weeks, since their periods are compared")
    return tuple(sorted(found, key=lambda cadence: cadence.periods))


def period_of(instant: int, unit: Unit) -> int:
    """Return the number of the period that holds an instant, microseconds since 1970-01-01 UTC."""
    if unit is Unit.WEEK:
        return (instant // DAY + _MONDAY) // 7
    return int(np.datetime64(instant, "us").astype("datetime64[M]").astype(np.int64))


def period_start(period: int, unit: Unit) -> int:
    """Return the first instant of a period, microseconds since 1970-01-01 UTC."""
    if unit is Unit.WEEK:
        return (7 * period - _MONDAY) * DAY
    return int(np.datetime64(period, "M").astype("datetime64[us]").astype(np.int64))


def period_name(period: int, unit: Unit) -> str:
    """Name a period: a month as ``2024-03``, a week by its Monday."""
    if unit is Unit.WEEK:
        return str(np.datetime64(7 * period - _MONDAY, "D"))
    return str(np.datetime64(period, "M"))


def day_text(instant: int) -> str:
    """Write the day in UTC of an instant as ``2024-03-01``."""
    return str(np.datetime64(instant, "us").astype("datetime64[D]"))
