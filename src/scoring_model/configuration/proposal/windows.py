"""Proposes the label delay, windows that suit it, and the burn-in, from the times in a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.configuration.training import longest_burn_in
from scoring_model.records import NEVER, format_duration
from scoring_model.records.times import DAY, HOUR

KNOWN_SHARE: Final = 0.95
"""Share of the frauds that are known after the proposed delay."""

_UNKNOWN_SPAN: Final = 365 * DAY
_ASSUMED: Final = (30, 14, 7, 2)  # days
_RECURS: Final = 5  # records per value from which a key gets every window
_ROOM: Final = 6  # label delays that a file must span to have delayed windows
_LATE: Final = (
    0.1  # share of the returns that take longer than a window from which a longer one is worth its time
)


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Lengths in microseconds.

    Parameters
    ----------
    delay : int
        From an event to the moment that its fraud is known.
    measured : int
        Number of frauds that the delay was measured on; 0 if it is assumed or given.
    given : bool
        Whether a person gave the delay.
    maturity, gap, burn_in : int
        Of the split. The gap is the time after which half of the frauds are known, if it is measured, else half of the
        maturity: the train part ends nearer to the validation part, and loses no label that was known by then.
    windows, delayed : tuple of int
        Of all link keys, ascending; the shortest and the longest one if no key has values that recur often.
    by_key : mapping of str to tuple of (tuple of int, tuple of int)
        Windows and delayed windows of keys whose values recur less often than those of others.
    without : str
        Why there are no delayed windows; empty if there are.
    quantiles : tuple of int
        Median, 95 % point and longest of the measured delays; empty if it is assumed or given.
    links : bool
        Whether a value of any link key recurs, so that windows count anything.
    """

    delay: int
    measured: int = 0
    given: bool = False
    maturity: int
    gap: int
    burn_in: int
    windows: tuple[int, ...]
    delayed: tuple[int, ...] = ()
    by_key: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    without: str = ""
    quantiles: tuple[int, ...] = ()
    links: bool = True


def propose_lengths(
    times: IntArray,
    known: IntArray | None,
    frauds: BoolArray,
    keys: Mapping[str, IntArray],
    *,
    given: int | None = None,
) -> Lengths:
    """Propose lengths that leave time to train.

    Parameters
    ----------
    times : ndarray of shape (n,), int64
        Times of the events, microseconds; `NEVER` where missing, or empty if they are unknown.
    known : ndarray of shape (n,), int64, optional
        Times at which labels became known, if a column holds them.
    frauds : ndarray of shape (n,), bool
    keys : mapping of str to ndarray of shape (n,), int64
        Codes of the values of each link key, negative where missing.
    given : int, optional
        The label delay, where a person gave it.
    """
    seen = times[times != NEVER]
    span = int(seen.max() - seen.min()) if len(seen) else _UNKNOWN_SPAN
    delays = _delays(times, known, frauds) if given is None else np.empty(0, dtype=np.int64)
    delay = _usual(delays, span) if given is None else given
    longest = max(min(max(3 * delay, 30 * DAY), span // 4 // DAY * DAY), DAY)
    whole = max(span // 2 // DAY * DAY, longest)
    far = {whole} if any(_is_late(times, codes, longest) for codes in keys.values()) else set()
    windows = tuple(sorted({window for window in (DAY, 7 * DAY, longest) if window <= longest} | far))
    longest = windows[-1]
    without = _why_not(delay, span, keys) if len(seen) else "the times of the events are unknown"
    delayed = () if without else windows
    links = any(_returns(codes) for codes in keys.values())
    reach = max(longest, delay + longest if delayed else 0)
    few, few_delayed = windows[:: max(len(windows) - 1, 1)], delayed[-1:]
    seldom = [name for name, codes in keys.items() if delayed and not _recurs(codes)]
    if len(seldom) == len(keys) and seldom:
        windows, delayed, seldom = few, few_delayed, []
    maturity = min(delay, max(span // 8 // DAY * DAY, DAY))
    return Lengths(
        delay=delay,
        measured=len(delays),
        given=given is not None,
        maturity=maturity,
        gap=min(_measured(delays, 0.5), maturity) if len(delays) else maturity // 2,
        burn_in=min(reach, longest_burn_in(span)) if links else span // 20 // DAY * DAY,
        windows=windows,
        delayed=delayed,
        by_key=dict.fromkeys(seldom, (few, few_delayed)),
        without=without,
        quantiles=_quantiles(delays),
        links=links,
    )


def _usual(delays: IntArray, span: int) -> int:
    return _measured(delays, KNOWN_SHARE) if len(delays) else _assumed(span)


def _delays(times: IntArray, known: IntArray | None, frauds: BoolArray) -> IntArray:
    """Return the delays of the frauds whose times are both known."""
    if known is None or len(frauds) != len(times):
        return np.empty(0, dtype=np.int64)
    both = frauds & (times != NEVER) & (known != NEVER)
    delays: IntArray = np.maximum(known[both] - times[both], 0)
    return delays


def _measured(delays: IntArray, share: float) -> int:
    """Return the delay after which a share of the frauds is known: whole days, or whole hours if it is below a day."""
    delay = int(np.quantile(delays, share, method="inverted_cdf"))
    unit = HOUR if delay <= DAY - HOUR else DAY
    return max(-(-delay // unit) * unit, HOUR)


def _assumed(span: int) -> int:
    return next((days for days in _ASSUMED if days * DAY * 12 <= span), 1) * DAY


def _why_not(delay: int, span: int, keys: Mapping[str, IntArray]) -> str:
    if _ROOM * delay > span:
        days = f"{span / DAY:.0f} days"
        return f"the label delay of {format_duration(delay)} is too long for a file of {days}"
    if not any(map(_returns, keys.values())):
        return "no value of a link key recurs in the file"
    return ""


def _returns(codes: IntArray) -> bool:
    """Return whether any value recurs."""
    return bool(np.unique(codes[codes >= 0]).size < (codes >= 0).sum())


def _is_late(times: IntArray, codes: IntArray, window: int) -> bool:
    """Return whether one return in ten of a value comes later than a window after the last one."""
    rows = np.flatnonzero((codes >= 0) & (times != NEVER)) if len(codes) == len(times) else np.empty(0, int)
    rows = rows[np.lexsort((times[rows], codes[rows]))]
    returns = np.diff(times[rows])[np.diff(codes[rows]) == 0]
    return len(returns) > 0 and bool((returns > window).mean() >= _LATE)


def _quantiles(delays: IntArray) -> tuple[int, ...]:
    if not len(delays):
        return ()
    return tuple(int(np.quantile(delays, share, method="inverted_cdf")) for share in (0.5, KNOWN_SHARE, 1.0))


def _recurs(codes: IntArray) -> bool:
    present = codes[codes >= 0]
    return len(present) >= _RECURS * np.unique(present).size
