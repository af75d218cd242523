"""What the model looks at."""

from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.evaluation.report.figures import Figure, Table, drawn, range_text
from scoring_model.evaluation.report.plots.importance import ROW
from scoring_model.evaluation.report.scales import signed
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.result import EvaluationResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from scoring_model.evaluation.importance import Importance, Weight
    from scoring_model.evaluation.report.plot import Plots

TOP: Final = 15
SWARM: Final = 12
DEPENDENCE: Final = 6
_HEADS: Final = ("Mean absolute contribution", "95% interval")


def importance_section(evaluation: EvaluationResult, plots: "Plots") -> Section:
    """Describe families and features by their contributions, or why they are unknown."""
    name, title = "importance", "What the model looks at"
    found = evaluation.importance
    if found is None:
        text = (
            "Not measured: the decisions were made earlier or without the inputs of the model, "
            "so no contributions can be computed."
        )
        return Section(name=name, title=title, texts=(text,))
    if not found.features or not found.features[0].weight.value:
        return Section(
            name=name, title=title, texts=("No feature contributes to the score of any explained record.",)
        )
    drawn_from = f" drawn at random from {found.records:,}" if found.explained < found.records else ""
    text = (
        f"Contributions are exact Shapley values of the trees, in log-odds, on {found.explained:,} evaluated "
        f"records{drawn_from}. They say what the model uses, not what causes fraud. Features that go together "
        "share their weight."
    )
    if not found.recall_lost:
        text += " The recall that is lost without each family is measured by a training alone, not here."
    return Section(
        name=name,
        title=title,
        texts=(text,),
        tables=(_recall_lost(found),) if found.recall_lost else (),
        figures=(
            _families(found, plots),
            _features(found, plots),
            _beeswarm(found, plots),
            _dependence(found, plots),
        ),
    )


def _families(found: "Importance", plots: "Plots") -> Figure:
    return drawn(
        "families",
        "Families of features",
        draw=plots.families,
        alt=f"Bars of {len(found.families)} families. {_ranked(found.families)}",
        caption="Mean absolute sum of the contributions of a family. Lines: 95% intervals from whole days.",
        table=_table("Families", found.families),
        height=len(found.families) * ROW + 0.8,
    )


def _features(found: "Importance", plots: "Plots") -> Figure:
    shown = found.features[:TOP]
    return drawn(
        "features",
        f"The {len(shown)} heaviest features",
        draw=lambda ax: plots.features(ax, top=TOP),
        alt=f"Bars of {len(shown)} features. {_ranked(shown)}",
        caption=f"Of {len(found.features):,} features. Lines: 95% intervals from whole days.",
        table=_table("Features", shown),
        height=len(shown) * ROW + 0.8,
    )


def _ranked(weights: "Sequence[Weight]") -> str:
    texts = [f"{weight.name} {weight.weight.value:.2f}" for weight in weights[:3]]
    return f"Heaviest, in log-odds: {', '.join(texts)}."


def _table(caption: str, weights: "Sequence[Weight]") -> Table:
    rows = tuple(
        (
            weight.name,
            weight.sentence or f"{weight.features} feature{'' if weight.features == 1 else 's'}",
            f"{weight.weight.value:.3f}",
            range_text(weight.weight.low, weight.weight.high, lambda value: f"{value:.3f}"),
        )
        for weight in weights
    )
    return Table(
        caption=f"{caption} by mean absolute contribution", heads=("Name", "Meaning", *_HEADS), rows=rows
    )


def _beeswarm(found: "Importance", plots: "Plots") -> Figure:
    names = [weight.name for weight in found.features[:SWARM]]
    return drawn(
        "beeswarm",
        "Contributions to single records",
        draw=lambda ax: plots.beeswarm(ax, top=SWARM),
        alt=f"One row of dots for each of {len(names)} features: {', '.join(names)}. The table gives their spread.",
        caption=(
            "Each dot is a record: right of 0 the feature makes it riskier. Blue: low values of the feature; "
            "orange: high ones; grey: missing values, and categories, which have no order."
        ),
        table=_spread_table(found),
        height=len(names) * 0.34 + 0.8,
    )


def _spread_table(found: "Importance") -> Table:
    rows = []
    for place, weight in enumerate(found.features[:SWARM]):
        given, value = found.contributions[:, place], found.values[:, place]
        quantiles = (signed(quantile) for quantile in np.quantile(given, (0.01, 0.5, 0.99)))
        rows.append((weight.name, *quantiles, f"{np.isnan(value).mean():.0%}"))
    heads = ("Feature", "1% of contributions below", "Half below", "99% below", "Missing values")
    return Table(caption="Spread of the contributions, in log-odds", heads=heads, rows=tuple(rows))


def _dependence(found: "Importance", plots: "Plots") -> Figure:
    names = [weight.name for weight in found.features[:DEPENDENCE]]

    def draw(*axes: "Axes") -> None:
        for ax, name in zip(axes, names, strict=False):
            plots.dependence(name, ax=ax)
        for ax in axes[len(names) :]:
            ax.set_visible(False)

    rows = -(-len(names) // 2)
    return drawn(
        "dependence",
        f"Contribution by value: the {len(names)} heaviest features",
        draw=draw,
        alt=f"Scatter plots of the contribution against the value of {', '.join(names)}. The table gives means.",
        caption=(
            "Each dot is a record with a known value; vertical: contribution in log-odds. "
            "Codes are those of categories."
        ),
        table=_dependence_table(found),
        height=rows * 1.9 + 0.2,
        rows=rows,
        columns=2,
    )


def _dependence_table(found: "Importance") -> Table:
    """Mean contribution in fifths of the values of each feature."""
    rows = []
    for place, weight in enumerate(found.features[:DEPENDENCE]):
        given, value = found.contributions[:, place], found.values[:, place]
        known = np.isfinite(value)
        fifths = np.array_split(given[known][np.argsort(value[known], kind="stable")], 5)
        means = (signed(float(fifth.mean())) if len(fifth) else "–" for fifth in fifths)
        missing = signed(float(given[~known].mean())) if (~known).any() else "–"
        rows.append((weight.name, *means, missing))
    heads = ("Feature", "Lowest fifth of values", "2nd", "3rd", "4th", "Highest fifth", "Missing")
    return Table(caption="Mean contribution by value, in log-odds", heads=heads, rows=tuple(rows))


def _recall_lost(found: "Importance") -> Table:
    """List by family what the recall of a model without it lacks."""
    rows = tuple(
        (
            weight.name,
            "–" if lost.value is None else signed(100 * lost.value),
            range_text(lost.low, lost.high, lambda value: signed(100 * value)),
            f"{lost.records:,}",
        )
        for weight in found.families
        if (lost := found.recall_lost.get(weight.name)) is not None
    )
    return Table(
        caption=(
            "Recall at 1% false positives that is lost without the family, in percentage points: models fitted again "
            "by the training, compared on the same days"
        ),
        heads=("Family", "Lost", "95% interval", "Frauds"),
        rows=rows,
    )
