"""Writes histories as files: Parquet, CSV and JSON Lines, atomically."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from scoring_model.records.atomic import atomic_file
from scoring_model.synthetic.history import generate
from scoring_model.synthetic.rows import schema

Sink: TypeAlias = Callable[[pa.RecordBatch], None]

_ROW_GROUP = 65_536
_RFC_3339 = "%Y-%m-%dT%H:%M:%SZ"  # Arrow's %S has the six digits of the column's unit


def write(
    path: Path | str,
    *,
    records: int,
    seed: int,
    start: str = "2024-01-01",
    months: int = 24,
    truth: bool = False,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Write a labelled history of invented people to a file, in the format of its extension.

    Parameters
    ----------
    path : Path or str
        Ends in .parquet, .csv, .jsonl or .ndjson. Appears when it is whole; replaces a file of that name.
    records, seed, start, months, truth
        As in `generate`. The same arguments give the same bytes.
    progress : callable, optional
        Called with the number of records written so far, in growing numbers.

    Raises
    ------
    ValueError
        When the ending is none of these, or an argument is out of its range.
    """
    path = Path(path)
    sink = _sink(path)
    batches = generate(
        records=records, seed=seed, start=start, months=months, truth=truth, batch_rows=_ROW_GROUP
    )
    written = 0
    with atomic_file(path) as unfinished, sink(unfinished, schema(truth=truth)) as put:
        for batch in batches:
            put(batch)
            written += batch.num_rows
            if progress is not None:
                progress(written)


def _sink(path: Path) -> Callable[[Path, pa.Schema], AbstractContextManager[Sink]]:
    sinks = {".parquet": _parquet, ".csv": _csv, ".jsonl": _json_lines, ".ndjson": _json_lines}
    if path.suffix.lower() not in sinks:
        raise ValueError(f"a history is written as {', '.join(sinks)}; got {path.suffix or 'no ending'}")
    return sinks[path.suffix.lower()]


@contextmanager
def _parquet(path: Path, layout: pa.Schema) -> Iterator[Sink]:
    with pq.ParquetWriter(path, layout, compression="zstd") as writer:
        yield writer.write_batch


@contextmanager
def _csv(path: Path, layout: pa.Schema) -> Iterator[Sink]:
    """Write times in RFC 3339, images separated by blanks, and missing values as empty cells."""
    texts = pa.schema([(field.name, _csv_type(field.type)) for field in layout])
    with pcsv.CSVWriter(path, texts) as writer:

        def put(batch: pa.RecordBatch) -> None:
            columns = [_csv_column(column) for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=texts))

        yield put


def _csv_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_list(kind) or pa.types.is_timestamp(kind) else kind


def _csv_column(column: pa.Array) -> pa.Array:
    if pa.types.is_list(column.type):
        return pc.binary_join(column, " ")
    return _time_texts(column)


def _time_texts(column: pa.Array) -> pa.Array:
    return pc.strftime(column, format=_RFC_3339) if pa.types.is_timestamp(column.type) else column


@contextmanager
def _json_lines(path: Path, layout: pa.Schema) -> Iterator[Sink]:
    """Write one object per line, shaped like the body of a request: nested parts, no nulls."""
    with path.open("w", encoding="utf-8", newline="\n") as file:

        def put(batch: pa.RecordBatch) -> None:
            columns = [_time_texts(column).to_pylist() for column in batch.columns]
            for values in zip(*columns, strict=True):
                json.dump(_nested(dict(zip(layout.names, values, strict=True))), file, ensure_ascii=False)
                file.write("\n")

        yield put


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for name, value in row.items():
        if value is None:
            continue
        part, _, leaf = name.rpartition(".")
        (body.setdefault(part, {}) if part else body)[leaf] = value
    return body
