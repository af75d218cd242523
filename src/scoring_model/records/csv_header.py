"""The header row of a CSV file: what a file without one, or with another separator, is refused for."""

from collections.abc import Mapping, Sequence
from typing import Final

from scoring_model.records.sheet import UnreadableSource

_SEPARATORS: Final[Mapping[str, str]] = {";": "';'", "\t": "a tab", "|": "'|'"}


def check_csv_header(header: Sequence[str]) -> None:
    """Refuse a first row that names no columns.

    Parameters
    ----------
    header : sequence of str
        Cells of the first row that is not blank; empty when there is none.

    Raises
    ------
    UnreadableSource
        If there is no row or no name in it, or if it is one column whose name holds another separator. The text
        repeats no name, which may be the value of a record.
    """
    if not any(name.strip() for name in header):
        raise UnreadableSource(
            "a CSV file must begin with a header row, the names of its columns; it has none"
        )
    if len(header) > 1:
        return
    for separator, shown in _SEPARATORS.items():
        if separator in header[0]:
            raise UnreadableSource(
                f"the header of a CSV file must have commas between names; it is one column with {shown} in it, "
                f"which seems to be the separator"
            )
