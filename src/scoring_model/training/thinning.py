"""Thinning: a training keeps all frauds of the train part and some of its genuine records, which weigh more.

Only the train part and the burn-in are thinned. Validation and test parts stay whole, so scale, calibration,
thresholds, promises and evaluation are those of a training on all records. Features of the kept records are computed
from the whole history.

A record is kept by a hash of its content. So the choice does not depend on files, rows, partitions or other records.

References
----------
Horvitz, Thompson 1952, doi:10.1080/01621459.1952.10483446, for weights of one over the share. King, Zeng 2001,
doi:10.1093/oxfordjournals.pan.a004868, section 4.2, for weights where one class was thinned.

Decision record: docs/adr/0016-large-trainings.md.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, Int8Array, IntArray
from scoring_model.configuration import Configuration, SplitSettings, ThinningSettings
from scoring_model.evaluation.training_digests import content_digests
from scoring_model.features import FeatureMatrix
from scoring_model.records import NEVER, RecordTable
from scoring_model.records.observation import observed
from scoring_model.training.boundaries import SplitBoundaries, SplitError, place_boundaries
from scoring_model.training.split import (
    BURN_IN,
    JUDGED,
    REASONS,
    SEGMENTS,
    SHARED,
    TEST,
    TRAIN,
    PartSummary,
    Split,
    segments_of,
    split,
    targets_of,
)

FACTS: Final = np.dtype(
    [("row", "<i8"), ("time", "<i8"), ("label", "i1"), ("known", "<i8"), ("observed", "?"), ("draw", "<u8")]
)
"""What decides whether a record is kept: row, event time, label, time from which it counts, whether observed, draw.

The draw is a hash, uniform below 2**64.
"""

Facts = NDArray[Any]
"""Rows of `FACTS`, shape (n,)."""

_LAST: Final = 2**64 - 1
_THINNED: Final = "genuine, left out by training.thinning"
_HISTORY: Final = "feeds history only, left out of the fitted tables by training.thinning"


def record_facts(table: RecordTable, configuration: Configuration, first_row: int = 0) -> Facts:
    """Return what decides about the records of a table.

    Parameters
    ----------
    first_row : int
        Row of the whole source that is row 0 of the table's source.

    Raises
    ------
    SplitError
        If the records have propensities.
    """
    if table.propensities is not None:
        raise SplitError(("training.thinning is for records without propensities, which weigh records too",))
    facts = np.zeros(len(table), FACTS)
    facts["row"] = table.source_rows + first_row
    facts["time"], facts["label"], facts["known"] = table.event_times, table.labels, table.label_times
    facts["observed"] = observed(table, configuration.training.split.label_maturity)
    key = f"training.thinning {configuration.training.seed}".encode()
    digests = content_digests(table, configuration.schema.fields, key)
    facts["draw"] = digests.view("<u8")[::2]
    return facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Thinning:
    """The choice of records.

    Parameters
    ----------
    last : int
        Genuine records of the train part, and records of the burn-in, are kept up to this draw.
    whole_until : int
        Records up to this instant are in the table whatever their draw, for the leakage checks alone.
    records : tuple of int
        Records of each segment of the split.
    unknown : int
        Records of the train part that are not known to be fraud or genuine.
    genuine, kept_genuine : int
        Genuine records of the train part, and how many of them are kept.
    """

    boundaries: SplitBoundaries
    label_maturity: int
    last: int
    whole_until: int
    records: tuple[int, ...]
    unknown: int
    genuine: int
    kept_genuine: int

    @property
    def read(self) -> int:
        """Return the number of valid records."""
        return sum(self.records)

    @property
    def weight(self) -> float:
        """Return the weight of a genuine record of the train part."""
        return self.genuine / self.kept_genuine if self.kept_genuine else 1.0

    @property
    def sentence(self) -> str:
        """Describe what is kept of the train part, and its weight."""
        return (
            f"training.thinning: of {self.genuine:,} genuine records of the train part, {self.kept_genuine:,} are "
            f"kept, and each weighs {self.weight:.6g}; frauds, the validation part and the test part are whole"
        )

    def to_json(self) -> dict[str, int | float]:
        """Return the numbers of records, and the weight."""
        return {
            "records_read": self.read,
            "train_genuine": self.genuine,
            "train_genuine_kept": self.kept_genuine,
            "train_genuine_weight": self.weight,
        }

    def used(self, facts: Facts) -> BoolArray:
        """Return which records are used in their part."""
        segments, targets = _placed(facts, self.boundaries, self.label_maturity)
        drawn = facts["draw"] <= np.uint64(self.last)
        in_train = (segments == TRAIN) & ((targets == 1) | ((targets == 0) & drawn))
        found: BoolArray = in_train | ((segments == BURN_IN) & drawn) | np.isin(segments, JUDGED)
        return found

    def kept(self, facts: Facts) -> BoolArray:
        """Return which records are kept, with those for the leakage checks alone."""
        return self.used(facts) | (facts["time"] <= self.whole_until)


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptRecords:
    """The records that a training keeps, ordered by event time and draw.

    Parameters
    ----------
    used : ndarray of shape (n,), bool
        Whether the record is used in its part; the others are for the leakage checks.
    rows : callable
        Computes the features of the records from the whole history.
    """

    table: RecordTable
    used: BoolArray
    thinning: Thinning
    rows: Callable[[FeatureMatrix], FloatArray]

    def split(self, persons: IntArray, settings: SplitSettings) -> Split:
        """Split the records, with the number of all records in the summaries."""
        table = self.table
        parts = split(
            table.event_times,
            table.labels,
            table.label_times,
            persons,
            settings,
            observed=observed(table, settings.label_maturity),
            boundaries=self.thinning.boundaries,
            usable=self.used,
        )
        return replace(parts, summaries=tuple(_counted(parts, self.thinning)))


def keep(table: RecordTable, configuration: Configuration) -> KeptRecords:
    """Choose records of a table."""
    facts = record_facts(table, configuration)
    thinning = choose(lambda: [facts], configuration)
    kept = facts[places := np.flatnonzero(thinning.kept(facts))]
    places = places[by_time(kept)]
    return KeptRecords(
        table=table.take(places),
        used=thinning.used(facts[places]),
        thinning=thinning,
        rows=lambda matrix: matrix.rows(table)[places],
    )


def by_time(facts: Facts) -> IntArray:
    """Return the order of kept records, which does not depend on that of the source."""
    return np.lexsort((facts["draw"], facts["time"]))


def choose(chunks: Callable[[], Iterable[Facts]], configuration: Configuration) -> Thinning:
    """Choose the records of a history.

    Parameters
    ----------
    chunks : callable
        Returns the facts of all records in pieces; called several times.

    Raises
    ------
    SplitError
        If the records cannot be split, or more frauds than records are to be kept.
    """
    settings = configuration.training
    assert settings.thinning is not None
    checked = settings.leakage_checks.max_records if settings.leakage_checks.run else 0
    first, latest, whole_until = _ends(chunks(), checked)
    if latest is None:
        raise SplitError(("there are no records",))
    as_of = latest + 1 if settings.split.as_of is None else settings.split.as_of
    of_split = configuration.split_over(as_of - first)
    boundaries, maturity = place_boundaries(first, as_of, of_split), of_split.label_maturity
    records = np.zeros(len(SEGMENTS), np.int64)
    known = np.zeros(3, np.int64)  # unknown, genuine and frauds of the train part
    for facts in chunks():
        segments, targets = _placed(facts, boundaries, maturity)
        records += np.bincount(segments, minlength=len(SEGMENTS))
        known += np.bincount(targets[segments == TRAIN] + 1, minlength=3)
    unknown, genuine, frauds = known.tolist()
    draws = _genuine_draws(chunks, boundaries, maturity)
    last = _last_draw(draws, settings.thinning, genuine=genuine, frauds=frauds)
    return Thinning(
        boundaries=boundaries,
        label_maturity=maturity,
        last=last,
        whole_until=whole_until,
        records=tuple(records.tolist()),
        unknown=unknown,
        genuine=genuine,
        kept_genuine=sum(int(np.count_nonzero(found <= np.uint64(last))) for found in draws()),
    )


def _placed(facts: Facts, boundaries: SplitBoundaries, maturity: int) -> tuple[NDArray[np.intp], Int8Array]:
    """Return segment and target of each record."""
    segments = segments_of(facts["time"], boundaries)
    known = facts["label"], facts["known"], facts["observed"]
    return segments, targets_of(facts["time"], *known, segments, boundaries, maturity)


def _ends(chunks: Iterable[Facts], checked: int) -> tuple[int, int | None, int]:
    """Return the first and the latest instant, and that of the last of the earliest records."""
    first, latest = NEVER, None
    earliest = np.zeros(0, np.int64)
    for facts in chunks:
        if not len(facts):
            continue
        times, known = facts["time"], facts["known"][facts["known"] != NEVER]
        end = max(int(times.max()), int(known.max(initial=times.max())))
        first, latest = min(first, int(times.min())), end if latest is None else max(latest, end)
        earliest = np.sort(np.concatenate([earliest, times]))[:checked]
    return first, latest, int(earliest[-1]) if len(earliest) else first - 1


def _genuine_draws(
    chunks: Callable[[], Iterable[Facts]], boundaries: SplitBoundaries, maturity: int
) -> Callable[[], Iterator[NDArray[np.uint64]]]:
    """Return the draws of the genuine records of the train part, in pieces."""

    def draws() -> Iterator[NDArray[np.uint64]]:
        for facts in chunks():
            segments, targets = _placed(facts, boundaries, maturity)
            yield facts["draw"][(segments == TRAIN) & (targets == 0)]

    return draws


def _last_draw(
    draws: Callable[[], Iterator[NDArray[np.uint64]]],
    settings: ThinningSettings,
    *,
    genuine: int,
    frauds: int,
) -> int:
    """Return the draw up to which genuine records are kept."""
    if settings.genuine is not None:
        return _up_to(settings.genuine)
    assert settings.most_records is not None
    wanted = settings.most_records - frauds
    if wanted < 1:
        raise SplitError(
            (
                f"training.thinning.most_records is {settings.most_records}, but the train part has {frauds} frauds, "
                "which are all kept",
            )
        )
    if wanted >= genuine:
        return _LAST
    # More than enough, so that few are in memory at once.
    limit = np.uint64(_up_to((wanted + 10 * math.sqrt(wanted)) / genuine))
    found = np.concatenate([piece[piece <= limit] for piece in draws()])
    if len(found) < wanted:
        found = np.concatenate(list(draws()))
    last = int(np.partition(found, wanted - 1)[wanted - 1])
    is_tied = int(np.count_nonzero(found <= np.uint64(last))) > wanted
    return last - is_tied


def _up_to(share: float) -> int:
    """Return the largest draw of a share of all."""
    return min(int(share * 2.0**64) - 1, _LAST)


def _counted(parts: Split, thinning: Thinning) -> Iterator[PartSummary]:
    """Complete summaries of kept records by those that were left out."""
    numbers = [number for number in range(len(SEGMENTS)) if len(parts.summaries) == len(SEGMENTS)]
    numbers = numbers or [*range(TEST - 1), *range(TEST + 1, len(SEGMENTS))]
    for number, summary in zip(numbers, parts.summaries, strict=True):
        records = thinning.records[number]
        left_out = dict(summary.left_out)
        if number == TRAIN:
            shared = left_out.get(SHARED, 0)
            thinned = records - summary.genuine - summary.frauds - thinning.unknown - shared
            left_out = {REASONS["train"]: thinning.unknown, _THINNED: thinned, SHARED: shared}
        elif number == BURN_IN:
            left_out = {REASONS["burn-in"]: len(parts.burn_in), _HISTORY: records - len(parts.burn_in)}
        elif number not in JUDGED:
            left_out = {REASONS[summary.part]: records}
        yield replace(
            summary,
            records=records,
            left_out={reason: count for reason, count in left_out.items() if count},
        )
