"""Labels of a past record as packed bytes: what was reported, and from which instant each counts.

Nearly no record of the past has a label. One that has carries all that was ever reported of it in a single value,
which a store appends to and nobody unpacks but the count.
"""

from struct import Struct
from typing import Final

_LABEL: Final = Struct("<qb")


def pack_label(instant: int, *, fraud: bool) -> bytes:
    """Pack one label; the labels of a record are these bytes, one after the other, in the order reported.

    Parameters
    ----------
    instant : int
        From when it counts, the later of known and reported: microseconds since 1970-01-01 UTC, 64 bits.
    fraud : bool
        Whether it says fraud.

    Returns
    -------
    bytes of length 9
        The instant as a little-endian 64-bit integer, then 1 for fraud or 0.

    Examples
    --------
    >>> pack_label(258, fraud=True).hex()
    '020100000000000001'
    """
    return _LABEL.pack(instant, fraud)


def says_fraud(packed: bytes, *, before: int) -> bool:
    """Whether the latest label that counts before an instant says fraud.

    Parameters
    ----------
    packed : bytes
        Labels of one record, as `pack_label` gives them, in the order reported.
    before : int
        Microseconds. A label of this very instant does not count yet.

    Returns
    -------
    bool
        Of labels that count from one instant, the one reported last decides; without any, false.

    Raises
    ------
    struct.error
        If the bytes are no whole number of labels.
    """
    latest: int | None = None
    fraud = False
    for instant, said in _LABEL.iter_unpack(packed):
        if instant < before and (latest is None or instant >= latest):
            latest, fraud = instant, said == 1
    return fraud
