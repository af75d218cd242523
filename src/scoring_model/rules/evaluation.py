"""Evaluates rules: in plain Python for one record, with numpy for a table. Both give the same hits."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.contract.fields import SIGNAL_PREFIX
from scoring_model.contract.rules import RuleError, ValueRule, any_signal, boolean, identifier, number
from scoring_model.records import RecordTable
from scoring_model.rules.names import SCORE, is_field
from scoring_model.rules.rule import Condition, Operand, Operator, Rules

_MISSING: Final = float("nan")
_NEVER: Final = 2**63

_READ: Final[Mapping[type | None, ValueRule]] = {str: identifier, bool: boolean, float: number}
"""How a signal is read, by the type of what conditions compare it with."""

_Hits: TypeAlias = Callable[[tuple[Any, ...], int], tuple[int, ...]]
"""Values that conditions read, a missing one NaN of whatever kind the others are, and the time of the event to hits."""


class RuleEvaluator:
    """Finds the rules that hold.

    Parameters
    ----------
    columns : sequence of str
        Features in the order of a feature row.

    Raises
    ------
    ValueError
        If a rule reads a feature that is no column.
    """

    def __init__(self, rules: Rules, columns: Sequence[str]) -> None:
        place = {name: at for at, name in enumerate(columns)}
        if absent := [name for name in rules.features if name not in place]:
            raise ValueError(f"rules read features that are no columns: {', '.join(absent)}")
        self.rules = rules
        self._fields = tuple(name for name in rules.names if is_field(name))
        self._features = tuple(place[name] for name in rules.features)
        inputs = {name: at for at, name in enumerate((SCORE, *self._fields, *rules.features))}
        self._others = tuple(name for name in self._fields if not name.startswith(SIGNAL_PREFIX))
        kinds = {
            one.name: type(_any_of(one.operand))
            for rule in rules.rules
            for one in rule.conditions
            if one.operator is not Operator.IS_MISSING
        }
        self._signals = tuple(
            (name.removeprefix(SIGNAL_PREFIX), name, _READ.get(kinds.get(name), any_signal))
            for name in self._fields
            if name.startswith(SIGNAL_PREFIX)
        )
        self._of_row = _getter(self._features)
        self._nothing = (_MISSING,) * len(self._fields)
        self._hits = _compiled(rules, inputs)

    def hits(
        self, score: int, values: Mapping[str, object], row: FloatArray, event_time: int
    ) -> tuple[int, ...]:
        """Find the rules that hold for one record.

        Parameters
        ----------
        score : int
            0 to 1000.
        values : mapping of str to object
            Canonical values by field name, without missing ones.
        row : ndarray of shape (d,), float64
            Its features.
        event_time : int
            Microseconds since 1970-01-01 UTC.

        Returns
        -------
        tuple of int
            Places in the file, ascending.
        """
        # A view of the buffer gives Python floats in half of the time that the array takes.
        given = (score, *map(values.get, self._fields, self._nothing), *self._of_row(row.data))
        return self._hits(given, event_time)

    def read_stored(self, values: Mapping[str, object], signals: Mapping[str, object]) -> dict[str, object]:
        """Return what rules read of a stored request, whatever signals its bundle knew.

        A signal of another type than the rules compare it with is missing.

        Parameters
        ----------
        values : mapping of str to object
            Canonical values of the identity by field name; signals among them do not count.
        signals : mapping of str to object
            As they were sent, by name.
        """
        found = {name: values[name] for name in self._others if name in values}
        for name, field, rule in self._signals:
            try:
                value = rule(signals[name]) if name in signals else None
            except RuleError:
                continue
            if value is not None:
                found[field] = value
        return found

    def table_hits(self, scores: IntArray, table: RecordTable, rows: FloatArray) -> BoolArray:
        """Find the rules that hold for each record of a table.

        Parameters
        ----------
        scores : ndarray of shape (n,), int64
        rows : ndarray of shape (n, d), float64
            Features of the records.

        Returns
        -------
        ndarray of shape (n, r), bool
            By record and rule, in the order of the file.
        """
        columns = dict(zip(self.rules.features, self._features, strict=True))
        hits = np.ones((len(table), len(self.rules)), dtype=np.bool_)
        for at, rule in enumerate(self.rules.rules):
            if rule.ends is not None:
                hits[:, at] &= table.event_times < rule.ends
            for one in rule.conditions:
                if one.name == SCORE:
                    hits[:, at] &= _holds(one, scores.astype(np.float64))
                elif one.name in columns:
                    hits[:, at] &= _holds(one, rows[:, columns[one.name]])
                else:
                    hits[:, at] &= _of_field(one, table)
        return hits


def _getter(columns: Sequence[int]) -> Callable[[Any], tuple[float, ...]]:
    """Return a function from a row to the values of columns."""
    if len(columns) > 1:
        return itemgetter(*columns)
    return lambda row: tuple([row[column] for column in columns])


def _of_field(condition: Condition, table: RecordTable) -> BoolArray:
    """Evaluate a condition on the distinct values of a field, and gather."""
    column = table.column(condition.name)
    if condition.operator is Operator.IS_MISSING:
        missing: BoolArray = column.codes < 0
        return missing if condition.operand else ~missing
    values = np.array(column.values, dtype=object)
    if isinstance(condition.operand, float | bool) or _are_numbers(condition.operand):
        values = values.astype(np.float64)
    return np.append(_holds(condition, values), False)[column.codes]  # the code -1 is the last place


def _any_of(operand: Operand) -> object:
    return operand[0] if isinstance(operand, tuple) else operand


def _are_numbers(operand: Operand) -> bool:
    return isinstance(operand, tuple) and not isinstance(operand[0], str)


def _holds(condition: Condition, values: Any) -> BoolArray:
    """Evaluate a condition on an array of numbers, where NaN is missing, or of texts, none of which is missing."""
    operand = condition.operand
    present = values == values
    match condition.operator:
        case Operator.BELOW:
            held = values < operand
        case Operator.AT_MOST:
            held = values <= operand
        case Operator.ABOVE:
            held = values > operand
        case Operator.AT_LEAST:
            held = values >= operand
        case Operator.IS:
            held = values == operand
        case Operator.IS_NOT:
            held = present & (values != operand)
        case Operator.IN:
            held = np.isin(values, np.array(operand, dtype=values.dtype))
        case Operator.NOT_IN:
            held = present & ~np.isin(values, np.array(operand, dtype=values.dtype))
        case Operator.IS_MISSING:
            held = present != bool(operand)
    return np.asarray(held, dtype=np.bool_)


def _compiled(rules: Rules, inputs: Mapping[str, int]) -> _Hits:
    """Make the function that finds the rules that hold, one line for each.

    To call a function for each condition takes twice as long. The text consists of operators, places and instants:
    names and operands of a file of rules are no part of it.
    """
    values = "".join(f"v{at}, " for at in inputs.values())
    lines = ["def hits(given, event_time):", f" {values}= given", " found = []"]
    known: dict[str, Any] = {}
    for at, rule in enumerate(rules.rules):
        tests = []
        for one in rule.conditions:
            name = f"o{len(known)}"
            known[name] = frozenset(one.operand) if isinstance(one.operand, tuple) else one.operand
            tests.append(_code_of(one).format(value=f"v{inputs[one.name]}", operand=name))
        if rule.ends is not None:
            tests.append(f"event_time < {rule.ends:d}")
        lines.append(f" if {' and '.join(tests)}: found.append({at})")
    exec("\n".join([*lines, " return tuple(found)"]), known)
    return cast(_Hits, known["hits"])


def _code_of(condition: Condition) -> str:
    """Return the test of one value. A comparison of floats with NaN is false, one of text with NaN is an error."""
    operator, operand = condition.operator, condition.operand
    if operator is Operator.IS_MISSING:
        return "{value} != {value}" if operand else "{value} == {value}"
    test = f"{{value}} {_CODE[operator]} {{operand}}"
    guarded = operator in (Operator.IS_NOT, Operator.NOT_IN) or (
        isinstance(operand, str) and operator is not Operator.IS
    )
    return f"{{value}} == {{value}} and {test}" if guarded else test


_CODE: Final[Mapping[Operator, str]] = {
    Operator.BELOW: "<",
    Operator.AT_MOST: "<=",
    Operator.ABOVE: ">",
    Operator.AT_LEAST: ">=",
    Operator.IS: "==",
    Operator.IS_NOT: "!=",
    Operator.IN: "in",
    Operator.NOT_IN: "not in",
}
