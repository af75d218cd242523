"""The parts of the report of a backtest that hold its figures."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from scoring_model.evaluation import Estimate
from scoring_model.evaluation.report import Section, Table
from scoring_model.evaluation.report.figures import Figure, absent, drawn, range_text
from scoring_model.evaluation.report.names import is_decimal
from scoring_model.evaluation.report.scales import percent, unbroken
from scoring_model.figures import FIGURES, bounded
from scoring_model.training.backtest.calendar import day_text
from scoring_model.training.backtest.fold import RANKED
from scoring_model.training.backtest.judging import WORTH
from scoring_model.training.backtest.plots import RECALL, BacktestPlots, family_shares
from scoring_model.training.backtest.result import Ageing, BacktestResult, PromiseMonth

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def promises_section(backtest: BacktestResult, plots: BacktestPlots) -> Section:
    """Show every promise in every period."""
    cadences = list(dict.fromkeys(one.cadence for one in backtest.promises))
    return Section(
        name="promises",
        title=f"Promises by {backtest.unit}",
        texts=(
            f"Each promise is tested on one record of each genuine person and of each ring of frauds of the "
            f"{backtest.unit}. It is broken if so many errors would have a probability of at most delta even if the "
            "share were the limit, kept if so few would have, and undecided otherwise; delta is the chance with which "
            "the promise of a single model may be false.",
            "Chance explains as many broken promises as the 95% quantile of a binomial distribution: each "
            f"{backtest.unit} has a chance of at most 2 delta, one for the certificate of the thresholds and one for "
            f"the test. The p-value is the probability of at least as many. Models share training records and "
            f"{backtest.unit}s share persons, so the true number varies more than this distribution says.",
        ),
        figures=tuple(_promise_figure(backtest, plots, cadence) for cadence in cadences),
    )


def _promise_figure(backtest: BacktestResult, plots: BacktestPlots, cadence: str) -> Figure:
    found = [one for one in backtest.promises if one.cadence == cadence]
    bounds = list(dict.fromkeys(one.bound for one in found))

    def draw(*axes: "Axes") -> None:
        for ax, bound in zip(axes, bounds, strict=True):
            plots.promise(cadence, bound, ax=ax)
            ax.label_outer()

    broken = [one for one in found if one.verdict == "broken"]
    where = ", ".join(f"{bounded(one.bound).title.lower()} in {one.period}" for one in broken)
    return drawn(
        f"promises-{cadence}",
        f"Errors by {backtest.unit}, trained every {cadence}",
        draw=draw,
        alt=f"One panel for each promise, by {backtest.unit}. Broken: {where or 'none'}.",
        caption="Bars: exact 95% intervals of each period by itself. Crosses: broken promises.",
        table=_promise_table(backtest, cadence),
        height=1.0 + 1.7 * len(bounds),
        rows=len(bounds),
    )


def _promise_table(backtest: BacktestResult, cadence: str) -> Table:
    rows = tuple(_promise_row(one) for one in backtest.promises if one.cadence == cadence)
    heads = (backtest.unit.title(), "Model as of", "Promise", "Limit", "Errors", "Of", "Share", "Verdict")
    return Table(caption=f"Promises, trained every {cadence}", heads=heads, rows=rows)


def _promise_row(one: PromiseMonth) -> tuple[str, ...]:
    share = one.share
    return (
        unbroken(one.period),
        unbroken(day_text(one.as_of)),
        bounded(one.bound).title,
        percent(one.limit),
        f"{share.count:,}",
        f"{share.total:,}",
        f"{percent(share.share)} ({range_text(share.low, share.high)})",
        str(one.verdict),
    )


def cadences_section(backtest: BacktestResult, plots: BacktestPlots) -> Section:
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
        figures=tuple(_cadence_figure(backtest, plots, figure) for figure in shown),
        tables=(_cadence_table(backtest), _difference_table(backtest)),
    )


def _cadence_figure(backtest: BacktestResult, plots: BacktestPlots, figure: str) -> Figure:
    title = FIGURES[figure].title
    rows = tuple(
        (f"{pair.cadence} minus {pair.against}", difference_text(figure, pair.figures[figure]))
        for pair in backtest.differences
    )
    return drawn(
        f"cadences-{figure.replace('_', '-').replace('.', '-')}",
        f"{title}: differences of cadences",
        draw=lambda ax: plots.cadences(figure, ax=ax),
        alt=f"{title}. " + "; ".join(f"{name}: {value}" for name, value in rows) + ".",
        caption="The more frequent cadence minus the other, with 95% intervals.",
        table=Table(caption=f"{title}, differences", heads=("Cadences", "Difference"), rows=rows),
        height=0.9 + 0.32 * len(rows),
    )


def _cadence_table(backtest: BacktestResult) -> Table:
    names = [name for name in WORTH if name in backtest.cadences[0].figures]
    rows = tuple(
        (one.cadence, f"{one.models:,}", *(_value(name, one.figures[name]) for name in names))
        for one in backtest.cadences
    )
    heads = ("Trained every", "Models in use", *(FIGURES[name].title for name in names))
    return Table(caption="Figures of each cadence, with 95% intervals", heads=heads, rows=rows)


def _difference_table(backtest: BacktestResult) -> Table:
    names = [name for name in WORTH if name in backtest.differences[0].figures]
    rows = tuple(
        (
            f"{pair.cadence} minus {pair.against}",
            *(difference_text(name, pair.figures[name]) for name in names),
        )
        for pair in backtest.differences
    )
    return Table(
        caption="Differences of cadences; shares in percentage points",
        heads=("Cadences", *(FIGURES[name].title for name in names)),
        rows=rows,
    )


def _value(name: str, found: Estimate) -> str:
    if found.value is None:
        return "–"
    write: Callable[[float], str] = _number if is_decimal(name) else percent
    return f"{write(found.value)} ({range_text(found.low, found.high, write)})"


def difference_text(name: str, found: Estimate) -> str:
    """Write a difference with its interval: shares in percentage points."""
    if found.value is None:
        return "–"
    write = _signed_number if is_decimal(name) else signed_points
    return f"{write(found.value)} ({range_text(found.low, found.high, write)})"


def _number(value: float) -> str:
    return f"{value:#.4g}"


def _signed_number(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def signed_points(share: float) -> str:
    """Write a difference of shares in percentage points, with its sign."""
    return f"{100 * share:+.2f}".replace("-", "\N{MINUS SIGN}")


def ageing_section(backtest: BacktestResult, plots: BacktestPlots) -> Section:
    """Show every model in every later period, and old models against fresh ones."""
    return Section(
        name="ageing",
        title="How fast a model ages",
        texts=(
            f"Every model also decided about all later {backtest.unit}s. An old model is compared with the one trained "
            f"just before the same {backtest.unit}, so that an easy or difficult {backtest.unit} changes nothing.",
        ),
        figures=(_models_figure(backtest, plots), _ageing_figure(backtest, plots)),
    )


def _models_figure(backtest: BacktestResult, plots: BacktestPlots) -> Figure:
    name, title = "models", f"Recall at 1% false positives by {backtest.unit}"
    if all(model.figures[RECALL] is None for model in backtest.models):
        return absent(name, title, "No period has both classes.")
    first = min(model.as_of for model in backtest.models)
    return drawn(
        name,
        title,
        draw=lambda ax: plots.models(ax=ax),
        alt=f"Two lines by {backtest.unit}: models trained just before it, and the first model of {day_text(first)}.",
        caption="Where the lines part, the first model has aged. The numbers are those of all models.",
        table=_models_table(backtest),
    )


def _ageing_figure(backtest: BacktestResult, plots: BacktestPlots) -> Figure:
    name, title = "ageing-difference", "Old model minus fresh model"
    if not backtest.ageing:
        return absent(name, title, "No period was decided by two models.")
    rows = tuple(_aged_row(aged) for aged in backtest.ageing)
    heads = (
        "Age",
        f"{backtest.unit.title()}s",
        *(FIGURES[figure].title for figure in backtest.ageing[0].figures),
    )
    last = backtest.ageing[-1]
    return drawn(
        name,
        f"{title}, recall at 1% false positives",
        draw=lambda ax: plots.ageing(ax=ax),
        alt=(
            f"Difference of recall by age, from 1 to {last.age} {backtest.unit}s. At age {last.age}: "
            f"{difference_text(RECALL, last.figures[RECALL])} points."
        ),
        caption=(
            "Mean over the periods with both models, with 95% intervals from the same draws of days. Higher ages rest "
            "on fewer periods, and on earlier models."
        ),
        table=Table(caption=f"{title}; shares in percentage points", heads=heads, rows=rows),
    )


def _aged_row(aged: Ageing) -> tuple[str, ...]:
    differences = (difference_text(name, found) for name, found in aged.figures.items())
    return str(aged.age), f"{aged.periods:,}", *differences


def _models_table(backtest: BacktestResult) -> Table:
    rows = tuple(
        (
            unbroken(day_text(model.as_of)),
            unbroken(model.period),
            str(model.age),
            f"{model.genuine:,}",
            f"{model.frauds:,}",
            *(_plain(name, value) for name, value in model.figures.items()),
        )
        for model in backtest.models
    )
    names = tuple(FIGURES[name].title for name in backtest.models[0].figures)
    heads = ("Model as of", backtest.unit.title(), "Age", "Genuine", "Frauds", *names)
    return Table(caption=f"Every model in every later {backtest.unit}", heads=heads, rows=rows)


def _plain(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if is_decimal(name) else percent(value)


def history_section(backtest: BacktestResult, plots: BacktestPlots) -> Section:
    """Show models of shorter histories."""
    name, title = "history", "Whether more history helps"
    text = (
        "For some folds the model is fitted again on the latest eighth, quarter and half of its train part, with the "
        "same parameters, features and fitted tables, and ranks all judged records after the fold. Parts with too few "
        "frauds are left out."
    )
    if not backtest.learning:
        figure = absent("learning", title, "No model of a shorter history was fitted.")
        return Section(name=name, title=title, texts=(text,), figures=(figure,))
    heads = ("Model as of", "Train part from", "Share", "Records", "Frauds")
    rows = tuple(
        (
            unbroken(day_text(point.as_of)),
            unbroken(day_text(point.since)),
            percent(point.share, digits=3),
            f"{point.records:,}",
            f"{point.frauds:,}",
            *(_plain(figure, point.figures[figure]) for figure in RANKED),
            *(difference_text(figure, point.differences[figure]) for figure in RANKED),
        )
        for point in backtest.learning
    )
    names = [FIGURES[figure].title for figure in RANKED]
    table = Table(
        caption="Models of shorter histories; differences are to the whole train part",
        heads=(*heads, *names, *(f"{one}: difference" for one in names)),
        rows=rows,
    )
    figure = drawn(
        "learning",
        "Recall at 1% false positives by length of the train part",
        draw=lambda ax: plots.learning(ax=ax),
        alt="One line for each fold, over the share of the train part that is used, from an eighth to the whole.",
        caption="A line that still rises at its right end says that more history would help.",
        table=table,
    )
    return Section(name=name, title=title, texts=(text,), figures=(figure,))


def families_section(backtest: BacktestResult, plots: BacktestPlots) -> Section:
    """Show which families of features carry the models."""
    name, title = "families", "Which features carry the models"
    shares = family_shares(backtest)
    explained = max((w.records for fold in backtest.folds for w in fold.families.values()), default=0)
    text = (
        "Share of each family of features in the sum of mean absolute contributions: exact Shapley values of at most "
        f"{explained:,} records of the first {backtest.unit} after each fold, drawn at random."
    )
    if not shares:
        figure = absent("family-shares", title, "No record was explained.")
        return Section(name=name, title=title, texts=(text,), figures=(figure,))
    names = list(dict.fromkeys(family for found in shares.values() for family in found))
    rows = tuple(
        (unbroken(day_text(as_of)), *(percent(found.get(family)) for family in names))
        for as_of, found in shares.items()
    )
    figure = drawn(
        "family-shares",
        "Share of each family by fold",
        draw=lambda ax: plots.families(ax=ax),
        alt="One line for each family over the instants of the folds: " + ", ".join(names) + ".",
        caption="Shares of one fold sum to 100%.",
        table=Table(caption="Share of each family", heads=("Model as of", *names), rows=rows),
        height=4.2,
    )
    return Section(name=name, title=title, texts=(text,), figures=(figure,))
