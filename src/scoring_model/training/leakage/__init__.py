"""Leakage checks: detect features with information that is unknown at the time of the decision.

Decision record: docs/adr/0014-leakage-and-digests.md.
"""

from scoring_model.configuration import LeakageSettings
from scoring_model.findings import Finding, not_applicable
from scoring_model.training.leakage.future_leakage import check_future_leakage
from scoring_model.training.leakage.label_permutation import check_label_permutation
from scoring_model.training.leakage.refusal import (
    LEAKAGE_CHECKS,
    LeakageError,
    TrainingStopped,
    refuse_leaks,
    tolerate,
)
from scoring_model.training.leakage.shared_persons import check_shared_persons
from scoring_model.training.leakage.single_feature import check_single_features
from scoring_model.training.preparation import Prepared

__all__ = ["LeakageError", "TrainingStopped", "refuse_leaks", "run_leakage_checks"]


def run_leakage_checks(prepared: Prepared, settings: LeakageSettings, *, seed: int) -> tuple[Finding, ...]:
    """Run all leakage checks of a training, before its search.

    Records do not show whether the value of a user-supplied column existed before the decision. Such columns are
    checked one by one: none may be nearly perfect.

    Returns
    -------
    tuple of Finding
        One for each check; not applicable if the checks are off. The caller decides when to `refuse_leaks`.
    """
    if not settings.run:
        reason = "the configuration turned the leakage checks off (training.leakage_checks.run)"
        return tuple(not_applicable(code, reason) for code in LEAKAGE_CHECKS)
    found = (
        check_label_permutation(prepared, settings, seed=seed),
        check_single_features(prepared, settings, seed=seed),
        check_future_leakage(prepared, settings),
        check_shared_persons(prepared),
    )
    return tolerate(found, settings.tolerate)
