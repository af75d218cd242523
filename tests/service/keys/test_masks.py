"""Masked amounts need the root secret, and reveal nothing without it."""

import os
import struct

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.history import MOST_UNITS
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.store import Past

SECRETS = Secrets(bytes(range(32)))
MASKS = Masks(SECRETS)
NO_AMOUNT = -(2**63)

_units = st.none() | st.integers(-MOST_UNITS, MOST_UNITS) | st.sampled_from([0, MOST_UNITS, -MOST_UNITS])
_hashes = st.binary(min_size=16, max_size=16)
_histories = st.dictionaries(
    _hashes, st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), _units), max_size=5), max_size=4
)


def pad_of(key: bytes, value: bytes, time: int) -> int:
    """The pad of a row as CBC makes it: the first half of the last block, from a beginning of zeros."""
    message = value + time.to_bytes(8, "little", signed=True) + bytes(8)
    encryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    return int.from_bytes(encryptor.update(message)[16:24], "little", signed=True)


def masked_of(masks: Masks, pool: str, value: bytes, time: int, units: int | None) -> int:
    """One amount under its mask."""
    (masked,) = masks.mask(pool, [value], time, units)
    return masked


@given(_histories)
def test_masks_come_off(histories: dict[bytes, list[tuple[int, int | None]]]) -> None:
    """Whatever amounts events have, or none: many histories at once give them back, in their order, unchanged."""
    pasts: dict[bytes, list[Past]] = {
        value: [
            (
                time,
                bytes([place]),
                b"labels" if place % 2 else None,
                masked_of(MASKS, "p", value, time, units),
                0,
            )
            for place, (time, units) in enumerate(events)
        ]
        for value, events in histories.items()
    }
    clear = MASKS.unmask("p", pasts)
    assert list(clear) == list(pasts)
    for value, events in histories.items():
        assert clear[value] == [
            (*past[:3], units) for past, (_, units) in zip(pasts[value], events, strict=True)
        ]


@given(st.dictionaries(_hashes, st.lists(st.tuples(_units, _units, _units), max_size=4), max_size=3))
def test_masks_of_several_amounts_come_off(histories: dict[bytes, list[tuple[int | None, ...]]]) -> None:
    """Every amount of an event comes back in its place; equal ones are under masks that differ."""
    pasts: dict[bytes, list[Past]] = {}
    for value, events in histories.items():
        pasts[value] = []
        for time, amounts in enumerate(events):
            first, *more = [
                MASKS.mask("p", [value], time, units, place)[0] for place, units in enumerate(amounts)
            ]
            assert len({first, *more}) == 3
            pasts[value].append((time, b"p", None, first, struct.pack("<2q", *more), 0))
    clear = MASKS.unmask("p", pasts, amounts=3)
    assert clear == {
        value: [(time, b"p", None, *amounts) for time, amounts in enumerate(events)]
        for value, events in histories.items()
    }


@given(_hashes, st.integers(-(2**63), 2**63 - 1), _units)
def test_a_mask_is_the_mac_of_hash_and_instant(value: bytes, time: int, units: int | None) -> None:
    """The pad is the CBC-MAC (AES-256, amount key of the history scope) of hash and instant, as CBC itself gives it."""
    pad = pad_of(SECRETS.amount_key("p"), value, time)
    assert masked_of(MASKS, "p", value, time, units) == pad ^ (NO_AMOUNT if units is None else units)


def test_no_two_rows_share_a_pad() -> None:
    """Another hash, instant, history scope or database has another pad; the rows of one event have one each."""
    one, other = bytes(16), bytes([*bytes(15), 1])
    pads = {
        masked_of(masks, pool, value, time, 0)
        for masks in (MASKS, Masks(Secrets(bytes(32))))
        for pool in ("p", "q")
        for value in (one, other)
        for time in (0, 1, -1, 2**62)
    }
    assert len(pads) == 32
    # A sum of hash and instant would give both the same.
    assert masked_of(MASKS, "p", one, 1, 0) != masked_of(MASKS, "p", bytes([1, *bytes(15)]), 0, 0)
    tied = [MASKS.mask("p", [one], 5, 0, place, [tie])[0] for place in (0, 1) for tie in (0, 1, 2)]
    assert len({*tied}) == 6
    pasts: dict[bytes, list[Past]] = {one: [(5, b"p", None, tied[2], struct.pack("<q", tied[5]), 2)]}
    assert MASKS.unmask("p", pasts, amounts=2) == {one: [(5, b"p", None, 0, 0)]}
    together = MASKS.mask("p", [one, other], 5, 7)
    assert together == [masked_of(MASKS, "p", value, 5, 7) for value in (one, other)]
    assert MASKS.mask("p", [], 5, 7) == []


def test_a_mask_shows_neither_the_amount_nor_whether_there_is_one() -> None:
    """Of 4,000 events each bit is set in about half, whether they have no amount, none of value or the most."""
    values = [os.urandom(16) for _ in range(4_000)]
    for units in (None, 0, 1, -1, MOST_UNITS):
        masked = np.array(MASKS.mask("p", values, 1_780_315_200_000_000, units), dtype="<i8")
        shares = np.unpackbits(masked.view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
        # Six standard deviations: none of the 320 bits is farther off by chance in a million runs.
        assert np.abs(shares - 0.5).max() < 6 * 0.5 / np.sqrt(len(values))
