"""Leakage checks: detect features with information that is unknown at the time of the decision."""

from scoring_model.configuration import LeakageSettings
from scoring_model.training.leakage.findings import CheckResult, Finding, LeakageError, LeakageReport
from scoring_model.training.leakage.future_leakage import check_future_leakage
from scoring_model.training.leakage.label_permutation import check_label_permutation
from scoring_model.training.leakage.shared_persons import check_shared_persons
from scoring_model.training.leakage.single_feature import check_single_features
from scoring_model.training.preparation import Prepared

__all__ = ["CheckResult", "Finding", "LeakageError", "LeakageReport", "run_leakage_checks"]


def run_leakage_checks(prepared: Prepared, settings: LeakageSettings, *, seed: int) -> LeakageReport:
    """Run all leakage checks of a training, before its search.

    Records do not show whether the value of a user-supplied column existed before the decision. Such columns are
    checked one by one: none may be nearly perfect.

    Returns
    -------
    LeakageReport
        Without findings if the checks are off. The caller decides when to `refuse`.
    """
    if not settings.run:
        return LeakageReport()
    return LeakageReport(
        findings=(
            check_label_permutation(prepared, settings, seed=seed),
            check_single_features(prepared, settings, seed=seed),
            check_future_leakage(prepared, settings),
            check_shared_persons(prepared),
        ),
        tolerated=settings.tolerate,
    )
