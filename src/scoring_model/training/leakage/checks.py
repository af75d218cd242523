"""All attacks, before anything is searched or fitted."""

from scoring_model.configuration import LeakageSettings
from scoring_model.training.leakage.findings import LeakageReport
from scoring_model.training.leakage.future_leakage import check_future_leakage
from scoring_model.training.leakage.label_permutation import check_label_permutation
from scoring_model.training.leakage.shared_persons import check_shared_persons
from scoring_model.training.leakage.single_feature import check_single_features
from scoring_model.training.preparation import Prepared


def run_leakage_checks(prepared: Prepared, settings: LeakageSettings, *, seed: int) -> LeakageReport:
    """Attack a training.

    Columns that users supply hold what they hold: whether a value was there before the decision can't be seen
    from the records. They are looked at one by one, for none may be near perfect, and no more than that.

    Parameters
    ----------
    prepared : Prepared
        The records as the model would see them.
    settings : LeakageSettings
    seed : int

    Returns
    -------
    LeakageReport
        Without findings when the settings turn the attacks off. The caller decides when to `refuse`.
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
