"""Scores tables of records: whole files and frames, with refused rows kept separate."""

import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from secrets import token_bytes
from typing import Any

import numpy as np
import pyarrow as pa

from scoring_model.arrays import FloatArray, Int8Array
from scoring_model.contract.fields import signal_field
from scoring_model.contract.outcome import OUTCOMES, DecidedBy
from scoring_model.decision.rules import Decisions
from scoring_model.history.digests import SECRET_BYTES, among, content_digests
from scoring_model.records import Record, RecordTable, parse_record
from scoring_model.records.reading import Reading, read_record, read_records
from scoring_model.rules import RuleEvaluator, Verdict, verdict_of
from scoring_model.scorer.decider import Reason
from scoring_model.scorer.record_scorer import RecordScorer, reasons_after

RESULT = pa.schema(
    [
        ("recordId", pa.string()),
        ("scoringScore", pa.int16()),
        ("scoringOutcome", pa.dictionary(pa.int8(), pa.string())),
        ("probability", pa.float64()),
        ("margin", pa.float64()),
        ("reasonCodes", pa.list_(pa.string())),
    ]
)
"""Columns of scored records, named as the service names them."""

_PROBLEMS = pa.field("problems", pa.string())

ALIGNED = RESULT.append(_PROBLEMS)
"""Columns of `Scorer.score`."""


RULED = pa.schema(
    [
        ("policyOutcome", RESULT.field("scoringOutcome").type),
        ("decidedBy", pa.string()),
        ("decidedByCode", pa.string()),
        ("ruleHits", pa.list_(pa.string())),
    ]
)
"""Further columns of records that were scored with rules of an operator."""


@dataclass(frozen=True, slots=True)
class Ruled:
    """What rules made of the decisions about a table.

    Parameters
    ----------
    policy_outcomes : ndarray of shape (n,), int8
        Codes of what score and thresholds alone decide.
    verdicts : sequence of Verdict
        One for each record.
    """

    policy_outcomes: Int8Array
    verdicts: Sequence[Verdict]

    def append_to(self, result: pa.Table) -> pa.Table:
        """Append the columns of `RULED`."""
        codes = [None if one.decided is None else one.decided.code for one in self.verdicts]
        by = [DecidedBy.POLICY.value if code is None else DecidedBy.RULE.value for code in codes]
        hits = [list(one.hits) for one in self.verdicts]
        for field, column in zip(
            RULED, (_outcome_column(self.policy_outcomes), by, codes, hits), strict=True
        ):
            result = result.append_column(
                field, pa.array(column, field.type) if isinstance(column, list) else column
            )
        return result


@dataclass(frozen=True, slots=True)
class Scored:
    """A table with the decision about each record.

    Parameters
    ----------
    decisions : Decisions
        Their outcomes are the final ones.
    ruled : Ruled or None
        What rules made of them, if there were any.
    reasons : sequence of tuple of Reason
        Reasons of each record; empty if it PASSED, or if reasons were not requested.
    """

    table: RecordTable
    decisions: Decisions
    reasons: Sequence[tuple[Reason, ...]]
    ruled: Ruled | None = None

    def to_arrow(self) -> pa.Table:
        """As columns of `RESULT`, with those of `RULED` if there were rules."""
        result = pa.table(
            [
                pa.array(self.table.record_ids, pa.string()),
                pa.array(self.decisions.scores.astype(np.int16)),
                _outcome_column(self.decisions.outcomes),
                pa.array(self.decisions.probabilities),
                pa.array(self.decisions.margins),
                pa.array(
                    [[reason.code for reason in row] for row in self.reasons],
                    RESULT.field("reasonCodes").type,
                ),
            ],
            schema=RESULT,
        )
        return result if self.ruled is None else self.ruled.append_to(result)


def _outcome_column(outcomes: Int8Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(outcomes), pa.array([str(outcome) for outcome in OUTCOMES])
    )


def score_table(
    scorer: RecordScorer,
    table: RecordTable,
    *,
    history: RecordTable | None = None,
    as_of: int | None = None,
    reasons: bool = True,
    rules: RuleEvaluator | None = None,
) -> Scored:
    """Score every record of a table.

    Parameters
    ----------
    table : RecordTable
        Its records see each other as history.
    history : RecordTable, optional
        Further earlier records, which are not scored.
    as_of : int, optional
        Instant, microseconds: labels that became known then or later do not count.
    """
    rows = feature_rows(scorer, table, history, as_of=as_of)
    return score_rows(scorer, table, rows, reasons=reasons, rules=rules)


def score_rows(
    scorer: RecordScorer,
    table: RecordTable,
    rows: FloatArray,
    *,
    reasons: bool,
    rules: RuleEvaluator | None = None,
) -> Scored:
    """Score the records of a table by their feature rows."""
    decisions, ruled = scorer.decide(rows), None
    stopped = decisions.outcomes != 0
    if rules is not None:
        decisions, ruled = _decide_by_rules(rules, decisions, table, rows)
    explained: list[tuple[Reason, ...]] = [()] * len(rows)
    for place in np.flatnonzero(decisions.outcomes).tolist() if reasons else ():
        of_model = scorer.reasons(rows[place]) if stopped[place] else ()
        explained[place] = of_model if ruled is None else reasons_after(ruled.verdicts[place], of_model)
    return Scored(table, decisions, explained, ruled)


def _decide_by_rules(
    rules: RuleEvaluator, decisions: Decisions, table: RecordTable, rows: FloatArray
) -> tuple[Decisions, Ruled]:
    """Return decisions with the final outcomes, and what rules made of them."""
    held = rules.table_hits(decisions.scores, table, rows)
    by_policy = [OUTCOMES[code] for code in decisions.outcomes.tolist()]
    nothing = [Verdict(outcome, None, ()) for outcome in OUTCOMES]
    verdicts = [nothing[code] for code in decisions.outcomes.tolist()]
    for place in np.flatnonzero(held.any(axis=1)).tolist():
        hits = np.flatnonzero(held[place]).tolist()
        verdicts[place] = verdict_of(rules.rules, hits, by_policy[place])
    codes = {outcome: code for code, outcome in enumerate(OUTCOMES)}
    final = np.array([codes[one.outcome] for one in verdicts], dtype=np.int8)
    return replace(decisions, outcomes=final), Ruled(decisions.outcomes, verdicts)


def feature_rows(
    scorer: RecordScorer, table: RecordTable, history: RecordTable | None, *, as_of: int | None = None
) -> FloatArray:
    """Compute the inputs of the model for every record of a table; see `score_table`.

    Returns
    -------
    ndarray of shape (n, d), float64
    """
    before = 0 if history is None else len(history)
    whole = table if history is None else history.append(table)
    return scorer.matrix.rows(whole if as_of is None else whole.labelled_before(as_of), before)


class RepeatedRecords(ValueError):
    """A record is in what is scored and in its history, where it would count as an earlier record of itself."""

    def __init__(self, count: int, example: str) -> None:
        super().__init__(
            f"{count:,} records of the history are also scored, by their recordId ({example}): leave them out of one "
            "of both; for score, features and explain-record --allow-repeats (allow_repeats=True) leaves them out of "
            "the history"
        )


class EqualRecords(UserWarning):
    """Records of a history without ids equal scored ones."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count:,} records of the history have the instant and all values of a scored one, and without ids on "
            "both sides count as other records: if they are the same, leave them out of one of both"
        )


class AbsentColumns(UserWarning):
    """A source lacks columns of signals that the model reads, perhaps since they are called otherwise now."""

    def __init__(self, signals: Sequence[str]) -> None:
        super().__init__(
            f"the model reads {', '.join(signals)}, which no column holds: in every record they count as missing"
        )


def absent_signals(scorer: RecordScorer, present: Collection[str]) -> list[str]:
    """List the signals that are not present and that a feature reads alone, so that the training had values of them."""
    needed = {one.inputs[0] for one in scorer.matrix.features if len(one.inputs) == 1}
    return sorted(needed.intersection(map(signal_field, scorer.contents.schema.signals)).difference(present))


def one_record(scorer: RecordScorer, data: Any) -> Record | None:
    """Read a record that is a mapping or a pandas Series; None for a frame or file."""
    schema = scorer.contents.schema
    if isinstance(data, Mapping):
        return read_record(data, schema) if scorer.is_row(data) else parse_record(data, schema)
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.Series):
        return None
    return read_record({str(name): value for name, value in data.items()}, schema)


def score_frame(
    scorer: RecordScorer,
    data: Any,
    *,
    history: Any = None,
    as_of: int | None = None,
    allow_repeats: bool = False,
    rules: RuleEvaluator | None = None,
) -> Any:
    """Score a frame; see `Scorer.score`."""
    reading = read_records(data, scorer.contents.schema, labelled=False)
    past = read_histories(scorer, history, scored=reading, allow_repeats=allow_repeats)
    scored = score_table(scorer, reading.table, history=past, as_of=as_of, rules=rules)
    return aligned_frame(scored.to_arrow(), reading, data)


def aligned_frame(found: pa.Table, reading: Reading, data: Any) -> Any:
    """Return one row for each row of a source: a DataFrame with the index of a DataFrame, else a table.

    Parameters
    ----------
    found : pyarrow.Table
        One row for each record of the reading. Refused rows become null, with their violations in `problems`.
    """
    result = _aligned(found, reading)
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return result
    frame = result.to_pandas(types_mapper={pa.int16(): pandas.Int16Dtype()}.get)
    return frame.set_axis(data.index, axis=0)


def read_histories(
    scorer: RecordScorer,
    history: Any,
    *,
    scored: Reading | Record | None = None,
    recent: bool = True,
    allow_repeats: bool = False,
) -> RecordTable | None:
    """Read records that are only history; invalid ones are dropped.

    Parameters
    ----------
    history : frame or path, or a list of them, or None; or a RecordTable, which is returned as it is
    scored : Reading or Record, optional
        The records whose features are computed.
    recent : bool
        Whether older history than the scored records can see may be left out.
    allow_repeats : bool
        Whether records of the history with the id of a scored one are left out.

    Raises
    ------
    RepeatedRecords
        If they are not, and there are any.

    Warns
    -----
    EqualRecords
        If ids are missing on one side, and records equal scored ones.
    AbsentColumns
        If no column holds a signal that the model reads.
    """
    if isinstance(history, RecordTable):
        return history
    sources = [] if history is None else history if isinstance(history, list | tuple) else [history]
    schema, since, ids = scorer.contents.schema, None, None
    if isinstance(scored, Record):
        table, has_ids = RecordTable.of(scored), scored.record_id is not None
    elif scored is not None:
        table, has_ids = scored.table, scored.ids is not None
    if scored is not None and len(table):
        ids = pa.array(table.record_ids, pa.string()) if has_ids else None
        since = int(table.event_times.min()) - scorer.matrix.reach if recent else None
    if isinstance(scored, Reading) and len(table) and (absent := absent_signals(scorer, table.columns)):
        warnings.warn(AbsentColumns(absent), stacklevel=2)
    readings = [read_records(source, schema, labelled=False, since=since, ids=ids) for source in sources]
    tables = [reading.table for reading in readings]
    if scored is not None and scorer.matrix.link_keys:
        tables = list(_without_repeats(readings, table, has_ids=has_ids, allow_repeats=allow_repeats))
    return reduce(RecordTable.append, tables) if tables else None


def _without_repeats(
    readings: Sequence[Reading], scored: RecordTable, *, has_ids: bool, allow_repeats: bool
) -> Iterator[RecordTable]:
    """Yield histories without the records that are scored; raise if they must not be there."""
    secret, equal, copies = token_bytes(SECRET_BYTES), 0, list[str]()
    known, own = frozenset(scored.record_ids), None
    for reading in readings:
        table = reading.table
        if not has_ids or reading.ids is None:
            own = content_digests(scored, secret) if own is None else own
            equal += int(np.count_nonzero(among(content_digests(table, secret), own)))
            yield table
            continue
        repeated = np.array([one in known for one in table.record_ids], dtype=np.bool_)
        copies += [table.record_ids[row] for row in np.flatnonzero(repeated).tolist()]
        yield table.take(np.flatnonzero(~repeated)) if repeated.any() else table
    if copies and not allow_repeats:
        raise RepeatedRecords(len(copies), f"the first is {copies[0]}")
    if equal:
        warnings.warn(EqualRecords(equal), stacklevel=2)


def _aligned(scored: pa.Table, reading: Reading) -> pa.Table:
    """Return one row for each row read; refused rows are null, with their violations."""
    place = np.full(reading.rows, -1, dtype=np.int64)
    place[reading.table.source_rows] = np.arange(len(reading.table))
    taken = scored.take(pa.array(place, mask=place < 0))
    texts: list[str | None] = [None] * reading.rows
    for row, found in reading.violations:
        text = f"{found.field}: {found.code}: {found.detail}"
        texts[row] = text if texts[row] is None else f"{texts[row]}; {text}"
    return taken.append_column(_PROBLEMS, pa.array(texts, pa.string()))
