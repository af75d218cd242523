"""History: point-in-time velocity features over earlier records with the same link key.

For a record at event time ``t``, a window of length ``w`` counts records of the same link key in ``[t - w, t)``, in
integer microseconds; a delayed window ends before the delay of labels, ``[t - delay - w, t - delay)``. Records of
the same instant do not see each other. A window sees at most the latest ``cap`` records before its end, plus all that
share the instant of the last of these. A record counts as fraud if its latest label known strictly before ``t`` is
fraud. Numeric signals can be summed, in whole units, over the records in a window.

`windows` counts for one record, `sweep` for all records of a table; both agree exactly. `sweep` must be imported
explicitly, since it loads a compiler.
"""

from scoring_model.history.amounts import MOST_UNITS, Amount, TableAmounts, table_amounts
from scoring_model.history.counts import NOTHING_BEFORE, Counts, DelayedCounts, FraudTimes, Sums
from scoring_model.history.keys import PERSON, LinkKey, key_codes, key_of, person_codes, person_of
from scoring_model.history.link_counts import LinkCounts, LinkSums
from scoring_model.history.spec import (
    COUNT_KINDS,
    DEFAULT_COUNTS,
    DEFAULT_STATISTICS,
    STATISTICS,
    CountKind,
    Statistic,
    WindowSpec,
)
from scoring_model.history.windows import (
    Past,
    PastRecord,
    count_before,
    pack_label,
    past_counts,
    past_counts_of_rows,
)

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
    "past_counts_of_rows",
    "person_codes",
    "person_of",
    "table_amounts",
]
