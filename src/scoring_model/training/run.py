"""Training from records to a bundle."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scoring_model.bundle import Bundle
from scoring_model.configuration import Configuration, Tuned, TuningSettings, load_configuration
from scoring_model.evaluation import Evaluation
from scoring_model.findings import Finding, arranged
from scoring_model.records import RecordTable, microseconds, rfc3339
from scoring_model.records.quarantine import accept
from scoring_model.records.reading import read_records
from scoring_model.training.ablation import measure_recall_lost
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.assembly import assemble
from scoring_model.training.averaging import fit_forest
from scoring_model.training.certification import refuse_hopeless
from scoring_model.training.checks import check_parameters, check_prepared
from scoring_model.training.leakage import refuse_leaks, run_leakage_checks
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.split import Split
from scoring_model.training.thinning import Thinning
from scoring_model.training.tuning import Tuning, is_cut_short, tune

if TYPE_CHECKING:
    from scoring_model.cluster import Cluster

Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Training:
    """The result of a training.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation by the bundle's scorer of the test period, or of `split.evaluated` if there is none; with the
        findings of the training.
    table : RecordTable
        The records that the rows of the split refer to.
    thinning : Thinning or None
        How they were chosen, if they are not all.
    tuning : Tuning or None
        None when the parameters were known.
    """

    bundle: Bundle
    evaluation: Evaluation
    alternatives: Alternatives
    split: Split
    table: RecordTable = field(repr=False)
    thinning: Thinning | None
    tuning: Tuning | None
    tuned: Tuned


def train(data: Any, configuration: Configuration | str | Path, *, as_of: str | date | None = None) -> Bundle:
    """Train on labelled records and return the bundle; see `run_training` for more control.

    Parameters
    ----------
    data : pandas DataFrame, Arrow-speaking frame, or path of a Parquet, CSV or JSON Lines file
    configuration : Configuration, or path of its YAML file
    as_of : str, date or datetime, optional
        Replaces `training.split.as_of`: records that happened and labels that became known at this instant or later
        are left out.

    Returns
    -------
    Bundle
        In memory; `save` seals it into a directory.

    Raises
    ------
    TooManyBadRows
        If more rows than configured break the contract.
    SplitError, FoldError, ScaleError, CalibrationError, InfeasiblePolicy
        If the records do not suffice; the message names what is missing.
    LeakageError
        If features leak future information or labels.
    """
    if not isinstance(configuration, Configuration | str | Path):
        raise TypeError(
            f"got {type(configuration).__name__} as configuration: call train(frame, load_configuration(path)), where "
            "a column of the frame has the labels"
        )
    if not isinstance(configuration, Configuration):
        configuration = load_configuration(configuration)
    if as_of is not None:
        configuration = configuration.trained_as_of(microseconds(as_of))
    reading = read_records(data, configuration.schema, labelled=True)
    accept(reading, max_share=configuration.records.max_bad_share)
    return run_training(reading.table, configuration).bundle


def run_training(
    table: RecordTable,
    configuration: Configuration,
    *,
    journal: Path | None = None,
    resume: bool = False,
    threads: int = 2,
    processes: int = 1,
    cluster: "Cluster | None" = None,
    progress: bool = True,
    report: Report = lambda text: None,
    keep_parameters: Callable[[Tuned], object] = lambda tuned: None,
    recall_lost: bool = False,
) -> Training:
    """Run leakage checks, search, fit, calibrate, choose thresholds, evaluate, and make a bundle.

    Parameters
    ----------
    journal : Path, optional
        File for the trials of the search; without one they are kept in memory.
    threads : int
        Threads of the search and the fit; the bundle does not depend on them.
    processes : int
        Number of concurrent trials of the search; they share the threads.
    cluster : Cluster, optional
        Dask cluster whose workers run the trials instead, one each at once (`scoring_model.cluster.connect`).
    keep_parameters : callable
        Gets the parameters of the model before the fit, so that a later error does not lose the result of the search.
    recall_lost : bool
        Whether to measure the recall that is lost without each family of features: a fit for each, of all frauds and
        a tenth of the genuine records, but at least 20,000 of them.

    Raises
    ------
    SplitError, FoldError, ScaleError, CalibrationError
        If the records do not suffice; the message names what is missing.
    InfeasiblePolicy
        Before the search, if the validation part has too few records for any model to keep the bounds; otherwise if
        the fitted model cannot keep them, with the results of its thresholds.
    LeakageError
        Before the search, if features leak future information or labels.
    JournalError
        If the journal cannot be used.
    TrialWorkerError, LostCluster
        If a process of the search ended; its earlier results are in the journal.
    """
    prepared = prepare(table, configuration)
    if (as_of := configuration.training.split.as_of) is not None:
        known = (table.event_times < as_of) & (table.labels >= 0)
        late = int(np.count_nonzero(known & (table.label_times >= as_of)))
        report(left_out_text(as_of, int(np.count_nonzero(table.event_times >= as_of)), late))
    return run_prepared(
        prepared,
        configuration,
        journal=journal,
        resume=resume,
        threads=threads,
        processes=processes,
        cluster=cluster,
        progress=progress,
        report=report,
        keep_parameters=keep_parameters,
        recall_lost=recall_lost,
    )


def run_prepared(
    prepared: Prepared,
    configuration: Configuration,
    *,
    journal: Path | None = None,
    resume: bool = False,
    threads: int = 2,
    processes: int = 1,
    cluster: "Cluster | None" = None,
    progress: bool = True,
    report: Report = lambda text: None,
    keep_parameters: Callable[[Tuned], object] = lambda tuned: None,
    recall_lost: bool = False,
) -> Training:
    """Do what `run_training` does, from prepared records."""
    report(f"{prepared.rows.shape[1]} features")
    if prepared.thinning is not None:
        report(prepared.thinning.sentence)
    for segment in prepared.split.summaries:
        if segment.records:
            report(str(segment))
    mute = configuration.findings.mute
    findings = arranged(check_prepared(prepared, configuration), mute=mute)
    _report_findings(findings, report)
    refuse_hopeless(len(prepared.genuine_persons), len(prepared.fraud_rings), settings=configuration.policy)
    leakage = configuration.training.leakage_checks
    leaks = arranged(run_leakage_checks(prepared, leakage, seed=configuration.training.seed), mute=mute)
    _report_findings(leaks, report)
    refuse_leaks((*findings, *leaks), leakage.tolerate)
    tuning = None
    tuned = configuration.training.tuned
    if tuned is None:
        tuning = _search(
            prepared,
            configuration,
            journal,
            resume=resume,
            threads=threads,
            processes=processes,
            cluster=cluster,
            progress=progress,
            report=report,
        )
        tuned = Tuned(params=tuning.params, rounds=tuning.rounds)
        report(f"{len(tuning.trials)} trials, best recall {tuning.value:.4f} in {tuning.rounds} trees")
    keep_parameters(tuned)
    forest = fit_forest(
        prepared.rows[prepared.split.train],
        prepared.split.train_targets,
        tuned=tuned,
        seed=configuration.training.seed,
        seeds=configuration.training.seeds,
        threads=threads,
        weights=prepared.train_weights,
        **prepared.feature_options,
    )
    bundle, evaluation, alternatives = assemble(
        prepared,
        forest,
        configuration,
        tuned,
        findings=(*findings, *leaks, _check_parameters(prepared, tuned, configuration.training.tuning)),
        threads=threads,
    )
    reported = {finding.code for finding in (*findings, *leaks)}
    _report_findings([one for one in evaluation.findings if one.code not in reported], report)
    if recall_lost and (explain := evaluation.explain) is not None:
        lost = measure_recall_lost(prepared, tuned, seed=configuration.training.seed, threads=threads)
        evaluation = replace(evaluation, explain=lambda: replace(explain(), recall_lost=lost))
    policy = bundle.contents.rules.policy
    report(
        f"model {bundle.model_version}: STEPPED_UP from {policy.step_up_from}, FAILED from {policy.fail_from}"
    )
    return Training(
        bundle=bundle,
        evaluation=evaluation,
        alternatives=alternatives,
        split=prepared.split,
        table=prepared.table,
        thinning=prepared.thinning,
        tuning=tuning,
        tuned=tuned,
    )


def left_out_text(as_of: int, records: int, labels: int) -> str:
    """Describe what an as-of instant leaves out."""
    return (
        f"as of {rfc3339(as_of)}: {records} records that happened then or later, and {labels} labels of earlier "
        "records that became known then or later, are left out"
    )


def _report_findings(findings: Sequence[Finding], report: Report) -> None:
    """Report each finding that is open, and then the checks that found nothing, are muted or could not run."""
    for finding in findings:
        if finding.is_open:
            report(str(finding))
    if others := [str(finding) for finding in findings if not finding.is_open]:
        report(f"checks: {'; '.join(others)}")


def _check_parameters(prepared: Prepared, tuned: Tuned, settings: TuningSettings) -> Finding:
    times = prepared.table.event_times[prepared.split.train]
    cut_short = is_cut_short(tuned.rounds, prepared.split.train_targets, times, settings)
    return check_parameters(tuned, cut_short_at=settings.max_rounds if cut_short else None)


def _search(
    prepared: Prepared,
    configuration: Configuration,
    journal: Path | None,
    *,
    resume: bool,
    threads: int,
    processes: int,
    cluster: "Cluster | None",
    progress: bool,
    report: Report,
) -> Tuning:
    with tempfile.TemporaryDirectory() as folder:
        return tune(
            prepared.rows[prepared.split.train],
            prepared.split.train_targets,
            prepared.table.event_times[prepared.split.train],
            settings=configuration.training.tuning,
            seed=configuration.training.seed,
            threads=threads,
            journal=Path(folder) / "trials.journal" if journal is None else journal,
            resume=resume,
            processes=processes,
            cluster=cluster,
            progress=progress,
            report=report,
            genuine_weight=prepared.genuine_weight,
            **prepared.feature_options,
        )
