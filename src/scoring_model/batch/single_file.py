"""Scores one file of records into another, or exports the features of its records."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.contract.fields import PROPENSITY
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.records import NEVER, RecordTable
from scoring_model.records.atomic import atomic_file
from scoring_model.records.observation import OBSERVED_COLUMN
from scoring_model.records.quarantine import FORMULA_STARTS, GUARD, accept, check_unread, write_quarantine
from scoring_model.records.reading import Reading, read_records
from scoring_model.rules import Rules
from scoring_model.scorer import Scorer
from scoring_model.scorer.feature_frames import feature_table
from scoring_model.scorer.frames import read_histories, score_table

_FORMULA: Final = rf"\A([{re.escape(''.join(FORMULA_STARTS))}])"


def write_table(table: pa.Table, path: Path, *, guard_formulas: bool = True) -> None:
    """Write a table in the format of the path's extension.

    Parameters
    ----------
    path : Path
        Ends in one of `FORMATS`. In CSV a list is its items separated by blanks.
    guard_formulas : bool
        Whether text in CSV that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    check_format(path)
    if path.suffix == ".csv":
        table = _flat(table)
        table = _guarded(table) if guard_formulas else table
    with atomic_file(path) as partial:
        FORMATS[path.suffix](table, partial)


def check_format(path: Path) -> None:
    """Refuse a path that cannot be written, before any work.

    Raises
    ------
    ValueError
        If its extension is unknown.
    FileNotFoundError
        When its folder does not exist.
    """
    if path.suffix not in FORMATS:
        raise ValueError(f"{path.name}: must end in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: there is no such folder for {path.name}")


def _parquet(table: pa.Table, path: Path) -> None:
    pyarrow.parquet.write_table(table, path, compression="zstd")


def _flat(table: pa.Table) -> pa.Table:
    """Convert lists and dictionaries, which CSV lacks, to plain columns."""
    for place, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            table = table.set_column(place, field.name, pc.binary_join(table.column(place), " "))
        elif pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def _guarded(table: pa.Table) -> pa.Table:
    """Guard the text of a flat table; numbers, including negative ones, are unchanged."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            cells = pc.replace_substring_regex(table.column(place), _FORMULA, rf"{GUARD}\1")
            table = table.set_column(place, field.name, cells)
    return table


def _json_lines(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for batch in table.to_batches(max_chunksize=10_000):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())


FORMATS: Final[Mapping[str, Callable[[pa.Table, Path], None]]] = {
    ".parquet": _parquet,
    ".csv": pyarrow.csv.write_csv,
    ".jsonl": _json_lines,
}
"""Writers by file ending."""


MAX_BAD_SHARE: Final = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredFile:
    """The result of scoring a file.

    Parameters
    ----------
    refused : int
        Rows that break the contract.
    quarantine : Path or None
        List of the refused rows, if any.
    later_labels : int or None
        Labels that became known at the as-of instant or later, which did not count; None without such an instant.
    """

    records: int
    refused: int
    outcomes: Mapping[str, int]
    quarantine: Path | None
    later_labels: int | None


def score_file(
    scorer: Scorer,
    source: Path | Sequence[Path],
    out: Path,
    *,
    histories: Sequence[Path | Sequence[Path]] = (),
    as_of: int | None = None,
    reasons: bool = False,
    max_bad_share: float = MAX_BAD_SHARE,
    allow_repeats: bool = False,
    guard_formulas: bool = True,
    rules: Rules | Mapping[str, Any] | None = None,
) -> ScoredFile:
    """Score a file of records.

    Records of the file and of the histories are each other's history by event time. The whole file is held in memory:
    8 bytes for each feature and record.

    Parameters
    ----------
    source : Path or sequence of Path
        Parquet, CSV or JSON Lines.
    out : Path
        Parquet, CSV or JSON Lines: one row for each good record, in the order of the source, with the versions
        of what decided and the event time. It is written atomically.
    histories : sequence of Path or of their sequences
        Each like a source, read by itself: earlier records, labelled or not, which are not scored.
    as_of : int, optional
        Instant, microseconds: labels that became known then or later do not count. Records of any time are scored.
    max_bad_share : float
        Share of bad rows above which nothing is scored.
    allow_repeats : bool
        Whether records of the histories with the `recordId` of a scored one are left out of them.
    guard_formulas : bool
        Whether text in CSV that a spreadsheet would run as a formula gets an apostrophe in front.
    rules : Rules or mapping, optional
        Rules of an operator, which decide after score and thresholds, as for `Scorer.score`.

    Raises
    ------
    TooManyBadRows
        After the quarantine file was written.
    InvalidRules, RepeatedRecords
        As `Scorer.score`, whose warning is given too.
    """
    check_format(out)
    check_unread(out, source, *histories)
    ready = None if rules is None else scorer.rule_evaluator(rules)
    reading, quarantine = _read(scorer, source, out, max_bad_share=max_bad_share)
    # With an instant, the late labels of all records are counted.
    past = read_histories(
        scorer, histories, scored=reading, recent=as_of is None, allow_repeats=allow_repeats
    )
    scored = score_table(scorer, reading.table, history=past, as_of=as_of, reasons=reasons, rules=ready)
    write_table(scored_columns(scored.to_arrow(), scorer, reading.table), out, guard_formulas=guard_formulas)
    counts = Counter(scored.decisions.outcomes.tolist())
    return ScoredFile(
        records=len(reading.table),
        refused=reading.rows - len(reading.table),
        outcomes={str(outcome): counts[code] for code, outcome in enumerate(OUTCOMES)},
        quarantine=quarantine,
        later_labels=_later_labels(as_of, reading.table, past),
    )


def scored_columns(result: pa.Table, scorer: Scorer, table: RecordTable) -> pa.Table:
    """Add to decisions the versions of what decided, and what an evaluation needs later: times and who was stopped.

    A file without a column of these is one whose records say nothing of it.
    """
    events, until, propensities = table.event_times, table.observed_until, table.propensities
    result = _with_versions(result, scorer).append_column("eventTime", _instants(events))
    if until is not None:
        until = np.maximum(until, events)
        result = result.append_column(OBSERVED_COLUMN, _instants(until, absent=until == NEVER))
    if propensities is not None:
        result = result.append_column(PROPENSITY, pa.array(propensities, mask=np.isnan(propensities)))
    return result


def _later_labels(as_of: int | None, *tables: RecordTable | None) -> int | None:
    """Count the labels that became known at an instant or later; None without an instant."""
    if as_of is None:
        return None
    found = [table for table in tables if table is not None]
    return sum(int(table.labelled_from(as_of).sum()) for table in found)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedFeatures:
    """The result of exporting features.

    Parameters
    ----------
    refused : int
        Rows that break the contract.
    quarantine : Path or None
        List of the refused rows, if any.
    """

    records: int
    features: int
    refused: int
    quarantine: Path | None


def export_features(
    scorer: Scorer,
    source: Path | Sequence[Path],
    out: Path,
    *,
    histories: Sequence[Path | Sequence[Path]] = (),
    contributions: bool = False,
    max_bad_share: float = MAX_BAD_SHARE,
    allow_repeats: bool = False,
) -> ExportedFeatures:
    """Write what the model reads of every good record of a file, for tools that look into models.

    Parameters
    ----------
    source, histories, max_bad_share, allow_repeats
        As for `score_file`.
    out : Path
        Ends in ``.parquet``, which keeps every bit. It holds the columns of `Scorer.features` without ``problems``, and
        one row for each good record, in the order of the source. It is written atomically.
    contributions : bool
        Whether to add the contribution of each feature to the margin.

    Raises
    ------
    TooManyBadRows
        After the quarantine file was written.
    """
    if out.suffix != ".parquet":
        raise ValueError(f"{out.name}: must end in .parquet, which keeps every bit of a feature")
    check_format(out)
    check_unread(out, source, *histories)
    reading, quarantine = _read(scorer, source, out, max_bad_share=max_bad_share)
    past = read_histories(scorer, histories, scored=reading, allow_repeats=allow_repeats)
    write_table(feature_table(scorer, reading.table, history=past, contributions=contributions), out)
    return ExportedFeatures(
        records=len(reading.table),
        features=len(scorer.matrix.names),
        refused=reading.rows - len(reading.table),
        quarantine=quarantine,
    )


def _read(
    scorer: Scorer, source: Path | Sequence[Path], out: Path, *, max_bad_share: float
) -> tuple[Reading, Path | None]:
    """Read the records of a file, and list its rejected rows beside `out`."""
    reading = read_records(source, scorer.contents.schema, labelled=False)
    quarantine = _quarantine(reading, out.with_suffix(".quarantine.csv"))
    accept(reading, max_share=max_bad_share)
    return reading, quarantine


def _quarantine(reading: Reading, path: Path) -> Path | None:
    """Write the rejected rows; without any, remove the file of an earlier job."""
    if not reading.violations:
        path.unlink(missing_ok=True)
        return None
    write_quarantine(reading, path)
    return path


def _instants(micros: IntArray, absent: BoolArray | None = None) -> pa.Array:
    """Write instants as RFC 3339 text, the same in every format; null where absent."""
    stamps = pa.array(micros.astype("datetime64[us]"), pa.timestamp("us"), mask=absent)
    # `strftime` takes ten times as long. A cast differs by a blank for the T, and by the missing Z.
    texts = pc.binary_join_element_wise(stamps.cast(pa.string()), "Z", "")
    return pc.utf8_replace_slice(texts, start=10, stop=11, replacement="T")


def _with_versions(table: pa.Table, scorer: Scorer) -> pa.Table:
    for name, value in (
        ("modelVersion", scorer.manifest.model_version),
        ("policyVersion", scorer.manifest.policy_version),
    ):
        codes = pa.array(np.zeros(len(table), dtype=np.int8))
        table = table.append_column(name, pa.DictionaryArray.from_arrays(codes, pa.array([value])))
    return table
