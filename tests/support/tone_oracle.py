"""What is better, what is worse and what nobody can know: said by hand here, for tests of pages and drawings.

Nothing in this file reads the registry of figures, or a page's table of words.
"""

import re
from typing import Final

from scoring_model.evaluation.report.style import LIGHT

HIGHER, LOWER, NEITHER = "higher is better", "lower is better", "neither"
FIGURES: Final = {
    "roc_auc": (HIGHER, "ROC AUC"),
    "average_precision": (HIGHER, "Average precision"),
    "ks": (HIGHER, "Kolmogorov-Smirnov distance"),
    "recall_at_fpr_0.001": (HIGHER, "Recall at 0.1% false positives"),
    "recall_at_fpr_0.005": (HIGHER, "Recall at 0.5% false positives"),
    "recall_at_fpr_0.01": (HIGHER, "Recall at 1% false positives"),
    "recall_at_fpr_0.05": (HIGHER, "Recall at 5% false positives"),
    "precision_at_fpr_0.001": (HIGHER, "Precision at 0.1% false positives"),
    "precision_at_fpr_0.005": (HIGHER, "Precision at 0.5% false positives"),
    "precision_at_fpr_0.01": (HIGHER, "Precision at 1% false positives"),
    "precision_at_fpr_0.05": (HIGHER, "Precision at 5% false positives"),
    "brier": (LOWER, "Brier score"),
    "log_loss": (LOWER, "Log loss"),
    "passed": (NEITHER, "Passed"),
    "stepped_up": (NEITHER, "Stepped up"),
    "failed": (NEITHER, "Failed"),
    "passed_frauds": (LOWER, "Frauds that pass, of all records"),
    "stepped_up_frauds": (NEITHER, "Frauds stepped up, of all records"),
    "failed_frauds": (NEITHER, "Frauds that fail, of all records"),
    "genuine_passed": (HIGHER, "Genuine who pass"),
    "genuine_stepped_up": (NEITHER, "Genuine stepped up"),
    "fraud_stepped_up": (NEITHER, "Frauds stepped up"),
    "fraud_failed": (NEITHER, "Frauds that fail"),
    "false_reject": (LOWER, "Genuine who fail"),
    "step_up": (LOWER, "Genuine stepped up or failed"),
    "missed_fraud": (LOWER, "Frauds that pass"),
    "cost": (LOWER, "Expected cost of an applicant"),
    "recall_at_capacity_10": (HIGHER, "Recall of 10 reviews a day"),
    "recall_at_capacity_50": (HIGHER, "Recall of 50 reviews a day"),
    "recall_at_capacity_100": (HIGHER, "Recall of 100 reviews a day"),
    "recall_at_capacity_500": (HIGHER, "Recall of 500 reviews a day"),
}
"""Every figure with its direction and its title. To fail a fraud is no better than a step-up that it leaves."""
HIDDEN: Final = {
    "genuine_failed": (LOWER, "Genuine who fail"),
    "fraud_passed": (LOWER, "Frauds that pass"),
    "fraud_share": (NEITHER, "Share of frauds"),
    "applicants_passed": (NEITHER, "Applicants who pass"),
    "applicants_stepped_up": (NEITHER, "Applicants stepped up"),
    "applicants_failed": (NEITHER, "Applicants who fail"),
}
"""What no list of figures shows.

Second names of `false_reject` and `missed_fraud`, what no model changes, and shares of all applicants, which have a
table of their own.
"""
PLAIN: Final = {"roc_auc", "average_precision", "ks", "brier", "log_loss", "cost"}
"""Written as numbers; all others are shares, whose differences are percentage points."""
TITLES: Final = {title: name for name, (_, title) in FIGURES.items()}
ERRORS: Final = ("false_reject", "step_up", "missed_fraud")
GREEN, ORANGE, GREY, BLUE = (LIGHT[name] for name in ("accent", "fraud", "muted", "genuine"))
COLOUR: Final = {"better": GREEN, "worse": ORANGE, "": GREY}


def tone(name: str, low: float | None, high: float | None) -> str:
    """What the interval of a difference says: better, worse, or nothing."""
    if low is None or high is None or FIGURES[name][0] == NEITHER:
        return ""
    if low > 0:
        return "better" if FIGURES[name][0] == HIGHER else "worse"
    if high < 0:
        return "better" if FIGURES[name][0] == LOWER else "worse"
    return ""


def numbers(text: str) -> list[tuple[float, float]]:
    """The numbers in a text as people read them, each with half a unit of its last digit; a percentage as a share."""
    found = []
    for sign, digits, percent in re.findall(r"([+−-]?)(\d[\d,]*(?:\.\d+)?)(%?)", text):
        plain = digits.replace(",", "")
        scale = 100 if percent else 1
        half = 0.5 * 10 ** -len(plain.partition(".")[2])
        found.append((float(plain) / scale * (-1 if sign in ("−", "-") else 1), half / scale))
    return found


def ends_in(text: str) -> list[float | None]:
    """The last two numbers in a text, the ends of an interval; unknown ones without two."""
    found: list[float | None] = [value for value, _ in numbers(text)]
    return found[-2:] if len(found) > 1 else [None, None]


def says(cell: str, *values: float | None, scale: float = 1.0) -> bool:
    """Whether a cell says these numbers in units of `scale`, as far as it is written; a dash says none."""
    written = numbers(cell)
    known = [value for value in values if value is not None]
    return len(written) == len(known) and all(
        abs(number * scale - value) <= half * scale * 1.001
        for (number, half), value in zip(written, known, strict=True)
    )
