"""Names of figures for people, and how their values are written."""

from collections.abc import Callable
from typing import Final

from scoring_model.evaluation.report.scales import percent, signed

TITLES: Final = {
    "false_reject": "Genuine who fail",
    "step_up": "Genuine stepped up or failed",
    "missed_fraud": "Frauds that pass",
    "passed": "Passed",
    "stepped_up": "Stepped up",
    "failed": "Failed",
}
"""Of the rates of groups and errors."""

_DECIMALS: Final = {
    "roc_auc": "Area under the ROC curve",
    "average_precision": "Average precision",
    "ks": "Kolmogorov-Smirnov distance",
    "brier": "Brier score",
    "log_loss": "Log loss",
    "cost": "Expected cost of an applicant",
}
_SHARES: Final = {
    **TITLES,
    "passed_frauds": "Frauds that pass, of all records",
    "stepped_up_frauds": "Frauds stepped up, of all records",
    "failed_frauds": "Frauds that fail, of all records",
    "genuine_passed": "Genuine who pass",
    "genuine_stepped_up": "Genuine stepped up",
    "genuine_failed": "Genuine who fail",
    "fraud_passed": "Frauds that pass",
    "fraud_stepped_up": "Frauds stepped up",
    "fraud_failed": "Frauds that fail",
    "fraud_share": "Share of frauds",
}

_LESS_IS_BETTER: Final = frozenset(
    {"brier", "log_loss", "cost", "false_reject", "step_up", "missed_fraud", "passed_frauds"}
)


def figure_title(name: str) -> str:
    """Return the title of a figure of an evaluation.

    Examples
    --------
    >>> figure_title("recall_at_fpr_0.005"), figure_title("recall_at_capacity_1000")
    ('Recall at 0.5% false positives', 'Recall of 1,000 reviews a day')
    """
    kind, _, rate = name.partition("_at_fpr_")
    if rate:
        return f"{kind.capitalize()} at {percent(float(rate), digits=1)} false positives"
    if name.startswith("recall_at_capacity_"):
        return f"Recall of {int(name.rpartition('_')[2]):,} reviews a day"
    return {**_DECIMALS, **_SHARES}[name]


def is_ranking(name: str) -> bool:
    """Whether a figure says how well the score ranks frauds above genuine records."""
    return name in ("roc_auc", "average_precision", "ks") or "_at_" in name


def more_is_better(name: str) -> bool | None:
    """Whether more of a figure is better; None for figures that are neither, such as the share stepped up."""
    if is_ranking(name) or name == "genuine_passed":
        return True
    return False if name in _LESS_IS_BETTER else None


def is_decimal(name: str) -> bool:
    """Whether a figure is no share of records, so that it is written as a number."""
    return name in _DECIMALS


def value_writer(name: str) -> Callable[[float | None], str]:
    """Return what writes values of a figure."""
    return _decimal if is_decimal(name) else percent


def change_writer(name: str) -> Callable[[float], str]:
    """Return what writes differences of a figure: those of shares in percentage points."""
    return _signed_decimal if is_decimal(name) else _points


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _signed_decimal(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def _points(value: float) -> str:
    return signed(100 * value)
