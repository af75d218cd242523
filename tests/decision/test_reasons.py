from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.decision.reasons import MAX_REASONS, reasons

# Multiples of 1/8, so that sums in any order are exact and ties are frequent.
parts = st.lists(
    st.tuples(st.integers(-16, 16).map(lambda eighths: eighths / 8), st.sampled_from([None, *"ABCDEFGH"])),
    max_size=30,
)


@given(parts)
def test_reasons_are_the_positive_sums_by_code(pairs: list[tuple[float, str | None]]) -> None:
    """Codes whose contributions sum to more than zero, strongest first, equal ones by name, five at most."""
    totals: dict[str, float] = {}
    for value, code in pairs:
        if code:
            totals[code] = totals.get(code, 0.0) + value
    ranked = sorted((-total, code) for code, total in totals.items() if total > 0)
    expected = tuple(code for _, code in ranked)[:MAX_REASONS]
    assert reasons(np.array([value for value, _ in pairs]), [code for _, code in pairs]) == expected


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.sampled_from("ABC")), max_size=20),
    st.randoms(use_true_random=False),
)
def test_order_of_features_does_not_matter(pairs: list[tuple[float, str]], random: Random) -> None:
    """Shuffled features give the same reasons, however their sums round."""
    shuffled = list(pairs)
    random.shuffle(shuffled)
    both = [
        reasons(np.array([value for value, _ in some]), [code for _, code in some])
        for some in (pairs, shuffled)
    ]
    assert both[0] == both[1]


def test_equal_sums_stay_equal_however_they_are_made_up() -> None:
    """Ten tenths are as strong as one whole, so that the names decide."""
    assert reasons(np.array([1.0, *[0.1] * 10]), ["B", *["A"] * 10]) == ("A", "B")


def test_unequal_lengths_are_refused() -> None:
    """Every contribution has a code or None."""
    with pytest.raises(ValueError, match="got 1 for 2"):
        reasons(np.array([1.0, 2.0]), ["A"])
