import json
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.decision.document import DocumentError
from scoring_model.decision.factors import Fact, Factor, Factors, Rule, Statement
from scoring_model.decision.reasons import MAX_REASONS, FactualReasons

# Multiples of 1/8, so that sums in any order are exact and ties are frequent.
parts = st.lists(
    st.tuples(st.integers(-16, 16).map(lambda eighths: eighths / 8), st.sampled_from("ABCDEFGH")),
    min_size=1,
    max_size=30,
)
OTHERWISE = Statement(code="OTHERWISE", sentence="Otherwise.")
MISSING = float("nan")


def summed(pairs: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    """Reasons without regard to facts and share, of contributions and the codes that they belong to."""
    names = [f"f{place}" for place in range(len(pairs))]
    factors = tuple(
        Factor(
            features=tuple(name for name, (_, own) in zip(names, pairs, strict=True) if own == code),
            statements=(Statement(code=code, sentence=f"{code}."),),
        )
        for code in sorted({code for _, code in pairs})
    )
    reasons = FactualReasons(Factors(share=0.0, factors=factors, otherwise=OTHERWISE), names)
    return reasons.choose(np.zeros(len(pairs)), np.array([value for value, _ in pairs]))


def given_or_not(name: str) -> Factor:
    """A factor of one feature that states whether it was given."""
    fact = Fact(rule=Rule.PRESENT, columns=(name,))
    return Factor(
        features=(name,),
        statements=(
            Statement(code=f"{name}", sentence=f"{name} counted.", facts=(fact,)),
            Statement(code=f"NO_{name}", sentence=f"No {name} was given."),
        ),
    )


def chosen(contributions: Sequence[float], *, row: Sequence[float] | None = None, share: float = 0.1) -> Any:
    """Reasons of factors of one feature each: A, B, C, ..."""
    names = [chr(ord("A") + place) for place in range(len(contributions))]
    factors = Factors(share=share, factors=tuple(map(given_or_not, names)), otherwise=OTHERWISE)
    values = np.zeros(len(names)) if row is None else np.array(row)
    return FactualReasons(factors, names).choose(values, np.array(contributions))


@given(parts)
def test_reasons_are_the_positive_sums_by_code(pairs: list[tuple[float, str]]) -> None:
    """At most five codes with positive contributions, strongest first, equal ones by name."""
    totals: dict[str, float] = {}
    for value, code in pairs:
        totals[code] = totals.get(code, 0.0) + value
    ranked = sorted((-total, code) for code, total in totals.items() if total > 0)
    assert summed(pairs) == (tuple(code for _, code in ranked)[:MAX_REASONS] or ("OTHERWISE",))


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.sampled_from("ABC")), min_size=1, max_size=20),
    st.randoms(use_true_random=False),
)
def test_order_of_features_does_not_matter(pairs: list[tuple[float, str]], random: Random) -> None:
    """Shuffled features give the same reasons, however their sums round."""
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert summed(pairs) == summed(shuffled)


def test_equal_sums_stay_equal_however_they_are_made_up() -> None:
    """Ten tenths are as strong as one whole, so that the names decide."""
    assert summed([(1.0, "B"), *[(0.1, "A")] * 10]) == ("A", "B")


@given(st.lists(st.integers(-16, 16).map(lambda n: n / 8), min_size=1, max_size=20), st.integers(0, 4))
def test_reasons_hold_their_share_and_the_strongest_is_always_there(
    contributions: list[float], quarters: int
) -> None:
    """At most five positive codes, strongest first, each with the share of what is positive; the first in any case."""
    share = quarters / 4
    found = chosen(contributions, share=share)
    ranked = sorted((-value, chr(ord("A") + place)) for place, value in enumerate(contributions) if value > 0)
    total = sum(value for value in contributions if value > 0)
    wanted = tuple(code for value, code in ranked[:5] if -value >= share * total or code == ranked[0][1])
    assert found == (wanted or ("OTHERWISE",))


def test_no_decision_is_without_a_reason() -> None:
    """Of twelve equal factors, each below the share, one is said; where nothing raised the margin it is said so."""
    assert chosen([1.0] * 12) == ("A",)
    assert chosen([0.0, -1.0]) == ("OTHERWISE",)
    assert chosen([1.0, 1.0, 2.0], share=0.25) == ("C", "A", "B")  # just the share is enough


def test_an_absence_is_said_under_its_own_code() -> None:
    """Missing values are never given as a reason; infinities count as given."""
    assert chosen([2.0, 1.0, 1.5], row=[MISSING, np.inf, -np.inf]) == ("NO_A", "C", "B")


def test_a_statement_needs_all_its_facts_and_factors_that_say_the_same_add_up() -> None:
    """The first statement whose facts all hold is made; zero, less and NaN are not above zero."""
    above = Fact(rule=Rule.POSITIVE, columns=("n", "m"))
    known = Fact(rule=Rule.PRESENT, columns=("k",))
    one = Factor(
        features=("n", "m"),
        statements=(
            Statement(code="BOTH", sentence="Both.", facts=(above, known)),
            Statement(code="ABOVE", sentence="Above.", facts=(above,)),
            Statement(code="NONE", sentence="None."),
        ),
    )
    other = Factor(features=("k",), statements=(Statement(code="NONE", sentence="None."),))
    names = ["n", "k", "m"]
    reasons = FactualReasons(Factors(share=0.0, factors=(one, other), otherwise=OTHERWISE), names)
    for row, contributions, expected in (
        ([1.0, 0.0, MISSING], [1.0, 0.5, 1.0], ("BOTH", "NONE")),
        ([0.0, MISSING, 5e-324], [1.0, 0.5, 1.0], ("ABOVE", "NONE")),
        ([0.0, 1.0, MISSING], [1.0, 0.5, -1.25], ("NONE",)),
        ([-1.0, 1.0, -0.0], [1.0, 0.5, -1.5], ("OTHERWISE",)),
    ):
        assert reasons.choose(np.array(row), np.array(contributions)) == expected


def factors_json() -> dict[str, Any]:
    """A sound document."""
    whole = Factors(share=0.25, factors=(given_or_not("A"), given_or_not("B")), otherwise=OTHERWISE)
    assert Factors.from_json(json.loads(json.dumps(whole.to_json()))) == whole
    assert list(whole.sentences) == ["A", "B", "NO_A", "NO_B", "OTHERWISE"]
    return whole.to_json()


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("share",), 1.5, r"share: must be in \[0, 1\]"),
        (("share",), "x", "share: must be a finite number"),
        (("unheard",), 1, "unheard: unknown"),
        (("otherwise",), [], "otherwise: must be an object"),
        (("otherwise", "facts"), [{"rule": "present", "columns": ["A"]}], "otherwise: must need no fact"),
        (("factors", 0, "features"), ["B"], "features of more than one factor: B"),
        (("factors", 0, "statements", 0, "code"), "a,b", "reason codes must be capitals"),
        (("factors", 0, "statements", 0, "code"), "B", "more than one sentence: B"),
        (
            ("factors", 0, "statements", 0, "facts", 0, "rule"),
            "unusual",
            "rule: must be one of present, positive",
        ),
        (("factors", 0, "statements", 0, "facts", 0, "columns"), [], "columns: must be a list of 1 or more"),
        (("factors", 0, "statements"), [], "must need no fact"),
    ],
)
def test_a_document_that_breaks_a_rule_is_refused(
    path: tuple[str | int, ...], value: object, text: str
) -> None:
    """The field and its rule are named."""
    document: Any = factors_json()
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises((DocumentError, ValueError), match=text):
        Factors.from_json(document)


def test_factors_cover_the_columns() -> None:
    """A feature without a factor, and one that the row does not have, are named."""
    factors = Factors(share=0.1, factors=(given_or_not("A"), given_or_not("B")), otherwise=OTHERWISE)
    with pytest.raises(ValueError, match="without a factor: C; features unknown: B"):
        FactualReasons(factors, ["A", "C"])
