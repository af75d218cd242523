"""A history cut at an instant: what was known then, and who came after."""

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc


def cut(table: pa.Table, instant: datetime) -> tuple[pa.Table, pa.Table]:
    """Cut records at an instant; the earlier ones keep the labels that were known before it."""
    moment = pa.scalar(instant, table.schema.field("eventTime").type)
    is_before = pc.less(table["eventTime"], moment)
    earlier = table.filter(is_before)
    known = pc.less(earlier["labelKnownAt"], moment)
    for name in ("label", "labelKnownAt"):
        column = pc.if_else(known, earlier[name], pa.scalar(None, earlier[name].type))
        earlier = earlier.set_column(earlier.column_names.index(name), name, column)
    return earlier, table.filter(pc.invert(is_before))
