"""Training from records to a bundle."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from scoring_model.bundle import Bundle
from scoring_model.configuration import Configuration, Tuned, load_configuration
from scoring_model.decision.forest import Forest
from scoring_model.evaluation import Evaluation
from scoring_model.findings import Finding, arranged
from scoring_model.parallel.progress import Report
from scoring_model.records import RecordTable, microseconds, rfc3339
from scoring_model.records.quarantine import accept
from scoring_model.records.reading import read_records
from scoring_model.training.ablation import measure_recall_lost
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.assembly import assemble
from scoring_model.training.averaging import fit_forest
from scoring_model.training.certification import advise_length, refuse_hopeless
from scoring_model.training.checks import check_parameters, check_prepared, refuse_one_code
from scoring_model.training.label_gain import leave_out_gainless
from scoring_model.training.leakage import refuse_leaks, run_leakage_checks
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.split import Split, describe_use
from scoring_model.training.thinning import Thinning
from scoring_model.training.tuning import SearchOptions, Tuning, is_cut_short, tune


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
    OneCode
        If the values of a category share one code.
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


@dataclass(frozen=True, kw_only=True)
class RunOptions(SearchOptions):
    """How to run a training; the bundle depends on none of this. `threads` are those of the fit too.

    Parameters
    ----------
    keep_parameters : callable
        Gets the parameters of the model before the fit, so that a later error does not lose the result of the search.
    recall_lost : bool
        Whether to measure the recall that is lost without each family of features: a fit for each
        (`ablation.measure_recall_lost`).
    """

    keep_parameters: Callable[[Tuned], object] = lambda tuned: None
    recall_lost: bool = False


def run_training(table: RecordTable, configuration: Configuration, **options: Any) -> Training:
    """Run leakage checks, search, fit, calibrate, choose thresholds, evaluate, and make a bundle.

    Parameters
    ----------
    options
        As for `RunOptions`.

    Raises
    ------
    SplitError, FoldError, ScaleError, CalibrationError
        If the records do not suffice; the message names what is missing.
    InfeasiblePolicy
        Before the search, if the validation part has too few records for any model to keep the bounds; otherwise if
        the fitted model cannot keep them, with the results of its thresholds.
    OneCode
        Before the search, if the values of a category share one code.
    LeakageError
        Before the search, if features leak future information or labels.
    JournalError
        If the journal cannot be used.
    LostWorker
        If a process of the search ended; its earlier results are in the journal.
    """
    report = RunOptions(**options).report
    prepared = prepare(table, configuration)
    if (as_of := configuration.training.split.as_of) is not None:
        after = table.event_times >= as_of
        late = table.labelled_from(as_of) & ~after
        report(left_out_text(as_of, int(after.sum()), int(late.sum())))
    return run_prepared(prepared, configuration, **options)


def run_prepared(prepared: Prepared, configuration: Configuration, **options: Any) -> Training:
    """Do what `run_training` does, from prepared records."""
    given = RunOptions(**options)
    prepared = leave_out_gainless(prepared, configuration, threads=given.threads, report=given.report)
    run = _Run(prepared, configuration, given)
    run.describe_records()
    findings = run.check_records()
    tuning, tuned = run.find_parameters()
    forest = run.fit(tuned)
    bundle, evaluation, alternatives = run.assemble(forest, tuned, findings)
    evaluation = run.measure_recall_lost(evaluation, tuned)
    run.describe_model(bundle)
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


@dataclass(frozen=True)
class _Run:
    """The steps of a training, in order."""

    prepared: Prepared
    configuration: Configuration
    options: RunOptions

    def describe_records(self) -> None:
        """Report the features and the parts."""
        report, prepared = self.options.report, self.prepared
        report(f"{prepared.rows.shape[1]} features")
        if prepared.thinning is not None:
            report(prepared.thinning.sentence)
        for segment in prepared.split.summaries:
            if segment.records:
                report(str(segment))
        report(describe_use(prepared.split, self.configuration.training.split))

    def check_records(self) -> tuple[Finding, ...]:
        """Refuse records that leak, or with which no model keeps the bounds."""
        prepared, training = self.prepared, self.configuration.training
        findings = self._reported(check_prepared(prepared, self.configuration))
        refuse_one_code(findings)
        refuse_hopeless(
            len(prepared.genuine_persons),
            len(prepared.fraud_rings),
            settings=self.configuration.policy,
            advise=lambda found: advise_length(found, prepared.split.boundaries, training.split),
        )
        leaks = self._reported(run_leakage_checks(prepared, training.leakage_checks, seed=training.seed))
        refuse_leaks((*findings, *leaks), training.leakage_checks.tolerate)
        return (*findings, *leaks)

    def find_parameters(self) -> tuple[Tuning | None, Tuned]:
        """Return the configured parameters, or search for some; hand them to who keeps them."""
        tuning, tuned = None, self.configuration.training.tuned
        if tuned is None:
            tuning = self._search()
            tuned = Tuned(params=tuning.params, rounds=tuning.rounds)
            self.options.report(
                f"{len(tuning.trials)} trials, average precision {tuning.value:.4f} in {tuning.rounds} trees"
                + (
                    f"; the best trial, {tuning.best:.4f}, is not better than this starting point by more than its "
                    "standard error over the folds"
                    if tuning.best > tuning.value
                    else ""
                )
            )
        self.options.keep_parameters(tuned)
        return tuning, tuned

    def fit(self, tuned: Tuned) -> Forest:
        """Fit the model on the train part."""
        prepared, training = self.prepared, self.configuration.training
        return fit_forest(
            prepared.rows[prepared.split.train],
            prepared.split.train_targets,
            tuned=tuned,
            seed=training.seed,
            seeds=training.seeds,
            threads=self.options.threads,
            weights=prepared.train_weights,
            **prepared.feature_options,
        )

    def assemble(
        self, forest: Forest, tuned: Tuned, findings: Sequence[Finding]
    ) -> tuple[Bundle, Evaluation, Alternatives]:
        """Make the bundle, and report what its evaluation found besides."""
        bundle, evaluation, alternatives = assemble(
            self.prepared,
            forest,
            self.configuration,
            tuned,
            findings=(*findings, self._check_parameters(tuned)),
            threads=self.options.threads,
        )
        reported = {finding.code for finding in findings}
        _report_findings(
            [one for one in evaluation.findings if one.code not in reported], self.options.report
        )
        return bundle, evaluation, alternatives

    def measure_recall_lost(self, evaluation: Evaluation, tuned: Tuned) -> Evaluation:
        """Let the evaluation explain what each family of features is worth, if asked for."""
        explain = evaluation.explain
        if not self.options.recall_lost or explain is None:
            return evaluation
        self.options.report("fitting models without a family of features, to see what each is worth")
        seed, threads = self.configuration.training.seed, self.options.threads
        lost = measure_recall_lost(self.prepared, tuned, seed=seed, threads=threads)
        return replace(evaluation, explain=lambda: replace(explain(), recall_lost=lost))

    def describe_model(self, bundle: Bundle) -> None:
        """Report the version and the thresholds."""
        policy = bundle.contents.rules.policy
        self.options.report(
            f"model {bundle.model_version}: STEPPED_UP from {policy.step_up_from}, FAILED from {policy.fail_from}"
        )

    def _search(self) -> Tuning:
        training, split = self.configuration.training, self.prepared.split
        return tune(
            self.prepared.rows[split.train],
            split.train_targets,
            self.prepared.table.event_times[split.train],
            self.options,
            settings=training.tuning,
            seed=training.seed,
            genuine_weight=self.prepared.genuine_weight,
            learnt=self.prepared.learnt,
            **self.prepared.feature_options,
        )

    def _reported(self, found: Iterable[Finding]) -> tuple[Finding, ...]:
        """Mute and arrange findings, and report them."""
        findings = arranged(found, mute=self.configuration.findings.mute)
        _report_findings(findings, self.options.report)
        return findings

    def _check_parameters(self, tuned: Tuned) -> Finding:
        split, settings = self.prepared.split, self.configuration.training.tuning
        times = self.prepared.table.event_times[split.train]
        cut_short = is_cut_short(tuned.rounds, split.train_targets, times, settings)
        return check_parameters(tuned, cut_short_at=settings.max_rounds if cut_short else None)


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
