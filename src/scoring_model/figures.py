"""Figures: what an evaluation measures, by the names that files, gates and pages use.

One registry: titles, which direction is better, and what a figure rests on are stated nowhere else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

ErrorName = Literal["false_reject", "step_up", "missed_fraud"]
"""Errors that a policy may bound: promise `max_false_reject` bounds `false_reject`."""

GroupRateName = Literal["passed", "stepped_up", "failed", "false_reject", "step_up", "missed_fraud"]
"""Rates that are compared between groups of applicants."""

FPR_LIMITS: Final = (0.001, 0.005, 0.01, 0.05)
"""False positive rates at which recall and precision are reported."""

CAPACITIES: Final = (10, 50, 100, 500)
"""Daily review capacities at which recall is reported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One figure of an evaluation.

    Parameters
    ----------
    key : str
        Its name in files, such as ``recall_at_fpr_0.01``.
    title : str
        Its name for people.
    sentence : str
        What it says, as a plain sentence.
    unit : {'share', 'number'}
        A share of records in [0, 1], or a plain number.
    better : {'more', 'less'} or None
        None for figures that are neither, such as the share stepped up.
    rests_on : {'genuine', 'frauds', 'records'}
        The records that it is measured on; for figures of the ranking, the scarce ones.
    parameter : float or None
        The false positive rate or the daily capacity that the key names.
    of_ranking : bool
        Whether it says how well the score ranks frauds above genuine records. These may decide repeated looks.
    """

    key: str
    title: str
    sentence: str
    unit: Literal["share", "number"] = "share"
    better: Literal["more", "less"] | None = None
    rests_on: Literal["genuine", "frauds", "records"] = "records"
    parameter: float | None = None
    of_ranking: bool = False


def _ranking() -> Iterator[Figure]:
    for key, title, sentence in (
        ("roc_auc", "ROC AUC", "The chance that a fraud scores above a genuine record."),
        ("average_precision", "Average precision", "Precision, averaged over all recalls."),
        ("ks", "Kolmogorov-Smirnov distance", "The largest gap between the two distributions of the score."),
    ):
        yield Figure(
            key=key,
            title=title,
            sentence=sentence,
            unit="number",
            better="more",
            rests_on="frauds",
            of_ranking=True,
        )
    for measure, share in (("recall", "frauds that are found"), ("precision", "frauds among those found")):
        for limit in FPR_LIMITS:
            yield Figure(
                key=f"{measure}_at_fpr_{limit:g}",
                title=f"{measure.capitalize()} at {100 * limit:g}% false positives",
                sentence=f"The share of {share} where {100 * limit:g}% of genuine records are found too.",
                better="more",
                rests_on="frauds",
                parameter=limit,
                of_ranking=True,
            )
    for capacity in CAPACITIES:
        yield Figure(
            key=f"recall_at_capacity_{capacity}",
            title=f"Recall of {capacity:,} reviews a day",
            sentence=f"The share of frauds that are among the {capacity:,} riskiest records of their day.",
            better="more",
            rests_on="frauds",
            parameter=capacity,
            of_ranking=True,
        )


def _probability() -> Iterator[Figure]:
    for key, title, sentence in (
        ("brier", "Brier score", "The mean squared error of the probability."),
        ("log_loss", "Log loss", "The mean negative logarithm of the probability of what was true."),
        ("cost", "Expected cost of an applicant", "By the costs of the policy, in their unit."),
    ):
        yield Figure(key=key, title=title, sentence=sentence, unit="number", better="less")


def _rates() -> Iterator[Figure]:
    for key, title, frauds, genuine, verb in (
        ("passed", "Passed", "Frauds that pass", "Genuine who pass", "pass"),
        ("stepped_up", "Stepped up", "Frauds stepped up", "Genuine stepped up", "are stepped up"),
        ("failed", "Failed", "Frauds that fail", "Genuine who fail", "fail"),
    ):
        yield Figure(key=key, title=title, sentence=f"The share of all records that {verb}.")
        yield Figure(
            key=f"{key}_frauds",
            title=f"{frauds}, of all records",
            sentence=f"Frauds that {verb}, as a share of all records.",
            better="less" if key == "passed" else None,
        )
        yield Figure(
            key=f"genuine_{key}",
            title=genuine,
            sentence=f"The share of genuine records that {verb}.",
            better="more" if key == "passed" else None,
            rests_on="genuine",
        )
        yield Figure(
            key=f"fraud_{key}",
            title=frauds,
            sentence=f"The share of frauds that {verb}.",
            rests_on="frauds",
        )
    yield Figure(
        key="fraud_share", title="Share of frauds", sentence="The share of all records that are frauds."
    )


def _errors() -> Iterator[Figure]:
    yield Figure(
        key="false_reject",
        title="Genuine who fail",
        sentence="The share of genuine records that fail.",
        better="less",
        rests_on="genuine",
    )
    yield Figure(
        key="step_up",
        title="Genuine stepped up or failed",
        sentence="The share of genuine records that are stepped up or fail.",
        better="less",
        rests_on="genuine",
    )
    yield Figure(
        key="missed_fraud",
        title="Frauds that pass",
        sentence="The share of frauds that pass.",
        better="less",
        rests_on="frauds",
    )


FIGURES: Final[Mapping[str, Figure]] = MappingProxyType(
    {figure.key: figure for family in (_ranking(), _probability(), _rates(), _errors()) for figure in family}
)
"""Every figure by its key."""

ERRORS: Final[tuple[ErrorName, ...]] = get_args(ErrorName)

GROUP_RATES: Final[tuple[GroupRateName, ...]] = get_args(GroupRateName)

RANKING: Final = tuple(key for key, figure in FIGURES.items() if figure.of_ranking)
"""Figures of the ranking: they rest on frauds, and more is better, so they may decide repeated looks."""


def bounded(bound: str) -> Figure:
    """Return the error that a promise bounds, such as ``max_false_reject``."""
    return FIGURES[bound.removeprefix("max_")]
