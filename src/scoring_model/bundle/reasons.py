"""The public catalogue of reasons of one use: the factors of its features and their statements."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from scoring_model.contract.fields import REQUIRED_FIELDS, RequiredField
from scoring_model.contract.violation import check_fields
from scoring_model.decision.factors import Fact, Factor, Factors, Rule, Statement
from scoring_model.features import FeatureMatrix, ReasonTopic

_WORDS: Final = re.compile(r"[a-z][a-z -]{0,38}[a-z]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """What the records of a use are of, and what an identity needs.

    Parameters
    ----------
    subject : str
        Whom a record is of, such as ``applicant`` or ``customer``.
    event : str
        What a record is, such as ``application`` or ``payment``.
    identity_requires : tuple of str
        Fields without which the service leaves an identity INCOMPLETE; kept in the order of `RequiredField`.

    Raises
    ------
    Invalid
        When one of the words is not 2 to 40 small letters, blanks and hyphens.
    """

    subject: str = "applicant"
    event: str = "application"
    identity_requires: tuple[RequiredField, ...] = REQUIRED_FIELDS

    def __post_init__(self) -> None:
        required = tuple(name for name in get_args(RequiredField) if name in self.identity_requires)
        object.__setattr__(self, "identity_requires", required)
        words = {"subject": self.subject, "event": self.event}
        expected = "2 to 40 small letters, blanks or hyphens"
        check_fields(self, *((name, expected, bool(_WORDS.fullmatch(word))) for name, word in words.items()))


def reason_factors(matrix: FeatureMatrix, *, use: Use, share: float) -> Factors:
    """Put the factors of a use together.

    Parameters
    ----------
    share : float
        Minimum share, in [0, 1], of all positive contributions for a reason after the first.

    Raises
    ------
    ValueError
        When two signals or link keys come to the same code.
    """
    codes = [reason.code for reason in matrix.reasons]
    if shared := sorted({code for code in codes if codes.count(code) > 1}):
        raise ValueError(
            f"signals or link keys share the reason code {', '.join(shared)}: rename one of them"
        )
    features: dict[str, list[str]] = {}
    for feature in matrix.features:
        features.setdefault(feature.reason, []).append(feature.name)
    return Factors(
        share=share,
        factors=tuple(
            Factor(features=tuple(features[reason.code]), statements=_statements(reason, matrix.names, use))
            for reason in matrix.reasons
            if reason.code in features
        ),
        otherwise=Statement(
            code="NOTHING_ALONE", sentence=f"Nothing counted against the {use.event} by itself."
        ),
    )


def _statements(reason: ReasonTopic, names: Sequence[str], use: Use) -> tuple[Statement, ...]:
    """The statements of a factor, the most specific first."""

    def statement(code: str, sentence: str, *facts: Fact) -> Statement:
        return Statement(code=code, sentence=sentence.replace("{event}", use.event), facts=facts)

    if reason.absence is None:
        return (statement(reason.code, reason.sentence),)
    given = Fact(
        rule=Rule.PRESENT if reason.present else Rule.POSITIVE, columns=reason.present or reason.positive
    )
    if not set(given.columns) <= set(names):
        # Features were left out without which a row does not show whether it was given.
        neither = f"What is known of {reason.about}, or is not, counted against the {{event}}."
        return (statement(f"ABOUT_{reason.code}", neither),)
    statements = [statement(reason.code, reason.sentence, given), statement(*reason.absence)]
    if reason.detail is not None:
        code, sentence, columns = reason.detail
        if read := tuple(column for column in columns if column in names):
            statements.insert(0, statement(code, sentence, given, Fact(rule=Rule.POSITIVE, columns=read)))
    return tuple(statements)
