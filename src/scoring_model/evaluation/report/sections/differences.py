"""Differences of all figures between two models."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.report.plots.comparison import draw_both_roc, draw_differences, draw_scores
from scoring_model.evaluation.report.section import NEEDS_BOTH, NO_RECORDS, Cell, Drawing, Grid, Section
from scoring_model.evaluation.report.style import ROW
from scoring_model.evaluation.report.words import (
    ABSENT,
    OBSERVED_ONLY,
    POSSIBLE,
    change_writer,
    ends_text,
    percent,
    possible_text,
    range_text,
    thin,
    tone_of,
    writer_of,
)
from scoring_model.figures import APPLICANT_SHARES, ERRORS, FIGURES, RANKING

REPEATED: Final = frozenset({"genuine_failed", "fraud_passed", "fraud_share", *APPLICANT_SHARES})
"""Figures under a second name or shown elsewhere, and the share of frauds, which no model changes."""

_COLOURS: Final = (
    "Green: the challenger is clearly better; orange: clearly worse; grey and hollow: the interval holds 0. "
    "Each interval is a 95% interval by itself."
)


def differences_section(comparison: ComparisonResult) -> Section:
    """Describe what is better and worse, with paired intervals."""
    makers = (_ranking, _roc, _errors, _scores)
    return Section(
        name="differences",
        title="Better and worse",
        texts=(
            clear_text(comparison, [name for name in comparison.differences if name not in REPEATED]),
            *(
                ()
                if comparison.released is None
                else (f"{OBSERVED_ONLY} Colours, drawings and verdicts go by this range.",)
            ),
        ),
        drawings=tuple(partial(make, comparison) for make in makers),
        grids=(_grid(comparison),),
    )


def _errors(comparison: ComparisonResult) -> Drawing:
    return _forest(comparison, ERRORS, name="errors", title="Errors of the policy", unit="percentage points")


def _ranking(comparison: ComparisonResult) -> Drawing:
    names = [name for name in comparison.differences if name in RANKING]
    return _forest(comparison, names, name="ranking", title="Finding frauds", unit="hundredths")


def _forest(
    comparison: ComparisonResult, names: Sequence[str], *, name: str, title: str, unit: str
) -> Drawing:
    shown = [one for one in names if comparison.differences[one].value is not None]
    if not shown:
        return Drawing(name=name, title=title, missing=NEEDS_BOTH)
    overall, clear = comparison.champion.overall, clear_text(comparison, shown)
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_differences(ax, comparison.judged, shown),
        alt=f"Differences of {len(shown)} figures, in {unit}. {clear}",
        caption=(f"{clear} {_COLOURS} {overall.genuine:,} genuine records and {overall.frauds:,} frauds."),
        grid=Grid.of(
            name,
            f"{title}: challenger minus champion, with paired 95% intervals",
            {"figure": "Figure", **_heads(comparison)},
            ((_title(one), *_change(comparison, one)) for one in shown),
        ),
        height=len(shown) * ROW + 0.9,
    )


def _title(figure: str) -> Cell:
    return Cell(text=FIGURES[figure].title, key=figure)


def _change(comparison: ComparisonResult, figure: str) -> tuple[str | Cell, ...]:
    """Write a difference, its interval and what it rests on."""
    difference, judged = comparison.differences[figure], comparison.judged[figure]
    write = change_writer(figure)
    value = ABSENT if difference.value is None else write(difference.value)
    head = Cell(text=value, tone=tone_of(figure, judged)), ends_text(difference, write)
    if comparison.released is None:
        return *head, f"{difference.records:,}"
    possible = comparison.released.possible.get(figure)
    known = not FIGURES[figure].needs_labels
    bounds = head[1] if known else possible_text(possible, write, 2 * FIGURES[figure].span)
    return *head, bounds, f"{difference.records:,}"


def _heads(comparison: ComparisonResult) -> dict[str, str]:
    """Name the columns of a change."""
    middle = {} if comparison.released is None else {"possible": POSSIBLE}
    return {"difference": "Difference", "ends": "95% interval", **middle, "records": "Rests on"}


def clear_text(comparison: ComparisonResult, figures: Sequence[str]) -> str:
    """Name the figures that are clearly better or worse."""
    tones = {name: tone_of(name, comparison.judged[name]) for name in figures}
    texts = [
        f"Clearly {tone}: {', '.join(FIGURES[name].title for name in figures if tones[name] == tone)}."
        for tone in ("better", "worse")
        if tone in tones.values()
    ]
    return " ".join(texts) or "No figure is clearly better or worse."


def _roc(comparison: ComparisonResult) -> Drawing:
    name, title = "roc", "Frauds found, by genuine applicants bothered"
    overall = comparison.champion.overall
    if not (overall.genuine and overall.frauds):
        return Drawing(name=name, title=title, missing=NEEDS_BOTH)
    old, new = comparison.champion.curves.roc, comparison.challenger.curves.roc
    rows = [
        (percent(new.x[at]), percent(old.y[at]), percent(new.y[at]), range_text(new.low[at], new.high[at]))
        for at in thin(len(new.x), 16)
    ]
    heads = {
        "rate": "Genuine at or above",
        "champion": "Champion",
        "challenger": "Challenger",
        "ends": "95% interval of the challenger",
    }
    place = int(np.argmin(np.abs(new.x - 0.01)))
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_both_roc(ax, comparison),
        alt=(
            f"Two ROC curves with a logarithmic axis of false positives. At 1% false positives the champion finds "
            f"{percent(old.y[place])} of frauds, the challenger {percent(new.y[place])}."
        ),
        caption=(
            "Solid: the challenger, with its 95% band; dots are the two thresholds of its policy. "
            "Dashed: the champion. Bands of two models on the same records say nothing of their difference, which "
            f"“Finding frauds” shows. {overall.genuine:,} genuine records and {overall.frauds:,} frauds."
        ),
        grid=Grid.of(name, "Recall by false positive rate", heads, rows),
    )


def _scores(comparison: ComparisonResult) -> Drawing:
    name, title = "scores", "Scores of the same records"
    old, new = (one.records.decisions.scores for one in (comparison.champion, comparison.challenger))
    frauds = comparison.champion.records.labels == 1
    if not len(old):
        return Drawing(name=name, title=title, missing=NO_RECORDS)
    moved = np.abs(new - old)
    rows = [
        (f"{least} points", *map(percent, _shares(moved >= least, frauds)))
        for least in (25, 50, 100, 200, 400)
    ]
    heads = {"least": "Moved by", "genuine": "Genuine", "frauds": "Frauds"}
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_scores(ax, comparison),
        alt=(
            f"Scatter plot of the score under both models. Half of the records move by {np.median(moved):.0f} points "
            f"or more; {percent(float((moved >= 100).mean()))} by 100 or more."
        ),
        caption=(
            "Each dot is a record, at most 3,000 of each class, drawn at random. Dashed: thresholds of each model; "
            "dotted: equal scores."
        ),
        grid=Grid.of(name, "Records whose score moves by at least so much", heads, rows),
        height=4.6,
    )


def _shares(hits: np.ndarray, frauds: np.ndarray) -> Iterator[float]:
    """Yield the share of hits among genuine records and among frauds; NaN without any."""
    for rows in (~frauds, frauds):
        yield float(hits[rows].mean()) if rows.any() else float("nan")


def _grid(comparison: ComparisonResult) -> Grid:
    models = comparison.champion, comparison.challenger
    rows = [
        (
            _title(name),
            *(writer_of(name)(model.figures[name].value) for model in models),
            *_change(comparison, name),
        )
        for name in comparison.differences
        if name not in REPEATED
    ]
    caption = (
        "All figures: differences are challenger minus champion; those of shares in percentage points, with paired 95% "
        "intervals"
    )
    heads = {"figure": "Figure", "champion": "Champion", "challenger": "Challenger", **_heads(comparison)}
    return Grid.of("all-figures", caption, heads, rows)
