"""`init --from amazon-fraud-detector`: a training file, types of variables, words of labels, and rules."""

import json
import random
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from program import Captured, refused, run
from scoring_model.configuration import load_configuration
from scoring_model.configuration.amazon_fraud_detector import (
    Condition,
    Definition,
    Inexpressible,
    alternatives_of,
    rules_of,
)
from scoring_model.records import SignalType
from scoring_model.rules.names import names_of
from scoring_model.rules.parsing import InvalidRules, parse_rules

VARIABLES = {
    "ip_address": "IP_ADDRESS",
    "email": "EMAIL_ADDRESS",
    "state": "BILLING_STATE",
    "zip": "BILLING_ZIP",
    "browser": "USERAGENT",
    "bin": "CARD_BIN",
    "price": "PRICE",
    "shop": "CATEGORICAL",
}
RULES = [
    ("odd", "$price < 1", "gold"),
    (
        "cards",
        "$bin in [411111, 522222] and ($price >= 500.5 or $state != 'NY') and $vpn == true",
        "verify_customer",
    ),
    ("score", "$sample_insightscore > 900", "review"),
    ("friends", '$email == "$me@x.org"', "approve"),
    ("maths", "$price * 2 > 900", "block"),
]
TRANSLATED = {
    "ODD": ({"signals.price": {"below": 1.0}}, "OBSERVE"),
    "CARDS_1": (
        {
            "signals.bin": {"in": ["411111", "522222"]},
            "signals.price": {"at_least": 500.5},
            "signals.vpn": {"is": True},
        },
        "STEPPED_UP",
    ),
    "CARDS_2": (
        {
            "signals.bin": {"in": ["411111", "522222"]},
            "address.region": {"is_not": "NY"},
            "signals.vpn": {"is": True},
        },
        "STEPPED_UP",
    ),
    "FRIENDS": ({"signals.email": {"is": "$me@x.org"}}, "OBSERVE"),
}


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A training file in the working directory, and the options that name the answers of the service."""
    monkeypatch.chdir(tmp_path)
    drawn, at = random.Random(1), datetime(2019, 1, 1)
    rows = [
        "EVENT_TIMESTAMP,EVENT_LABEL,LABEL_TIMESTAMP,EVENT_ID,ENTITY_ID,ENTITY_TYPE,vpn,"
        + ",".join(VARIABLES)
    ]
    for number in range(1_000):
        at += timedelta(minutes=drawn.randint(60, 240))
        known = (at + timedelta(days=20)).isoformat() + "Z"
        head = f"{at.month}/{at.day}/{at.year} {at.hour}:{at.minute:02}"
        meta = f"{int(drawn.random() < 0.1)},{known},event-{number},customer-{drawn.randint(1, 600)},customer"
        values = (
            f"{drawn.choice(['true', 'false'])},192.0.2.{drawn.randint(1, 200)},m{number % 700}@x.org,"
            f"{drawn.choice(['NY', 'CA'])},{drawn.randint(10_000, 99_999)},Mozilla/{number % 3},"
            f"{drawn.choice([411111, 522222, 633333])},{drawn.random() * 1_000:.2f},{drawn.randint(1, 300)}"
        )
        rows.append(f"{head},{meta},{values}")
    Path("events.csv").write_text("\n".join(rows) + "\n")
    answers: dict[str, Any] = {
        "variables": {
            "variables": [
                *(
                    {"name": name, "dataType": "STRING", "variableType": kind}
                    for name, kind in VARIABLES.items()
                ),
                {"name": "vpn", "dataType": "BOOLEAN", "variableType": "CATEGORICAL"},
                {"name": "absent", "dataType": "FLOAT"},
            ]
        },
        "model": {"trainingDataSchema": {"labelSchema": {"labelMapper": {"FRAUD": ["1"], "LEGIT": ["0"]}}}},
        "rules": {
            "ruleDetails": [
                {"ruleId": name, "ruleVersion": version, "expression": text, "outcomes": [outcome]}
                for name, text, outcome in sorted(RULES)
                for version in ("1", "2")
            ]
        },
        "detector": {"rules": [{"ruleId": name, "ruleVersion": "2"} for name, _, _ in RULES]},
    }
    for name, answer in answers.items():
        Path(f"{name}.json").write_text(json.dumps(answer))
    return [word for name in answers for word in ("--definition", f"{name}.json")]


def test_usability_a_detector_becomes_a_configuration_and_rules(capsys: Captured, export: list[str]) -> None:
    """Columns, types, words of labels and rules in the detector's order; what can't be said is a decision."""
    command = ["init", "events.csv", "--from", "amazon-fraud-detector", *export, "--out", "mine.yaml"]
    code, said, error = run(capsys, *command)
    assert code == 0, error
    found = load_configuration(Path("mine.yaml"))
    columns = {name: column for name, column in found.records.columns.items() if name != "signals.vpn"}
    assert columns == {
        "eventTime": "EVENT_TIMESTAMP",
        "label": "EVENT_LABEL",
        "labelKnownAt": "LABEL_TIMESTAMP",
        "recordId": "EVENT_ID",
        "subjectId": "ENTITY_ID",
        "address.region": "state",
        "address.postalCode": "zip",
    }
    assert (found.records.labels.fraud, found.records.labels.genuine) == (("1",), ("0",))
    assert {name: signal.type for name, signal in found.signals.items()} == {
        "vpn": SignalType.BOOLEAN,
        "ip_address": SignalType.IP,
        "email": SignalType.EMAIL,
        "browser": SignalType.CATEGORY,
        "bin": SignalType.IDENTIFIER,
        "price": SignalType.NUMBER,
        "shop": SignalType.CATEGORY,
    }
    assert "person" in found.links.keys
    rules = yaml.safe_load(Path("mine.rules.yaml").read_text())
    assert {one["code"]: (one["when"], one["then"]) for one in rules["rules"]} == TRANSLATED
    types = {name: signal.type for name, signal in found.signals.items()}
    assert len(parse_rules(rules, names_of(types, [])).rules) == len(TRANSLATED)
    for decision in (
        "Rule odd only observes: say what its outcome means here (gold)",
        "Rule score is not translated: it reads the score of a model",
        "Rule friends only observes, and not PASSED: one before it does not decide, and may be stricter",
        "Rule maths is not translated: $price * 2 > 900 has no counterpart",
    ):
        assert f"to decide: {decision}" in said
        assert decision in Path("mine.rules.yaml").read_text()
    assert run(capsys, "check", "events.csv", "--config", "mine.yaml")[0] == 0
    Path("mine.yaml").unlink()
    assert "mine.rules.yaml exists" in refused(capsys, *command)


def test_usability_names_that_every_file_has_are_not_guessed(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Event, time and entity have fixed names, a variable with a type is no field, and devices link before banks.

    Contents and headers alone would say otherwise: an order also numbers the records, an earlier time is a time too,
    a postal code belongs to an address, and three banks recur more often than devices.
    """
    monkeypatch.chdir(tmp_path)
    kinds = ("ORDER_ID", "CARD_BIN", "BILLING_NAME", "SHIPPING_NAME", "SHIPPING_ZIP", "BILLING_PHONE")
    variables = {kind.lower(): kind for kind in (*kinds, "PHONE_NUMBER", "EMAIL_ADDRESS", "FINGERPRINT")}
    drawn, at = random.Random(2), datetime(2024, 1, 1)
    rows = ["joined,order_id,EVENT_ID,EVENT_TIMESTAMP,ENTITY_ID,EVENT_LABEL," + ",".join([*variables][1:])]
    for number in range(1_000):
        at += timedelta(minutes=drawn.randint(60, 240))
        person = drawn.randint(1, 400)
        values = (
            f"{411111 + person % 3},name{person % 50},name{drawn.randint(1, 50)},{10_000 + person % 90},"
            f"+4420795{10_000 + person},+4420796{10_000 + person},m{person}@x.org,{person * 7_919:012x}"
        )
        rows.append(
            f"{at - timedelta(days=90):%Y-%m-%dT%H:%M:%SZ},o-{number},e-{number},{at:%Y-%m-%dT%H:%M:%SZ},c-{person},"
            f"{'fraud' if drawn.random() < 0.1 else 'legit'},{values}"
        )
    Path("events.csv").write_text("\n".join(rows) + "\n")
    listed = [{"name": name, "dataType": "STRING", "variableType": kind} for name, kind in variables.items()]
    Path("variables.json").write_text(json.dumps({"variables": listed}))
    words = ("--from", "amazon-fraud-detector", "--definition", "variables.json", "--out", "mine.yaml")
    code, said, error = run(capsys, "init", "events.csv", *words)
    assert code == 0, error
    found = load_configuration(Path("mine.yaml"))
    assert found.records.columns == {
        "eventTime": "EVENT_TIMESTAMP",
        "recordId": "EVENT_ID",
        "subjectId": "ENTITY_ID",
        "label": "EVENT_LABEL",
    }
    assert "is taken to be at" not in said
    assert "order_id" not in found.signals
    assert re.search("order_id.* it numbers the records", Path("mine.yaml").read_text())
    first = ["fingerprint", "email_address", "phone_number", "billing_phone"]
    assert [*found.links.keys][:5] == ["person", *first]
    assert "to decide: 6 signals are link keys. " in said


def test_usability_answers_that_are_none_are_named(capsys: Captured, export: list[str]) -> None:
    """A file that is no answer, a detector whose rules are missing, and answers of no service."""
    Path("mine.json").write_text('{"ruleDetails": [{"ruleId": "a"}]}')
    start = ("init", "events.csv", "--out", "mine.yaml", "--definition")
    source = ("--from", "amazon-fraud-detector")
    assert "mine.json: is no answer" in refused(capsys, *start, "mine.json", *source)
    Path("event.json").write_text('{"eventTypes": [{"name": "sample", "labels": ["fraud", "legit"]}]}')
    assert "event.json: is an answer of none of get-variables, " in refused(
        capsys, *start, "event.json", *source
    )
    Path("list.json").write_text("[")
    assert "list.json: is no JSON" in refused(capsys, *start, "list.json", *source)
    assert "rules of the detector that no file of get-rules has: odd 2, cards 2" in refused(
        capsys, *start, "detector.json", *source
    )
    assert "--definition needs --from" in refused(capsys, *start, "rules.json")
    assert not Path("mine.yaml").exists()


@pytest.mark.parametrize(
    ("outcomes", "then"),
    [
        ("block_customer", "FAILED"),
        ("verify_customer", "STEPPED_UP"),
        ("2fa-step-up", "STEPPED_UP"),
        ("auto_approve", "PASSED"),
        ("denied", "FAILED"),
        ("approve review", "STEPPED_UP"),
        ("disallow", "OBSERVE"),
        ("disapproved", "OBSERVE"),
        ("unblock", "OBSERVE"),
        ("not_approved", "OBSERVE"),
        ("low_fraud_risk", "OBSERVE"),
        ("passport_check", "OBSERVE"),
        ("approve freeze_account", "OBSERVE"),
    ],
)
def test_an_outcome_lets_pass_only_if_all_its_words_say_so(outcomes: str, then: str) -> None:
    """Names are read by whole words: what negates, or begins or ends like a known word, means nothing known."""
    rule: dict[str, Any] = {"ruleId": "r", "expression": "$a == 1", "outcomes": outcomes.split()}
    text, _ = rules_of(Definition(rules=[rule]), {"a": "signals.a"}, {})
    assert yaml.safe_load(text)["rules"][0]["then"] == then


def test_no_rule_lets_pass_whom_an_unknown_outcome_may_stop() -> None:
    """Behind a rule that only observes, since its outcome is unknown, stricter ones decide and milder ones observe."""
    rules: list[Mapping[str, Any]] = [
        {"ruleId": name, "expression": "$a == 1", "outcomes": [name]}
        for name in ("approve", "freeze", "review", "allow")
    ]
    text, _ = rules_of(Definition(rules=rules), {"a": "signals.a"}, {})
    assert [one["then"] for one in yaml.safe_load(text)["rules"]] == [
        "PASSED",
        "OBSERVE",
        "STEPPED_UP",
        "OBSERVE",
    ]


def test_true_and_false_are_compared_with_nothing_else() -> None:
    """A comparison of a boolean with another word has no counterpart, and is not taken for false."""
    rule: dict[str, Any] = {"ruleId": "r", "expression": "$a == 'maybe'", "outcomes": ["block"]}
    text, decisions = rules_of(
        Definition(rules=[rule]), {"a": "signals.a"}, {"signals.a": SignalType.BOOLEAN}
    )
    assert yaml.safe_load(text)["rules"] == []
    assert "it compares true or false with maybe" in decisions[0]


@pytest.mark.parametrize(
    "expression",
    [
        "!($a == 1)",
        "$a in @listed",
        "$a + $b > 2",
        "$a > $b",
        "1 < $a < 3",
        "$a is 3",
        "$a in 'text'",
        "$a == [1]",
        "regexMatch($a, 'x')",
        "$a >",
        "(" * 2_000 + "$a > 1" + ")" * 2_000,
        " and ".join(["($a == 1 or $b == 2)"] * 5),
        "$a == '" + "x" * 4_096 + "'",
    ],
)
def test_usability_expressions_without_a_counterpart_are_refused(expression: str) -> None:
    """Arithmetic, functions, patterns, lists and negations are not guessed at, and nothing multiplies without end."""
    with pytest.raises(Inexpressible):
        alternatives_of(expression)


def test_limit_of_alternatives_and_of_rules() -> None:
    """Twenty alternatives and fifty rules are translated, one more is not."""
    twenty = "($a == 1 or $b == 2) and ($c == 1 or $c == 2) and (" + " or ".join(["$d == 1"] * 5) + ")"
    assert len(alternatives_of(twenty)) == 20
    rule = {"expression": "$a == 1", "outcomes": ["block"]}
    definition = Definition(rules=[{**rule, "ruleId": f"r{place}"} for place in range(50)])
    assert rules_of(definition, {"a": "signals.a"}, {})[0].count("then: FAILED") == 50
    definition.rules.append({**rule, "ruleId": "r50"})
    with pytest.raises(InvalidRules, match="at most 50 rules"):
        rules_of(definition, {"a": "signals.a"}, {})


_WORDS = {"above": ">", "at_least": ">=", "below": "<", "at_most": "<=", "is": "==", "is_not": "!="}
_COMPARED = st.tuples(st.sampled_from("ab"), st.sampled_from([*_WORDS.values()]), st.integers(0, 3)).map(
    lambda part: f"${part[0]} {part[1]} {part[2]}"
)
_EXPRESSIONS = st.recursive(
    _COMPARED,
    lambda inner: st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
        lambda part: f"({part[0]} {part[1]} {part[2]})"
    ),
    max_leaves=5,
)


@given(expression=_EXPRESSIONS, a=st.integers(0, 3), b=st.integers(0, 3))
def test_the_alternatives_hold_where_the_expression_holds(expression: str, a: int, b: int) -> None:
    """Compared with Python's own evaluation."""

    def holds(condition: Condition) -> bool:
        text = f"{condition.variable} {_WORDS[condition.operator]} {condition.values[0]}"
        return bool(eval(text, {"a": a, "b": b}))

    wanted = bool(eval(expression.replace("$", ""), {"a": a, "b": b}))
    assert any(all(map(holds, every)) for every in alternatives_of(expression)) is wanted
