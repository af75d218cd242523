"""What the model looks at: mean absolute contributions of families and features."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation.draws import draw_blocks
from scoring_model.evaluation.uncertainty import drawn_estimate
from scoring_model.features import FeatureMatrix
from scoring_model.records.times import DAY

MAX_ROWS: Final = 20_000
"""Largest number of records that are explained."""

LINKS: Final = "links"
"""Family of the features that are computed from history."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weight:
    """Mean absolute contribution of a family or feature to the margin.

    Parameters
    ----------
    family : str
        Equal to `name` for a family.
    sentence, unit : str
        Meaning and unit of a feature; empty for a family.
    categorical : bool
        Whether the values are codes without order.
    categories : tuple of str
        What the codes 0, 1, ... stand for; a higher code is a category that the training lacks. Empty for numbers.
    features : int
        Number of features: 1 for a feature.
    weight : Estimate
        In log-odds, at least 0. The contribution of a family to a record is the sum of those of its features.
    """

    name: str
    family: str
    sentence: str
    unit: str
    categorical: bool
    features: int
    weight: Estimate
    categories: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give the weight as a JSON document."""
        return {"name": self.name, "family": self.family, **self.weight.to_json()}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Importance:
    """What the model looks at, measured by exact Shapley values (doi:10.1038/s42256-019-0138-9) on n records.

    Parameters
    ----------
    families, features : tuple of Weight
        Heaviest first, ties by name.
    records : int
        Records from which the explained ones were drawn, without replacement.
    values, contributions : ndarray of shape (n, d), float64
        Inputs of the model and what each adds to the margin, columns in the order of `features`.
    recall_lost : mapping of str to Estimate
        By family: how much lower the recall at 1 % false positives is without it. Only a training measures it.
    """

    families: tuple[Weight, ...]
    features: tuple[Weight, ...]
    records: int
    values: FloatArray
    contributions: FloatArray
    recall_lost: NamedEstimates = field(default_factory=dict)

    @property
    def explained(self) -> int:
        """Number of explained records."""
        return len(self.values)

    def to_json(self) -> dict[str, Any]:
        """Give the weights as a JSON document, without the values of records."""
        return {
            "records": self.records,
            "explained": self.explained,
            "families": [weight.to_json() for weight in self.families],
            "features": [weight.to_json() for weight in self.features],
            "recall_lost": {name: lost.to_json() for name, lost in self.recall_lost.items()},
        }


def family_names(matrix: FeatureMatrix) -> Mapping[str, str]:
    """Return the family of each feature in use, by the feature's name."""
    of_values = {
        feature.name: family.name
        for family in matrix.families
        for group in family.groups
        for feature in group.features
    }
    return {name: of_values.get(name, LINKS) for name in matrix.names}


def sample_rows(records: int, *, limit: int = MAX_ROWS) -> IntArray:
    """Draw at most `limit` places of records without replacement, ascending; the draw depends on the numbers alone."""
    if records <= limit:
        return np.arange(records)
    return np.sort(np.random.default_rng(0).choice(records, limit, replace=False))


def measure_importance(
    rows: FloatArray,
    *,
    explain: Callable[[FloatArray], FloatArray],
    matrix: FeatureMatrix,
    event_times: IntArray,
    records: int,
) -> Importance:
    """Measure mean absolute contributions, with intervals from whole days.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
        Inputs of the model, n >= 1.
    explain : callable
        Gives the contributions of one row, of shape (d,).
    matrix : FeatureMatrix
        The features, in the order of the columns.
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    """
    features, families = matrix.features, family_names(matrix)
    contributions = np.array([explain(row) for row in rows])
    kinds = sorted({families[feature.name] for feature in features})
    member = np.array([[families[feature.name] == kind for kind in kinds] for feature in features])
    by_family = np.abs(contributions @ member.astype(np.float64))
    by_feature = np.abs(contributions)
    estimates = _estimates(np.hstack([by_feature, by_family]), event_times)
    of_features = [
        Weight(
            name=feature.name,
            family=families[feature.name],
            sentence=feature.sentence,
            unit=feature.unit,
            categorical=feature.categorical,
            features=1,
            weight=estimate,
            categories=matrix.code_words(feature),
        )
        for feature, estimate in zip(features, estimates, strict=False)
    ]
    of_families = map(_family, kinds, member.sum(axis=0).tolist(), estimates[len(features) :])
    order = sorted(range(len(features)), key=lambda place: _heaviest(of_features[place]))
    return Importance(
        families=tuple(sorted(of_families, key=_heaviest)),
        features=tuple(of_features[place] for place in order),
        records=records,
        values=rows[:, order],
        contributions=contributions[:, order],
    )


def _family(name: str, features: int, weight: Estimate) -> Weight:
    return Weight(
        name=name, family=name, sentence="", unit="", categorical=False, features=features, weight=weight
    )


def _heaviest(weight: Weight) -> tuple[float, str]:
    return -(weight.weight.value or 0.0), weight.name


def _estimates(sizes: FloatArray, event_times: IntArray) -> list[Estimate]:
    """Return the mean of each column with its interval."""
    days, day_of = np.unique(event_times // DAY, return_inverse=True)
    sums = np.zeros((len(days), sizes.shape[1]))
    np.add.at(sums, day_of, sizes)
    weights, counts = draw_blocks(len(days)), np.bincount(day_of)
    drawn = weights @ sums / (weights @ counts)[:, np.newaxis]
    means = sums.sum(axis=0) / len(sizes)
    return [drawn_estimate(mean, drawn[:, place], len(sizes)) for place, mean in enumerate(means)]
