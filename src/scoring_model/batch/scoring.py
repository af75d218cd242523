"""One file of records scored into another."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from scoring_model.batch.files import check_format, write_table
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.records.quarantine import accept, write_quarantine
from scoring_model.records.reading import Reading, read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import read_histories, score_table

MAX_BAD_SHARE: Final = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredFile:
    """The result of scoring a file.

    Parameters
    ----------
    records : int
        Records scored.
    refused : int
        Rows that break the contract.
    outcomes : mapping of str to int
        Records by outcome.
    quarantine : Path or None
        Where the refused rows are listed, if there are any.
    """

    records: int
    refused: int
    outcomes: Mapping[str, int]
    quarantine: Path | None


def score_file(
    scorer: Scorer,
    source: Path | Sequence[Path],
    out: Path,
    *,
    histories: Sequence[Path] = (),
    reasons: bool = False,
    max_bad_share: float = MAX_BAD_SHARE,
    guard_formulas: bool = True,
) -> ScoredFile:
    """Score a file of records.

    The records of the file, and those of the histories, are each other's history by event time. The whole file
    is held in memory: its features take 8 bytes for each feature and record.

    Parameters
    ----------
    source : Path or sequence of Path
        Parquet, CSV or JSON Lines.
    out : Path
        Parquet, CSV or JSON Lines: one row for each good record, in the order of the source, with the versions
        of what decided. It is written atomically.
    histories : sequence of Path
        Earlier records, labelled or not, which are not scored.
    reasons : bool
        Whether to add reasons for STEPPED_UP and FAILED.
    max_bad_share : float
        Share of bad rows above which nothing is scored.
    guard_formulas : bool
        Whether text in CSV that a spreadsheet would run as a formula gets an apostrophe in front.

    Raises
    ------
    TooManyBadRows
        After the quarantine file was written.
    """
    check_format(out)
    reading = read_records(source, scorer.contents.schema, labelled=False)
    quarantine = _quarantine(reading, out.with_suffix(".quarantine.csv"))
    accept(reading, max_share=max_bad_share)
    past = read_histories(scorer, histories)
    scored = score_table(scorer, reading.table, history=past, reasons=reasons)
    write_table(_with_versions(scored.to_arrow(), scorer), out, guard_formulas=guard_formulas)
    counts = Counter(scored.decisions.outcomes.tolist())
    return ScoredFile(
        records=len(reading.table),
        refused=reading.rows - len(reading.table),
        outcomes={str(outcome): counts[code] for code, outcome in enumerate(OUTCOMES)},
        quarantine=quarantine,
    )


def _quarantine(reading: Reading, path: Path) -> Path | None:
    """Write the rejected rows; without any, remove the file of an earlier job."""
    if not reading.violations:
        path.unlink(missing_ok=True)
        return None
    write_quarantine(reading, path)
    return path


def _with_versions(table: pa.Table, scorer: Scorer) -> pa.Table:
    for name, value in (
        ("modelVersion", scorer.manifest.model_version),
        ("policyVersion", scorer.manifest.policy_version),
    ):
        codes = pa.array(np.zeros(len(table), dtype=np.int8))
        table = table.append_column(name, pa.DictionaryArray.from_arrays(codes, pa.array([value])))
    return table
