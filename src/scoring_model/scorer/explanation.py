"""Everything that was weighed about one record: for a person to read, never for an applicant."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scoring_model.arrays import FloatArray
from scoring_model.features import Feature
from scoring_model.scorer.decider import Decision, Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighed:
    """One feature of one record.

    Parameters
    ----------
    name : str
        In the catalogue of features.
    value : float or None
        In its unit, as the model sees it; None where it is unknown.
    unit : str
        Such as ``records``, ``share`` or ``seconds``; ``code`` for categories.
    inputs : mapping of str to object
        The record's own values that it is made of, by field name; those that are missing are left out.
    sentence : str
        The meaning of the number.
    contribution : float
        What it adds to the margin, in log-odds (exact TreeSHAP values, doi:10.1038/s42256-019-0138-9); positive
        where it makes the record riskier.
    reason : str
        Code of its reason.
    """

    name: str
    value: float | None = field(repr=False)
    unit: str
    inputs: dict[str, object] = field(repr=False)
    sentence: str
    contribution: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """A decision with everything that led to it.

    Parameters
    ----------
    base : float
        Margin of the mean training record. It and all contributions sum to the margin, but for rounding.
    features : tuple of Weighed
        All that the model sees, those that move the margin most first, equal ones by name.
    reasons : tuple of Reason
        What pushed the margin up, strongest first, for every outcome: a client sees only those of
        STEPPED_UP and FAILED.
    """

    decision: Decision
    base: float
    features: tuple[Weighed, ...]
    reasons: tuple[Reason, ...]


def weigh(
    features: Sequence[Feature], values: Mapping[str, object], row: FloatArray, contributions: FloatArray
) -> Iterator[Weighed]:
    """Put what is known of each feature of one record together.

    Parameters
    ----------
    values : mapping of str to object
        Canonical values of the record by field name.
    row, contributions : ndarray of shape (d,), float64

    Yields
    ------
    Weighed
        Those that move the margin most first, equal ones by name.
    """
    found = zip(features, row.tolist(), contributions.tolist(), strict=True)
    for feature, value, contribution in sorted(found, key=lambda one: (-abs(one[2]), one[0].name)):
        yield Weighed(
            name=feature.name,
            value=None if math.isnan(value) else value,
            unit=feature.unit,
            inputs={name: values[name] for name in feature.inputs if values.get(name) is not None},
            sentence=feature.sentence,
            contribution=contribution,
            reason=feature.reason,
        )
