"""Persons who come again and again are customers, whose records a training would leave out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scoring_model.configuration import load_configuration
from scoring_model.configuration.proposal import Proposal, propose
from scoring_model.configuration.proposal.text import proposal_text
from scoring_model.records.reading import read_records
from scoring_model.training.preparation import prepare

N, CUSTOMERS = 6_000, 60
DRAW = np.random.default_rng(3)
CUSTOMER = np.arange(N) % CUSTOMERS
KINDS = (("job", 20), ("town", 6))


def payments(person: Any = CUSTOMER, **columns: Any) -> pd.DataFrame:
    """Payments of a year, each of a customer of this number."""
    names = {
        "first_name": [f"{'ABCDEFGHIJ'[number % 10]}nna" for number in person],
        "last_name": [f"B{'abcdefghij'[number // 10 % 10]}rgmann" for number in person],
        "date_of_birth": [f"19{50 + number % 40}-03-17" for number in person],
    }
    times = pd.date_range("2024-01-01", periods=N, freq="87min").strftime("%Y-%m-%d %H:%M:%S")
    amounts = DRAW.gamma(2, 30, N).round(2)
    return pd.DataFrame(
        {"payment_time": times, "amount": amounts, "is_fraud": (np.arange(N) * 7 % 40 < 1).astype(int)}
        | names
        | columns
    )


def proposed(folder: Path, table: pd.DataFrame) -> Proposal:
    """Propose a configuration for a table, and write and read it."""
    path, config = folder / "in.csv", folder / "use.yaml"
    table.to_csv(path, index=False)
    found = propose(path)
    config.write_text(proposal_text(found, name="use", source=path.name), encoding="utf-8")
    load_configuration(config)
    return found


def test_the_card_of_customers_stands_for_their_names(tmp_path: Path) -> None:
    """No training would have a record to learn from, had the persons names."""
    found = proposed(tmp_path, payments(card_number=4_000_000_000_000_000 + CUSTOMER))
    assert found.keys == {"card_number": ("signals.card_number",)}
    assert found.fields.keys() >= {"eventTime", "label", "dob"}
    assert found.fields.keys().isdisjoint({"firstName", "lastName"})
    assert found.left_out.keys() >= {"first_name", "last_name"}
    told = "100% of the records before the last quarter are of persons who come again in it, as customers do"
    assert told in " ".join(found.decisions)
    configuration = load_configuration(tmp_path / "use.yaml")
    records = read_records(tmp_path / "in.csv", configuration.schema, labelled=True).table
    assert len(prepare(records, configuration).split.train) > N / 3


def test_names_of_customers_without_a_card_make_a_key(tmp_path: Path) -> None:
    """Each name alone is none."""
    found = proposed(tmp_path, payments())
    assert found.keys == {"customer": ("signals.first_name", "signals.last_name", "dob")}
    assert {signal.name: signal.type for signal in found.signals} == {
        "amount": "number",
        "first_name": "identifier",
        "last_name": "identifier",
    }


def test_an_id_of_customers_stands_for_their_names(tmp_path: Path) -> None:
    """Not as the field that names a person, but as what links records."""
    ids = [f"s-{number}" for number in CUSTOMER]
    found = proposed(tmp_path, payments(subject_id=ids))
    assert "subjectId" not in found.fields
    assert found.keys == {"subject": ("signals.subject_id",)}
    assert found.left_out.keys() >= {"first_name", "last_name"}
    found = proposed(tmp_path, payments(subjectId=ids))
    assert "rename subjectId" in " ".join(found.decisions)


def test_categories_that_tell_customers_are_left_out(tmp_path: Path) -> None:
    """Without names no training sees that all payments of a job are of three customers."""
    jobs, towns = (
        [f"{kind} {'abcdefghijklmnopqrst'[number % n]}" for number in CUSTOMER] for kind, n in KINDS
    )
    found = proposed(tmp_path, payments(job=jobs, town_of_birth=towns))
    assert "fewer than five customers" in found.left_out["job"]
    assert "town_of_birth" in {signal.name for signal in found.signals}


@pytest.mark.parametrize("times", [1, 2])
def test_applicants_keep_their_names(tmp_path: Path, times: int) -> None:
    """Whether they come once, or twice within a few days."""
    table = payments()
    numbers = np.arange(N) // times
    table["last_name"] = ["".join("abcdefghij"[int(digit)] for digit in str(number)) for number in numbers]
    found = proposed(tmp_path, table)
    assert found.fields.keys() >= {"firstName", "lastName", "dob"}
    assert "person" in found.keys
