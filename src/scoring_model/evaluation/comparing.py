"""Compares two bundles on one file of labelled records."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.contract.fields import signal_field
from scoring_model.decision.gains import split_gains
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation.comparison import Comparison, compare_evaluations
from scoring_model.evaluation.comparison_result import ComparedBundle
from scoring_model.evaluation.coverage import Selection
from scoring_model.evaluation.decided import decided_in
from scoring_model.evaluation.evaluated_records import refuse
from scoring_model.evaluation.evaluation import Evaluation
from scoring_model.evaluation.holdout import (
    MAX_BAD_SHARE,
    EvaluationOptions,
    costs_of,
    evaluate_decisions,
    evaluated,
    group_columns,
    loaded,
    maturity_of,
    names_of,
    notes_on_labels,
    read_labelled,
    refuse_groups,
    select_known,
)
from scoring_model.evaluation.kinds import Kinds, check_released
from scoring_model.evaluation.labels import read_labels
from scoring_model.evaluation.trained_records import trained_records, trained_until
from scoring_model.findings import arranged
from scoring_model.history import person_codes
from scoring_model.records import RecordTable, format_duration
from scoring_model.records.reading import Reading
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import feature_rows, read_histories

_SUBJECT: Final = "the bundles cannot be compared"

_TIMED: Final = 100
"""Records whose decisions are timed one by one."""


def compare(
    champion: Scorer | str | Path,
    challenger: Scorer | str | Path,
    records: object,
    *,
    history: object = None,
    labels: object = None,
    by: Sequence[str] | Mapping[str, str | None] = (),
    as_of: str | int | None = None,
    label_maturity: str | int | None = None,
    matured_only: bool = False,
    training: Sequence[str | Path] = (),
    mute: Sequence[str] = (),
    max_bad_share: float = MAX_BAD_SHARE,
) -> Comparison:
    """Compare the decisions of two bundles about the same labelled records.

    Parameters
    ----------
    champion, challenger : Scorer or path
        Bundles of one use. Both score the records now, each with its own reading of them; where they read times
        differently, days and ages of labels are the champion's.
    records, history, labels, by, as_of, matured_only, training, mute, max_bad_share
        As for `evaluate`; scored files are not accepted.
    label_maturity : str or int, optional
        As for `evaluate`. None: that of both bundles, which must then be equal.

    Raises
    ------
    EvaluationError
        If the bundles cannot be compared on these records, with every reason.
    NothingToEvaluate
        If no record has a known class.
    """
    (old, beside_old), (new, beside_new) = map(loaded, (champion, challenger))
    options = EvaluationOptions.of(
        by=by,
        as_of=as_of,
        label_maturity=label_maturity,
        matured_only=matured_only,
        training=[*training, *beside_old, *beside_new],
        mute=mute,
    )
    scorers = (old, new)
    refuse(_SUBJECT, _differing_uses(*scorers, options))
    given = None if labels is None else read_labels(labels, old.contents.schema)
    readings = [
        read_labelled(scorer, records, given, by=options.by, max_bad_share=max_bad_share)
        for scorer in scorers
    ]
    return _compared(
        scorers,
        [reading.table for reading in readings],
        partial(_decide_now, scorers, readings, history),
        options=options,
        rows=readings[0].rows,
        files=names_of(records),
        notes=(*notes_on_labels(given, readings[0].table), *decided_in(readings[0], records)),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RecordRows:
    """Records with the feature rows that a bundle makes of them.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    seconds : float
        What making the rows took.
    """

    table: RecordTable
    rows: FloatArray
    seconds: float


def compare_rows(
    champion: Scorer,
    challenger: Scorer,
    records: tuple[RecordRows, RecordRows],
    *,
    options: EvaluationOptions,
    total: int,
    files: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Comparison:
    """Compare the decisions of two bundles about records whose feature rows are known, as `compare` does.

    Parameters
    ----------
    records : (RecordRows, RecordRows)
        The same records for each bundle; those that one of both lacks, by `source_rows`, are left out.
    total : int
        Rows of the source, with those that break the contract of the data.
    files, notes : tuple of str
        What the records are, and sentences on what was left out before.

    Raises
    ------
    EvaluationError
        If the bundles cannot be compared on these records, with every reason.
    NothingToEvaluate
        If no record has a known class.
    """
    scorers = (champion, challenger)
    refuse(_SUBJECT, _differing_uses(*scorers, options))
    return _compared(
        scorers,
        [one.table for one in records],
        lambda _, places, stopped: [
            _Decided.of(scorer, one.rows[own], one.seconds, stopped=stopped)
            for scorer, one, own in zip(scorers, records, places, strict=True)
        ],
        options=options,
        rows=total,
        files=files,
        notes=notes,
    )


def _differing_uses(old: Scorer, new: Scorer, options: EvaluationOptions) -> Iterator[str]:
    """Yield why two bundles do not decide about the same thing."""
    if old.manifest.name != new.manifest.name:
        yield f"the uses differ: {old.manifest.name} and {new.manifest.name} (`name` of their configurations)"
    for part in ("fraud", "genuine", "ignored", "delay"):
        values = [getattr(scorer.contents.schema.labels, part) for scorer in (old, new)]
        if values[0] != values[1]:
            yield f"records.labels.{part} differs: {values[0]} and {values[1]}"
    if options.maturity is None and maturity_of(old) != maturity_of(new):
        lengths = " and ".join(format_duration(maturity_of(scorer)) for scorer in (old, new))
        yield f"label_maturity differs: {lengths}; give one (--label-maturity)"


def _absent_signals(scorers: tuple[Scorer, Scorer], tables: Sequence[RecordTable]) -> Iterator[str]:
    """Yield the signals that a model reads and no record has: its figures would be those of blind records."""
    for role, scorer, table in zip(("champion", "challenger"), scorers, tables, strict=True):
        read = {name for feature in scorer.matrix.features for name in feature.inputs}
        signals = (signal_field(name) for name in scorer.contents.schema.signals)
        absent = [name for name in signals if name in read and not (table.column(name).codes >= 0).any()]
        if absent and len(table):
            yield f"the records have no value of {', '.join(absent)}, which the {role} reads"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Decided:
    """Decisions about a table, the feature rows of those that did not pass, and times.

    Where applicants were stopped, `stopped` are their feature rows, and `kinds` what was observed.
    """

    decisions: Decisions
    places: IntArray
    rows: FloatArray
    stopped: FloatArray
    kinds: Kinds | None
    seconds: float
    decision_milliseconds: float

    @classmethod
    def of(cls, scorer: Scorer, rows: FloatArray, seconds: float, *, stopped: IntArray) -> "_Decided":
        started = time.perf_counter()
        decisions = scorer.decide(rows)
        seconds += time.perf_counter() - started
        places = np.flatnonzero(decisions.outcomes)  # only these have reasons
        observed = np.ones(len(rows), dtype=np.bool_)
        observed[stopped] = False
        splits, _ = split_gains(scorer.contents.forest)
        return cls(
            decisions=decisions,
            places=places,
            rows=rows[places],
            stopped=rows[stopped],
            kinds=Kinds.of(rows, observed, np.flatnonzero(splits)) if len(stopped) else None,
            seconds=seconds,
            decision_milliseconds=_milliseconds(scorer, rows[:_TIMED]),
        )


def _milliseconds(scorer: Scorer, rows: FloatArray) -> float:
    """Return the median time of one decision."""
    found = []
    for row in rows:
        started = time.perf_counter()
        scorer.decide_row(row)
        found.append(time.perf_counter() - started)
    return 1000 * float(np.median(found))


def _decide_now(
    scorers: tuple[Scorer, Scorer],
    readings: Sequence[Reading],
    history: object,
    tables: Sequence[RecordTable],
    _: Sequence[IntArray],
    stopped: IntArray,
) -> list[_Decided]:
    """Read the history and decide about the common records, as `_compared` asks."""
    decided = []
    for scorer, table, reading in zip(scorers, tables, readings, strict=True):
        earlier = read_histories(scorer, history, scored=reading, recent=False)
        started = time.perf_counter()
        rows = feature_rows(scorer, table, earlier)
        decided.append(_Decided.of(scorer, rows, time.perf_counter() - started, stopped=stopped))
    return decided


def _compared(
    scorers: tuple[Scorer, Scorer],
    tables: Sequence[RecordTable],
    decide: Callable[[Sequence[RecordTable], Sequence[IntArray], IntArray], Sequence[_Decided]],
    *,
    options: EvaluationOptions,
    rows: int,
    files: tuple[str, ...],
    notes: tuple[str, ...] = (),
) -> Comparison:
    """Compare decisions about the records that both tables have, by `source_rows`.

    They are made, from the common records, their places in both tables and those who were stopped, once there is
    something to evaluate.
    """
    one, other = (table.source_rows for table in tables)
    _, *places = np.intersect1d(one, other, return_indices=True)
    tables = [table.take(own) for table, own in zip(tables, places, strict=True)]
    refuse(_SUBJECT, _absent_signals(scorers, tables))
    selection = select_known(scorers[0], tables[0], options, invalid=rows - len(tables[0]))
    persons = person_codes(tables[0], alone=True)
    columns = group_columns(tables[0], options.by, scorers[0].contents.schema)
    refuse_groups(columns, selection, persons)
    common = partial(
        evaluated,
        selection=selection,
        persons=persons,
        columns=columns,
        keys=scorers[0].matrix.link_keys,
    )
    decided = decide(tables, places, selection.stopped)
    evaluate = partial(evaluate_decisions, selection=selection, options=options, files=files)
    evaluations = [
        evaluate(scorer, table, common(tables[0], one.decisions))
        for scorer, table, one in zip(scorers, tables, decided, strict=True)
    ]
    evaluations[1] = _with_kinds(evaluations[1], scorers[1], decided, selection)
    return compare_evaluations(
        *evaluations,
        explain=partial(_explain, scorers, decided, selection),
        bundles=tuple(map(_bundle, scorers, decided, evaluations)),
        sentences={**scorers[0].sentences, **scorers[1].sentences},
        notes=(*_notes(scorers), *_notes_on_times(*tables), *notes),
    )


def _explain(
    scorers: tuple[Scorer, Scorer],
    decided: Sequence[_Decided],
    selection: Selection,
    place: int,
    stricter: bool,
) -> tuple[str, ...]:
    """Return the codes of the reasons of the stricter model for an evaluated record."""
    one, scorer = decided[stricter], scorers[stricter]
    row = one.rows[np.searchsorted(one.places, selection.rows[place])]
    return tuple(reason.code for reason in scorer.reasons(row))


def _with_kinds(
    challenger: Evaluation, scorer: Scorer, decided: Sequence[_Decided], selection: Selection
) -> Evaluation:
    """Add whether the challenger releases applicants of kinds that nobody observed."""
    champion, own = decided
    if own.kinds is None:
        return challenger
    old, new = (one.decisions.outcomes[selection.stopped] for one in (champion, own))
    finding = check_released(
        own.kinds,
        own.stopped[(old != 0) & (new == 0) & (selection.stopped_labels < 0)],
        scorer.matrix.names,
        {one.name: one.sentence.removesuffix(".") for one in scorer.matrix.features},
        records=len(selection.rows),
    )
    others = (one for one in challenger.findings if one.code is not finding.code)
    return replace(challenger, findings=arranged((*others, finding)))


def _bundle(scorer: Scorer, decided: _Decided, evaluation: Evaluation) -> ComparedBundle:
    manifest = scorer.manifest
    return ComparedBundle(
        name=manifest.name,
        model_version=manifest.model_version,
        policy_version=manifest.policy_version,
        bytes=sum(seal.bytes for seal in manifest.files.values()),
        trees=len(scorer.contents.forest.tree_splits) - 1,
        features=len(scorer.matrix.features),
        decision_milliseconds=decided.decision_milliseconds,
        records_per_second=len(decided.decisions.scores) / decided.seconds,
        trained_until=trained_until(scorer),
        trained_records=trained_records(scorer, evaluation),
    )


def _notes(scorers: tuple[Scorer, Scorer]) -> Iterator[str]:
    champion, challenger = map(costs_of, scorers)
    if champion != challenger:
        yield "the costs of the two policies differ: each model's figure cost is under its own"


def _notes_on_times(champion: RecordTable, challenger: RecordTable) -> Iterator[str]:
    """Say that the bundles read times differently, such as in another zone: each model decides by its own."""
    if apart := int(np.count_nonzero(champion.event_times != challenger.event_times)):
        yield (
            f"the bundles read eventTime differently in {apart:,} of {len(champion):,} records "
            "(records.format.timezone, records.format.dates): days and ages of labels are the champion's"
        )
