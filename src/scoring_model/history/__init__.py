"""History: velocity features over the earlier records that share a link key, point in time.

For a record at event time ``t`` and a window of length ``w`` the records of the same link key in ``[t - w, t)`` count,
on integer microseconds; a delayed window ends before the delay of labels, ``[t - delay - w, t - delay)``. Records of
the same instant do not see each other. A window sees at most the latest ``cap`` records before its end, and with them
all that share the instant of the last of these. A record counts as fraud when its latest label known strictly before
``t`` is fraud. Numeric signals may be summed, in whole units, over the records that a window sees.

`windows` counts for one record; `sweep`, which is imported by its own name since it brings a compiler, for all
records of a table at once. They agree exactly.
"""

from scoring_model.history.amounts import MOST_UNITS, Amount, TableAmounts, table_amounts
from scoring_model.history.counts import (
    NOTHING_BEFORE,
    Counts,
    DelayedCounts,
    FraudTimes,
    LinkCounts,
    LinkSums,
    Sums,
)
from scoring_model.history.keys import PERSON, LinkKey, key_codes, key_of, person_codes, person_of
from scoring_model.history.spec import (
    COUNT_KINDS,
    DEFAULT_COUNTS,
    DEFAULT_STATISTICS,
    STATISTICS,
    CountKind,
    Statistic,
    WindowSpec,
)
from scoring_model.history.windows import Past, PastRecord, count_before, pack_label, past_counts

__all__ = [
    "COUNT_KINDS",
    "DEFAULT_COUNTS",
    "DEFAULT_STATISTICS",
    "MOST_UNITS",
    "NOTHING_BEFORE",
    "PERSON",
    "STATISTICS",
    "Amount",
    "CountKind",
    "Counts",
    "DelayedCounts",
    "FraudTimes",
    "LinkCounts",
    "LinkKey",
    "LinkSums",
    "Past",
    "PastRecord",
    "Statistic",
    "Sums",
    "TableAmounts",
    "WindowSpec",
    "count_before",
    "key_codes",
    "key_of",
    "pack_label",
    "past_counts",
    "person_codes",
    "person_of",
    "table_amounts",
]
