"""The two evaluators of rules, and an oracle that reads the conditions word by word."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.records import NEVER, Column, Record, RecordTable
from scoring_model.rules import Kind, Operator, RuleEvaluator, Rules, parse_rules

NAMES = {
    "score": Kind.NUMBER,
    "first": Kind.NUMBER,
    "second": Kind.NUMBER,
    "signals.age": Kind.NUMBER,
    "signals.vpn": Kind.BOOLEAN,
    "signals.channel": Kind.TEXT,
    "citizenship": Kind.TEXT,
    "dob": Kind.DATE,
    "imageUrls": Kind.LIST,
}
COLUMNS = ("second", "unused", "first")
NUMBERS = (-1.0, 0.0, 2.0, math.nextafter(2.0, 3.0), math.nextafter(2.0, 1.0), 200.0, 1e300)
VALUES: Mapping[Kind, tuple[Any, ...]] = {
    Kind.NUMBER: NUMBERS,
    Kind.BOOLEAN: (True, False),
    Kind.TEXT: ("GB", "UA", "FR"),
    Kind.DATE: ("1990-01-01", "2001-12-31", "1990-01-02"),
}
ORDERED = ("below", "at_most", "above", "at_least")
DAY = 86_400_000_000


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Conditions on some names, each with one or two operators."""
    when = {}
    for name in draw(st.lists(st.sampled_from(sorted(NAMES)), min_size=1, max_size=3, unique=True)):
        kind = NAMES[name]
        # Signals of text have no list of values; a date and a text have the same operators but the order.
        usable = ["is_missing"]
        if kind is not Kind.LIST:
            usable += ["is", "is_not"]
        if kind in (Kind.NUMBER, Kind.TEXT, Kind.DATE):
            usable += ["in", "not_in"]
        if kind in (Kind.NUMBER, Kind.DATE):
            usable += ORDERED
        operators = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=2, unique=True))
        when[name] = {one: draw(operand(kind, one)) for one in operators}
    return when


def operand(kind: Kind, operator: str) -> st.SearchStrategy[Any]:
    """A value for an operator."""
    if operator == "is_missing":
        return st.booleans()
    one = st.sampled_from(VALUES[kind])
    return st.lists(one, min_size=1, max_size=3) if operator in ("in", "not_in") else one


@st.composite
def files(draw: st.DrawFn) -> Rules:
    """Up to five rules, some of which end on the second day."""
    rules = []
    for place in range(draw(st.integers(0, 5))):
        then = draw(st.sampled_from(["PASSED", "STEPPED_UP", "FAILED", "OBSERVE"]))
        rule = {"code": f"R{place}", "title": "a rule", "when": draw(conditions()), "then": then}
        rules.append(rule | draw(st.sampled_from([{}, {"until": "1970-01-01"}])))
    return parse_rules({"rules": rules}, NAMES)


@st.composite
def records(draw: st.DrawFn) -> tuple[int, Record, list[float]]:
    """A score, a record with missing values, and its features with NaN and infinities."""
    fields = {
        "signals.age": st.sampled_from(NUMBERS),
        "signals.vpn": st.sampled_from([0.0, 1.0]),
        "signals.channel": st.sampled_from(VALUES[Kind.TEXT]),
        "citizenship": st.sampled_from(VALUES[Kind.TEXT]),
        "dob": st.sampled_from(VALUES[Kind.DATE]),
        "imageUrls": st.just(("https://images.example/a",)),
    }
    values = draw(st.fixed_dictionaries({}, optional=fields))
    row = draw(st.lists(st.sampled_from([*NUMBERS, math.nan, math.inf, -math.inf]), min_size=3, max_size=3))
    score = draw(st.sampled_from([0, 1, 2, 3, 199, 200, 201, 1000]))
    return score, Record(values, draw(st.sampled_from([0, DAY - 1, DAY])), None), row


def table_of(drawn: list[Record]) -> RecordTable:
    """The records as one table."""
    fields = dict.fromkeys(name for one in drawn for name in one.values)
    columns = {}
    for field in fields:
        values = list(dict.fromkeys(one.values[field] for one in drawn if field in one.values))
        codes = [values.index(one.values[field]) if field in one.values else -1 for one in drawn]
        columns[field] = Column(tuple(values), np.array(codes, dtype=np.int32))
    n = len(drawn)
    return RecordTable(
        record_ids=tuple(map(str, range(n))),
        event_times=np.array([one.event_time for one in drawn], dtype=np.int64),
        columns=columns,
        labels=np.full(n, -1, dtype=np.int8),
        label_times=np.full(n, NEVER),
        source_rows=np.arange(n),
    )


def holds(value: Any, operator: Operator, wanted: Any) -> bool:
    """The oracle of one condition; a missing value is None."""
    if operator is Operator.IS_MISSING:
        return bool((value is None) == wanted)
    if value is None:
        return False
    found: Mapping[Operator, bool] = {
        Operator.IN: value in wanted if isinstance(wanted, tuple) else False,
        Operator.NOT_IN: value not in wanted if isinstance(wanted, tuple) else False,
        Operator.IS: value == wanted,
        Operator.IS_NOT: value != wanted,
    }
    if operator in found:
        return found[operator]
    below, equal = value < wanted, value == wanted
    return bool(
        {
            Operator.BELOW: below,
            Operator.AT_MOST: below or equal,
            Operator.ABOVE: not below and not equal,
            Operator.AT_LEAST: not below,
        }[operator]
    )


def expected(rules: Rules, score: int, record: Record, row: list[float]) -> tuple[int, ...]:
    """Places of the rules that hold, by the oracle."""
    named = {"score": float(score), **record.values}
    named |= {name: value for name, value in zip(COLUMNS, row, strict=True) if not math.isnan(value)}
    return tuple(
        place
        for place, rule in enumerate(rules.rules)
        if (rule.ends is None or record.event_time < rule.ends)
        and all(holds(named.get(one.name), one.operator, one.operand) for one in rule.conditions)
    )


@given(files(), st.lists(records(), min_size=1, max_size=8))
def test_one_row_and_a_table_have_the_same_hits(
    rules: Rules, drawn: list[tuple[int, Record, list[float]]]
) -> None:
    """Both evaluators and the oracle agree on every row, with gaps, infinities, neighbours and ends."""
    evaluator = RuleEvaluator(rules, COLUMNS)
    rows = np.array([row for _, _, row in drawn])
    scores = np.array([score for score, _, _ in drawn], dtype=np.int64)
    held = evaluator.table_hits(scores, table_of([record for _, record, _ in drawn]), rows)
    for place, (score, record, row) in enumerate(drawn):
        wanted = expected(rules, score, record, row)
        assert evaluator.hits(score, record.values, rows[place], record.event_time) == wanted
        assert tuple(np.flatnonzero(held[place]).tolist()) == wanted


def test_the_last_day_counts() -> None:
    """A rule until a day holds to its end in UTC; one until a time ends there."""
    plain = {"code": "A", "title": "a", "when": {"score": {"at_least": 0}}, "then": "FAILED"}
    until = [{**plain, "until": "2027-01-31"}, {**plain, "code": "B", "until": "2027-01-31T10:00:00Z"}]
    evaluator = RuleEvaluator(parse_rules({"rules": until}, NAMES), COLUMNS)
    end = 1_801_440_000_000_000  # 2027-02-01
    row = np.zeros(3)
    assert evaluator.hits(0, {}, row, end - 1) == (0,)
    assert evaluator.hits(0, {}, row, end) == ()
    assert evaluator.hits(0, {}, row, end - 14 * 3_600_000_000 - 1) == (0, 1)
    assert evaluator.hits(0, {}, row, end - 14 * 3_600_000_000) == (0,)


def test_an_absent_column_is_refused() -> None:
    """Rules that read a feature that a row does not have are refused by its name."""
    plain = {"code": "A", "title": "a", "when": {"first": {"above": 0}}, "then": "FAILED"}
    with pytest.raises(ValueError, match="first"):
        RuleEvaluator(parse_rules({"rules": [plain]}, NAMES), ("second",))


def test_a_signal_of_another_type_than_its_rules_have_is_missing() -> None:
    """A bundle that does not know a signal takes any type of it. A text is not below a number."""
    whens: tuple[dict[str, Any], ...] = (
        {"signals.age": {"below": 2}},
        {"signals.channel": {"is": "web"}},
        {"signals.vpn": {"is": True}},
        {"signals.age": {"is_missing": True}},
    )
    rules = [
        {"code": f"R{place}", "title": "one", "when": when, "then": "FAILED"}
        for place, when in enumerate(whens)
    ]
    evaluator = RuleEvaluator(parse_rules({"rules": rules}, NAMES), COLUMNS)

    def hits_of(age: object, channel: object, vpn: object) -> tuple[int, ...]:
        read = evaluator.read_stored({}, {"age": age, "channel": channel, "vpn": vpn})
        return evaluator.hits(0, read, np.zeros(len(COLUMNS)), 0)

    assert hits_of(1, "web", True) == (0, 1, 2)
    assert hits_of("young", 1.5, "yes") == hits_of(True, False, 1) == (3,)
