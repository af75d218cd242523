"""Reason codes: the factors that raised the margin, strongest first.

`FactualReasons` is modelled on 12 CFR 1002.9(b)(2) and the official comments
9(b)(2)-2 to -5: reasons refer to scored factors, are specific, and omit no principal factor. This is no claim of
compliance.

Decision record: docs/adr/0019-reasons.md.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.decision.factors import Factor, Factors, Rule

MAX_REASONS: Final = 5


class FactualReasons:
    """Reasons whose facts hold for the record.

    Every factor makes the first of its statements whose facts hold in the row; the contributions of all
    factors that make the same statement add up. The result is the strongest code with a positive sum, and the further
    ones with at least a share of the total of positive sums. The sums are exact to the last bit (`math.fsum`), so that
    the order of the features never decides the order of the reasons.

    Parameters
    ----------
    names : sequence of str
        The features in the order of the columns of a row.

    Raises
    ------
    ValueError
        When the factors do not fit the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from scoring_model.decision.factors import Fact, Factor, Factors, Rule, Statement
    >>> given = Fact(rule=Rule.PRESENT, columns=("age",))
    >>> said = (
    ...     Statement(code="AGE", sentence="The age counted.", facts=(given,)),
    ...     Statement(code="NO_AGE", sentence="No age was given."),
    ... )
    >>> otherwise = Statement(code="OTHER", sentence="Nothing else.")
    >>> factors = Factors(share=0.1, factors=(Factor(features=("age",), statements=said),), otherwise=otherwise)
    >>> FactualReasons(factors, ["age"]).choose(np.array([np.nan]), np.array([0.5]))
    ('NO_AGE',)
    """

    def __init__(self, factors: Factors, names: Sequence[str]) -> None:
        factors.check_columns(names)
        self.factors = factors
        self.names = tuple(names)
        self.sentences = factors.sentences
        place = {name: column for column, name in enumerate(names)}
        facts = list(dict.fromkeys(fact for statement in factors.statements for fact in statement.facts))
        # A row's present columns, then its positive ones: where the columns of each fact are in there, end to end.
        self._read = np.array(
            [
                place[column] + (fact.rule is Rule.POSITIVE) * len(names)
                for fact in facts
                for column in fact.columns
            ],
            dtype=np.int64,
        )
        self._starts = np.cumsum([0, *(len(fact.columns) for fact in facts[:-1])])[: len(facts)]
        by_code = Counter(code for factor in factors.factors for code in _codes_of(factor))
        self._plan = [
            (
                _taking([place[name] for name in factor.features]),
                [
                    (statement.code, [facts.index(fact) for fact in statement.facts])
                    for statement in factor.statements
                ],
                all(by_code[code] == 1 for code in _codes_of(factor)),
            )
            for factor in factors.factors
        ]

    def choose(self, row: FloatArray, contributions: FloatArray) -> tuple[str, ...]:
        """Choose the reasons of one record.

        Parameters
        ----------
        row : ndarray of shape (d,), float64
        contributions : ndarray of shape (d,), float64, finite
            What each feature adds to the margin, in log-odds.

        Returns
        -------
        tuple of str
            One to five codes, strongest first, equal ones by name.
        """
        holds = self._holds(row)
        values = contributions.tolist()
        sums: dict[str, float] = {}
        parts: dict[str, list[float]] = {}
        for take, statements, is_alone in self._plan:
            if not is_alone:
                parts.setdefault(_made(statements, holds), []).extend(take(values))
            elif (total := math.fsum(take(values))) > 0:
                sums[_made(statements, holds)] = total
        sums.update((code, math.fsum(found)) for code, found in parts.items())
        pushing = _strongest(sums)
        if not pushing:
            return (self.factors.otherwise.code,)
        least = self.factors.share * math.fsum(sums[code] for code in pushing)
        return (pushing[0], *(code for code in pushing[1:MAX_REASONS] if sums[code] >= least))

    def _holds(self, row: FloatArray) -> list[bool]:
        """Return which facts hold in a row."""
        if not len(self._read):
            return []
        shown = np.concatenate((row == row, row > 0))[self._read]
        holds: list[bool] = np.logical_or.reduceat(shown, self._starts).tolist()
        return holds


def _codes_of(factor: Factor) -> set[str]:
    return {statement.code for statement in factor.statements}


def _taking(places: Sequence[int]) -> Callable[[Sequence[float]], tuple[float, ...]]:
    """Make a function that takes some values as a tuple; `itemgetter` gives no tuple for one value."""
    if len(places) == 1:
        return lambda values: (values[places[0]],)
    return itemgetter(*places)


def _made(statements: Sequence[tuple[str, Sequence[int]]], holds: Sequence[bool]) -> str:
    """Return the code of the first statement whose facts all hold."""
    for code, facts in statements:
        for fact in facts:
            if not holds[fact]:
                break
        else:
            return code
    raise ValueError("the last statement of a factor needs no fact")


def _strongest(sums: Mapping[str, float]) -> list[str]:
    """Codes with a positive sum, the largest first, equal ones by name."""
    return sorted((code for code, total in sums.items() if total > 0), key=lambda code: (-sums[code], code))
