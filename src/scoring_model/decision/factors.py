"""Factors: groups of features with summed contributions, and the statements about them.

A statement is true for the record. Each statement requires facts read from the feature row, since a batch job and a
replay have nothing else; a factor makes its first statement whose facts all hold.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from scoring_model.decision.document import (
    check_document,
    each,
    fields,
    number,
    one_of,
    text,
)

_CODE: Final = re.compile(r"[A-Z0-9_]{1,200}")


class Rule(StrEnum):
    """The condition of a fact on at least one of its columns."""

    PRESENT = "present"  # not NaN
    POSITIVE = "positive"  # above 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A fact that a feature row shows.

    Parameters
    ----------
    columns : tuple of str
        Features by name, at least one; the fact holds when any of them meets the rule.
    """

    rule: Rule
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A public reason code with its sentence.

    Parameters
    ----------
    code : str
        Capitals, digits and underscores.
    facts : tuple of Fact
        The statement is made only if all of them hold; without facts it is always true.
    """

    code: str
    sentence: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Factor:
    """Features whose contributions are summed.

    Parameters
    ----------
    statements : tuple of Statement
        The first whose facts hold is made. The last needs none, so that there is always one.
    """

    features: tuple[str, ...]
    statements: tuple[Statement, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Factors:
    """All statements that a bundle may make about a decision.

    Parameters
    ----------
    share : float
        Minimum share, in [0, 1], of all positive contributions for a reason after the first.
    factors : tuple of Factor
        Every feature belongs to exactly one.
    otherwise : Statement
        Made if no contribution is positive.

    Raises
    ------
    ValueError
        With all violations.
    """

    share: float
    factors: tuple[Factor, ...]
    otherwise: Statement

    def __post_init__(self) -> None:
        if problems := list(_problems(self)):
            raise ValueError("; ".join(problems))

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Return all possible statements."""
        return (*(statement for factor in self.factors for statement in factor.statements), self.otherwise)

    @property
    def sentences(self) -> Mapping[str, str]:
        """The public catalogue: sentence by code, in the order of codes."""
        return {s.code: s.sentence for s in sorted(self.statements, key=lambda s: s.code)}

    def check_columns(self, names: Sequence[str]) -> None:
        """Check that the factors fit a feature row.

        Parameters
        ----------
        names : sequence of str
            The features in the order of the row.

        Raises
        ------
        ValueError
            When a feature belongs to no factor, or a factor or fact names one that does not exist.
        """
        features = {name for factor in self.factors for name in factor.features}
        read = {
            column for statement in self.statements for fact in statement.facts for column in fact.columns
        }
        problems = {
            "without a factor": set(names) - features,
            "unknown": (features | read) - set(names),
        }
        if any(problems.values()):
            raise ValueError(
                "; ".join(f"features {what}: {', '.join(sorted(f))}" for what, f in problems.items() if f)
            )

    def to_json(self) -> dict[str, Any]:
        """Give the factors as a JSON document that reads back exactly."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: object) -> "Factors":
        """Read the result of `to_json`."""
        plain = check_document("reasons", document, _document)
        return cls(
            share=float(plain["share"]),
            factors=tuple(_read_factor(factor) for factor in plain["factors"]),
            otherwise=_read_statement(plain["otherwise"]),
        )


def _problems(factors: Factors) -> Iterator[str]:
    if not 0 <= factors.share <= 1:
        yield f"share: must be in [0, 1], got {factors.share}"
    for factor in factors.factors:
        if not factor.statements or factor.statements[-1].facts:
            yield f"the last statement about {', '.join(factor.features)} must need no fact"
    if factors.otherwise.facts:
        yield "otherwise: must need no fact"
    if shared := _repeated(name for factor in factors.factors for name in factor.features):
        yield f"features of more than one factor: {', '.join(shared)}"
    if unlike := _repeated(code for code, _ in {(s.code, s.sentence) for s in factors.statements}):
        yield f"reason codes with more than one sentence: {', '.join(unlike)}"
    if bad := sorted({s.code for s in factors.statements if not _CODE.fullmatch(s.code)}):
        yield f"reason codes must be capitals, digits and underscores: {', '.join(map(repr, bad))}"


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _read_factor(plain: Mapping[str, Any]) -> Factor:
    return Factor(
        features=tuple(plain["features"]),
        statements=tuple(_read_statement(statement) for statement in plain["statements"]),
    )


def _read_statement(plain: Mapping[str, Any]) -> Statement:
    return Statement(
        code=plain["code"],
        sentence=plain["sentence"],
        facts=tuple(_read_fact(fact) for fact in plain["facts"]),
    )


def _read_fact(plain: Mapping[str, Any]) -> Fact:
    return Fact(rule=Rule(plain["rule"]), columns=tuple(plain["columns"]))


_texts = each(text, least=1)
_statement = fields(
    {"code": text, "sentence": text, "facts": each(fields({"rule": one_of(*Rule), "columns": _texts}))}
)
_document = fields(
    {
        "share": number,
        "factors": each(fields({"features": _texts, "statements": each(_statement)})),
        "otherwise": _statement,
    }
)
