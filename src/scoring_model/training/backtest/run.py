"""Runs a backtest: one reading, one history of links, one feature matrix, and one training for each fold.

Decision record: docs/adr/0025-backtests.md.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scoring_model.configuration import Configuration, Tuned, load_configuration
from scoring_model.decision.rules import Promise
from scoring_model.evaluation import Estimate
from scoring_model.evaluation.late_frauds import KnownFrauds, check_late_frauds
from scoring_model.evaluation.stopped import population
from scoring_model.features import FeatureMatrix
from scoring_model.findings import Finding
from scoring_model.parallel import Workers, open_workers
from scoring_model.parallel.progress import Report, time_left
from scoring_model.records import microseconds, rfc3339
from scoring_model.records.observation import NOT_OBSERVED
from scoring_model.records.quarantine import accept
from scoring_model.records.reading import read_records
from scoring_model.records.sources import file_paths
from scoring_model.training.backtest.backtest import Backtest
from scoring_model.training.backtest.calendar import (
    BacktestError,
    Cadence,
    day_text,
    parse_cadences,
    period_start,
)
from scoring_model.training.backtest.fold import FoldOutcome, Shared, train_fold
from scoring_model.training.backtest.judging import Judge, tally
from scoring_model.training.backtest.matrices import Matrices
from scoring_model.training.backtest.plan import History, Plan, PlannedFold, Window, make_plan, names_of
from scoring_model.training.backtest.result import Fold, JudgedHistory
from scoring_model.training.backtest.workspace import Workspace, run_key
from scoring_model.training.checks import check_categories, refuse_one_code
from scoring_model.training.fitting import import_lightgbm_alone
from scoring_model.training.leakage import refuse_leaks, run_leakage_checks
from scoring_model.training.preparation import Prepared


def backtest(
    data: Any,
    configuration: Configuration | str | Path,
    *,
    cadence: str | Sequence[str] = "1m",
    window: Window | None = None,
    folds: int | None = None,
    as_of: str | int | None = None,
    processes: int = 1,
    threads: int = 2,
    dask: str | None = None,
    work: Path | None = None,
    resume: bool = False,
    report: Report = lambda text: None,
) -> Backtest:
    """Train models at past instants with what was known then, and judge them on the periods that followed.

    Each fold gives the scores and thresholds that `train` as of its instant gives, bit for bit.

    Parameters
    ----------
    data : pandas DataFrame, Arrow-speaking frame, or path of a Parquet, CSV or JSON Lines file
    configuration : Configuration, or path of its YAML file
        With `training.tuned` all folds use these parameters; otherwise each fold searches.
    cadence : str or sequence of str
        How often a model is trained: months or weeks, such as ``1m,3m``.
    window : {"expanding", "rolling"}, optional
        Whether the train part grows with the history or keeps its length. None: expanding if the parts of the split
        are shares, rolling if they are durations.
    folds : int, optional
        Number of latest periods to judge. None: all that are possible.
    as_of : str or int, optional
        Instant before which events and labels count. None: that of the configuration, or just after the latest one.
    processes : int
        Number of folds trained at once; they share the threads.
    dask : str, optional
        Address of a Dask scheduler, or ``local:N``, whose workers train the folds instead of `processes`: one fold for
        each of their threads at once. They need the same versions of all packages, and the same path of `work`, which
        is then required unless they are local.
    work : Path, optional
        Directory, created with mode 0700 and removed at the end, that keeps finished folds. None: a temporary one.
    resume : bool
        Whether to read back the folds that an interrupted run left in `work`, and to continue its searches. The
        result has the same bytes.
    report : callable
        Gets the possible folds before any is trained, why others are not, and a line for each finished fold.

    Raises
    ------
    BacktestError
        If no fold is possible, or none gives a model, with the reason of each; or if `work` cannot be used.
    LostWorker
        If a process ended, or the Dask scheduler cannot be reached; finished folds are kept for `resume`.
    DifferentVersions
        If the scheduler or a worker has other versions of packages.
    TooManyBadRows
        If more rows than configured break the contract.
    LeakageError
        If features leak future information or labels.
    """
    configuration = _configured(configuration, as_of)
    cadences = parse_cadences(cadence)
    history = _read(data, configuration, report)
    plan = _planned(history, cadences, window, folds, report)
    key = run_key(
        configuration,
        records=history.sha256,
        as_of=history.as_of,
        cadences=[str(one) for one in cadences],
        window=plan.window,
        folds=folds,
    )
    with (
        open_workers(processes, dask, extra="train", prepare=import_lightgbm_alone) as workers,
        _work_folder(work) as folder,
    ):
        workspace = Workspace(folder, key, resume=resume)
        try:
            _train_all(history, plan, workspace, workers=workers, threads=threads, report=report)
        except BaseException:
            workspace.keep_finished()
            raise
        result = _result(history, plan, workspace, files=_file_names(data))
        workspace.remove()
    return result


def _configured(configuration: Configuration | str | Path, as_of: str | int | None) -> Configuration:
    if not isinstance(configuration, Configuration):
        configuration = load_configuration(configuration)
    if as_of is None:
        return configuration
    return configuration.trained_as_of(as_of if isinstance(as_of, int) else microseconds(as_of))


def _read(data: Any, configuration: Configuration, report: Report) -> History:
    reading = read_records(data, configuration.schema, labelled=True)
    report(f"{len(reading.table):,} records read, {reading.rows - len(reading.table):,} rows refused")
    accept(reading, max_share=configuration.records.max_bad_share)
    return History.of(reading.table, configuration)


def _planned(
    history: History, cadences: Sequence[Cadence], window: Window | None, folds: int | None, report: Report
) -> Plan:
    plan = make_plan(history, cadences, window=window, folds=folds)
    for line in plan.describe():
        report(line)
    names = names_of(plan)
    report(f"{len(plan.folds)} folds, judged on {len(names)} {plan.unit}s from {names[0]} to {names[-1]}")
    return plan


@contextmanager
def _work_folder(work: Path | None) -> Iterator[Path]:
    if work is not None:
        yield work
        return
    with TemporaryDirectory() as folder:
        yield Path(folder) / "work"


def _file_names(data: Any) -> tuple[str, ...]:
    return tuple(path.name for path in file_paths(data) or ())


def _train_all(
    history: History,
    plan: Plan,
    workspace: Workspace,
    *,
    workers: Workers,
    threads: int,
    report: Report,
) -> None:
    """Train the folds that are not finished, the longest first, so that all processes end together."""
    missing = [number for number in range(len(plan.folds)) if not workspace.finished(number)]
    if len(missing) < len(plan.folds):
        report(f"{len(plan.folds) - len(missing)} finished folds read back")
    if not missing and workspace.findings is not None:
        return
    matrices = Matrices(history, plan, workspace.folder)
    if workspace.findings is None:
        workspace.keep_findings(_check_leakage(history, plan, matrices, report))
    sizes = [len(fold.split.train) for fold in plan.folds]
    progress = _Progress(missing, sizes, report)
    shared = Shared(
        folder=workspace.folder.absolute(),
        configuration=history.configuration,
        threads=max(threads // max(min(workers.processes, len(missing)), 1), 1),
    )
    order = missing[::-1]
    tasks = ((matrices.task_of(number), shared) for number in order)
    for place, outcome in workers.run(train_fold, tasks):
        number = order[place]
        workspace.save(number, outcome)
        matrices.remove(number)
        progress.done(number, plan.folds[number], outcome)


def _check_leakage(history: History, plan: Plan, matrices: Matrices, report: Report) -> tuple[Finding, ...]:
    """Run the leakage checks once, on the split of the latest fold.

    Raises
    ------
    LeakageError, OneCode
    """
    training = history.configuration.training
    prepared = Prepared(
        table=history.table,
        persons=history.persons,
        split=plan.folds[-1].split,
        matrix=FeatureMatrix(history.configuration.feature_settings, matrices.state),
        rows=matrices.rows,
    )
    found = (
        *run_leakage_checks(prepared, training.leakage_checks, seed=training.seed),
        check_late_frauds(
            KnownFrauds.of(history.table),
            as_of=history.as_of,
            maturity=training.split.label_maturity,
            records=len(history.table),
        ),
        check_categories(prepared),
    )
    report("checks: " + "; ".join(map(str, found)))
    refuse_one_code(found)
    refuse_leaks(found, training.leakage_checks.tolerate)
    return found


class _Progress:
    """Reports finished folds, and the time left by the number of training records."""

    def __init__(self, missing: Sequence[int], sizes: Sequence[int], report: Report) -> None:
        self._sizes, self._report = sizes, report
        self._left, self._total = set(missing), len(missing)
        self._started = time.monotonic()
        self._work = sum(sizes[number] for number in missing)

    def done(self, number: int, fold: PlannedFold, outcome: FoldOutcome) -> None:
        """Report a fold."""
        self._left.discard(number)
        left = sum(self._sizes[one] for one in self._left)
        seconds = (time.monotonic() - self._started) * left / max(self._work - left, 1)
        document = outcome.document
        found = (
            f"no model: {document['failure']}"
            if document["failure"] is not None
            else f"STEPPED_UP from {document['step_up_from']}, FAILED from {document['fail_from']}"
        )
        self._report(
            f"{self._total - len(self._left)} of {self._total} folds, as of {day_text(fold.as_of)}: {found}; "
            f"{time_left(seconds)}"
        )


def _result(history: History, plan: Plan, workspace: Workspace, *, files: tuple[str, ...]) -> Backtest:
    outcomes = [workspace.load(number) for number in range(len(plan.folds))]
    folds = tuple(_fold(planned, outcome) for planned, outcome in zip(plan.folds, outcomes, strict=True))
    if all(fold.failure is not None for fold in folds):
        workspace.remove()
        reasons = "\n".join(f"- as of {day_text(fold.as_of)}: {fold.failure}" for fold in folds)
        raise BacktestError(f"no fold gave a model:\n{reasons}")
    judge, configuration, table = Judge(history, plan, outcomes), history.configuration, history.table
    promises = judge.promises()
    cadences, differences = judge.cadences()
    return Backtest(
        name=configuration.name,
        files=files,
        data=_data(history),
        window=plan.window,
        unit=str(plan.unit),
        confidence=configuration.policy.confidence,
        has_costs=configuration.policy.costs is not None,
        periods=_periods(plan),
        left_out=_left_out(history, plan),
        folds=folds,
        impossible=plan.impossible,
        findings=workspace.findings or (),
        promises=promises,
        tallies=tally(promises),
        cadences=cadences,
        differences=differences,
        models=judge.models(),
        ageing=judge.ageing(),
        learning=judge.learning(),
        population=population(table, configuration.training.split.label_maturity, configuration.schema),
        record_ids=tuple([table.record_ids[row] for row in plan.judged.rows.tolist()]),
        scores={
            fold.as_of: outcome.arrays["scores"]
            for fold, outcome in zip(folds, outcomes, strict=True)
            if fold.failure is None
        },
    )


def _data(history: History) -> JudgedHistory:
    times = history.table.event_times
    return JudgedHistory(
        sha256=history.sha256,
        records=len(times),
        first=rfc3339(int(times.min())),
        last=rfc3339(int(times.max())),
        as_of=rfc3339(history.as_of),
    )


def _periods(plan: Plan) -> dict[str, tuple[int, int]]:
    """Count genuine records and frauds of each period."""
    targets = [plan.judged.targets[start:end] for start, end in pairwise(plan.bounds)]
    return {
        name: (int((found == 0).sum()), int((found == 1).sum()))
        for name, found in zip(names_of(plan), targets, strict=True)
    }


def _left_out(history: History, plan: Plan) -> dict[str, int]:
    times, first = history.table.event_times, plan.folds[0].as_of
    end = period_start(plan.periods.stop, plan.unit)
    before, after = int((times < first).sum()), int((times >= end).sum())
    maturity = f"younger than the label maturity window, or in a {plan.unit} with such records"
    found = {
        "before the first fold": before,
        maturity: after,
        NOT_OBSERVED: len(times) - before - after - len(plan.judged.rows),
    }
    return {reason: count for reason, count in found.items() if count}


def _fold(planned: PlannedFold, outcome: FoldOutcome) -> Fold:
    document = dict(outcome.document)
    fold = Fold(
        as_of=planned.as_of,
        settings=planned.settings,
        parts=planned.split.summaries,
        failure=document["failure"],
    )
    if fold.failure is not None:
        return fold
    return replace(
        fold,
        step_up_from=document["step_up_from"],
        fail_from=document["fail_from"],
        promises=tuple(Promise(**promise) for promise in document["promises"]),
        tuned=Tuned(**document["tuned"]),
        features=document["features"],
        useless=document["useless"],
        families={family.pop("family"): Estimate(**family) for family in document["families"]},
    )
