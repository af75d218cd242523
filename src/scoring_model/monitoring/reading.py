"""Reads the records that are monitored, new or already scored."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from scoring_model.arrays import Int8Array
from scoring_model.evaluation import EvaluationError, EvaluationOptions, NothingToEvaluate
from scoring_model.evaluation.column_reading import Source
from scoring_model.evaluation.decided import decided_in, decided_sentences
from scoring_model.evaluation.holdout import (
    group_columns,
    maturity_of,
    names_of,
    notes_on_labels,
    read_labelled,
    refuse_groups,
    select_known,
)
from scoring_model.evaluation.labels import Labels, read_labels
from scoring_model.evaluation.late_frauds import KnownFrauds
from scoring_model.evaluation.scored_files import is_scored, read_scored
from scoring_model.evaluation.trained_records import trained_until
from scoring_model.history import person_codes
from scoring_model.monitoring.early import NO_RECORDS, MaturedRecords
from scoring_model.monitoring.result import Maturity
from scoring_model.monitoring.window_records import Window
from scoring_model.records import NEVER, RecordTable
from scoring_model.records.file_format import PLAIN
from scoring_model.records.files import is_of_a_folder
from scoring_model.records.labels import UNLABELLED
from scoring_model.records.observation import observed, targets_at
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import read_histories


def files_of(window: object) -> object:
    """Replace a directory by its files of records."""
    if not isinstance(window, str | Path) or not Path(window).is_dir():
        return window
    files = [path for path in sorted(Path(window).iterdir()) if is_of_a_folder(path)]
    return [path for path in files if not path.name.endswith("quarantine.csv")]


def read_window(
    scorer: Scorer,
    window: object,
    *,
    history: object,
    labels: object,
    options: EvaluationOptions,
    max_bad_share: float,
) -> Window:
    """Read records with their decisions: those of files that `score` wrote, or new ones after their history."""
    given = None if labels is None else read_labels(labels, scorer.contents.schema)
    source = Source.open(window, PLAIN)
    if is_scored(source):
        if history is not None:
            raise EvaluationError(f"{source.name}: history: is of no use to a file that was scored earlier")
        return _read_scored(scorer, source, given, tuple(options.by))
    reading = read_labelled(scorer, window, given, by=options.by, max_bad_share=max_bad_share, required=False)
    table = reading.table
    if options.by and np.any(table.labels != UNLABELLED):
        with suppress(NothingToEvaluate):  # then there are no groups either
            selection = select_known(scorer, table, options, invalid=0)
            columns = group_columns(table, options.by, scorer.contents.schema)
            refuse_groups(columns, selection, person_codes(table, alone=True))
    known = read_histories(scorer, history, scored=reading, recent=False)
    past, targets = _with_matured_last(scorer, known, table, dated(options, scorer, table))
    first = len(past) - len(targets)
    features = scorer.matrix.rows(past.append(table), first)
    decisions = scorer.decide(features)
    return Window(
        table=table,
        decisions=decisions.take(np.arange(len(targets), len(features))),
        rows=features[len(targets) :],
        earlier=MaturedRecords(
            margins=decisions.margins[: len(targets)], event_times=past.event_times[first:], targets=targets
        ),
        frauds=KnownFrauds.of(past, table),
        refused=reading.rows - len(table),
        files=names_of(window),
        notes=(*notes_on_labels(given, table), *decided_in(reading, window)),
    )


def _with_matured_last(
    scorer: Scorer, past: RecordTable | None, window: RecordTable, options: EvaluationOptions
) -> tuple[RecordTable, Int8Array]:
    """Put the matured records between the validation period and the window last; also return their classes.

    Records that the bundle was trained or validated on are the reference already. Where no label is known, old
    records are not taken for genuine.
    """
    if past is None:
        return window.take(np.empty(0, dtype=np.int64)), np.empty(0, dtype=np.int8)
    maturity, targets = matured_classes(past, options)
    until, times = trained_until(scorer), past.event_times
    chosen = (targets >= 0) & (times >= (NEVER if until is None else until))
    chosen &= times < window.event_times.min(initial=NEVER)
    known = (past.labels != UNLABELLED) & (past.label_times < maturity.as_of)
    if not np.any(chosen & known):
        chosen[:] = False
    return past.take(np.argsort(chosen, kind="stable")), targets[chosen]


def _read_scored(scorer: Scorer, source: Source, labels: Labels | None, by: Sequence[str]) -> Window:
    scored = read_scored(source, scorer, by)
    table = scored.labelled(labels, scorer.contents.schema, source.name)
    return Window(
        table=table,
        decisions=scored.decisions,
        rows=None,
        earlier=NO_RECORDS,
        frauds=KnownFrauds.of(table),
        refused=0,
        files=scored.files,
        notes=(*scored.notes, *notes_on_labels(labels, table), *decided_sentences(source)),
    )


def dated(options: EvaluationOptions, scorer: Scorer, table: RecordTable) -> EvaluationOptions:
    """Set the instant and the maturity where they are not given."""
    as_of = table.latest_instant + 1 if options.as_of is None else options.as_of
    age = maturity_of(scorer) if options.maturity is None else options.maturity
    return replace(options, as_of=as_of, maturity=age)


def matured_classes(table: RecordTable, options: EvaluationOptions) -> tuple[Maturity, Int8Array]:
    """Count matured records; also return their classes, -1 for immature ones."""
    as_of, age = options.as_of or 0, options.maturity or 0
    targets, counted = targets_at(table, as_of, age), observed(table, age)
    mature = counted & (table.event_times < as_of - age)
    young = counted & ~mature
    found = Maturity(
        as_of=as_of,
        maturity=age,
        matured=int(np.count_nonzero(mature)),
        immature=int(np.count_nonzero(young)),
        immature_frauds=int(np.count_nonzero(young & (targets == 1))),
        immature_genuine=int(np.count_nonzero(young & (targets == 0))),
    )
    return found, np.where(mature, targets, -1).astype(np.int8)
