"""Amounts: one numeric signal in whole units, so that sums are exact in any order.

Decision record: docs/adr/0006-amounts.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.contract.fields import signal_field
from scoring_model.contract.violation import check_fields
from scoring_model.records import RecordTable

MOST_UNITS: Final = 2**40
"""Amounts of larger magnitude count as absent, so that the sum of fewer than 2**23 amounts fits in 64 bits."""

MOST_DECIMALS: Final = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Amount:
    """A summed signal and its unit.

    Parameters
    ----------
    signal : str
        Name of a signal of type ``number``.
    decimals : int, 0 to 6
        Amounts are counted in whole units of 10**-decimals: 2 for cents.

    Raises
    ------
    Invalid
        If `decimals` is out of range.
    """

    signal: str
    decimals: int

    def __post_init__(self) -> None:
        check_fields(self, ("decimals", f"0 to {MOST_DECIMALS}", 0 <= self.decimals <= MOST_DECIMALS))

    @property
    def field(self) -> str:
        """Name of the signal's field."""
        return signal_field(self.signal)

    @property
    def scale(self) -> float:
        """Units per one: a power of ten, which a float represents exactly."""
        return float(10**self.decimals)

    def units(self, value: float | None) -> int | None:
        """Convert one value to units: its product with `scale`, rounded half to even.

        Returns
        -------
        int or None
            At most ``MOST_UNITS`` in magnitude; None where the value is missing, NaN or larger.

        Examples
        --------
        >>> Amount(signal="amount", decimals=2).units(12.5)
        1250
        """
        if value is None:
            return None
        scaled = value * self.scale
        # MOST_UNITS is even, so MOST_UNITS + 0.5 is rounded down to it.
        return round(scaled) if abs(scaled) <= MOST_UNITS + 0.5 else None


@dataclass(frozen=True, slots=True)
class TableAmounts:
    """Amounts of a table's records.

    Parameters
    ----------
    units : ndarray of shape (n,), int64
        0 where a record has none.
    present : ndarray of shape (n,), bool
        Whether a record has one.
    """

    units: IntArray = field(repr=False)
    present: BoolArray = field(repr=False)


def table_amounts(table: RecordTable, amount: Amount) -> TableAmounts:
    """Count the units of a table's records: `Amount.units` of each distinct value."""
    column = table.column(amount.field)
    values: Sequence[Any] = column.values
    units = [amount.units(value) for value in values]
    # The last place is that of the code -1.
    return TableAmounts(
        np.array([*(found or 0 for found in units), 0], dtype=np.int64)[column.codes],
        np.array([*(found is not None for found in units), False])[column.codes],
    )
