"""Whether a record is observed follows from what was decided, never from its label."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from scoring_model.contract.fields import DECIDED_FIELDS
from scoring_model.contract.violation import Invalid
from scoring_model.records import NEVER, OutcomeSchema, RecordSchema, RecordTable, SignalType
from scoring_model.records.observation import (
    ABANDONED,
    APPROVED,
    DECLINED,
    FAILED,
    PASSED,
    STEPPED_UP,
    STOPPED,
    UNKNOWN,
    known_targets,
    observed,
    observed_until,
    outcome_rule,
    targets_at,
)
from scoring_model.records.reading import read_records
from scoring_model.records.schema import StepUps
from scoring_model.records.sheet import CONTRACT_MARK
from scoring_model.records.times import DAY

CASES: Sequence[tuple[int, int, bool, bool]] = (
    # outcome, resolution, observed, observed where step-ups without a resolution went on
    (UNKNOWN, UNKNOWN, True, True),
    (UNKNOWN, APPROVED, True, True),
    (UNKNOWN, DECLINED, False, False),
    (UNKNOWN, ABANDONED, False, False),
    (PASSED, UNKNOWN, True, True),
    (PASSED, APPROVED, True, True),
    (PASSED, DECLINED, False, False),
    (PASSED, ABANDONED, False, False),
    (STEPPED_UP, UNKNOWN, False, True),
    (STEPPED_UP, APPROVED, True, True),
    (STEPPED_UP, DECLINED, False, False),
    (STEPPED_UP, ABANDONED, False, False),
    (FAILED, UNKNOWN, False, False),
    (FAILED, APPROVED, True, True),
    (FAILED, DECLINED, False, False),
    (FAILED, ABANDONED, False, False),
)
NOW, MATURITY = 100 * DAY, 60 * DAY


def until(outcome: int, resolution: int, closed: int, step_ups: StepUps) -> int:
    """End of the observation of one record."""
    first, second = (np.array([code], dtype=np.int8) for code in (outcome, resolution))
    return int(observed_until(first, second, np.array([closed]), step_ups=step_ups)[0])


def test_turkish_words_have_one_case() -> None:
    """`REDDEDİLDİ` is `reddedildi`."""
    assert outcome_rule(OutcomeSchema(failed=("reddedildi",)))("REDDEDİLDİ") == FAILED


def test_the_table_has_every_case() -> None:
    """Each outcome with each resolution stands in the table once."""
    codes = (UNKNOWN, PASSED, STEPPED_UP, FAILED), (UNKNOWN, APPROVED, DECLINED, ABANDONED)
    assert [case[:2] for case in CASES] == list(product(*codes))


@pytest.mark.parametrize(("outcome", "resolution", "strict", "lenient"), CASES)
def test_each_case(outcome: int, resolution: int, *, strict: bool, lenient: bool) -> None:
    """Every outcome with every resolution, whether or not the account was closed later."""
    for closed in (NEVER, 7 * DAY):
        assert until(outcome, resolution, closed, "not_observed") == (closed if strict else STOPPED)
        assert until(outcome, resolution, closed, "observed") == (closed if lenient else STOPPED)


@pytest.mark.parametrize("label", [-1, 0, 1])
@pytest.mark.parametrize("age", [1, 59, 61])
@pytest.mark.parametrize("closed_after", [None, 59, 60])
@pytest.mark.parametrize("stopped", [False, True])
def test_the_class_of_each_label(label: int, age: int, closed_after: int | None, *, stopped: bool) -> None:
    """A label counts as it is; without one, a record is genuine if it is old enough and was observed as long."""
    event = NOW - age * DAY
    closed = NEVER if closed_after is None else event + closed_after * DAY
    table = read(
        {
            "outcome": ["FAILED" if stopped else "PASSED"],
            "closedAt": [None if closed == NEVER else np.datetime64(closed, "us")],
            "label": [None if label < 0 else str(label)],
            "labelKnownAt": [None if label < 0 else np.datetime64(event + 1, "us")],
            "eventTime": [np.datetime64(event, "us")],
        }
    )
    went_on = not stopped and (closed_after is None or closed_after >= 60)
    assert bool(observed(table, MATURITY)[0]) is went_on
    expected = label if label >= 0 else 0 if age > 60 and went_on else -1
    assert int(targets_at(table, NOW, MATURITY)[0]) == expected


def read(columns: dict[str, list[object]], *, marked: bool = False) -> RecordTable:
    """Read a table with an address of mail and these columns."""
    rows = len(next(iter(columns.values())))
    table = pa.table({"mail": ["a@b.example"] * rows, **columns})
    if marked:
        table = table.replace_schema_metadata(CONTRACT_MARK)
    mapped: dict[str, str] = {} if marked else {str(name): name for name in DECIDED_FIELDS if name in columns}
    schema = RecordSchema(columns=mapped, signals={"mail": SignalType.CATEGORY})
    reading = read_records(table, schema, labelled=False)
    assert reading.violations == ()
    return reading.table


def test_a_source_without_outcomes_says_nothing() -> None:
    """Then nobody is assumed to have been stopped, and a column that is only called `outcome` is left alone."""
    columns: dict[str, list[object]] = {"eventTime": [np.datetime64(1, "us")], "outcome": ["whatever"]}
    table = pa.table({"mail": ["a@b.example"], **columns})
    found = read_records(table, RecordSchema(signals={"mail": SignalType.CATEGORY}), labelled=False)
    assert found.table.observed_until is None
    assert observed(found.table, MATURITY).tolist() == [True]


def test_an_export_says_what_was_decided() -> None:
    """The final outcome counts, also where a control group or history without a verdict has another or none."""
    columns: dict[str, list[object]] = {
        "eventTime": [np.datetime64(1, "us")] * 4,
        "scoringOutcome": ["PASSED", "STEPPED_UP", "FAILED", None],
        "policyOutcome": ["FAILED", "STEPPED_UP", "FAILED", None],
    }
    assert observed(read(columns, marked=True), MATURITY).tolist() == [True, False, False, True]


def test_words_of_a_company() -> None:
    """Outcomes and resolutions are spelled as the configuration says, in any case; other words are named."""
    schema = RecordSchema(
        columns={"eventTime": "Eingang", "outcome": "Entscheidung", "resolution": "Nachprüfung"},
        signals={"mail": SignalType.CATEGORY},
        outcomes=OutcomeSchema(
            passed=("angenommen",), stepped_up=("nachgefragt",), failed=("abgelehnt",), approved=("ok",)
        ),
    )
    table = pa.table(
        {
            "mail": ["a@b.example"] * 5,
            "Eingang": [np.datetime64(1, "us")] * 5,
            "Entscheidung": ["Angenommen", "NACHGEFRAGT", "nachgefragt", "abgelehnt", "vielleicht"],
            "Nachprüfung": [None, "OK", None, None, None],
        }
    )
    found = read_records(table, schema, labelled=False)
    assert observed(found.table, MATURITY).tolist() == [True, True, False, False]
    ((row, violation),) = found.violations
    assert (row, violation.pointer) == (4, "/outcome")
    assert "must be one of abgelehnt, angenommen, nachgefragt" in violation.detail


def test_one_word_has_one_meaning() -> None:
    """A word for two outcomes, or an outcome without a word, is refused; both problems are named."""
    with pytest.raises(Invalid) as caught:
        OutcomeSchema(passed=("ok",), failed=("OK",), stepped_up=())
    assert [found.detail for found in caught.value.violations] == [
        "must have a value",
        "'ok' is both passed and failed",
    ]


def test_tables_keep_the_observation() -> None:
    """Rows that are taken or appended keep it; a table that says nothing is observed without an end."""
    columns: dict[str, list[object]] = {
        "eventTime": [np.datetime64(1, "us")] * 2,
        "scoringOutcome": ["PASSED", "FAILED"],
    }
    table = read(columns, marked=True)
    plain = read({"eventTime": [np.datetime64(1, "us")]})
    assert observed(table.take(np.array([1, 0])), MATURITY).tolist() == [False, True]
    assert observed(plain.append(table), MATURITY).tolist() == [True, True, False]
    assert plain != table.take(np.array([1]))


def test_the_observation_only_takes_away() -> None:
    """Without an observation no record gains a class, and no known label changes."""
    drawn = np.random.default_rng(5)
    labels = drawn.integers(-1, 2, 500).astype(np.int8)
    events = drawn.integers(0, 90 * DAY, 500)
    times = np.where(labels < 0, NEVER, events + drawn.integers(0, 90 * DAY, 500))
    seen = drawn.random(500) < 0.5
    plain, strict = (
        known_targets(events, labels, times, NOW, MATURITY, observed=mask) for mask in (None, seen)
    )
    lost = plain != strict
    assert lost.any()
    assert not (lost & seen).any()
    assert set(zip(plain[lost].tolist(), strict[lost].tolist(), strict=True)) == {(0, -1)}
