"""The decisions of a bundle on labelled records, made now or scored earlier."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Self

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.configuration import CostSettings, FindingSettings
from scoring_model.contract.fields import IDENTITY_FIELDS, signal_field
from scoring_model.contract.rules import SignalType
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation.checks import check_control
from scoring_model.evaluation.column_reading import Source
from scoring_model.evaluation.coverage import Coverage, Selection, select
from scoring_model.evaluation.decided import decided_in, decided_sentences
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError, refuse
from scoring_model.evaluation.evaluation import Evaluation, evaluate_records
from scoring_model.evaluation.fraud_rings import rings_of_frauds
from scoring_model.evaluation.grouping import AGE_BAND, age_bands, check_groups
from scoring_model.evaluation.importance import measure_importance, sample_rows
from scoring_model.evaluation.labels import Labels, read_labels
from scoring_model.evaluation.result import Provenance
from scoring_model.evaluation.scored_files import is_scored, read_scored
from scoring_model.evaluation.stopped import ControlGroup, NotObserved, Stopped, assumed
from scoring_model.evaluation.trained_records import check_digests, check_period, training_findings
from scoring_model.history import LinkKey, person_codes
from scoring_model.records import Column, RecordSchema, RecordTable, microseconds, parse_duration
from scoring_model.records.file_format import PLAIN
from scoring_model.records.observation import sampled
from scoring_model.records.quarantine import accept
from scoring_model.records.reading import Reading, read_records
from scoring_model.records.sources import file_paths
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import feature_rows, read_histories

MAX_BAD_SHARE: Final = 0.01


WEIGHTED: Final = (
    "Records stand for others by their propensity: those whom a policy stops, for all like them. Nobody stands for "
    "those whom a list or rule stopped: they are in no figure but the numbers of applicants by outcome, which need no "
    "label and count everyone. Figures, measures, "
    "months and promises are weighted by 1 / propensity; calibration, decompositions, score shares, groups, worst "
    "windows and curves count each record once, so they describe those who passed."
)

SAMPLED: Final = (
    "A control group stands for the applicants who were stopped: the evaluated records are drawn so that they are a "
    "sample of all applicants."
)


class NothingToEvaluate(EvaluationError):
    """No record is known to be fraud or genuine."""

    def __init__(self, coverage: Coverage) -> None:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in coverage.describe().items())
        super().__init__(f"nothing to evaluate: no labelled records ({reasons or 'no rows at all'})")
        self.coverage = coverage


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationOptions:
    """Which records count, and how they are grouped.

    Parameters
    ----------
    by : mapping of str to str or None
        Columns to group by, each with the value that the others are compared with; None: with all other records.
        Fields, signals (with or without `signals.`), `ageBand` (from `dob` at the event), or any other column.
    as_of : int, optional
        Instant, microseconds, before which labels count. None: just after the latest instant in the records.
    maturity : int, optional
        Microseconds after which an unlabelled record counts as genuine. None: the bundle's label maturity.
    matured_only : bool
        Whether to leave out younger records even if their label is known. Fraud and genuine labels become known at
        different times, so an evaluation that mixes ages is biased.
    training : sequence of Path
        Folders of trainings that may hold digests of their records.
    mute : sequence of str
        Codes of findings to mute, beside those that the bundle mutes.
    """

    by: Mapping[str, str | None] = field(default_factory=dict)
    as_of: int | None = None
    maturity: int | None = None
    matured_only: bool = False
    training: Sequence[Path] = ()
    mute: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        *,
        by: Sequence[str] | Mapping[str, str | None],
        as_of: str | int | None,
        label_maturity: str | int | None,
        matured_only: bool,
        training: Sequence[str | Path] = (),
        mute: Sequence[str] = (),
    ) -> Self:
        """Read options as `evaluate` takes them.

        Raises
        ------
        Invalid
            If `mute` names an unknown code.
        """
        return cls(
            by=by if isinstance(by, Mapping) else dict.fromkeys(by),
            as_of=microseconds(as_of) if isinstance(as_of, str) else as_of,
            maturity=parse_duration(label_maturity) if isinstance(label_maturity, str) else label_maturity,
            matured_only=matured_only,
            training=[Path(folder) for folder in training],
            mute=FindingSettings(mute=tuple(mute)).mute,
        )


WITHOUT_RINGS: Final = (
    "A scored file has no link keys: frauds are drawn by day, and rings that last longer than a day make intervals too "
    "narrow"
)
"""What the intervals of a file that was scored earlier do not see."""


def training_folder(bundle: str | Path) -> Path:
    """Return the folder that a training writes beside its bundle."""
    return Path(bundle).with_name(Path(bundle).name + ".training")


def evaluate(
    bundle: Scorer | str | Path,
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
    features: Callable[[RecordTable], FloatArray] | None = None,
) -> Evaluation:
    """Compare the decisions of a bundle with the labels of records.

    Rates weigh the evaluated records as they are: they describe applicants of the same population.

    Parameters
    ----------
    bundle : Scorer or path
        A Scorer that was loaded from a bundle, or its directory.
    records : path, list of paths, DataFrame or Arrow stream
        Records as for training; or, with `labels`, a file that `score` wrote from them.
    history : the same, or a list of frames or paths, optional
        Further earlier records, which are not evaluated. Not for scored files.
    labels : path, DataFrame or Arrow stream, optional
        Labels by `recordId`, with the columns `label`, `labelKnownAt` or `knownAt`, and perhaps `labelReportedAt` or
        `reportedAt`. They replace those of the records. A record that is not there has no label.
    by : sequence of str, or mapping of str to str or None
        Columns to group by; a mapping also names the value that the others are compared with (None: all others).
        Fields, signals (with or without `signals.`), `ageBand` (from `dob` at the event), or any other column.
        Protected attributes may be named: the model does not read them here.
    as_of : str or int, optional
        Instant (RFC 3339, or microseconds) before which labels count. None: just after the latest instant known.
    label_maturity : str or int, optional
        Age (such as ``60d``, or microseconds) after which an unlabelled record counts as genuine. None: the bundle's.
    matured_only : bool
        Whether to leave out records younger than the label maturity even if their label is known.
    training : sequence of path
        Folders that trainings wrote, whose digests show which evaluated records the bundle was trained on. The folder
        beside a bundle that is given as a path is looked into anyway.
    mute : sequence of str
        Codes of findings to mute, such as ``SM009``, beside those that the configuration of the bundle mutes.
    max_bad_share : float
        Largest share of rows, in [0, 1], that may break the contract of the records.
    features : callable, optional
        Gets the valid records, and returns what `Scorer.features` computes of them and of their history, float64 of
        shape (n, d), in their order; `history` is not read then. Not for scored files. None: they are computed here.

    Raises
    ------
    NothingToEvaluate
        Before scoring, if no record has a known class.
    EvaluationError
        If a column of `by` is absent, a scored file is from another model, or labels break rules.
    TooManyBadRows
        If more rows break the contract.
    """
    scorer, folders = loaded(bundle)
    options = EvaluationOptions.of(
        by=by,
        as_of=as_of,
        label_maturity=label_maturity,
        matured_only=matured_only,
        training=[*training, *folders],
        mute=mute,
    )
    given = None if labels is None else read_labels(labels, scorer.contents.schema)
    if given is not None and is_scored(source := Source.open(records, PLAIN)):
        inputs = {"history": history, "features": features}
        unused = (name for name, value in inputs.items() if value is not None)
        refuse(source.name, (f"{name}: is of no use to a file that was scored earlier" for name in unused))
        return _evaluate_scored(scorer, source, given, options)
    reading = read_labelled(scorer, records, given, by=options.by, max_bad_share=max_bad_share)
    return evaluate_table(
        scorer,
        reading.table,
        options=options,
        history=read_histories(scorer, history, scored=reading, recent=False) if features is None else None,
        invalid=reading.rows - len(reading.table),
        files=names_of(records),
        features=features,
        notes=(*notes_on_labels(given, reading.table), *decided_in(reading, records)),
    )


def notes_on_labels(labels: Labels | None, table: RecordTable) -> tuple[str, ...]:
    """Say what labels from a file of their own lack."""
    return () if labels is None else tuple(labels.notes(labels.rows_of(table.record_ids)))


def read_labelled(
    scorer: Scorer,
    records: object,
    labels: Labels | None,
    *,
    by: Iterable[str],
    max_bad_share: float,
    required: bool = True,
) -> Reading:
    """Read records with their labels, or with those given.

    Parameters
    ----------
    required : bool
        Whether records without a column of labels are refused where none are given.
    """
    schema = with_columns(scorer.contents.schema, by)
    reading = read_records(records, schema, labelled=required and labels is None)
    decided = labels is not None and labels.observed_until is not None
    accept(replace(reading, undecided=()) if decided else reading, max_share=max_bad_share)
    return reading if labels is None else replace(reading, table=_labelled(reading.table, labels, schema))


def names_of(records: object) -> tuple[str, ...]:
    """Return the names of the files of records; none for a frame."""
    return tuple(path.name for path in file_paths(records) or ())


def evaluate_table(
    scorer: Scorer,
    table: RecordTable,
    *,
    options: EvaluationOptions,
    history: RecordTable | None = None,
    invalid: int = 0,
    files: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    features: Callable[[RecordTable], FloatArray] | None = None,
) -> Evaluation:
    """Score labelled records and compare the decisions with their labels.

    Parameters
    ----------
    table : RecordTable
        Its records see each other as history.
    history : RecordTable, optional
        Further earlier records, which are not evaluated.
    invalid : int
        Rows of the source that are not in the table, since they break the contract of the data.
    files, notes : tuple of str
        Names of the source's files, and sentences on what they lack.
    features : callable, optional
        As for `evaluate`.

    Raises
    ------
    NothingToEvaluate
        Before scoring, with the reasons why records are left out.
    """
    columns = group_columns(table, options.by, scorer.contents.schema)
    selection = select_known(scorer, table, options, invalid=invalid)
    persons = person_codes(table, alone=True)
    refuse_groups(columns, selection, persons)
    rows = feature_rows(scorer, table, history) if features is None else features(table)
    decided = evaluated(
        table,
        scorer.decide(rows),
        selection,
        persons=persons,
        columns=columns,
        keys=scorer.matrix.link_keys,
    )
    evaluation = evaluate_decisions(
        scorer, table, decided, selection=selection, options=options, files=files, notes=notes
    )
    drawn = selection.rows[sample_rows(len(selection.rows))]
    explain = partial(
        measure_importance,
        rows[drawn],
        explain=scorer.contributions,
        matrix=scorer.matrix,
        event_times=table.event_times[drawn],
        records=len(selection.rows),
    )
    return replace(evaluation, explain=explain)


def _evaluate_scored(
    scorer: Scorer, source: Source, labels: Labels, options: EvaluationOptions
) -> Evaluation:
    """Evaluate decisions that were made earlier."""
    scored = read_scored(source, scorer, options.by)
    table = scored.labelled(labels, scorer.contents.schema, source.name)
    rows = labels.rows_of(scored.record_ids)
    strange = len(labels.record_ids) - int(np.count_nonzero(rows >= 0))
    notes = (f"{strange:,} labels are of records that the scored file does not hold",) if strange else ()
    selection = select_known(scorer, table, options, invalid=0)
    return evaluate_decisions(
        scorer,
        table,
        evaluated(table, scored.decisions, selection, persons=None, columns=scored.columns),
        selection=selection,
        options=options,
        files=scored.files,
        notes=(*scored.notes, *notes, *labels.notes(rows), *decided_sentences(source), WITHOUT_RINGS),
        scored_earlier=True,
    )


def loaded(bundle: Scorer | str | Path) -> tuple[Scorer, list[Path]]:
    """Load a bundle that is a path; its folder may also hold digests of the training."""
    if isinstance(bundle, Scorer):
        return bundle, []
    return Scorer.load(bundle), [training_folder(bundle)]


def evaluated(
    table: RecordTable,
    decisions: Decisions,
    selection: Selection,
    *,
    persons: IntArray | None,
    columns: Mapping[str, Column],
    keys: Sequence[LinkKey] = (),
) -> EvaluatedRecords:
    """Take the selected records of a table, and the decisions about them; `keys` join frauds to rings."""
    rows = selection.rows

    def others(stopped: IntArray, labels: Int8Array) -> NotObserved | None:
        return NotObserved.of(
            decisions.take(stopped),
            labels,
            table.event_times[stopped],
            None if persons is None else persons[stopped],
            {name: column.take(stopped) for name, column in columns.items()},
        )

    return EvaluatedRecords(
        decisions=decisions.take(rows),
        labels=selection.targets,
        event_times=table.event_times[rows],
        record_ids=tuple([table.record_ids[row] for row in rows.tolist()]),
        persons=None if persons is None else persons[rows],
        columns={name: column.take(rows) for name, column in columns.items()},
        weights=selection.weights,
        rings=None if persons is None else rings_of_frauds(table, persons, keys, rows, selection.targets),
        not_observed=others(selection.stopped, selection.stopped_labels),
        stood_for=others(selection.stood_for, table.labels[selection.stood_for]),
    )


def evaluate_decisions(
    scorer: Scorer,
    table: RecordTable,
    records: EvaluatedRecords,
    *,
    selection: Selection,
    options: EvaluationOptions,
    files: tuple[str, ...],
    notes: tuple[str, ...] = (),
    scored_earlier: bool = False,
) -> Evaluation:
    """Evaluate the decisions about the selected records of a table."""
    events = records.event_times
    return evaluate_records(
        records,
        rules=scorer.rules,
        costs=costs_of(scorer),
        by=options.by,
        counts=scorer.score_counts,
        coverage=selection.coverage,
        provenance=provenance_of(
            scorer,
            events,
            files=files,
            notes=(*notes, *notes_on_population(table, records, scorer.contents.schema)),
            scored_earlier=scored_earlier,
        ),
        findings=(
            check_period(scorer, events),
            check_control(
                ControlGroup.of(records.weights, records.labels),
                days=float(np.ptp(events)) / DAY,
                records=len(records),
            ),
            check_digests(scorer, table, selection.rows, options.training, with_values=not scored_earlier),
            *training_findings(scorer),
        ),
        mute=muted_of(scorer, options),
    )


def costs_of(scorer: Scorer) -> CostSettings | None:
    """Return the costs of the policy of a bundle, if it has any."""
    costs = scorer.settings.get("policy", {}).get("costs")
    return None if costs is None else CostSettings(**costs)


def muted_of(scorer: Scorer, options: EvaluationOptions) -> tuple[str, ...]:
    """Return the codes of findings that the options or the bundle mute."""
    return (*options.mute, *scorer.settings.get("findings", {}).get("mute", ()))


def notes_on_population(table: RecordTable, records: EvaluatedRecords, schema: RecordSchema) -> Iterator[str]:
    """Say whom the figures are about, where that is not everyone."""
    if records.weights is not None:
        yield WEIGHTED
    elif records.is_sample:
        yield SAMPLED
    elif records.not_observed is not None:
        yield Stopped.of(records.not_observed).sentence(len(records))
    elif table.observed_until is None:
        yield assumed(schema)


def provenance_of(
    scorer: Scorer, events: IntArray, *, files: tuple[str, ...], notes: tuple[str, ...], scored_earlier: bool
) -> Provenance:
    """Describe a bundle and the records of some event times that it decided."""
    manifest = scorer.manifest
    return Provenance(
        name=manifest.name,
        model_version=manifest.model_version,
        policy_version=manifest.policy_version,
        files=files,
        since=int(events.min()),
        until=int(events.max()),
        scored_earlier=scored_earlier,
        notes=notes,
    )


def select_known(
    scorer: Scorer, table: RecordTable, options: EvaluationOptions, *, invalid: int
) -> Selection:
    """Select the records with a known class; refuse to evaluate none."""
    selection = select(
        table,
        as_of=table.latest_instant + 1 if options.as_of is None else options.as_of,
        maturity=maturity_of(scorer) if options.maturity is None else options.maturity,
        matured_only=options.matured_only,
        invalid=invalid,
    )
    if not len(selection.rows):
        raise NothingToEvaluate(selection.coverage)
    return selection


def maturity_of(scorer: Scorer) -> int:
    """Return the label maturity of a bundle, microseconds."""
    if not scorer.settings:
        raise EvaluationError("label_maturity: must be given for a scorer that was not loaded from a bundle")
    return int(scorer.settings["training"]["split"]["label_maturity"])


def _labelled(table: RecordTable, labels: Labels, schema: RecordSchema) -> RecordTable:
    """Replace the labels of a table."""
    rows = labels.rows_of(table.record_ids)
    found, times = labels.joined(rows, table.event_times, schema.labels.delay)
    return sampled(
        replace(
            table,
            labels=found,
            label_times=times,
            propensities=labels.drawn(rows, table.propensities),
            observed_until=labels.observed(rows, table.observed_until),
        )
    )


def with_columns(schema: RecordSchema, by: Iterable[str]) -> RecordSchema:
    """Add the columns of `by` that are no fields to a schema, as signals, so that they are read."""
    known = {AGE_BAND, *schema.columns.values()}
    added = {
        name: SignalType.CATEGORY for name in by if name not in known and _field(name, schema.fields) is None
    }
    return replace(schema, signals={**schema.signals, **added})


def _field(name: str, fields: Iterable[str]) -> str | None:
    """Return the field of a name, which may leave out `signals.`."""
    return next((field for field in (name, signal_field(name)) if field in fields), None)


def group_columns(table: RecordTable, names: Iterable[str], schema: RecordSchema) -> dict[str, Column]:
    """Return the columns of a table by which groups are made, by the names of the contract or of the user's files."""
    own = {column: field for field, column in schema.columns.items()}
    return {name: _column(table, name, own.get(name, name)) for name in names}


def refuse_groups(columns: Mapping[str, Column], selection: Selection, persons: IntArray) -> None:
    """Refuse columns with too many groups among the selected records, before they are scored."""
    rows = np.append(selection.rows, selection.stopped)
    check_groups({name: column.take(rows) for name, column in columns.items()}, persons[rows])


def _column(table: RecordTable, name: str, mapped: str) -> Column:
    if name == AGE_BAND:
        return age_bands(table.column("dob"), table.event_times)
    field = _field(name, table.columns) or _field(mapped, table.columns)
    # A configuration that maps no column to a field of the contract leaves it out of the table.
    if field is None and {name, mapped} & {*IDENTITY_FIELDS}:
        return Column.missing(len(table))
    if field is None:
        raise EvaluationError(f"by: the records have no column {name}")
    return table.column(field)
