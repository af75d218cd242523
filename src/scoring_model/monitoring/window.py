"""Monitors a bundle on a window of records, new or already scored."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from scoring_model.arrays import Int8Array
from scoring_model.bundle import Profile, ReferenceDays, SealedFiles, read_bundle
from scoring_model.decision.gains import split_gains
from scoring_model.evaluation import (
    Evaluation,
    EvaluationError,
    EvaluationOptions,
    RecordRows,
)
from scoring_model.evaluation.delays import score_dependence
from scoring_model.evaluation.holdout import (
    MAX_BAD_SHARE,
    costs_of,
    evaluate_decisions,
    evaluated,
    group_columns,
    muted_of,
    provenance_of,
    select_known,
)
from scoring_model.evaluation.late_frauds import (
    KnownFrauds,
    LateFrauds,
    MatureRecords,
    late_frauds_finding,
    measure_late_frauds,
)
from scoring_model.evaluation.result import Provenance
from scoring_model.evaluation.stopped import population
from scoring_model.evaluation.trained_records import trained_until
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.findings import Finding, arranged
from scoring_model.history import person_codes
from scoring_model.monitoring.drift import measure_drift
from scoring_model.monitoring.early import NO_RECORDS, EarlyVerdict, early_verdicts, estimate_errors
from scoring_model.monitoring.monitoring import Monitoring
from scoring_model.monitoring.reading import dated, files_of, matured_classes, read_window
from scoring_model.monitoring.result import Maturity, Prevalence, promise_bases
from scoring_model.monitoring.window_records import Window
from scoring_model.records import Names, RecordTable
from scoring_model.records.labels import UNLABELLED
from scoring_model.records.observation import observed
from scoring_model.scorer import Scorer

CAP_FACTOR: Final = 2.0
"""The default cap on the prevalence, over the upper end of the interval of the reference's share of frauds."""


class NothingToMonitor(EvaluationError):
    """The window has no records."""


def monitor(
    bundle: SealedFiles | str | Path,
    window: object,
    *,
    history: object = None,
    labels: object = None,
    prevalence_cap: float | None = None,
    by: Sequence[str] = (),
    as_of: str | int | None = None,
    label_maturity: str | int | None = None,
    names: Names | None = None,
    max_bad_share: float = MAX_BAD_SHARE,
    threads: int = 1,
) -> Monitoring:
    """Monitor a bundle on a window of records: long before labels mature, and once they have.

    Limits of drift know the sizes of both samples and the number of features. Confidence sequences and alarms hold
    however often one looks, provided that the window begins on the same day every time: pass all records since the
    bundle began to decide.

    Parameters
    ----------
    bundle : SealedFiles or path
        Result of `read_bundle`, or its directory.
    window : path, directory, list of paths, DataFrame or Arrow stream
        Records, with or without labels; or files that `score` wrote. Of a directory all files of records are read.
    history : the same, or a list of frames or paths, optional
        Earlier records, for the features. Those with labels from after the bundle's validation period, if they are
        matured, test and sharpen the estimates before labels too. Not for scored files.
    labels : path, DataFrame or Arrow stream, optional
        Labels by `recordId`; see `evaluate`.
    prevalence_cap : float, optional
        Largest share of frauds among applicants that is assumed, in [0, 1). None: twice the upper end of the 95 %
        interval of the share in the bundle's reference period, in which each applicant who was stopped may be a fraud.
    by : sequence of str
        Columns to group the metrics of matured records by.
    as_of : str or int, optional
        Instant (RFC 3339, or microseconds) before which labels count. None: just after the latest instant known.
    label_maturity : str or int, optional
        Age (such as ``60d``, or microseconds) from which labels are complete. None: the bundle's.
    names : {"contract", "own"}, optional
        As for `Scorer.with_names`.
    max_bad_share : float
        Largest share of rows, in [0, 1], that may break the contract of the records.
    threads : int
        Results do not depend on it.

    Raises
    ------
    NothingToMonitor
        If the window has no records.
    EvaluationError
        If a scored file is from another model, labels break rules, or the cap is out of range.
    TooManyBadRows
        If more rows break the contract.
    """
    sealed = bundle if isinstance(bundle, SealedFiles) else read_bundle(Path(bundle))
    scorer = Scorer.of(sealed, threads=threads).with_names(names)
    options = EvaluationOptions.of(by=by, as_of=as_of, label_maturity=label_maturity, matured_only=True)
    found = read_window(
        scorer,
        files_of(window),
        history=history,
        labels=labels,
        options=options,
        max_bad_share=max_bad_share,
    )
    _check_not_empty(found.table)
    return _monitor(sealed, scorer, found, options, cap=prevalence_cap)


def _check_not_empty(table: RecordTable) -> None:
    if not len(table):
        raise NothingToMonitor("the window has no records")


def monitor_rows(
    sealed: SealedFiles,
    scorer: Scorer,
    records: RecordRows,
    *,
    refused: int = 0,
    files: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    prevalence_cap: float | None = None,
    by: Sequence[str] = (),
    as_of: str | int | None = None,
    label_maturity: str | int | None = None,
) -> Monitoring:
    """Monitor a bundle on records whose feature rows are known, as `monitor` does.

    Parameters
    ----------
    refused : int
        Rows of the source that break the contract of the data.
    files, notes : tuple of str
        What the records are, and sentences on what was left out before.

    Raises
    ------
    NothingToMonitor
        If there are no records.
    EvaluationError
        If the cap is out of range.
    """
    _check_not_empty(records.table)
    window = Window(
        table=records.table,
        decisions=scorer.decide(records.rows),
        rows=records.rows,
        earlier=NO_RECORDS,
        frauds=KnownFrauds.of(records.table),
        refused=refused,
        files=files,
        notes=notes,
    )
    options = EvaluationOptions.of(by=by, as_of=as_of, label_maturity=label_maturity, matured_only=True)
    return _monitor(sealed, scorer, window, options, cap=prevalence_cap)


def _monitor(
    sealed: SealedFiles, scorer: Scorer, window: Window, options: EvaluationOptions, *, cap: float | None
) -> Monitoring:
    days, table, decisions = ReferenceDays.of(sealed), window.table, window.decisions
    used_cap = _cap(days, cap)
    options = dated(options, scorer, table)
    maturity, targets = matured_classes(table, options)
    labelled = bool(np.any(table.labels != UNLABELLED))
    drift = measure_drift(scorer, window, Profile.of(sealed), days)
    trained = _trained(scorer, table)
    late = _late_frauds(scorer, window, maturity, targets)
    known = targets if labelled else np.full_like(targets, -1)
    estimates = estimate_errors(
        days, scorer.rules.calibration, decisions, table.event_times, known, window.earlier
    )
    matured = _evaluate(scorer, window, options) if labelled and maturity.matured else None
    prevalence = Prevalence(
        matured=None if matured is None else matured.figures["fraud_share"],
        reference=share_of(int(days.frauds.sum()), int(days.by_margin.sum())),
        cap=used_cap,
        contradicted=(estimates.contradiction or 0.0) > 1,
    )
    return Monitoring(
        records=len(table),
        refused=window.refused,
        titles={one.name: one.sentence.removesuffix(".") for one in scorer.matrix.features},
        trained=trained,
        drift=drift,
        maturity=maturity,
        late=late,
        findings=_findings(scorer, options, window, late, maturity),
        early=_early(scorer, window, used_cap),
        estimates=estimates,
        prevalence=prevalence,
        matured=matured,
        promises=tuple(promise_bases(scorer.rules.policy, drift, _used(scorer), prevalence)),
        provenance=_provenance(scorer, window),
        population=population(table, maturity.maturity, scorer.contents.schema),
        notes=tuple(
            _notes(
                window,
                labelled=labelled,
                cap=used_cap,
                is_default=cap is None,
                stopped=days.not_observed,
                trained=trained,
            )
        ),
    )


def _early(scorer: Scorer, window: Window, cap: float | None) -> tuple[EarlyVerdict, ...]:
    if cap is None:
        return ()
    outcomes, times = window.decisions.outcomes, window.table.event_times
    return tuple(early_verdicts(scorer.rules.policy, outcomes, times, cap=cap))


def _findings(
    scorer: Scorer, options: EvaluationOptions, window: Window, late: LateFrauds | None, maturity: Maturity
) -> tuple[Finding, ...]:
    found = late_frauds_finding(
        late,
        same_delay=window.frauds.same_delay,
        maturity=maturity.maturity,
        records=len(window.table),
    )
    return arranged([found], mute=muted_of(scorer, options))


def _provenance(scorer: Scorer, window: Window) -> Provenance:
    return provenance_of(
        scorer,
        window.table.event_times,
        files=window.files,
        notes=window.notes,
        scored_earlier=window.rows is None,
    )


def _late_frauds(scorer: Scorer, window: Window, maturity: Maturity, targets: Int8Array) -> LateFrauds | None:
    """Measure how late frauds become known, and what that changes of the mature records."""
    table, mature = window.table, targets >= 0
    known = (table.labels == 1) & (table.label_times < maturity.as_of) & observed(table, 0)
    found = measure_late_frauds(
        window.frauds,
        as_of=maturity.as_of,
        maturity=maturity.maturity,
        mature=MatureRecords(
            event_times=table.event_times[mature],
            outcomes=window.decisions.outcomes[mature],
            frauds=targets[mature] == 1,
            costs=costs_of(scorer),
        ),
    )
    if found is None:
        return None
    times = table.event_times[known]
    dependence = score_dependence(
        table.label_times[known] - times, maturity.as_of - times, window.decisions.margins[known]
    )
    return replace(found, dependence=dependence)


def _trained(scorer: Scorer, table: RecordTable) -> int | None:
    """Count the records on which the bundle may have been trained."""
    until = trained_until(scorer)
    return None if until is None else int(np.count_nonzero(table.event_times < until))


def _used(scorer: Scorer) -> frozenset[str]:
    """Return the features that the model reads."""
    splits, _ = split_gains(scorer.contents.forest)
    return frozenset(name for name, count in zip(scorer.matrix.names, splits.tolist(), strict=True) if count)


def _evaluate(scorer: Scorer, window: Window, options: EvaluationOptions) -> Evaluation:
    """Evaluate the matured records alone."""
    table = window.table
    selection = select_known(scorer, table, options, invalid=window.refused)
    persons = None if window.rows is None else person_codes(table, alone=True)
    columns = group_columns(table, options.by, scorer.contents.schema)
    return evaluate_decisions(
        scorer,
        table,
        evaluated(
            table, window.decisions, selection, persons=persons, columns=columns, keys=scorer.matrix.link_keys
        ),
        selection=selection,
        options=options,
        files=window.files,
        notes=window.notes,
        scored_earlier=window.rows is None,
    )


def _cap(days: ReferenceDays, given: float | None) -> float | None:
    if given is not None:
        if not 0 <= given < 1:
            raise EvaluationError(f"prevalence_cap: must be at least 0 and below 1, got {given}")
        return given
    frauds = int(days.frauds.sum()) + days.not_observed  # each of whom may be one
    highest = share_of(frauds, int(days.records.sum())).high
    return None if highest is None else min(CAP_FACTOR * highest, 0.5)


def _notes(
    window: Window, *, labelled: bool, cap: float | None, is_default: bool, stopped: int, trained: int | None
) -> Iterator[str]:
    yield from window.notes
    if not labelled:
        yield "No record of the window has a label: nothing is known of matured records."
    if cap is None:
        yield "Without a cap on the share of frauds (--prevalence-cap) the rate of step-ups says nothing."
    elif is_default:
        yield (
            f"At most {cap:.2%} of the applicants are assumed to be frauds: {CAP_FACTOR:g} times the upper end of the "
            f"interval of the reference period{', where those who were stopped count as frauds' if stopped else ''}. "
            "--prevalence-cap sets another cap."
        )
    if trained:
        yield (
            f"{trained:,} records are from before the end of the bundle's validation period: drift is compared with "
            "that period, and promises were certified on it."
        )
