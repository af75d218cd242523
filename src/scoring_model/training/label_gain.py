"""What label statistics gain over the folds of a search: a training leaves them out where they gain nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.configuration import Configuration, TuningSettings
from scoring_model.features import FeatureMatrix
from scoring_model.parallel.progress import Report
from scoring_model.training.fitting import FeatureOptions
from scoring_model.training.folds import Lead, LearntColumns
from scoring_model.training.preparation import Prepared, feature_options, statistic_names, without_features
from scoring_model.training.space import starting_params
from scoring_model.training.trial_workers import SearchContext


def leave_out_gainless(
    prepared: Prepared, configuration: Configuration, *, threads: int, report: Report
) -> Prepared:
    """Leave label statistics out where they gain nothing."""
    train, split = prepared.split.train, prepared.split
    found = find_gainless(
        prepared.matrix,
        prepared.rows[train],
        split.train_targets,
        prepared.table.event_times[train],
        learnt=prepared.learnt,
        configuration=configuration,
        threads=threads,
        report=report,
    )
    if not found:
        return prepared
    kept = [place for place, name in enumerate(prepared.matrix.names) if name not in found]
    matrix = without_features(prepared.matrix, found)
    return replace(
        prepared,
        matrix=matrix,
        rows=prepared.rows[:, kept],
        useless={**prepared.useless, **found},
        learnt=prepared.learnt if statistic_names(matrix) else None,
    )


def find_gainless(
    matrix: FeatureMatrix,
    rows: FloatArray,
    targets: Int8Array,
    event_times: IntArray,
    *,
    learnt: LearntColumns | None,
    configuration: Configuration,
    threads: int,
    report: Report,
) -> dict[str, str]:
    """Return the label statistics that a training leaves out, each with the reason: all but those to keep, or none.

    Parameters
    ----------
    rows, targets, event_times
        Of the train part.
    """
    training = configuration.training
    names = [name for name in statistic_names(matrix) if name not in configuration.features.keep]
    if not names:
        return {}
    if learnt is None:
        return dict.fromkeys(names, "no fold shows a gain, since none can be cut")
    lead = measure_label_gain(
        rows,
        targets,
        event_times,
        statistics=names,
        learnt=learnt,
        settings=training.tuning,
        seed=training.seed,
        threads=threads,
        **feature_options(matrix),
    )
    gain = f"average precision {lead.mean:+.4f} over the folds, standard error {lead.error:.4f}"
    report(f"label statistics: {gain}: {'kept' if lead.is_sure else 'left out'}")
    return {} if lead.is_sure else dict.fromkeys(names, f"no clear gain: {gain}")


def measure_label_gain(
    rows: FloatArray,
    targets: Int8Array,
    event_times: IntArray,
    *,
    statistics: Sequence[str],
    learnt: LearntColumns,
    settings: TuningSettings,
    seed: int,
    threads: int,
    **features: Unpack[FeatureOptions],
) -> Lead:
    """Compare the first starting point of the search with and without label statistics.

    It depends on neither the search nor its result, so that given parameters make the same model as found ones.

    Parameters
    ----------
    rows, targets, event_times, features
        As for `tuning.tune`.
    statistics : sequence of str
        The columns of label statistics.
    """
    names = features["feature_names"]
    values = []
    for left_out in ((), statistics):
        kept = [place for place, name in enumerate(names) if name not in left_out]
        options: FeatureOptions = {
            "feature_names": tuple(names[place] for place in kept),
            "categorical": tuple(i for i, place in enumerate(kept) if place in features["categorical"]),
            "monotone": tuple(features["monotone"][place] for place in kept),
        }
        context = SearchContext(
            features=options, settings=settings, seed=seed, threads=threads, learnt=learnt
        )
        folds = context.folds(rows[:, kept], targets, event_times)
        *_, last = context.run_trial(folds, starting_params(0))
        values.append(last.values)
    return Lead.of(*values)
