"""All attacks, before anything is searched or fitted."""

from scoring_model.configuration import AttackSettings
from scoring_model.training.attacks.findings import AttackReport
from scoring_model.training.attacks.future import take_the_future_away
from scoring_model.training.attacks.persons import find_shared_persons
from scoring_model.training.attacks.shuffling import shuffle_labels
from scoring_model.training.attacks.single import judge_features
from scoring_model.training.preparation import Prepared


def attack(prepared: Prepared, settings: AttackSettings, *, seed: int) -> AttackReport:
    """Attack a training.

    Columns that users supply hold what they hold: whether a value was there before the decision can't be seen
    from the records. They are looked at one by one, for none may be near perfect, and no more than that.

    Parameters
    ----------
    prepared : Prepared
        The records as the model would see them.
    settings : AttackSettings
    seed : int

    Returns
    -------
    AttackReport
        Without findings when the settings turn the attacks off. The caller decides when to `refuse`.
    """
    if not settings.run:
        return AttackReport()
    return AttackReport(
        findings=(
            shuffle_labels(prepared, settings, seed=seed),
            judge_features(prepared, settings, seed=seed),
            take_the_future_away(prepared, settings),
            find_shared_persons(prepared),
        ),
        tolerated=settings.tolerate,
    )
