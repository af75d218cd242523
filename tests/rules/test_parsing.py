"""The parser of rules: what it refuses, all at once, and what it reads back."""

import json
from typing import Any

import pytest

from scoring_model.rules import Action, InvalidRules, Kind, Operator, Rules, names_of, parse_rules
from scoring_model.rules.rule import MOST_NAMES, MOST_RULES, MOST_VALUES

NAMES = {
    "score": Kind.NUMBER,
    "link_device_7d_records": Kind.NUMBER,
    "signals.emailAgeDays": Kind.NUMBER,
    "signals.vpn": Kind.BOOLEAN,
    "signals.deviceId": Kind.TEXT,
    "citizenship": Kind.TEXT,
    "dob": Kind.DATE,
    "imageUrls": Kind.LIST,
}


def rule(**changed: Any) -> dict[str, Any]:
    """A sound rule with some keys changed; None removes one."""
    plain = {
        "code": "A_1",
        "title": "New mailbox",
        "when": {"score": {"at_least": 200}},
        "then": "STEPPED_UP",
    }
    return {name: value for name, value in (plain | changed).items() if value is not None}


def parsed(*rules: Any, names: Any = NAMES) -> Rules:
    """The rules of a file."""
    return parse_rules({"rules": list(rules)}, names)


def problems(document: object, names: Any = NAMES) -> list[tuple[str, str]]:
    """Field and code of each problem."""
    with pytest.raises(InvalidRules) as refused:
        parse_rules(document, names)
    return [(found.field, found.code) for found in refused.value.violations]


def test_all_problems_are_reported_at_once() -> None:
    """Each with its place; the text names the nearest known name and repeats no value."""
    document = {
        "rules": [
            rule(code="small", then="BLOCK", untill="2027-01-31"),
            rule(title=None, when={"scroe": {"at_least": 1}, "signals.vpn": {"below": 1}}),
            rule(when={"score": {"atleast": 1, "at_most": "secret"}, "citizenship": {"in": []}}),
            rule(until="tomorrow", by=""),
            7,
        ],
        "rulez": 1,
    }
    assert problems(document) == [
        ("rulez", "unknown_key"),
        ("rules.0.untill", "unknown_key"),
        ("rules.0.code", "invalid"),
        ("rules.0.then", "invalid"),
        ("rules.1.title", "missing"),
        ("rules.1.when.scroe", "unknown_name"),
        ("rules.1.when.signals.vpn.below", "wrong_operator"),
        ("rules.2.when.score.atleast", "unknown_operator"),
        ("rules.2.when.score.at_most", "wrong_type"),
        ("rules.2.when.citizenship.in", "wrong_type"),
        ("rules.3.until", "invalid"),
        ("rules.3.by", "invalid"),
        ("rules.4", "invalid"),
    ]
    with pytest.raises(InvalidRules) as refused:
        parse_rules(document, NAMES)
    text = str(refused.value)
    assert "did you mean score?" in text
    assert "did you mean until?" in text
    assert "did you mean at_least?" in text
    assert "secret" not in text


@pytest.mark.parametrize("document", [None, [], "rules", {}, {"rules": None}, {"rules": {"a": 1}}])
def test_what_is_no_list_of_rules_is_refused(document: object) -> None:
    """Whatever the file holds, the error says what it must be."""
    assert problems(document)


def test_values_become_those_of_records() -> None:
    """A country in small letters, a whole number as an identifier: what records would hold."""
    found = parsed(
        rule(
            when={
                "citizenship": {"in": ["gb", "UA"]},
                "signals.deviceId": {"is": 12},
                "signals.vpn": {"is": True},
                "score": {"above": 3},
                "imageUrls": {"is_missing": True},
                "dob": {"at_least": "2001-01-01"},
            }
        )
    )
    assert {(one.name, one.operator): one.operand for one in found.rules[0].conditions} == {
        ("citizenship", Operator.IN): ("GB", "UA"),
        ("signals.deviceId", Operator.IS): "12",
        ("signals.vpn", Operator.IS): True,
        ("score", Operator.ABOVE): 3.0,
        ("imageUrls", Operator.IS_MISSING): True,
        ("dob", Operator.AT_LEAST): "2001-01-01",
    }


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("citizenship", {"is": "Narnia"}),
        ("dob", {"below": "31.12.2001"}),
        ("signals.vpn", {"is": 1}),
        ("score", {"above": True}),
        ("score", {"above": float("nan")}),
        ("score", {"above": 10**400}),
        ("score", {"above": None}),
        ("score", {}),
        ("score", 200),
        ("score", {"is_missing": 1}),
        ("imageUrls", {"is": "https://images.example/a"}),
        ("signals.deviceId", {"above": "a"}),
        ("signals.deviceId", {"is": " "}),
        ("citizenship", {"in": ["GB", 1]}),
    ],
)
def test_what_can_never_hold_is_refused(name: str, condition: object) -> None:
    """A value that no record can have, or an operator that its kind does not know."""
    assert problems({"rules": [rule(when={name: condition})]})


def test_limits() -> None:
    """Rules, names and values are accepted at their limits and refused beyond."""
    many = [rule(code=f"R{place}") for place in range(MOST_RULES + 1)]
    assert len(parsed(*many[:-1])) == MOST_RULES
    assert problems({"rules": many}) == [("rules", "too_many")]
    names = {f"n{place}": Kind.NUMBER for place in range(MOST_NAMES + 1)}
    when = {name: {"above": 1} for name in names}
    assert len(parsed(rule(when=dict(list(when.items())[1:])), names=names).names) == MOST_NAMES
    assert problems({"rules": [rule(when=when)]}, names) == [("rules.0.when", "invalid")]
    values = list(range(MOST_VALUES + 1))
    parsed(rule(when={"score": {"in": values[1:]}}))
    assert problems({"rules": [rule(when={"score": {"in": values}})]}) == [
        ("rules.0.when.score.in", "wrong_type")
    ]


def test_errors_are_limited() -> None:
    """Of thousands of problems the first hundred are described, the others are counted."""
    when = {"score": {f"o{place}": 1 for place in range(5_000)}}
    with pytest.raises(InvalidRules) as refused:
        parsed(rule(when=when))
    assert (len(refused.value.violations), refused.value.omitted) == (100, 4_900)


def test_codes_are_unique() -> None:
    """Two rules with one code are refused: nobody could say which decided."""
    assert problems({"rules": [rule(), rule()]}) == [("rules.1.code", "repeated")]


def test_rules_read_back_as_the_same_version() -> None:
    """The canonical form, without names of a bundle, gives equal rules; another title is another version."""
    given = parsed(
        rule(until="2027-01-31", by="fraud-ops", when={"score": {"in": [1, 2]}, "signals.vpn": {"is": True}}),
        rule(code="B", then="OBSERVE"),
    )
    again = parse_rules(json.loads(given.to_bytes()))
    assert (again, again.version, again.rules[1].then) == (given, given.version, Action.OBSERVE)
    assert again.to_bytes() == given.to_bytes()
    assert parsed(rule(title="Other")).version != parsed(rule()).version
    assert (
        parsed(rule(when={"score": {"above": 2}})).version
        == parsed(rule(when={"score": {"above": 2.0}})).version
    )
    assert names_of({}, ())["score"] is Kind.NUMBER
    assert given.features == ()
    assert parsed(rule(when={"link_device_7d_records": {"above": 2}})).features == ("link_device_7d_records",)
