"""Label files in the names and words of a company, and in those of the contract."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pytest

from scoring_model.evaluation import EvaluationError
from scoring_model.evaluation.labels import read_labels
from scoring_model.records import RecordSchema
from scoring_model.records.observation import STOPPED
from scoring_model.records.schema import LabelSchema, OutcomeSchema

OWN: Final = RecordSchema(
    columns={"recordId": "Nr", "label": "Betrug", "outcome": "Entscheid", "resolution": "Prüfung"},
    labels=LabelSchema(fraud=("ja",), genuine=("nein",), ignored=("genuine?",)),
    outcomes=OutcomeSchema(passed=("frei",), approved=("ok",), declined=("nein",)),
)
"""A company's names and words; FAILED and ABANDONED are spelled as in the contract."""


def label_table(**columns: Sequence[str | None]) -> pa.Table:
    """Labels of three records."""
    return pa.table({"recordId": ["a", "b", "c"], "labelKnownAt": ["2024-05-01T00:00:00Z"] * 3, **columns})


def test_a_column_of_the_contracts_name_may_have_its_words() -> None:
    """Own words are read beside them; in a column of the own name the contract's words are refused."""
    found = read_labels(label_table(label=["Fraud", "genuine", "ja"]), OWN)
    assert found.labels.tolist() == [1, 0, 1]
    with pytest.raises(EvaluationError, match=r"Betrug: must be one of genuine\?, ja, nein .2 rows"):
        read_labels(label_table(Betrug=["fraud", "genuine", "ja"]), OWN)


def test_an_own_word_keeps_its_meaning() -> None:
    """Where `fraud` stands for genuine and every unlisted word for fraud, only the free word of the contract counts."""
    schema = replace(OWN, labels=LabelSchema(fraud=("*",), genuine=("fraud",)))
    assert read_labels(label_table(label=["fraud", "genuine", "other"]), schema).labels.tolist() == [0, 0, 1]


def test_what_was_decided_may_have_the_contracts_words() -> None:
    """Outcomes and resolutions that the schema maps are read like labels; those that it does not map are ignored."""
    given = label_table(
        label=["ja", "nein", "fraud"],
        outcome=["frei", "PASSED", "FAILED"],
        resolution=["DECLINED", "ok", "approved"],
    )
    until = read_labels(given, OWN).observed_until
    assert until is not None
    assert (until == STOPPED).tolist() == [True, False, False]
    assert read_labels(given, replace(OWN, columns={"label": "Betrug"})).observed_until is None


def test_a_name_that_another_field_has_is_that_fields() -> None:
    """Where the label's own column is called `outcome`, it says nothing about what was decided."""
    schema = replace(OWN, columns={"label": "outcome", "outcome": "Entscheid"})
    found = read_labels(label_table(outcome=["ja", "nein", None]), schema)
    assert (found.labels.tolist(), found.observed_until) == ([1, 0, -1], None)
