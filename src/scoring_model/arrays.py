"""Names for the array types that pass between packages, and what numpy does not do as fast."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Int8Array: TypeAlias = NDArray[np.int8]
"""Labels, targets and outcomes."""


def is_among(values: NDArray[Any], ascending: NDArray[Any]) -> BoolArray:
    """Whether each value is among others, which are sorted."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[places] == values)
