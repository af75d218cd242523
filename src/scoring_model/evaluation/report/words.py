"""How numbers, instants and verdicts are written, in HTML, in Markdown and in drawings."""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.rules import NEVER_REACHED
from scoring_model.estimates import Estimate
from scoring_model.evaluation.importance import Weight
from scoring_model.evaluation.report.section import Tone
from scoring_model.evaluation.stability import Verdict
from scoring_model.evaluation.stopped import Possible
from scoring_model.figures import FIGURES

ABSENT: Final = "–"

NO_BOUND: Final = "no bound"
CAN_NOT_KNOW: Final = "can’t know"

OBSERVED_ONLY: Final = (
    "Values, curves and their 95% intervals are about the applicants who were observed. “Whatever the stopped ones "
    "were”: the range of all labels that the others could have. “Can’t know”: this range is wider than half of what is "
    "possible. “No bound”: the range is not known."
)

POSSIBLE: Final = "Whatever the stopped ones were"
"""Head of the column of what numbers could be over all labels of those who were not observed."""

OUTCOME_TITLES: Final[Mapping[Outcome, str]] = {
    Outcome.PASSED: "Passed",
    Outcome.STEPPED_UP: "Stepped up",
    Outcome.FAILED: "Failed",
}

VERDICT_TONES: Final[Mapping[Verdict | None, Tone]] = {
    Verdict.KEPT: "good",
    Verdict.BROKEN: "bad",
    Verdict.UNDECIDED: "open",
    None: "none",
}

Writer = Callable[[float], str]


def percent(share: float | None, *, digits: int = 2) -> str:
    """Write a share as a percentage with this many significant digits; a dash for None.

    Examples
    --------
    >>> percent(0.01234), percent(0.5), percent(0.00031), percent(1.0), percent(0.0)
    ('1.2%', '50%', '0.031%', '100%', '0%')
    """
    if share is None or not np.isfinite(share):
        return ABSENT
    number = 100 * share
    if number == 0:
        return "0%"
    places = max(digits - 1 - int(np.floor(np.log10(abs(number)))), 0)
    return f"{number:,.{places}f}%"


def signed(value: float, *, digits: int = 2) -> str:
    """Write a number with its sign.

    Examples
    --------
    >>> signed(-0.123), signed(0.5)
    ('\N{MINUS SIGN}0.12', '+0.50')
    """
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def points(share: float) -> str:
    """Write a difference of shares in percentage points, with its sign."""
    return signed(100 * share)


def decimal(value: float | None) -> str:
    """Write a number that is no share; a dash for None."""
    return ABSENT if value is None else f"{round(value, 4) + 0.0:.4f}"  # no minus where it is rounded to 0


def tick(share: float) -> str:
    """Write a round share as the label of a tick.

    Examples
    --------
    >>> tick(0.05), tick(0.005), tick(1.0)
    ('5%', '0.5%', '100%')
    """
    return f"{100 * share:.4g}%"


def count_text(value: float) -> str:
    """Write a number of applicants: with a digit after the point below 10, unless it is whole."""
    return f"{value:,.1f}" if 0.05 <= value < 9.95 and abs(value - round(value)) >= 0.05 else f"{value:,.0f}"


def daily_text(value: float) -> str:
    """Write a number of applicants a day, which may be far below 1.

    Examples
    --------
    >>> daily_text(1234.5), daily_text(4.56), daily_text(0.0123)
    ('1,234', '4.6', '0.012')
    """
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def signed_count(value: float, write: Writer = count_text) -> str:
    """Write a change of a number of applicants with its sign."""
    text = write(abs(value))
    if text == "0":
        return text
    return f"+{text}" if value > 0 else f"\N{MINUS SIGN}{text}"


def shared_counts(shares: Sequence[float], whole: int) -> list[int]:
    """Round parts of a whole so that they add up to it: the largest remainders are rounded up.

    Parameters
    ----------
    shares : sequence of float
        At least 0; they sum to 1, or all are 0.

    Examples
    --------
    >>> shared_counts([0.98335, 0.01335, 0.0033], 10_000)
    [9834, 133, 33]
    """
    exact = whole * np.asarray(shares, dtype=np.float64)
    counts = np.floor(exact).astype(np.int64)
    left = round(float(exact.sum())) - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:left]] += 1
    found: list[int] = counts.tolist()
    return found


def adding_up(numbers: Sequence[float]) -> list[float]:
    """Round numbers of applicants so that they add up to their sum; those below 10 stay, as they are written exactly.

    Examples
    --------
    >>> adding_up([757.1, 800.0, 571.4]), adding_up([757.4, 800.3, 571.45])
    ([757, 800, 571], [757, 800, 572])
    """
    total = sum(numbers)
    if not total or any(0 < number < 10 for number in numbers):
        return list(numbers)
    return [*shared_counts([number / total for number in numbers], round(total))]


def writer_of(figure: str) -> Callable[[float | None], str]:
    """Return what writes values of a figure: shares as percentages."""
    return decimal if is_decimal(figure) else percent


def change_writer(figure: str) -> Writer:
    """Return what writes differences of a figure: those of shares in percentage points."""
    return _signed_decimal if is_decimal(figure) else points


def is_decimal(figure: str) -> bool:
    """Whether a figure is no share of records, so that it is written as a number."""
    return FIGURES[figure].unit == "number"


def _signed_decimal(value: float) -> str:
    return signed(value, digits=4)


def range_text(low: float | None, high: float | None, write: Writer = percent) -> str:
    """Write an interval, or that there is none."""
    if low is None or high is None or low != low or high != high:
        return ABSENT
    return f"{write(low)} to {write(high)}"


def ends_text(estimate: Estimate, write: Writer = percent) -> str:
    """Write the interval of a number, or that there is none."""
    return range_text(estimate.low, estimate.high, write)


def possible_text(possible: Possible | None, write: Writer, span: float) -> str:
    """Write what a number could be over all labels of those who were not observed, if that says anything.

    Parameters
    ----------
    span : float
        Greatest possible value of the number minus its least.
    """
    if possible is None:
        return NO_BOUND
    return range_text(*possible.range, write) if possible.tells(span) else CAN_NOT_KNOW


def estimate_text(
    estimate: Estimate,
    write: Writer = percent,
    *,
    unknown: str = ABSENT,
    endless: str = ABSENT,
) -> str:
    """Write a number with its interval.

    Parameters
    ----------
    unknown : str
        Stands for a number that the records do not give.
    endless : str
        Stands for an interval that there is not; empty: nothing does.
    """
    if estimate.value is None:
        return unknown
    ends = endless if estimate.ends is None else ends_text(estimate, write)
    return f"{write(estimate.value)} ({ends})" if ends else write(estimate.value)


def tone_of(figure: str, difference: Estimate) -> Tone:
    """Say whether the interval of a difference lies on the better or the worse side of 0, or on neither."""
    wanted = FIGURES[figure].better
    if difference.ends is None or wanted is None:
        return ""
    low, high = difference.ends
    if low <= 0 <= high:
        return ""
    return "better" if (low > 0) == (wanted == "more") else "worse"


def titles(figures: Iterable[str]) -> dict[str, str]:
    """Return the titles of figures by name: heads of a grid."""
    return {name: FIGURES[name].title for name in figures}


def flip_name(champion: Outcome, challenger: Outcome) -> str:
    """Name a kind of flip."""
    return f"{OUTCOME_TITLES[champion]} → {OUTCOME_TITLES[challenger].lower()}"


def feature_title(weight: Weight) -> str:
    """Name a feature by what it says, a family by its name."""
    return weight.sentence.removesuffix(".") or weight.name


def category_name(weight: Weight, code: int) -> str:
    """Name a category by its word."""
    return weight.categories[code] if code < len(weight.categories) else "any other"


def frequent_codes(values: FloatArray, most: int) -> list[int]:
    """Return the most frequent codes, the most frequent one first; missing values have none."""
    codes, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return [int(code) for code in codes[order]]


def in_days(unit: str, values: FloatArray) -> tuple[str, FloatArray]:
    """Return values in seconds as days, or as hours where most are below two days; others as they are."""
    if unit != "seconds":
        return unit, values
    known = values[np.isfinite(values)]
    hours = len(known) > 0 and float(np.median(known)) < 2 * 86_400
    return ("hours", values / 3_600) if hours else ("days", values / 86_400)


def threshold_text(value: int | None) -> str:
    """Write a threshold; one that no score reaches is never."""
    return ABSENT if value is None else "never" if value == NEVER_REACHED else str(value)


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


def sentence(text: str) -> str:
    """Write a sentence with its capital letter and its end.

    Examples
    --------
    >>> sentence("too few frauds")
    'Too few frauds.'
    """
    return capital(text) + ("" if text.endswith((".", "!", "?")) else ".")


def capital(text: str) -> str:
    """Write the first letter as a capital."""
    return text[:1].upper() + text[1:]


def shortened(name: str, *, most: int = 28) -> str:
    """Return a name, shortened so that the drawing beside it keeps its width.

    Examples
    --------
    >>> shortened("link_person_90d_fraud_share_of_all"), shortened("sex")
    ('link_person_90d_fraud_share…', 'sex')
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"


def on_two_lines(name: str, *, most: int = 30) -> str:
    r"""Return a name on two lines for a drawing; a longer one lacks its middle, since features differ at the end.

    Examples
    --------
    >>> on_two_lines("Time since the last record with the same device in the 30d before")
    'Time since the last record\n… device in the 30d before'
    """
    if len(name) <= most:
        return name
    first = textwrap.wrap(name, most)[0]
    rest = name[len(first) :].lstrip()
    if len(rest) > most:
        rest = rest[1 - most :]
        space = rest.find(" ")
        rest = f"…{rest[space if 0 <= space < most // 3 else 0 :]}"
    return f"{first}\n{rest}"


def slug(text: str) -> str:
    """Return the part of an identifier that names a column or a figure."""
    return "".join(letter if letter.isalnum() else "-" for letter in text)


def thin(count: int, most: int = 25) -> Sequence[int]:
    """Return at most `most` places out of `count`, evenly spread, with both ends."""
    if count <= most:
        return range(count)
    return sorted({round(place * (count - 1) / (most - 1)) for place in range(most)})
