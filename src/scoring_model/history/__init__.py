"""History: velocity features over the earlier records that share a link key, point in time.

For a record at event time ``t`` and a window of length ``w`` the law counts the records of the same link
key in ``[t - w, t)``, on integer microseconds. Records of the same instant do not see each other. A window
sees at most the latest ``cap`` records in it, and with them all that share the instant of the last of these.
A record counts as fraud when its latest label known strictly before ``t`` is fraud. One numeric signal may be
summed, in whole units, over the records that a window sees.

`windows` counts for one record; `sweep`, which is imported by its own name since it brings a compiler, for all
records of a table at once. They agree exactly.
"""

from scoring_model.history.amounts import MOST_UNITS, Amount, TableAmounts, table_amounts
from scoring_model.history.keys import PERSON, LinkKey, key_codes, key_of, person_codes, person_of
from scoring_model.history.windows import (
    NOTHING_BEFORE,
    Counts,
    LinkCounts,
    LinkSums,
    Past,
    PastRecord,
    Sums,
    WindowSpec,
    count_before,
    pack_label,
    past_counts,
)

__all__ = [
    "MOST_UNITS",
    "NOTHING_BEFORE",
    "PERSON",
    "Amount",
    "Counts",
    "LinkCounts",
    "LinkKey",
    "LinkSums",
    "Past",
    "PastRecord",
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
