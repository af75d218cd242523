"""Scales, ticks and formats of shares."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np

from scoring_model.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def percent(share: float | None, *, digits: int = 2) -> str:
    """Write a share as a percentage with this many significant digits; a dash for None.

    Examples
    --------
    >>> percent(0.01234), percent(0.5), percent(0.00031), percent(1.0), percent(0.0)
    ('1.2%', '50%', '0.031%', '100%', '0%')
    """
    if share is None or not np.isfinite(share):
        return "–"
    number = 100 * share
    if number == 0:
        return "0%"
    places = max(digits - 1 - int(np.floor(np.log10(abs(number)))), 0)
    return f"{number:,.{places}f}%"


def signed(value: float) -> str:
    """Write a number with its sign and two digits.

    Examples
    --------
    >>> signed(-0.123), signed(0.5)
    ('\N{MINUS SIGN}0.12', '+0.50')
    """
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def tick(share: float) -> str:
    """Write a round share as the label of a tick.

    Examples
    --------
    >>> tick(0.05), tick(0.005), tick(1.0)
    ('5%', '0.5%', '100%')
    """
    return f"{100 * share:.4g}%"


def day(microseconds: int) -> str:
    """Write the day in UTC of an instant; its parts stay on one line.

    Parameters
    ----------
    microseconds : int
        Since 1970-01-01 UTC.

    Examples
    --------
    >>> day(0).replace("\N{NO-BREAK SPACE}", " ")
    '1 January 1970'
    """
    found = datetime.fromtimestamp(microseconds // 1_000_000, UTC)
    return f"{found.day}\N{NO-BREAK SPACE}{found.strftime('%B')}\N{NO-BREAK SPACE}{found.year}"


def unbroken(text: str) -> str:
    """Return a date that no line breaks."""
    return text.replace("-", "\N{NON-BREAKING HYPHEN}")


def shortened(name: str, *, most: int = 28) -> str:
    """Return a name, shortened so that the figure beside it keeps its width.

    Examples
    --------
    >>> shortened("link_person_90d_fraud_share_of_all"), shortened("sex")
    ('link_person_90d_fraud_share…', 'sex')
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"


def log_shares(ax: "Axes", which: Literal["x", "y"], low: float, high: float = 1.0) -> None:
    """Make an axis logarithmic from `low` to `high`, two shares above 0, with round ticks."""
    powers = [10.0**power for power in range(-6, 1)]
    ticks = [power for power in powers if 0.999 * low <= power <= 1.001 * high]
    if len(ticks) < 3:
        ticks = [step * power for power in powers for step in (1, 2, 5)]
        ticks = [share for share in ticks if 0.999 * low <= share <= 1.001 * high]
    getattr(ax, f"set_{which}scale")("log")
    getattr(ax, f"set_{which}lim")(low, high)
    _set_ticks(ax, which, ticks)


def sqrt_shares(ax: "Axes", which: Literal["x", "y"], high: float) -> None:
    """Scale an axis by square roots from 0 to `high`: small shares stay readable, and 0 is on the axis."""
    getattr(ax, f"set_{which}scale")("function", functions=(_root, np.square))
    getattr(ax, f"set_{which}lim")(0, high)
    ticks: list[float] = []
    for share in (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1):
        if share <= 1.001 * high and (not ticks or np.sqrt(share) - np.sqrt(ticks[-1]) > 0.1 * np.sqrt(high)):
            ticks.append(share)
    _set_ticks(ax, which, ticks)


def _set_ticks(ax: "Axes", which: str, ticks: list[float]) -> None:
    axis = getattr(ax, f"{which}axis")
    axis.set_ticks(ticks, [tick(share) for share in ticks])
    axis.set_ticks([], minor=True)


def _root(values: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(values, 0.0))
