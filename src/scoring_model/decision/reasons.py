"""Reason codes: what pushed the margin up, strongest first.

`FactualReasons` chooses them by the rule of present bundles. It is modelled on 12 CFR 1002.9(b)(2) and the official
comments 9(b)(2)-2 to -5: reasons are those of factors that were scored, they are specific, and no principal one is left
out. That is no claim of compliance. `SummedReasons` is the rule of bundles of protocols 1 and 2, kept so that their
verdicts can be replayed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

from scoring_model.arrays import FloatArray
from scoring_model.decision.factors import Factors, Rule

MAX_REASONS: Final = 5

_Take: TypeAlias = Callable[[Sequence[Any]], tuple[Any, ...]]


class FactualReasons:
    """Reasons whose facts hold for the record.

    Every factor says the first of its statements whose facts hold in the row, and the contributions of all
    factors that say the same add up. What is shown is the strongest code whose sum is positive, and the further
    ones that hold at least a share of all that is positive. The sums are exact to the last bit (`math.fsum`), so that
    the order of the features never decides the order of the reasons.

    Parameters
    ----------
    factors : Factors
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
        place = {name: column for column, name in enumerate(names)}
        self.factors = factors
        self.sentences = factors.sentences
        self._plan = [
            (
                _taking([place[name] for name in factor.features]),
                [
                    (
                        statement.code,
                        [
                            (fact.rule is Rule.POSITIVE, _taking([place[column] for column in fact.columns]))
                            for fact in statement.facts
                        ],
                    )
                    for statement in factor.statements
                ],
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
        shown = ((row == row).tolist(), (row > 0).tolist())  # by rule: present, positive
        values = contributions.tolist()
        parts: dict[str, list[float]] = {}
        for take, statements in self._plan:
            parts.setdefault(_made(statements, shown), []).extend(take(values))
        sums = {code: math.fsum(found) for code, found in parts.items()}
        pushing = _strongest(sums)
        if not pushing:
            return (self.factors.otherwise.code,)
        least = self.factors.share * math.fsum(sums[code] for code in pushing)
        return (pushing[0], *(code for code in pushing[1:MAX_REASONS] if sums[code] >= least))


class SummedReasons:
    """The codes with the largest positive sums, whatever the record holds: the rule of protocols 1 and 2.

    Parameters
    ----------
    codes : sequence of length d
        Each feature's reason code.
    sentences : mapping of str to str
        By code.
    """

    def __init__(self, codes: Sequence[str], sentences: Mapping[str, str]) -> None:
        self.sentences = sentences
        self._codes = tuple(codes)

    def choose(self, row: FloatArray, contributions: FloatArray) -> tuple[str, ...]:
        """Choose the reasons of one record, at most five; none where no sum is positive."""
        parts: dict[str, list[float]] = {}
        for code, contribution in zip(self._codes, contributions.tolist(), strict=True):
            parts.setdefault(code, []).append(contribution)
        return tuple(_strongest({code: math.fsum(found) for code, found in parts.items()})[:MAX_REASONS])


Reasons: TypeAlias = FactualReasons | SummedReasons
"""Either way from contributions to reasons."""


def _taking(columns: Sequence[int]) -> _Take:
    """What gives some columns as a tuple; of one column it gives one value, so a single one is taken with none."""
    if len(columns) == 1:
        return lambda values: (values[columns[0]],)
    return itemgetter(*columns)


def _made(
    statements: Sequence[tuple[str, Sequence[tuple[bool, _Take]]]], shown: tuple[list[bool], list[bool]]
) -> str:
    """The code of the first statement whose facts all hold; that of the last one needs none."""
    for code, facts in statements[:-1]:
        for rule, columns in facts:
            if True not in columns(shown[rule]):
                break
        else:
            return code
    return statements[-1][0]


def _strongest(sums: Mapping[str, float]) -> list[str]:
    """Codes with a positive sum, the largest first, equal ones by name."""
    return sorted((code for code, total in sums.items() if total > 0), key=lambda code: (-sums[code], code))
