import re
import subprocess
import sys
import uuid
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.texts import from_text, to_text
from scoring_model.service.core.ids import Identifiers, new_request_id

NOW = 1_645_557_742_000_750  # 2022-02-22T19:22:22.000750Z, the millisecond of RFC 9562's example


def test_layout_is_that_of_version_7() -> None:
    """Milliseconds, version, fraction of the millisecond, variant (RFC 9562, section 5.7 and appendix A.6)."""
    made = Identifiers().new_id(NOW)
    number = int.from_bytes(made, "big")
    assert number >> 80 == 0x017F22E279B0
    assert number >> 64 & 0xFFFF == 0x7000 | 750 * 4096 // 1000
    read = uuid.UUID(bytes=made)
    assert (read.version, read.variant) == (7, uuid.RFC_4122)


@given(st.lists(st.integers(0, 2**52), min_size=2, max_size=50))
def test_ids_grow_whatever_the_clock_does(instants: list[int]) -> None:
    """An id is greater than every earlier one, even if the clock stands still or steps back."""
    identifiers = Identifiers()
    made = [identifiers.new_id(now) for now in instants]
    assert all(earlier[:8] < later[:8] for earlier, later in pairwise(made))


def test_ids_of_one_instant_carry_over_the_millisecond() -> None:
    """More ids at one instant than a millisecond has fractions still grow, and stay of version 7."""
    identifiers = Identifiers()
    made = [identifiers.new_id(NOW) for _ in range(5000)]
    assert made == sorted(set(made))
    assert {uuid.UUID(bytes=one).version for one in made} == {7}


def test_rest_is_random() -> None:
    """Two processes create different ids at one instant."""
    first, second = Identifiers().new_id(NOW), Identifiers().new_id(NOW)
    assert first[:8] == second[:8]
    assert first[8:] != second[8:]


@given(st.binary(min_size=16, max_size=16), st.booleans())
def test_text_comes_back(resource: bytes, upper: bool) -> None:
    """The text form equals that of Python's UUIDs; reading ignores case."""
    text = to_text(resource)
    assert text == str(uuid.UUID(bytes=resource))
    assert from_text(text.upper() if upper else text) == resource


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-" * 36,
        "00010203040506070809" + "0a0b0c0d0e0f",
        "{00010203-0405-0607-0809-0a0b0c0d0e0f}",
        "urn:uuid:00010203-0405-0607-0809-0a0b0c0d0e0f",
        "00010203-0405-0607-0809-0a0b0c0d0e0",
        "00010203-0405-0607-0809-0a0b0c0d0e0f0",
        "00010203-0405-0607-0809-0a0b0c0d0e0f\n",
        "000102030-405-0607-0809-0a0b0c0d0e0f",
        "00010203-0405-0607-0809-0a0b0c0d0e g",
        "00010203-0405-0607-0809-0a0b0c0d0e  ",
        " 0010203-0405-0607-0809-0a0b0c0d0e0f",
        "0001020g-0405-0607-0809-0a0b0c0d0e0f",
        "٠0010203-0405-0607-0809-0a0b0c0d0e0f",
        "00010203-0405-0607-0809-0a0b0c0d0e\x000",
    ],
)
def test_malformed_text_is_none(text: str) -> None:
    """Only five dashed groups of hexadecimal digits are an id."""
    assert from_text(text) is None


@given(st.text(alphabet="0aF-g ٠", min_size=30, max_size=38))
def test_reading_agrees_with_a_pattern(text: str) -> None:
    """Reading accepts what the pattern of RFC 9562, section 4, accepts, and nothing else."""
    pattern = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    assert (from_text(text) is not None) == (re.fullmatch(pattern, text) is not None)


def test_request_ids_are_random_uuids() -> None:
    """Of version 4 and the variant of RFC 9562, all different, every other bit both 0 and 1 now and then."""
    made = [uuid.UUID(new_request_id()) for _ in range(2_000)]
    assert len(set(made)) == len(made)
    assert {(found.version, found.variant) for found in made} == {(4, uuid.RFC_4122)}
    ones = [sum(found.int >> bit & 1 for found in made) for bit in range(128)]
    fixed = {62, 63, 76, 77, 78, 79}
    assert all(700 < count < 1_300 for bit, count in enumerate(ones) if bit not in fixed)


def test_processes_that_part_make_different_ids() -> None:
    """A forked child uses different random numbers."""
    code = """
import os
from scoring_model.service.core.ids import new_request_id
new_request_id()
if os.fork():
    os.wait()
print(*[new_request_id() for _ in range(200)], flush=True)
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(set(printed)) == len(printed) == 400
