"""What the model looks at."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.evaluation.report.plots.importance import draw_beeswarm, draw_dependence, draw_weights
from scoring_model.evaluation.report.section import Cell, Drawing, Grid, Row, Section
from scoring_model.evaluation.report.style import TALL_ROW
from scoring_model.evaluation.report.words import (
    ABSENT,
    category_name,
    ends_text,
    feature_title,
    frequent_codes,
    points,
    signed,
)
from scoring_model.evaluation.result import EvaluationResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.importance import Importance, Weight

TOP: Final = 15
SWARM: Final = 12
DEPENDENCE: Final = 6
_PARTS: Final = 5


def importance_section(evaluation: EvaluationResult) -> Section:
    """Describe families and features by their contributions, or why they are unknown."""
    name, title = "importance", "What the model looks at"
    importance = evaluation.importance
    if importance is None:
        text = (
            "Not measured: the decisions were made earlier or without the inputs of the model, "
            "so no contributions can be computed."
        )
        return Section(name=name, title=title, texts=(text,))
    if not importance.features or not importance.features[0].weight.value:
        text = "No feature contributes to the score of any explained record."
        return Section(name=name, title=title, texts=(text,))
    makers = (_families, _features, _beeswarm, _dependence)
    return Section(
        name=name,
        title=title,
        texts=(_basis(importance),),
        drawings=tuple(partial(make, importance) for make in makers),
        grids=(_recall_lost(importance),) if importance.recall_lost else (),
    )


def _basis(importance: "Importance") -> str:
    chosen = (
        f" drawn at random from {importance.records:,}" if importance.explained < importance.records else ""
    )
    text = (
        f"Contributions are exact Shapley values of the trees, in log-odds, on {importance.explained:,} evaluated "
        f"records{chosen}. They say what the model uses, not what causes fraud. Features that go together "
        "share their weight."
    )
    if importance.recall_lost:
        return text
    return f"{text} The recall that is lost without each family is measured by a training alone, not here."


def _families(importance: "Importance") -> Drawing:
    weights = importance.families
    return _bars(
        weights,
        name="families",
        title="Families of features",
        alt=f"Bars of {len(weights)} families.",
        caption="Mean absolute sum of the contributions of a family. Lines: 95% intervals from whole days.",
    )


def _features(importance: "Importance") -> Drawing:
    weights = importance.features[:TOP]
    return _bars(
        weights,
        name="features",
        title=f"The {len(weights)} heaviest features",
        alt=f"Bars of {len(weights)} features.",
        caption=f"Of {len(importance.features):,} features. Lines: 95% intervals from whole days.",
    )


def _bars(weights: "Sequence[Weight]", *, name: str, title: str, alt: str, caption: str) -> Drawing:
    heaviest = ", ".join(f"{feature_title(one)} {one.weight.value:.2f}" for one in weights[:3])
    rows = [
        (
            Cell(text=feature_title(one), key=one.name),
            one.name if one.sentence else f"{one.features} feature{'' if one.features == 1 else 's'}",
            f"{one.weight.value:.3f}",
            ends_text(one.weight, "{:.3f}".format),
        )
        for one in weights
    ]
    heads = {
        "title": "Name",
        "name": "In files" if name == "features" else "Features",
        "weight": "Mean absolute contribution",
        "ends": "95% interval",
    }
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_weights(ax, weights),
        alt=f"{alt} Heaviest, in log-odds: {heaviest}.",
        caption=caption,
        grid=Grid.of(name, f"{name.capitalize()} by mean absolute contribution", heads, rows),
        height=len(weights) * TALL_ROW + 0.8,
    )


def _beeswarm(importance: "Importance") -> Drawing:
    weights = importance.features[:SWARM]
    heads = {
        "feature": "Feature",
        "low": "1% of contributions below",
        "middle": "Half below",
        "high": "99% below",
        "missing": "Missing values",
    }
    return Drawing(
        name="beeswarm",
        title="Contributions to single records",
        draw=lambda ax: draw_beeswarm(ax, importance, SWARM),
        alt=f"One row of dots for each of {len(weights)} features: {_names(weights)}. The table gives their spread.",
        caption=(
            "Each dot is a record: right of 0 the feature makes it riskier. Blue: low values of the feature; "
            "orange: high ones; grey: missing values, and categories, which have no order."
        ),
        grid=Grid.of("beeswarm", "Spread of the contributions, in log-odds", heads, _spreads(importance)),
        height=len(weights) * TALL_ROW + 0.8,
    )


def _names(weights: "Sequence[Weight]") -> str:
    return ", ".join(map(feature_title, weights))


def _spreads(importance: "Importance") -> Iterator[Row]:
    for place, weight in enumerate(importance.features[:SWARM]):
        given, value = importance.contributions[:, place], importance.values[:, place]
        quantiles = map(signed, np.quantile(given, (0.01, 0.5, 0.99)))
        yield _title(weight), *quantiles, f"{np.isnan(value).mean():.0%}"


def _title(weight: "Weight") -> Cell:
    return Cell(text=feature_title(weight), key=weight.name)


def _dependence(importance: "Importance") -> Drawing:
    weights = importance.features[:DEPENDENCE]

    def draw(*axes: "Axes") -> None:
        for ax, weight in zip(axes, weights, strict=False):
            draw_dependence(ax, importance, weight.name)
        for ax in axes[len(weights) :]:
            ax.set_visible(False)

    rows = -(-len(weights) // 2)
    heads = {
        "feature": "Feature",
        "first": "Lowest fifth of values",
        "second": "2nd",
        "third": "3rd",
        "fourth": "4th",
        "fifth": "Highest fifth",
        "missing": "Missing",
    }
    return Drawing(
        name="dependence",
        title=f"Contribution by value: the {len(weights)} heaviest features",
        draw=draw,
        alt=f"Scatter plots of the contribution against the value of {_names(weights)}. The table gives means.",
        caption="Each dot is a record with a known value; vertical: contribution in log-odds.",
        grid=Grid.of(
            "dependence",
            "Mean contribution by value, in log-odds; of categories, the most frequent first",
            heads,
            _fifths(importance),
        ),
        height=rows * 1.9 + 0.2,
        rows=rows,
        columns=2,
    )


def _fifths(importance: "Importance") -> Iterator[Row]:
    """Yield the mean contribution in fifths of the values of each feature, or of its five most frequent categories."""
    for place, weight in enumerate(importance.features[:DEPENDENCE]):
        given, value = importance.contributions[:, place], importance.values[:, place]
        known = np.isfinite(value)
        if weight.categories:
            codes = frequent_codes(value, _PARTS)
            means = [f"{_mean(given[value == code])} ({category_name(weight, code)})" for code in codes]
            rest = [ABSENT] * (_PARTS - len(codes))
            yield _title(weight), *means, *rest, _mean(given[~known])
            continue
        fifths = np.array_split(given[known][np.argsort(value[known], kind="stable")], _PARTS)
        yield _title(weight), *(_mean(part) for part in (*fifths, given[~known]))


def _mean(contributions: np.ndarray) -> str:
    return signed(float(contributions.mean())) if len(contributions) else ABSENT


def _recall_lost(importance: "Importance") -> Grid:
    """List by family what the recall of a model without it lacks."""
    rows = [
        (
            weight.name,
            ABSENT if lost.value is None else points(lost.value),
            ends_text(lost, points),
            f"{lost.records:,}",
            ABSENT if lost.independent is None else f"{lost.independent:,}",
        )
        for weight in importance.families
        if (lost := importance.recall_lost.get(weight.name)) is not None
    ]
    caption = (
        "Recall at 1% false positives that is lost without the family, in percentage points: models fitted again "
        "by the training, compared on the same days and rings"
    )
    heads = {
        "family": "Family",
        "lost": "Lost",
        "ends": "95% interval",
        "frauds": "Frauds",
        "independent": "Independent",
    }
    return Grid.of("recall-lost", caption, heads, rows)
