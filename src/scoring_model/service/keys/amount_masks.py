"""Masks over the amounts in link rows.

An amount has to outlive its person, since others' sums must not change by an erasure, so it can't be sealed under
the person's key. It is added modulo 2 (XOR) to a pad of 64 bits that only the root secret gives: AES-256 in CBC-MAC
over the two blocks (hash, instant), under the amount key of the pool. Over messages of one length that is a
pseudorandom function (Bellare, Kilian and Rogaway 2000, doi:10.1006/jcss.1999.1694), and a pair of hash and instant
is the key of a row, so that no two rows share a pad. What has no amount is masked alike.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from scoring_model.arrays import IntArray
from scoring_model.service.core.store import Past
from scoring_model.service.keys.link_hashes import POOLS
from scoring_model.service.keys.secrets import Secrets

_WORD: Final = np.dtype("<i8")
_TIME, _AMOUNT = itemgetter(0), itemgetter(3)  # of a `Past`
_NONE: Final = -(2**63)
"""Stands for no amount: far more than any has."""


class Masks:
    """Masks amounts, and takes masks off."""

    def __init__(self, secrets: Secrets) -> None:
        # Single blocks are encrypted, never a text of several: the chaining is done here, for many rows at once.
        self._cipher = lru_cache(POOLS)(lambda pool: Cipher(AES(secrets.amount_key(pool)), ECB()))

    def mask(self, pool: str, hashes: Sequence[bytes], time: int, units: int | None) -> list[int]:
        """Mask the amount of one event, for each of its link rows.

        Parameters
        ----------
        hashes : sequence of bytes
            16 bytes each.
        time : int
            Event time, microseconds.
        units : int or None
            As `Amount.units` gives them.

        Returns
        -------
        list of int
            For each hash 64 bits, as a signed number.
        """
        pads = self._pads(pool, hashes, [1] * len(hashes), np.full(len(hashes), time, dtype=_WORD))
        masked: list[int] = (pads ^ (_NONE if units is None else units)).tolist()
        return masked

    def unmask(self, pool: str, pasts: Mapping[bytes, Sequence[Past]]) -> dict[bytes, list[Past]]:
        """Take the masks off the histories of some hashes.

        Parameters
        ----------
        pool : str
            Of all of them.
        pasts : mapping of bytes to sequence of Past
            By their hash; every event with its masked amount.

        Returns
        -------
        dict of bytes to list of Past
            The same events in the same order, with their amounts.
        """
        every: Mapping[bytes, Sequence[Any]] = pasts
        events = list(chain.from_iterable(every.values()))
        times, masked = (np.fromiter(map(part, events), _WORD, len(events)) for part in (_TIME, _AMOUNT))
        pads = self._pads(pool, list(pasts), [len(past) for past in every.values()], times)
        units = (pads ^ masked).tolist()
        if _NONE in units:
            units = [None if one == _NONE else one for one in units]
        left = iter(units)  # each history takes as many as it has events
        return {
            value: [
                (time, person, labels, one)
                for (time, person, labels, _), one in zip(past, left, strict=False)
            ]
            for value, past in every.items()
        }

    def _pads(self, pool: str, hashes: Sequence[bytes], counts: Sequence[int], times: IntArray) -> IntArray:
        """Pads of the instants under each hash, `counts` of them one hash after the other."""
        encrypt = self._cipher(pool).encryptor().update
        first = np.frombuffer(encrypt(b"".join(hashes)), dtype=_WORD).reshape(-1, 2)
        blocks = np.repeat(first, counts, axis=0)
        blocks[:, 0] ^= times
        return np.frombuffer(encrypt(blocks.tobytes()), dtype=_WORD)[::2]
