"""Labelled histories of invented people and frauds, streamed in order of time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import pyarrow as pa

from scoring_model.arrays import IntArray
from scoring_model.synthetic.behaviour import Population
from scoring_model.synthetic.campaigns import Slice
from scoring_model.synthetic.draws import Draws
from scoring_model.synthetic.events import EventArray, blank, in_order
from scoring_model.synthetic.frauds import frauds
from scoring_model.synthetic.hard_negatives import hard_negatives
from scoring_model.synthetic.rows import label, schema, written
from scoring_model.synthetic.seasons import Calendar

_SLICE = 8192
BATCH_ROWS = 16_384
_FIRST_YEAR = 1990  # the oldest people are born some 110 years before


def generate(
    *,
    records: int,
    seed: int,
    start: str = "2024-01-01",
    months: int = 24,
    truth: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Make a labelled history of invented people, sorted by time.

    Memory is bounded: it holds a slice of the history, the groups under way and two numbers for every slice.

    Parameters
    ----------
    records : int
        Number of records, at least 0.
    seed : int
        The same seed gives the same records for every `batch_rows`.
    start : str
        First day, YYYY-MM-DD, UTC; from 1990 on.
    months : int
        Length, at least 1.
    truth : bool
        Whether to add `truth.kind` (genuine, ring, invented, stolen, burst) and `truth.person` (whom the
        record names: of a stolen identity, the victim). No model may read them.
    batch_rows : int
        Rows of each batch but the last, at least 1.

    Raises
    ------
    ValueError
        When an argument is out of its range, before the first batch.

    Examples
    --------
    >>> batch = next(generate(records=1000, seed=7))
    >>> batch.num_rows, batch.schema.names[0]
    (1000, 'recordId')
    """
    _check(records=records, start=start, months=months, batch_rows=batch_rows)
    history = _History(draws=Draws(seed), calendar=Calendar.over(start, months), records=records)
    return _rebatched(history.batches(truth=truth), schema(truth=truth), batch_rows)


@dataclass(kw_only=True, slots=True)
class _History:
    """A history in progress: the population so far, and the planned records of continuing groups."""

    draws: Draws
    calendar: Calendar
    records: int
    _pending: EventArray = field(default_factory=lambda: blank(0))

    def batches(self, *, truth: bool) -> Iterator[pa.RecordBatch]:
        population = Population(draws=self.draws, calendar=self.calendar, records=self.records)
        count = -(-self.records // _SLICE)
        first = 0
        for number in range(count):
            last = self.records * (number + 1) // count
            events = self._slice(Slice(number=number, of=count, records=last - first), population)
            labels = label(self.draws, events, end=self.calendar.end)
            start = self.calendar.start
            yield written(self.draws, events, labels, first=first, start=start, truth=truth)
            first = last

    def _slice(self, part: Slice, population: Population) -> EventArray:
        groups = self._due(part, population)
        singles = part.records - len(groups)
        position = np.arange(singles, dtype=np.uint64)
        keys = self.draws.bits("single", np.full(singles, part.number, dtype=np.uint64), position)
        times = np.sort(self.calendar.instants(part.shares(self.draws.uniform("single.time", keys))))
        return in_order([groups, population.verify(keys, times)])

    def _due(self, part: Slice, population: Population) -> EventArray:
        """Take the records of groups in this slice; keep later ones for the next slices.

        Should there be more than the slice holds (in histories of a few records), the latest are dropped.
        """
        begun = [*frauds(self.draws, part, population), *hard_negatives(self.draws, self.calendar, part)]
        planned = in_order([self._pending, *begun])
        due = int(np.searchsorted(planned["time"], self._end(part)))
        self._pending = planned[due:].copy()
        return planned[: min(due, part.records)]

    def _end(self, part: Slice) -> int:
        ends: IntArray = self.calendar.instants(part.shares(np.array([1.0])))
        return int(ends[0])


def _rebatched(batches: Iterator[pa.RecordBatch], layout: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    """Cut a stream into batches of `rows` rows and a rest."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            table = pa.Table.from_batches(waiting, schema=layout)
            whole = count - count % rows
            yield from (_one(table.slice(offset, rows)) for offset in range(0, whole, rows))
            waiting = table.slice(whole).to_batches()
            count -= whole
    if count:
        yield _one(pa.Table.from_batches(waiting, schema=layout))


def _one(table: pa.Table) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0]


def _check(*, records: int, start: str, months: int, batch_rows: int) -> None:
    problems = []
    if records < 0:
        problems.append(f"records must be at least 0, got {records}")
    if months < 1:
        problems.append(f"months must be at least 1, got {months}")
    if batch_rows < 1:
        problems.append(f"batch_rows must be at least 1, got {batch_rows}")
    if not _is_day(start):
        problems.append("start must be a day, YYYY-MM-DD, from 1990 on")
    if problems:
        raise ValueError("; ".join(problems))


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).year >= _FIRST_YEAR
    except ValueError:
        return False
