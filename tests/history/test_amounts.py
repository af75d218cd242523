"""Amounts as whole units: the same alone and in a table, rounded half to even, and bounded."""

import math
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scoring_model.history import MOST_UNITS, Amount, table_amounts
from scoring_model.records import Column, RecordTable

CENTS = Amount(signal="paid", decimals=2)
UNITS = Amount(signal="paid", decimals=0)

decimals = st.integers(0, 6)


def table_of(values: list[float | None]) -> RecordTable:
    """Records with only the signal."""
    distinct: dict[float, int] = {}
    codes = [-1 if value is None else distinct.setdefault(value, len(distinct)) for value in values]
    n = len(values)
    zeros = np.zeros(n, dtype=np.int64)
    columns = {"signals.paid": Column(tuple(distinct), np.array(codes, dtype=np.int32))}
    return RecordTable(tuple(map(str, range(n))), zeros, columns, zeros.astype(np.int8), zeros, zeros)


@given(st.floats(), decimals)
@example(0.125, 2)
@example(-2.5, 0)
@example(1.005, 2)
def test_units_are_the_product_rounded_half_to_even(value: float, places: int) -> None:
    """The double of value times 10**decimals is rounded as decimal arithmetic rounds it; numpy rounds it alike."""
    units = Amount(signal="paid", decimals=places).units(value)
    with np.errstate(over="ignore"):
        scaled = np.float64(value) * np.float64(10**places)
    if math.isfinite(scaled) and abs(np.rint(scaled)) <= MOST_UNITS:
        assert units == int(Decimal(float(scaled)).to_integral_value(ROUND_HALF_EVEN)) == int(np.rint(scaled))
    else:
        assert units is None


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_amount(sign: int) -> None:
    """2**40 units count, and what rounds to them; one more is absent, and so are NaN, infinities and nothing."""
    most = sign * float(MOST_UNITS)
    assert UNITS.units(most) == UNITS.units(most + sign * 0.5) == sign * MOST_UNITS
    assert UNITS.units(math.nextafter(most + sign * 0.5, sign * math.inf)) is None
    assert UNITS.units(most + sign) is None
    assert UNITS.units(most - sign) == sign * (MOST_UNITS - 1)
    assert [CENTS.units(value) for value in (None, math.nan, sign * math.inf, sign * 1e308)] == [None] * 4


@given(st.lists(st.none() | st.sampled_from([0.0, 0.125, -2.345, 19.99, 1e300, 2.0**40]), max_size=20))
def test_a_table_has_the_units_of_its_values(values: list[float | None]) -> None:
    """Law 2 of amounts: gathered from distinct values they are those of each record, absent ones apart from zero."""
    found = table_amounts(table_of(values), CENTS)
    alone = [CENTS.units(value) for value in values]
    assert found.present.tolist() == [units is not None for units in alone]
    assert found.units.tolist() == [units or 0 for units in alone]
    assert found.units.dtype == np.int64
    assert found.present.dtype == np.bool_


def test_a_table_without_the_signal_has_no_amounts() -> None:
    """Without the column in the source no record has an amount."""
    table = table_of([1.0, 2.0])
    assert not table_amounts(table, Amount(signal="other", decimals=2)).present.any()


def test_amounts_are_not_shown() -> None:
    """No text representation of the arrays contains an amount."""
    assert "199" not in repr(table_amounts(table_of([1.99]), CENTS))


@pytest.mark.parametrize("places", [-1, 7])
def test_units_out_of_range_are_refused(places: int) -> None:
    """The error names the rule and the given value."""
    with pytest.raises(ValueError, match=f"decimals: must be 0 to 6, got {places}"):
        Amount(signal="paid", decimals=places)
