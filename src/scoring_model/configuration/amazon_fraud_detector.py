"""Reads what Amazon Fraud Detector knows of an event type: variables, labels and rules, which become ours if they can.

The files are the answers of `aws frauddetector get-...`, as JSON.

References
----------
https://docs.aws.amazon.com/frauddetector/latest/ug/rule-language-reference.html
https://docs.aws.amazon.com/frauddetector/latest/api/API_Variable.html
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, product
from math import prod
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from scoring_model.configuration.profiles import Kind
from scoring_model.configuration.proposal import Given
from scoring_model.rules.parsing import parse_rules

FIELDS: Final = {
    "BILLING_ADDRESS_L1": "address.line1",
    "BILLING_ADDRESS_L2": "address.line2",
    "BILLING_CITY": "address.city",
    "BILLING_STATE": "address.region",
    "BILLING_ZIP": "address.postalCode",
    "BILLING_COUNTRY": "address.country",
}
"""Fields by type of variable."""

METADATA: Final = {"EVENT_TIMESTAMP": "eventTime", "EVENT_ID": "recordId", "ENTITY_ID": "subjectId"}
"""Fields by column, which every file has under these names."""

_CATEGORIES: Final = (
    "AUTH_CODE AVS CATEGORICAL CURRENCY_CODE PAYMENT_TYPE PRODUCT_CATEGORY SHIPPING_CITY SHIPPING_COUNTRY "
    "SHIPPING_STATE USERAGENT"
)
_IDENTIFIERS: Final = (
    "CARD_BIN FINGERPRINT SHIPPING_ADDRESS_L1 SHIPPING_ZIP BILLING_NAME SHIPPING_NAME ORDER_ID"
)
KINDS: Final = {
    **dict.fromkeys(_CATEGORIES.split(), Kind.CATEGORY),
    **dict.fromkeys(_IDENTIFIERS.split(), Kind.IDENTIFIER),
    **dict.fromkeys(("PHONE_NUMBER", "BILLING_PHONE", "SHIPPING_PHONE"), Kind.PHONE),
    **dict.fromkeys(("NUMERIC", "PRICE"), Kind.NUMBER),
    "EMAIL_ADDRESS": Kind.EMAIL,
    "IP_ADDRESS": Kind.IP,
}
"""Kinds of columns by type of variable; of other types the contents decide."""

_LINKING: Final = (
    *("FINGERPRINT", "EMAIL_ADDRESS", "IP_ADDRESS", "PHONE_NUMBER"),
    *("SHIPPING_ADDRESS_L1", "BILLING_PHONE", "SHIPPING_PHONE"),
)  # types of variables that link records, those first that fraudsters use again or must have

OUTCOMES: Final = {
    "FAILED": r"block(ed)?|den(y|ied)|declined?|reject(ed)?|fail(ed)?|stop(ped)?|fraud(ulent)?",
    "STEPPED_UP": r"review|verif(y|ication)|challenged?|investigat(e|ion)|step(ped)?(up)?|mfa|otp|manual|friction",
    "OBSERVE": "",
    "PASSED": r"approved?|allow(ed)?|accept(ed)?|pass(ed)?|legit(imate)?",
}
"""Whole words in names of outcomes by what they mean here, the strictest first.

An unknown name may mean anything but is no reason to let pass, so it counts as stricter than `PASSED`.
"""

_NEGATIONS: Final = frozenset(("no", "non", "not", "never", "without", "low"))

_PARTS: Final = re.compile(r"""\$(\w+)|"[^"]*"|'[^']*'|\b(?:true|false)\b""")
_BOOLEANS: Final = {"true": "True", "false": "False"}
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}
_OPERATORS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Gt: "above",
    ast.GtE: "at_least",
    ast.Lt: "below",
    ast.LtE: "at_most",
    ast.Eq: "is",
    ast.NotEq: "is_not",
    ast.In: "in",
    ast.NotIn: "not_in",
}
_ORDERED: Final = ("above", "at_least", "below", "at_most")
_MOST: Final = 20  # alternatives of one rule
_LONGEST: Final = 4_096  # characters, as there


class Inexpressible(ValueError):
    """Rules here can't say what an expression says."""


class Condition(NamedTuple):
    """A comparison of a variable."""

    variable: str
    operator: str
    values: tuple[str, ...]


@dataclass(kw_only=True)
class Definition:
    """What the files say: types of variables, words of labels by meaning, and rules in their order."""

    types: dict[str, str] = field(default_factory=dict)
    booleans: set[str] = field(default_factory=set)
    words: dict[str, list[str]] = field(default_factory=dict)
    rules: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def given(self) -> Given:
        """Return what a proposal takes over."""
        kinds = {name: KINDS[kind] for name, kind in self.types.items() if kind in KINDS}
        fields = {name: FIELDS[kind] for name, kind in self.types.items() if kind in FIELDS}
        linking = [name for kind in _LINKING for name, own in self.types.items() if own == kind]
        return Given(
            fields={**fields, **METADATA, **({"EVENT_LABEL": "label"} if self.words else {})},
            kinds={**kinds, **dict.fromkeys(self.booleans, Kind.BOOLEAN)},
            linking=linking,
            left_out={"ENTITY_TYPE": "all records are of one kind of entity"},
            words=self.words,
        )


def read_definition(paths: Sequence[Path]) -> Definition:
    """Read the answers of `get-variables`, `get-model-version`, `get-rules` and `get-detector-version`.

    Raises
    ------
    ValueError
        If a file is no such answer.
    """
    found, order, rules = Definition(), list[tuple[str, str]](), dict[tuple[str, str], Mapping[str, Any]]()
    for path in paths:
        parts = _parts(path)
        try:
            for one in parts.get("variables", ()):
                found.types[one["name"]] = one.get("variableType", "")
                found.booleans |= {one["name"]} if one.get("dataType") == "BOOLEAN" else set()
            if "trainingDataSchema" in parts:
                mapper = parts["trainingDataSchema"]["labelSchema"]["labelMapper"]
                found.words = {"fraud": list(mapper["FRAUD"]), "genuine": list(mapper["LEGIT"])}
            for one in parts.get("ruleDetails", ()):
                rules[one["ruleId"], one["ruleVersion"]] = {name: one[name] for name in _OF_RULE} | one
            order += [(one["ruleId"], one["ruleVersion"]) for one in parts.get("rules", ())]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: is no answer of Amazon Fraud Detector: {error!r}") from None
    if missing := [f"{name} {version}" for name, version in order if (name, version) not in rules]:
        raise ValueError(f"rules of the detector that no file of get-rules has: {', '.join(missing)}")
    latest = {name: (name, version) for name, version in sorted(rules, key=lambda key: int(key[1]))}
    found.rules = [rules[key] for key in order or latest.values()]
    return found


def _parts(path: Path) -> dict[str, Any]:
    """Return what is read of an answer, by its key."""
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: is no JSON: {error}") from None
    parts = {name: answer[name] for name in _ANSWERS if name in answer} if isinstance(answer, dict) else {}
    if not parts:
        raise ValueError(f"{path}: is an answer of none of {', '.join(_ANSWERS.values())}, which are read")
    return parts


_OF_RULE: Final = ("ruleId", "expression", "outcomes")
_ANSWERS: Final = {
    "variables": "get-variables",
    "trainingDataSchema": "get-model-version",
    "ruleDetails": "get-rules",
    "rules": "get-detector-version",
}


def rules_of(
    definition: Definition, names: Mapping[str, str], kinds: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Translate rules; returns the text of a file of rules, and the decisions that it leaves to a person.

    Parameters
    ----------
    names : mapping of str to str
        Names that conditions may read, by variable.
    kinds : mapping of str to str
        Types of signals, by the same names.

    Raises
    ------
    InvalidRules
        If they are too many, or two have one code.
    """
    translated: list[dict[str, Any]] = []
    decisions = []
    strictest = len(OUTCOMES)  # of the rules before that do not decide
    for rule in definition.rules:
        name, then = rule["ruleId"], _outcome(rule["outcomes"])
        place = [*OUTCOMES].index(then)
        try:
            alternatives = [_when(one, names, kinds) for one in alternatives_of(rule["expression"])]
        except Inexpressible as error:
            decisions.append(f"Rule {name} is not translated: {error}. It says: {rule['expression']}")
            strictest = min(strictest, place)
            continue
        if then == "OBSERVE":
            known = ", ".join(rule["outcomes"])
            decisions.append(f"Rule {name} only observes: say what its outcome means here ({known}).")
            strictest = min(strictest, place)
        elif place > strictest:
            decisions.append(
                f"Rule {name} only observes, and not {then}: one before it does not decide, and may be stricter."
            )
            then = "OBSERVE"
        code = re.sub(r"\W", "_", name.upper()).lstrip("_0123456789")[:58] or "RULE"
        title = " ".join((rule.get("description") or name).split())[:200]
        for number, when in enumerate(alternatives, start=1):
            suffix = f"_{number}" if len(alternatives) > 1 else ""
            translated.append({"code": code + suffix, "title": title, "when": when, "then": then})
    parse_rules({"rules": translated})
    comments = "".join(f"# - {' '.join(line.split())}\n" for line in decisions)
    head = f"# Rules of Amazon Fraud Detector. To decide:\n{comments}" if decisions else ""
    return head + yaml.safe_dump({"rules": translated}, sort_keys=False, width=118), decisions


def _outcome(outcomes: Sequence[str]) -> str:
    """Return what a rule's outcomes mean here, the strictest of several."""
    found = {_meaning(name) for name in outcomes} or {"OBSERVE"}
    return next(meaning for meaning in OUTCOMES if meaning in found)


def _meaning(name: str) -> str:
    """Return what an outcome means here by the words of its name, OBSERVE if they do not say."""
    words = re.findall("[a-z]+", name.lower())
    if not _NEGATIONS.isdisjoint(words):
        return "OBSERVE"
    known = (one for one, pattern in OUTCOMES.items() if any(re.fullmatch(pattern, word) for word in words))
    return next(known, "OBSERVE")


def _when(
    conditions: Sequence[Condition], names: Mapping[str, str], kinds: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Write conditions that all have to hold."""
    when: dict[str, dict[str, Any]] = {}
    for variable, operator, values in conditions:
        if variable.endswith("_insightscore"):
            raise Inexpressible("it reads the score of a model, whose thresholds training chooses (policy)")
        if variable not in names:
            raise Inexpressible(f"no column that is read has the name {variable}")
        name = names[variable]
        kind = kinds.get(name, "")
        of_name = when.setdefault(name, {})
        if operator in of_name:
            raise Inexpressible(f"it compares {variable} twice in the same way")
        if operator in _ORDERED and kind != Kind.NUMBER:
            raise Inexpressible(f"{variable} is no number, and has no order")
        operands = [_operand(value, kind) for value in values]
        of_name[operator] = operands if operator in ("in", "not_in") else operands[0]
    return when


def _operand(text: str, kind: str) -> bool | float | str:
    """Read a value as the kind of its name has it."""
    if kind == Kind.BOOLEAN:
        if text.lower() not in _TRUTH:
            raise Inexpressible(f"it compares true or false with {text}")
        return _TRUTH[text.lower()]
    try:
        return float(text) if kind == Kind.NUMBER else text
    except ValueError:
        raise Inexpressible(f"it compares a number with {text}") from None


def alternatives_of(expression: str) -> list[list[Condition]]:
    """Parse an expression into alternatives of conditions that all have to hold.

    What it shares with Python is all that has a counterpart here, so Python's parser reads it.

    Raises
    ------
    Inexpressible
        If it calculates, calls functions, matches patterns, reads lists, negates, or has more than 20 alternatives.

    Examples
    --------
    >>> [[one.variable for one in every] for every in alternatives_of("$a < 2 and ($b == 'GB' or $c == true)")]
    [['a', 'b'], ['a', 'c']]
    """
    text = _PARTS.sub(
        lambda match: f"v_{match[1]}" if match[1] else _BOOLEANS.get(match[0], match[0]),
        " ".join(expression.split()),
    )
    if len(text) > _LONGEST:
        raise Inexpressible(f"it has more than {_LONGEST} characters")
    try:
        return _alternatives(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError):
        raise Inexpressible("it negates, matches a pattern, reads a list, or can't be read") from None


def _alternatives(node: ast.expr) -> list[list[Condition]]:
    if isinstance(node, ast.BoolOp):
        parts = [_alternatives(value) for value in node.values]
        if isinstance(node.op, ast.Or):
            return list(chain.from_iterable(parts))
        if prod(map(len, parts)) > _MOST:
            raise Inexpressible(f"it has more than {_MOST} alternatives")
        return [list(chain.from_iterable(chosen)) for chosen in product(*parts)]
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[operator], comparators=[right]):
            with suppress(ValueError, KeyError):
                value, word = ast.literal_eval(right), _OPERATORS[type(operator)]
                values = value if isinstance(value, list) else [value]
                is_fit = isinstance(value, list) is (word in ("in", "not_in"))
                if is_fit and all(isinstance(one, str | int | float) for one in values):
                    return [[Condition(name.removeprefix("v_"), word, tuple(map(str, values)))]]
    raise Inexpressible(f"{ast.unparse(node).replace('v_', '$')} has no counterpart")
