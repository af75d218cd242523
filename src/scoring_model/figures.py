"""Figures: what an evaluation measures, by the names that files, gates and pages use.

One registry: titles, which direction is better, and what a figure rests on are stated nowhere else.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, Literal, get_args

ErrorName = Literal["false_reject", "step_up", "missed_fraud"]
"""Errors that a policy may bound: promise `max_false_reject` bounds `false_reject`."""

FPR_LIMITS: Final = (0.001, 0.005, 0.01, 0.05)
"""False positive rates at which recall and precision are reported."""

CAPACITIES: Final = (10, 50, 100, 500)
"""Daily review capacities at which recall is reported."""

Role = Literal["gate", "look", "group", "headline"]
"""What a figure may do.

`gate`: a gate may limit it. `look`: it may decide repeated looks at a challenger. `group`: it is compared between
groups of applicants. `headline`: the card of a bundle and the metrics of a run have it with its interval.
"""


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
    bound : str or None
        The promise of a policy that bounds it, such as ``max_step_up``.
    roles : tuple of Role
    logged_as : str
        Beginning of its names in logs of metrics, where that is not the key.
    span : float
        Its greatest possible value minus its least; infinite where it has no limit.
    needs_labels : bool
        Whether it is about those alone whose class is known; otherwise it is about all applicants.
    """

    key: str
    title: str
    sentence: str
    unit: Literal["share", "number"] = "share"
    better: Literal["more", "less"] | None = None
    rests_on: Literal["genuine", "frauds", "records"] = "records"
    parameter: float | None = None
    bound: str | None = None
    roles: tuple[Role, ...] = ("gate",)
    logged_as: str = ""
    span: float = 1.0
    needs_labels: bool = True

    @property
    def metric(self) -> str:
        """Its name in logs of metrics."""
        return self.logged_as or self.key

    @property
    def reading(self) -> str:
        """What to read it as: its unit, the records that it rests on, which direction is better."""
        basis = {"genuine": "genuine records", "frauds": "frauds", "records": "all records"}[self.rests_on]
        direction = f"{self.better} is better" if self.better else "no direction is judged"
        return f"A {self.unit} that rests on {basis if self.needs_labels else 'all applicants'}; {direction}."

    @property
    def of_ranking(self) -> bool:
        """Whether it says how well the score ranks frauds above genuine records."""
        return "look" in self.roles

    @property
    def label(self) -> int:
        """The class that it rests on, if it is one: 0 genuine, 1 fraud."""
        return int(self.rests_on == "frauds")


_RANKING: Final[tuple[Role, ...]] = ("gate", "look")
_GROUPED: Final[tuple[Role, ...]] = ("gate", "group")


def _ranking() -> Iterator[Figure]:
    scarce = partial(Figure, better="more", rests_on="frauds")
    for key, title, sentence in (
        ("roc_auc", "ROC AUC", "The chance that a fraud scores above a genuine record."),
        ("average_precision", "Average precision", "Precision, averaged over all recalls."),
        ("ks", "Kolmogorov-Smirnov distance", "The largest gap between the two distributions of the score."),
    ):
        yield scarce(
            key=key,
            title=title,
            sentence=sentence,
            unit="number",
            roles=_RANKING if key == "ks" else (*_RANKING, "headline"),
        )
    for measure, sentence in (
        ("recall", "The share of frauds that are found where at most {} of genuine records are found too."),
        (
            "precision",
            "The share of frauds among those found, by the highest score with the recall at {} false positives; fewer "
            "genuine records may be found there.",
        ),
    ):
        for limit in FPR_LIMITS:
            yield scarce(
                key=f"{measure}_at_fpr_{limit:g}",
                title=f"{measure.capitalize()} at {100 * limit:g}% false positives",
                sentence=sentence.format(f"{100 * limit:g}%"),
                parameter=limit,
                roles=(*_RANKING, "headline") if measure == "recall" else _RANKING,
            )
    for capacity in CAPACITIES:
        yield scarce(
            key=f"recall_at_capacity_{capacity}",
            title=f"Recall of {capacity:,} reviews a day",
            sentence=f"The share of frauds that are among the {capacity:,} riskiest records of their day.",
            parameter=capacity,
            roles=_RANKING,
        )


def _probability() -> Iterator[Figure]:
    for key, title, sentence in (
        ("brier", "Brier score", "The mean squared error of the probability."),
        ("log_loss", "Log loss", "The mean negative logarithm of the probability of what was true."),
        (
            "cost",
            "Expected cost of an applicant",
            "What decisions and missed frauds cost for each record, by the costs of the policy and in their unit.",
        ),
    ):
        yield Figure(
            key=key,
            title=title,
            sentence=sentence,
            unit="number",
            better="less",
            roles=("gate",) if key == "cost" else ("gate", "headline"),
            span=1.0 if key == "brier" else math.inf,
        )


def _rates() -> Iterator[Figure]:
    for key, title, frauds, genuine, verb in (
        ("passed", "Passed", "Frauds that pass", "Genuine who pass", "pass"),
        ("stepped_up", "Stepped up", "Frauds stepped up", "Genuine stepped up", "are stepped up"),
        ("failed", "Failed", "Frauds that fail", "Genuine who fail", "fail"),
    ):
        yield Figure(key=key, title=title, sentence=f"The share of all records that {verb}.", roles=_GROUPED)
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
            better={"passed": "more", "stepped_up": None, "failed": "less"}[key],
            rests_on="genuine",
            logged_as=f"genuine_outcomes_{key.upper()}",
        )
        yield Figure(
            key=f"fraud_{key}",
            title=frauds,
            sentence=f"The share of frauds that {verb}.",
            better="less" if key == "passed" else None,
            rests_on="frauds",
            logged_as=f"fraud_outcomes_{key.upper()}",
        )
    yield Figure(
        key="fraud_share", title="Share of frauds", sentence="The share of all records that are frauds."
    )


def _applicants() -> Iterator[Figure]:
    for key, title, verb in (
        ("passed", "Applicants who pass", "pass"),
        ("stepped_up", "Applicants stepped up", "are stepped up"),
        ("failed", "Applicants who fail", "fail"),
    ):
        yield Figure(
            key=f"applicants_{key}",
            title=title,
            sentence=f"The share of all applicants that {verb}, those too of whom it is not known what they were.",
            needs_labels=False,
        )


def _errors() -> Iterator[Figure]:
    yield Figure(
        key="false_reject",
        title="Genuine who fail",
        sentence="The share of genuine records that fail.",
        better="less",
        rests_on="genuine",
        bound="max_false_reject",
        roles=_GROUPED,
    )
    yield Figure(
        key="step_up",
        title="Genuine stepped up or failed",
        sentence="The share of genuine records that are stepped up or fail.",
        better="less",
        rests_on="genuine",
        bound="max_step_up",
        roles=_GROUPED,
    )
    yield Figure(
        key="missed_fraud",
        title="Frauds that pass",
        sentence="The share of frauds that pass.",
        better="less",
        rests_on="frauds",
        bound="max_missed_fraud",
        roles=_GROUPED,
    )


def _flips() -> Iterator[Figure]:
    for key, title, sentence in (
        (
            "all",
            "Applicants with another outcome",
            "The share of all records whose outcome differs between the two bundles.",
        ),
        (
            "genuine_stricter",
            "Genuine with a stricter outcome",
            "The share of genuine records that the other bundle treats more strictly.",
        ),
        (
            "genuine_milder",
            "Genuine with a milder outcome",
            "The share of genuine records that the other bundle treats more mildly.",
        ),
        (
            "fraud_stricter",
            "Frauds with a stricter outcome",
            "The share of frauds that the other bundle treats more strictly.",
        ),
        (
            "fraud_milder",
            "Frauds with a milder outcome",
            "The share of frauds that the other bundle treats more mildly.",
        ),
    ):
        rests_on: Literal["genuine", "frauds", "records"] = "records"
        if key != "all":
            rests_on = "genuine" if key.startswith("genuine") else "frauds"
        yield Figure(
            key=key, title=title, sentence=sentence, rests_on=rests_on, needs_labels=rests_on != "records"
        )


_FAMILIES: Final = (_ranking(), _probability(), _rates(), _applicants(), _errors())

FIGURES: Final[Mapping[str, Figure]] = MappingProxyType(
    {figure.key: figure for family in _FAMILIES for figure in family}
)
"""Every figure of one set of decisions, by its key."""

FLIPS: Final[Mapping[str, Figure]] = MappingProxyType({figure.key: figure for figure in _flips()})
"""Shares of the records that a challenger decides otherwise, by key."""

SCORE_SHARES: Final[Mapping[int, Figure]] = MappingProxyType(
    {
        score: Figure(
            key=f"score_{score}",
            title=f"Genuine at {score} or more",
            sentence=f"The share of genuine records with a score of {score} or more.",
            rests_on="genuine",
            parameter=score,
            roles=(),
        )
        for score in range(100, 1001, 100)
    }
)
"""What the score promises of genuine records, by score."""

CALIBRATION_ERROR: Final = Figure(
    key="calibration_error",
    title="Expected calibration error",
    sentence="The mean distance of predicted and observed shares of frauds, over ten bins of probability.",
    unit="number",
    better="less",
    roles=(),
)

CONTROL_COST: Final = Figure(
    key="control_cost",
    title="Cost of the control group",
    sentence="What its frauds are expected to cost, in the unit of the costs.",
    unit="number",
    better="less",
    roles=(),
)

MEASURED: Final[Mapping[str, Figure]] = MappingProxyType(
    {
        **FIGURES,
        **FLIPS,
        **{figure.key: figure for figure in (*SCORE_SHARES.values(), CALIBRATION_ERROR, CONTROL_COST)},
    }
)
"""Every figure that anything measures, by its key."""

ERRORS: Final[tuple[ErrorName, ...]] = get_args(ErrorName)

APPLICANT_SHARES: Final = tuple(key for key, figure in FIGURES.items() if not figure.needs_labels)
"""Shares of all applicants by outcome, in the order of `OUTCOMES`: they need no label."""

GROUP_RATES: Final = tuple(key for key, figure in FIGURES.items() if "group" in figure.roles)
"""Rates that are compared between groups of applicants."""

HEADLINES: Final = tuple(key for key, figure in FIGURES.items() if "headline" in figure.roles)

FLIP_RATES: Final[Mapping[str, str]] = MappingProxyType({key: figure.title for key, figure in FLIPS.items()})
"""Titles of the shares of records that a challenger decides otherwise."""

RANKING: Final = tuple(key for key, figure in FIGURES.items() if figure.of_ranking)
"""Figures of the ranking: they rest on frauds, and more is better, so they may decide repeated looks."""


_BOUNDED: Final = {figure.bound: figure for figure in FIGURES.values() if figure.bound is not None}


def bounded(bound: str) -> Figure:
    """Return the error that a promise bounds, such as ``max_false_reject``."""
    return _BOUNDED[bound]
