"""Records that get another outcome: how many a day, why, and examples."""

from typing import TYPE_CHECKING, Final

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.flips import MOST_EXPLAINED, Flip
from scoring_model.evaluation.report.plots.comparison import draw_flips
from scoring_model.evaluation.report.section import Cell, Drawing, Grid, Row, Section
from scoring_model.evaluation.report.style import ROW
from scoring_model.evaluation.report.words import OUTCOME_TITLES, daily_text, estimate_text, flip_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from scoring_model.contract.outcome import Outcome

REASONS: Final = 5
"""Reasons of each kind of flip that are listed."""

_FLIP: Final = {"flip": "Champion → challenger"}
_TITLE: Final = "Other outcomes a day"


def flips_section(comparison: ComparisonResult) -> Section:
    """Describe the records that get another outcome."""
    name, title = "flips", "Who gets another outcome, and why"
    if not comparison.flips:
        missing = Drawing(name="flips-a-day", title=_TITLE, missing="No record has another outcome.")
        return Section(name=name, title=title, drawings=(missing,))
    return Section(
        name=name,
        title=title,
        drawings=(_flips(comparison),),
        grids=(_examples(comparison), _reasons(comparison)),
    )


def _flips(comparison: ComparisonResult) -> Drawing:
    flips = comparison.flips

    def draw(*axes: "Axes") -> None:
        for fraud, ax in enumerate(axes):
            draw_flips(ax, flips, fraud=bool(fraud))
            ax.label_outer()
            ax.set_xlabel("A day")

    texts = "; ".join(
        f"{_named(flip).text}: {daily_text(flip.daily_genuine.value or 0)} genuine and "
        f"{daily_text(flip.daily_frauds.value or 0)} frauds a day"
        for flip in flips
    )
    return Drawing(
        name="flips-a-day",
        title=_TITLE,
        draw=draw,
        alt=f"Bars by kind of flip. {texts}.",
        caption=(
            f"A mean day of the {comparison.days:,} with records. Lines: 95% intervals. The two panels have scales of "
            "their own."
        ),
        grid=_counts(flips),
        height=len(flips) * ROW + 1.0,
        columns=2,
    )


def _counts(flips: "Sequence[Flip]") -> Grid:
    rows: list[Row] = [
        (
            _named(flip),
            *(
                estimate_text(daily, daily_text, endless="")
                for daily in (flip.daily_genuine, flip.daily_frauds)
            ),
            f"{flip.genuine:,}",
            f"{flip.frauds:,}",
        )
        for flip in flips
    ]
    heads = {
        **_FLIP,
        "daily_genuine": "Genuine a day",
        "daily_frauds": "Frauds a day",
        "genuine": "Genuine",
        "frauds": "Frauds",
    }
    return Grid.of("flips-a-day", "Records with another outcome, with 95% intervals", heads, rows)


def _named(flip: Flip) -> Cell:
    return Cell(
        text=flip_name(flip.champion, flip.challenger), key=f"{flip.champion}-{flip.challenger}".lower()
    )


def _reasons(comparison: ComparisonResult) -> Grid:
    """List the most frequent reasons of the stricter model, by kind of flip."""
    return reasons_grid(
        ((flip.champion, flip.challenger, flip.reasons, flip.explained) for flip in comparison.flips),
        comparison.sentences,
        head=_FLIP["flip"],
        caption=(
            f"Reasons that the stricter model gives, the {REASONS} most frequent of each kind; counted on at most "
            f"{MOST_EXPLAINED} records of a kind, spread over the period, with up to five reasons each"
        ),
        what="Records",
    )


def reasons_grid(
    flips: "Iterable[tuple[Outcome, Outcome, Mapping[str, int], int]]",
    sentences: "Mapping[str, str]",
    *,
    head: str,
    caption: str,
    what: str,
) -> Grid:
    """List the most frequent reasons of each kind of flip.

    Parameters
    ----------
    flips : iterable of (outcome, other outcome, records by reason, records)
    sentences : mapping of str to str
        What reasons say, by code.
    what : str
        What is counted.
    """
    rows = [
        (
            Cell(text=flip_name(old, new), key=f"{old}-{new}-{code}".lower()),
            sentences.get(code, code),
            code,
            f"{count:,} of {of:,}",
        )
        for old, new, reasons, of in flips
        for code, count in sorted(reasons.items(), key=lambda reason: -reason[1])[:REASONS]
    ]
    return Grid.of("reasons", caption, {"flip": head, "reason": "Reason", "code": "Code", "of": what}, rows)


def _examples(comparison: ComparisonResult) -> Grid:
    """List ids of the records whose scores differ most."""
    rows = [
        (_named(flip), ", ".join(flip.examples) or "the records have no ids") for flip in comparison.flips
    ]
    caption = "Examples: the records whose scores differ most"
    return Grid.of("examples", caption, {**_FLIP, "records": "recordId"}, rows)


def matrix_grid(cells: "Iterable[Iterable[str]]", *, old: str, new: str, caption: str) -> Grid:
    """List what each pair of outcomes has, in the order of `OUTCOMES`.

    Parameters
    ----------
    old, new : str
        Whose outcomes rows and columns are.
    """
    heads = {"outcome": old, **{one.lower(): f"{new} {OUTCOME_TITLES[one].lower()}" for one in OUTCOMES}}
    rows: list[Row] = [
        (Cell(text=OUTCOME_TITLES[outcome], key=outcome.lower()), *row)
        for outcome, row in zip(OUTCOMES, cells, strict=True)
    ]
    return Grid.of("matrix", caption, heads, rows)
