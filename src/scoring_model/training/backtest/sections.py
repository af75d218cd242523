"""The parts of the report of a backtest that hold its figures."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from scoring_model.estimates import Estimate
from scoring_model.evaluation.report import Cell, Drawing, Grid, Section
from scoring_model.evaluation.report.first_screen import whatever_text
from scoring_model.evaluation.report.section import Row
from scoring_model.evaluation.report.words import (
    ABSENT,
    POSSIBLE,
    VERDICT_TONES,
    Writer,
    change_writer,
    estimate_text,
    is_decimal,
    percent,
    slug,
    titles,
    tone_of,
    unbroken,
)
from scoring_model.evaluation.stability import widest
from scoring_model.figures import FIGURES, bounded
from scoring_model.training.backtest.calendar import day_text
from scoring_model.training.backtest.fold import RANKED
from scoring_model.training.backtest.judging import WORTH
from scoring_model.training.backtest.plots import (
    RECALL,
    draw_ageing,
    draw_cadences,
    draw_families,
    draw_learning,
    draw_models,
    draw_promise,
    family_shares,
)
from scoring_model.training.backtest.result import Ageing, BacktestResult, PromiseMonth

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_HISTORY: Final = "Whether more history helps"
_CARRY: Final = "Which features carry the models"


def promises_section(backtest: BacktestResult) -> Section:
    """Show every promise in every period."""
    cadences = list(dict.fromkeys(one.cadence for one in backtest.promises))
    return Section(
        name="promises",
        title=f"Promises by {backtest.unit}",
        texts=(
            f"Each promise is tested on one record of each genuine person and of each ring of frauds of the "
            f"{backtest.unit}. It is broken if so many errors would have a probability of at most delta even if the "
            "share were the limit, kept if so few would have, and undecided otherwise; delta is the chance with which "
            "the promise of a single model may be false."
            + (
                " Where applicants were stopped it is broken or kept only if it were with every label that these could "
                "have, each person once; frauds among them would count one by one. Errors, shares and drawings are of "
                "those who were observed."
                if backtest.stopped
                else ""
            ),
            "Chance explains as many broken promises as the 95% quantile of a binomial distribution: each "
            f"{backtest.unit} has a chance of at most 2 delta, one for the certificate of the thresholds and one for "
            f"the test. The p-value is the probability of at least as many. Models share training records and "
            f"{backtest.unit}s share persons, so the true number varies more than this distribution says.",
        ),
        drawings=tuple(_promises(backtest, cadence) for cadence in cadences),
    )


def _promises(backtest: BacktestResult, cadence: str) -> Drawing:
    periods = [one for one in backtest.promises if one.cadence == cadence]
    bounds = list(dict.fromkeys(one.bound for one in periods))

    def draw(*axes: "Axes") -> None:
        for ax, bound in zip(axes, bounds, strict=True):
            draw_promise(ax, [one for one in periods if one.bound == bound])
            ax.label_outer()

    broken = ", ".join(
        f"{bounded(one.bound).title.lower()} in {one.period}" for one in periods if one.verdict == "broken"
    )
    heads = {
        "period": backtest.unit.title(),
        "as_of": "Model as of",
        "promise": "Promise",
        "limit": "Limit",
        "errors": "Errors",
        "records": "Of",
        "share": "Share",
        **({"possible": POSSIBLE} if backtest.stopped else {}),
        "verdict": "Verdict",
    }
    return Drawing(
        name=f"promises-{cadence}",
        title=f"Errors by {backtest.unit}, trained every {cadence}",
        draw=draw,
        alt=f"One panel for each promise, by {backtest.unit}. Broken: {broken or 'none'}.",
        caption="Bars: exact 95% intervals of each period by itself. Crosses: broken promises.",
        grid=Grid.of(
            f"promises-{cadence}",
            f"Promises, trained every {cadence}",
            heads,
            map(partial(_promise, backtest), periods),
        ),
        height=1.0 + 1.7 * len(bounds),
        rows=len(bounds),
    )


def _promise(backtest: BacktestResult, one: PromiseMonth) -> Row:
    return (
        Cell(text=unbroken(one.period), key=f"{one.period} {one.bound}"),
        unbroken(day_text(one.as_of)),
        bounded(one.bound).title,
        percent(one.limit),
        f"{one.share.count:,}",
        f"{one.share.records:,}",
        estimate_text(one.share),
        *(
            [whatever_text(one.possible, widest(one.share, one.possible), one.verdict)]
            if backtest.stopped
            else []
        ),
        Cell(text=str(one.verdict), tone=VERDICT_TONES[one.verdict]),
    )


def cadences_section(backtest: BacktestResult) -> Section:
    """Show the figures of the cadences and their differences."""
    shown = ["missed_fraud", "step_up", RECALL, *(["cost"] if backtest.has_costs else [])]
    cost = (
        ()
        if backtest.has_costs
        else ("The policy has no costs (policy.costs), so cadences are compared without them.",)
    )
    return Section(
        name="cadences",
        title="What each cadence is worth",
        texts=(
            "All cadences decide about the same records, from the first period for which each has a model. “never” "
            "keeps the first model. Intervals of differences come from drawing whole days with replacement, the same "
            "days for both. The ranking across models is that of the scores.",
            *cost,
        ),
        drawings=tuple(_differences(backtest, figure) for figure in shown),
        grids=(_cadences(backtest), _all_differences(backtest)),
    )


def _differences(backtest: BacktestResult, figure: str) -> Drawing:
    title, name = FIGURES[figure].title, f"cadences-{slug(figure)}"
    rows = [
        (f"{pair.cadence} minus {pair.against}", difference_cell(figure, pair.figures[figure]))
        for pair in backtest.differences
    ]
    return Drawing(
        name=name,
        title=f"{title}: differences of cadences",
        draw=lambda ax: draw_cadences(ax, backtest.differences, figure),
        alt=f"{title}. " + "; ".join(f"{pair}: {difference.text}" for pair, difference in rows) + ".",
        caption="The more frequent cadence minus the other, with 95% intervals.",
        grid=Grid.of(
            name, f"{title}, differences", {"cadences": "Cadences", "difference": "Difference"}, rows
        ),
        height=0.9 + 0.32 * len(rows),
    )


def _cadences(backtest: BacktestResult) -> Grid:
    names = [name for name in WORTH if name in backtest.cadences[0].figures]
    rows = [
        (
            one.cadence,
            f"{one.models:,}",
            *(estimate_text(one.figures[name], _writer(name)) for name in names),
        )
        for one in backtest.cadences
    ]
    heads = {"cadence": "Trained every", "models": "Models in use", **titles(names)}
    return Grid.of("cadences", "Figures of each cadence, with 95% intervals", heads, rows)


def _all_differences(backtest: BacktestResult) -> Grid:
    names = [name for name in WORTH if name in backtest.differences[0].figures]
    rows: list[Row] = [
        (
            f"{pair.cadence} minus {pair.against}",
            *(difference_cell(name, pair.figures[name]) for name in names),
        )
        for pair in backtest.differences
    ]
    heads = {"cadences": "Cadences", **titles(names)}
    return Grid.of("differences", "Differences of cadences; shares in percentage points", heads, rows)


def _writer(figure: str) -> Writer:
    return "{:#.4g}".format if is_decimal(figure) else percent


def difference_cell(figure: str, difference: Estimate) -> Cell:
    """Write a difference with its interval: shares in percentage points."""
    return Cell(text=estimate_text(difference, change_writer(figure)), tone=tone_of(figure, difference))


def ageing_section(backtest: BacktestResult) -> Section:
    """Show every model in every later period, and old models against fresh ones."""
    return Section(
        name="ageing",
        title="How fast a model ages",
        texts=(
            f"Every model also decided about all later {backtest.unit}s. An old model is compared with the one trained "
            f"just before the same {backtest.unit}, so that an easy or difficult {backtest.unit} changes nothing.",
        ),
        drawings=(partial(_models, backtest), _ageing(backtest)),
    )


def _models(backtest: BacktestResult) -> Drawing:
    name, title = "models", f"Recall at 1% false positives by {backtest.unit}"
    if all(model.figures[RECALL] is None for model in backtest.models):
        return Drawing(name=name, title=title, missing="No period has both classes.")
    first = min(model.as_of for model in backtest.models)
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_models(ax, backtest.models, RECALL),
        alt=f"Two lines by {backtest.unit}: models trained just before it, and the first model of {day_text(first)}.",
        caption="Where the lines part, the first model has aged. The numbers are those of all models.",
        grid=_model_grid(backtest),
    )


def _model_grid(backtest: BacktestResult) -> Grid:
    rows: list[Row] = [
        (
            Cell(text=unbroken(day_text(model.as_of)), key=f"{day_text(model.as_of)} {model.period}"),
            unbroken(model.period),
            str(model.age),
            f"{model.genuine:,}",
            f"{model.frauds:,}",
            *_values(model.figures),
        )
        for model in backtest.models
    ]
    heads = {
        "as_of": "Model as of",
        "period": backtest.unit.title(),
        "age": "Age",
        "genuine": "Genuine",
        "frauds": "Frauds",
        **titles(backtest.models[0].figures),
    }
    return Grid.of("models", f"Every model in every later {backtest.unit}", heads, rows)


def _values(figures: Mapping[str, float | None]) -> Iterator[str]:
    """Write values without intervals."""
    for name, value in figures.items():
        yield ABSENT if value is None else f"{value:.3f}" if is_decimal(name) else percent(value)


def _ageing(backtest: BacktestResult) -> Drawing:
    name, title = "ageing-difference", "Old model minus fresh model"
    if not backtest.ageing:
        return Drawing(name=name, title=title, missing="No period was decided by two models.")
    last = backtest.ageing[-1]
    heads = {"age": "Age", "periods": f"{backtest.unit.title()}s", **titles(backtest.ageing[0].figures)}
    return Drawing(
        name=name,
        title=f"{title}, recall at 1% false positives",
        draw=lambda ax: draw_ageing(ax, backtest.ageing, RECALL, backtest.unit),
        alt=(
            f"Difference of recall by age, from 1 to {last.age} {backtest.unit}s. At age {last.age}: "
            f"{difference_cell(RECALL, last.figures[RECALL]).text} points."
        ),
        caption=(
            "Mean over the periods with both models, with 95% intervals from the same draws of days. Higher ages rest "
            "on fewer periods, and on earlier models."
        ),
        grid=Grid.of(name, f"{title}; shares in percentage points", heads, map(_aged, backtest.ageing)),
    )


def _aged(aged: Ageing) -> Row:
    differences = (difference_cell(name, difference) for name, difference in aged.figures.items())
    return str(aged.age), f"{aged.periods:,}", *differences


def history_section(backtest: BacktestResult) -> Section:
    """Show models of shorter histories."""
    return Section(
        name="history",
        title=_HISTORY,
        texts=(
            "For some folds the model is fitted again on the latest eighth, quarter and half of its train part, with "
            "the same parameters, features and fitted tables, and ranks all judged records after the fold. Parts with "
            "too few frauds are left out.",
        ),
        drawings=(_learning(backtest),),
    )


def _learning(backtest: BacktestResult) -> Drawing:
    name = "learning"
    if not backtest.learning:
        return Drawing(name=name, title=_HISTORY, missing="No model of a shorter history was fitted.")
    rows: list[Row] = [
        (
            Cell(text=unbroken(day_text(point.as_of)), key=f"{day_text(point.as_of)} {point.share:g}"),
            unbroken(day_text(point.since)),
            percent(point.share, digits=3),
            f"{point.records:,}",
            f"{point.frauds:,}",
            *_values({figure: point.figures[figure] for figure in RANKED}),
            *(difference_cell(figure, point.differences[figure]) for figure in RANKED),
        )
        for point in backtest.learning
    ]
    heads = {
        "as_of": "Model as of",
        "since": "Train part from",
        "share": "Share",
        "records": "Records",
        "frauds": "Frauds",
        **titles(RANKED),
        **{f"{figure}_difference": f"{title}: difference" for figure, title in titles(RANKED).items()},
    }
    return Drawing(
        name=name,
        title="Recall at 1% false positives by length of the train part",
        draw=lambda ax: draw_learning(ax, backtest.learning, RECALL),
        alt="One line for each fold, over the share of the train part that is used, from an eighth to the whole.",
        caption="A line that still rises at its right end says that more history would help.",
        grid=Grid.of(
            name, "Models of shorter histories; differences are to the whole train part", heads, rows
        ),
    )


def families_section(backtest: BacktestResult) -> Section:
    """Show which families of features carry the models."""
    explained = max((one.records for fold in backtest.folds for one in fold.families.values()), default=0)
    text = (
        "Share of each family of features in the sum of mean absolute contributions: exact Shapley values of at most "
        f"{explained:,} records of the first {backtest.unit} after each fold, drawn at random."
    )
    return Section(name="families", title=_CARRY, texts=(text,), drawings=(_families(backtest),))


def _families(backtest: BacktestResult) -> Drawing:
    name, shares = "family-shares", family_shares(backtest)
    if not shares:
        return Drawing(name=name, title=_CARRY, missing="No record was explained.")
    names = list(dict.fromkeys(family for fold in shares.values() for family in fold))
    rows = [
        (unbroken(day_text(as_of)), *(percent(fold.get(family)) for family in names))
        for as_of, fold in shares.items()
    ]
    heads = {"as_of": "Model as of", **{family: family for family in names}}
    return Drawing(
        name=name,
        title="Share of each family by fold",
        draw=lambda ax: draw_families(ax, backtest),
        alt="One line for each family over the instants of the folds: " + ", ".join(names) + ".",
        caption="Shares of one fold sum to 100%.",
        grid=Grid.of(name, "Share of each family", heads, rows),
        height=4.2,
    )
