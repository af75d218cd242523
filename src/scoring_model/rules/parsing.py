"""The parser of rules: it checks a file and its names together, and reports all problems at once."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from scoring_model.contract.rules import RuleError
from scoring_model.contract.violation import MOST_ERRORS, Invalid, Violation, pointer
from scoring_model.decision.document import an_object, is_number, must_be, one_of, shape_of, shown
from scoring_model.records.near_misses import did_you_mean
from scoring_model.records.times import end_of, is_end
from scoring_model.rules.names import Kind, RuleNames, value_rule
from scoring_model.rules.rule import (
    MOST_NAMES,
    MOST_RULES,
    MOST_VALUES,
    Action,
    Condition,
    Operand,
    Operator,
    OperatorRule,
    Rules,
    Value,
)

_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_TITLE, _BY, _NAME = 200, 128, 300
_ORDERED: Final = (Operator.BELOW, Operator.AT_MOST, Operator.ABOVE, Operator.AT_LEAST)
_EQUAL: Final = (Operator.IS, Operator.IS_NOT, Operator.IN, Operator.NOT_IN, Operator.IS_MISSING)
_OPERATORS: Final[Mapping[Kind, tuple[Operator, ...]]] = {
    Kind.NUMBER: (*_ORDERED, *_EQUAL),
    Kind.DATE: (*_ORDERED, *_EQUAL),
    Kind.TEXT: _EQUAL,
    Kind.BOOLEAN: (Operator.IS, Operator.IS_NOT, Operator.IS_MISSING),
    Kind.LIST: (Operator.IS_MISSING,),
}
_REQUIRED: Final = ("code", "title", "when", "then")
_KNOWN: Final = (*_REQUIRED, "until", "by")


class InvalidRules(Invalid):
    """Rules break their form, or read what a bundle does not have."""

    def __str__(self) -> str:
        return "the rules are refused:" + "".join(f"\n- {line}" for line in self.lines)


def parse_rules(document: object, names: RuleNames | None = None) -> Rules:
    """Parse rules.

    Parameters
    ----------
    document : object
        Plain values of a YAML or JSON file. Times are text.
    names : mapping of str to Kind, optional
        What conditions may read, see `names_of`. Without names, those of the document are not checked and its values
        are taken as they are: for rules that were parsed before.

    Raises
    ------
    InvalidRules
        With the first 100 violations, and the number of the others.
    """
    found: list[Violation] = []
    rules = _rules(document, names, found)
    if found:
        raise InvalidRules(found[:MOST_ERRORS], omitted=len(found[MOST_ERRORS:]))
    return Rules(rules)


def _rules(document: object, names: RuleNames | None, found: list[Violation]) -> tuple[OperatorRule, ...]:
    if not isinstance(document, Mapping):
        found += an_object(document)
        return ()
    found += _unknown_keys(document, ("rules",))
    listed = document.get("rules")
    if not isinstance(listed, list | tuple):
        found.append(Violation("/rules", "wrong_type", f"must be a list of rules, got {shape_of(listed)}"))
        return ()
    if len(listed) > MOST_RULES:
        found.append(
            Violation("/rules", "too_many", f"must be at most {MOST_RULES} rules, got {len(listed)}")
        )
        return ()
    rules = []
    codes: set[object] = set()
    for place, plain in enumerate(listed):
        of_rule: list[Violation] = []
        if (rule := _rule(plain, names, of_rule)) is not None:
            if rule.code in codes:
                of_rule.append(Violation("/code", "repeated", f"{rule.code} stands twice"))
            codes.add(rule.code)
            rules.append(rule)
        found += [violation.within("rules", place) for violation in of_rule]
    return tuple(rules)


def _rule(plain: object, names: RuleNames | None, found: list[Violation]) -> OperatorRule | None:
    """Parse one rule; None if it breaks its form, whose violations are added."""
    if not isinstance(plain, Mapping):
        found += an_object(plain)
        return None
    found += _unknown_keys(plain, _KNOWN)
    for name, check in _CHECKS.items():
        value = plain.get(name)
        if value is None and name in _REQUIRED:
            found.append(Violation(pointer(name), "missing", "must be there"))
        elif value is not None:
            found += [violation.within(name) for violation in check(value)]
    of_when: list[Violation] = []
    conditions = _conditions(plain.get("when"), names, of_when)
    found += [violation.within("when") for violation in of_when]
    if found:
        return None
    until = plain.get("until")
    return OperatorRule(
        code=plain["code"],
        title=plain["title"],
        conditions=conditions,
        then=Action(plain["then"]),
        until=until,
        ends=None if until is None else end_of(until),
        by=plain.get("by"),
    )


def _unknown_keys(plain: Mapping[object, object], known: tuple[str, ...]) -> Iterator[Violation]:
    for key in plain:
        if key not in known:
            hint = did_you_mean(str(key), known, otherwise=f"; known are {', '.join(known)}")
            yield Violation(pointer(shown(str(key)[:_NAME])), "unknown_key", f"unknown key{hint}")


def _conditions(when: object, names: RuleNames | None, found: list[Violation]) -> tuple[Condition, ...]:
    if not isinstance(when, Mapping) or not when or len(when) > MOST_NAMES:
        return ()  # `_CHECKS` reports it
    conditions = []
    for name, operators in when.items():
        where = shown(str(name)[:_NAME])
        kind = None if names is None else names.get(name)
        if names is not None and kind is None:
            hint = did_you_mean(str(name), names, otherwise="; see docs/rules.md for what rules may read")
            found.append(Violation(pointer(where), "unknown_name", f"nothing has this name{hint}"))
        if not isinstance(operators, Mapping) or not operators:
            detail = f"must be an object of operators, got {shape_of(operators)}"
            found.append(Violation(pointer(where), "wrong_type", detail))
            continue
        for operator, operand in operators.items():
            try:
                conditions.append(_condition(name, kind, operator, operand, checked=names is not None))
            except _WrongOperand as error:
                place = pointer(where, shown(str(operator)[:_NAME]))
                found.append(Violation(place, error.code, error.detail))
    return tuple(conditions)


class _WrongOperand(ValueError):
    """An operator or its operand is wrong."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def _condition(
    name: str, kind: Kind | None, operator: object, operand: object, *, checked: bool
) -> Condition:
    allowed = tuple(Operator) if kind is None else _OPERATORS[kind]
    if operator not in tuple(Operator):
        hint = did_you_mean(str(operator), allowed, otherwise=f"; known are {', '.join(allowed)}")
        raise _WrongOperand("unknown_operator", f"unknown operator{hint}")
    known = Operator(str(operator))
    if known not in allowed:
        raise _WrongOperand("wrong_operator", f"a {kind} has the operators {', '.join(allowed)}")
    if known is Operator.IS_MISSING:
        if not isinstance(operand, bool):
            raise _WrongOperand("wrong_type", f"must be true or false, got {shape_of(operand)}")
        return Condition(name, known, operand)
    if known not in (Operator.IN, Operator.NOT_IN):
        return Condition(name, known, _value(name, kind, operand, checked=checked))
    if not isinstance(operand, list | tuple) or not 1 <= len(operand) <= MOST_VALUES:
        detail = f"must be a list of 1 to {MOST_VALUES} values, got {shape_of(operand)}"
        raise _WrongOperand("wrong_type", detail)
    values: Operand = tuple(_value(name, kind, one, checked=checked) for one in operand)
    return Condition(name, known, values)


def _value(name: str, kind: Kind | None, value: object, *, checked: bool) -> Value:
    """Return the canonical value, as records hold it."""
    if kind is not None:
        try:
            found = value_rule(name, kind)(value)
        except RuleError as error:
            raise _WrongOperand(error.type, error.message()) from error
        if found is None:
            raise _WrongOperand("missing", "must be a value; is_missing finds missing ones")
        return bool(found) if kind is Kind.BOOLEAN else found  # type: ignore[return-value]
    if isinstance(value, bool | str):
        return value
    if is_number(value):
        return float(value)  # type: ignore[arg-type]
    if checked:
        return ""  # its name is unknown, which is reported
    raise _WrongOperand("wrong_type", f"must be a number, a boolean or text, got {shape_of(value)}")


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value.strip()) and len(value) <= most


_CHECKS: Final = {
    "code": must_be(
        "1 to 64 capitals, digits and underscores, a letter first",
        lambda value: isinstance(value, str) and _CODE.fullmatch(value) is not None,
    ),
    "title": must_be(f"text of 1 to {_TITLE} characters in one line", partial(_is_text, most=_TITLE)),
    "when": must_be(
        f"an object of 1 to {MOST_NAMES} names",
        lambda value: isinstance(value, Mapping) and 1 <= len(value) <= MOST_NAMES,
    ),
    "then": one_of(*Action),
    "until": must_be("a day such as 2027-01-31, or a time of RFC 3339", is_end),
    "by": must_be(f"text of 1 to {_BY} characters in one line", partial(_is_text, most=_BY)),
}
