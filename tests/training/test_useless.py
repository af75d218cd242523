import dataclasses

import numpy as np
import pytest

from scoring_model.bundle import reason_factors
from scoring_model.configuration import Configuration
from scoring_model.decision.factors import Fact, Factor, Factors, Rule, Statement
from scoring_model.records import RecordTable
from scoring_model.training.preparation import prepare
from scoring_model.training.useless import find_useless

NAN = float("nan")
COLUMNS = {
    "good": [1.0, 2.0, 3.0, 4.0],
    "constant": [5.0, 5.0, 5.0, 6.0],
    "missing": [NAN, NAN, NAN, 1.0],
    "gaps": [7.0, 7.0, NAN, 7.0],
    "copy": [1.0, 2.0, 3.0, 9.0],
    "zero": [0.0, 0.0, 0.0, 0.0],
}
ROWS = np.array(list(COLUMNS.values())).T
TRAIN = np.arange(3)


def factors_of(*factors: tuple[tuple[str, ...], Rule, tuple[str, ...]]) -> Factors:
    """Return factors of features, each with one fact of a rule and its columns."""
    last = Statement(code="LAST", sentence="Last.")
    made = [
        Factor(
            features=features,
            statements=(
                Statement(code=f"CODE_{place}", sentence="Said.", facts=(Fact(rule=rule, columns=columns),)),
                Statement(code=f"NO_{place}", sentence="Not said."),
            ),
        )
        for place, (features, rule, columns) in enumerate(factors)
    ]
    return Factors(share=0.1, factors=tuple(made), otherwise=last)


def test_constants_missing_values_and_copies_in_training_rows_are_useless() -> None:
    """Only training rows count; a column whose missing values vary is not useless."""
    found = find_useless(ROWS, TRAIN, tuple(COLUMNS), Factors(share=0.1, factors=(), otherwise=OTHERWISE))
    assert found == {
        "constant": "constant",
        "missing": "always missing",
        "copy": "a copy of good",
        "zero": "constant",
    }
    bare = Factors(share=0.1, factors=(), otherwise=OTHERWISE)
    assert find_useless(ROWS, TRAIN, tuple(COLUMNS), bare, keep=found) == {}


OTHERWISE = Statement(code="OTHERWISE", sentence="Nothing.")


@pytest.mark.parametrize(
    ("factor", "kept"),
    [
        ((("good", "zero"), Rule.POSITIVE, ("constant", "zero")), {"zero"}),
        ((("good", "zero"), Rule.PRESENT, ("constant", "zero")), {"constant", "zero"}),
        ((("missing", "zero"), Rule.POSITIVE, ("missing", "zero")), set()),
    ],
)
def test_columns_of_a_reason_stay(
    factor: tuple[tuple[str, ...], Rule, tuple[str, ...]], kept: set[str]
) -> None:
    """A factor with a useful column keeps what its facts read, of a count the last; one of useless columns goes."""
    bare = Factors(share=0.1, factors=(), otherwise=OTHERWISE)
    every = find_useless(ROWS, TRAIN, tuple(COLUMNS), bare).keys()
    found = find_useless(ROWS, TRAIN, tuple(COLUMNS), factors_of(factor)).keys()
    assert every - found == kept


def test_a_training_leaves_out_what_is_useless(history: RecordTable, identity: Configuration) -> None:
    """Rows equal those of all features without the useless columns, bit for bit, and every reason can be stated."""
    choice = dataclasses.replace(identity.features, drop_useless=True)
    whole = prepare(history, identity)
    part = prepare(history, dataclasses.replace(identity, features=choice))
    assert whole.useless == {}
    assert part.useless
    kept = [place for place, name in enumerate(whole.matrix.names) if name not in part.useless]
    assert part.matrix.names == tuple(whole.matrix.names[place] for place in kept)
    assert part.rows.tobytes() == np.ascontiguousarray(whole.rows[:, kept]).tobytes()
    assert part.matrix.rows(history).tobytes() == part.rows.tobytes()
    factors = reason_factors(part.matrix, use=identity.use, share=0.1)
    facts = [fact for factor in factors.factors for said in factor.statements for fact in said.facts]
    assert {column for fact in facts for column in fact.columns} <= set(part.matrix.names)
