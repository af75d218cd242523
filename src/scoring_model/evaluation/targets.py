"""What is known of records at an instant."""

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import IntArray


def known_targets(
    event_times: IntArray,
    labels: NDArray[np.int8],
    label_times: IntArray,
    instant: int,
    maturity: int,
) -> NDArray[np.int8]:
    """Find what is known of each record at an instant.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64, microseconds since 1970-01-01 UTC
    labels : ndarray of shape (n,), int8, 1 fraud, 0 genuine, -1 none
    label_times : ndarray of shape (n,), int64, microseconds, the instant from which a label is known
    instant : int
        Microseconds since 1970-01-01 UTC; a label counts if it was known strictly before.
    maturity : int
        Microseconds after which a record without a known fraud label is genuine.

    Returns
    -------
    ndarray of shape (n,), int8
        1 fraud, 0 genuine, -1 not known.
    """
    known = label_times < instant
    genuine = (known & (labels == 0)) | (event_times < instant - maturity)
    return np.where(known & (labels == 1), 1, np.where(genuine, 0, -1)).astype(np.int8)
