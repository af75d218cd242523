"""The proposed parts of the split have the frauds that a training needs."""

from pathlib import Path

import numpy as np
import pytest

from scoring_model.configuration.proposal import propose
from scoring_model.configuration.proposal.split import propose_parts, provable_bound
from scoring_model.records.times import DAY

N = 4_000
TIMES = (np.arange(N) * 360 * DAY) // N
AT = {"as_of": 360 * DAY, "maturity": 10 * DAY, "gap": 10 * DAY, "burn_in": 20 * DAY}

PARTS = {
    400: ((0.6, 0.2, 0.2), True),
    100: ((0.5, 0.25, 0.25), True),
    85: ((0.4, 0.3, 0.3), True),
    77: ((0.7, 0.3, 0.0), True),
    30: ((0.7, 0.3, 0.0), False),
}


@pytest.mark.parametrize(("frauds", "expected"), PARTS.items())
def test_parts_are_lengthened_until_each_has_enough_frauds(
    frauds: int, expected: tuple[tuple[float, ...], bool]
) -> None:
    """Evenly spread frauds: first a longer validation part, then no test part, then the best of them."""
    targets = np.zeros(N, dtype=np.int64)
    targets[np.linspace(0, N - 1, frauds).astype(int)] = 1
    parts = propose_parts(TIMES, targets, **AT)
    assert (parts.shares, parts.enough) == expected
    assert parts.enough == (min(parts.frauds) >= 20)


@pytest.mark.parametrize(("every", "validated"), [(2, 0.12), (4, 0.2)])
def test_the_validation_part_is_longer_where_the_usual_one_proves_too_little(
    every: int, validated: float
) -> None:
    """Some 4,100 genuine records prove the lowest bound on false rejections that is proposed."""
    days = np.arange(0, 120_000, every)
    parts = propose_parts(days * 360 * DAY // 120_000, (days % 50 == 0).astype(np.int64), **AT)
    assert (parts.shares[1], parts.usual, parts.enough) == (validated, every == 2, True)
    assert provable_bound(parts.genuine) == 0.002
    assert parts.genuine > 4_000


def test_too_short_a_history_has_no_parts() -> None:
    """Burn-in, gaps and maturity alone are longer."""
    parts = propose_parts(
        TIMES // 30, np.ones(N, dtype=np.int64), as_of=12 * DAY, maturity=10 * DAY, gap=10 * DAY, burn_in=DAY
    )
    assert (parts.frauds, parts.enough) == ((), False)


def test_what_helps_is_said_where_no_split_has_enough_frauds(tmp_path: Path) -> None:
    """In the decisions of a file with few frauds."""
    path = tmp_path / "in.csv"
    rows = [
        f"2024-{1 + day // 28:02}-{1 + day % 28:02}T00:00:00Z,{int(day % 20 == 7)},{day % 9}"
        for day in range(330)
    ]
    path.write_text("\n".join(["created_at,is_fraud,points", *rows]))
    assert "No split has 20 frauds in each part" in " ".join(propose(path).decisions)
