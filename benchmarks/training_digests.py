"""How long keyed digests of a million training records take, and the search for evaluated records among them.

python benchmarks/training_digests.py [--records 1000000]
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np

from scoring_model.evaluation.training_digests import DIGESTS_FILE, TrainingDigests
from scoring_model.records import Column, RecordTable

DISTINCT: Final = {
    "firstName": 0.05,
    "lastName": 0.2,
    "dob": 0.03,
    "citizenship": 0.0001,
    "documentType": 0.00001,
    "address.line1": 0.8,
    "address.city": 0.02,
    "address.postalCode": 0.06,
    "address.country": 0.0001,
    "subjectId": 0.95,
    "signals.deviceId": 0.7,
    "signals.emailDomain": 0.01,
    "signals.channel": 0.00001,
    "signals.ipCountry": 0.0001,
}
"""Distinct values of each field, as a share of the records."""


def invented(first: int, records: int, size: int) -> RecordTable:
    """Invent records from a number on; the same number gives the same record, whatever the others."""
    numbers = np.arange(first, first + records)
    columns = {}
    for field, share in DISTINCT.items():
        distinct, codes = np.unique(numbers * 2_654_435_761 % max(int(share * size), 3), return_inverse=True)
        values = tuple(f"{field} of someone {value}" for value in distinct.tolist())
        columns[field] = Column(values, codes.astype(np.int32))
    return RecordTable(
        record_ids=tuple(f"record-{number:012}" for number in numbers.tolist()),
        event_times=numbers * 1_000_000,
        columns=columns,
        labels=np.zeros(records, dtype=np.int8),
        label_times=numbers,
        source_rows=np.arange(records),
    )


def main() -> None:
    """Check that half of a second table is found, and measure the processor time of each step, on one thread."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--records", type=int, default=1_000_000)
    size = arguments.parse_args().records
    trained, evaluated = invented(0, size, size), invented(size // 2, size, size)
    started = time.process_time()
    digests = TrainingDigests.of(trained, tuple(DISTINCT), model_version="use-1")
    digested = time.process_time()
    found = digests.among(evaluated, tuple(DISTINCT))
    searched = time.process_time()
    expected = size - size // 2
    assert (found.records, found.by_id, found.by_content) == (expected, expected, expected)
    with tempfile.TemporaryDirectory() as folder:
        digests.save(Path(folder))
        megabytes = (Path(folder) / DIGESTS_FILE).stat().st_size / 1e6
        written = time.process_time()
        TrainingDigests.find([Path(folder)], "use-1")
        read = time.process_time()
    print(f"{size:,} records of {len(DISTINCT)} fields, {megabytes:.0f} MB")
    print(f"processor time: digested in {digested - started:.1f} s, written in {written - searched:.1f} s")
    print(
        f"read in {read - written:.1f} s, {size:,} evaluated records searched in {searched - digested:.1f} s"
    )


if __name__ == "__main__":
    main()
