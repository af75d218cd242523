"""Features of an amount relative to its history: for a table with arrays, for one record with plain numbers.

Both convert integers to the nearest float and round quotients and roots correctly, so the results have the same bits.
No fused multiply-add is used.
"""

from collections.abc import Mapping
from math import sqrt
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.features.catalogue import MISSING
from scoring_model.history import STATISTICS, LinkSums, Statistic, Sums, TableAmounts, WindowSpec

_SENTENCES: Final[Mapping[Statistic, str]] = {
    "sum": "Sum of the signal {signal} over earlier records {same}.",
    "mean": "Mean of the signal {signal} over earlier records {same}.",
    "ratio": "The signal {signal} by its mean over earlier records {same}.",
    "z": "The signal {signal} less its mean over earlier records {same}, by their spread.",
    "spread": "Standard deviation of the signal {signal} over earlier records {same}.",
    "highest": "Highest signal {signal} of earlier records {same}.",
    "highest_ratio": "The signal {signal} by the highest of earlier records {same}.",
    "above": "Earlier records {same} whose signal {signal} is above {above} times its mean.",
}
_UNITS: Final[Mapping[Statistic, str]] = {
    "ratio": "ratio",
    "z": "standard deviations",
    "highest_ratio": "ratio",
    "above": "records",
}


def kinds(spec: WindowSpec) -> list[Statistic]:
    """List the requested statistics, in the order of the columns."""
    return [statistic for statistic in STATISTICS if statistic in spec.statistics]


def unit(statistic: Statistic) -> str:
    """Return the unit of a statistic."""
    return _UNITS.get(statistic, "as supplied")


def sentence(statistic: Statistic, signal: str, same: str, spec: WindowSpec) -> str:
    """Return the meaning of a statistic."""
    return _SENTENCES[statistic].format(signal=signal, same=same, above=spec.above)


def columns(sums: LinkSums, own: TableAmounts, spec: WindowSpec) -> list[FloatArray]:
    """Compute the statistics of one amount of a table, window by window."""
    found = []
    for w in range(len(spec.windows)):
        by_kind = _columns(sums, own, w)
        found += [by_kind[statistic] for statistic in kinds(spec)]
    return found


def _columns(sums: LinkSums, own: TableAmounts, w: int) -> dict[Statistic, FloatArray]:
    total, n = sums.units[:, w], sums.records[:, w].astype(np.int64)
    units, number = total.astype(np.float64), n.astype(np.float64)
    some, scaled = n > 0, number * sums.scale
    multiple = n * own.units
    found: dict[Statistic, FloatArray] = {
        "sum": units / sums.scale,
        "mean": _quotient(units, scaled, some),
        "ratio": _quotient(multiple.astype(np.float64), units, own.present & some & (total != 0)),
    }
    if sums.variances is not None:
        root = np.sqrt(sums.variances[:, w])
        found["z"] = _quotient((multiple - total).astype(np.float64), root, own.present & (root > 0))
        found["spread"] = _quotient(root, scaled, some)
    if sums.highest is not None:
        highest = sums.highest[:, w].astype(np.float64)
        found["highest"] = _quotient(highest, np.full_like(highest, sums.scale), some)
        found["highest_ratio"] = _quotient(
            own.units.astype(np.float64), highest, own.present & some & (highest != 0)
        )
    if sums.above is not None:
        found["above"] = sums.above[:, w].astype(np.float64)
    return found


def _quotient(part: FloatArray, whole: FloatArray, known: BoolArray) -> FloatArray:
    return np.divide(part, whole, out=np.full_like(whole, np.nan), where=known)


def row(sums: Sums, own: int | None, spec: WindowSpec) -> list[float]:
    """Compute the statistics of one amount of one record, window by window, with the same bits as for a table."""
    found: list[float] = []
    asked, scale = spec.statistics, sums.scale
    for w, (total, n) in enumerate(zip(sums.units, sums.records, strict=True)):
        # The scale is a float: as in an array, a sum is rounded to the nearest float before the division.
        if "sum" in asked:
            found.append(total / scale)
        if "mean" in asked:
            found.append(total / (n * scale) if n else MISSING)
        if "ratio" in asked:
            found.append(float(n * own) / float(total) if own is not None and n and total else MISSING)
        if spec.of_squares:
            root = sqrt(sums.variances[w])
            if "z" in asked:
                found.append(float(n * own - total) / root if own is not None and root else MISSING)
            if "spread" in asked:
                found.append(root / (n * scale) if n else MISSING)
        if spec.of_highest:
            highest = sums.highest[w]
            if "highest" in asked:
                found.append(highest / scale if n else MISSING)
            if "highest_ratio" in asked:
                found.append(float(own) / float(highest) if own is not None and n and highest else MISSING)
        if spec.of_above:
            found.append(float(sums.above[w]))
    return found
