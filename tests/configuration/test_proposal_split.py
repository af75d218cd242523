"""The proposed parts of the split have the frauds that a training needs."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scoring_model.configuration import load_configuration
from scoring_model.configuration.proposal import propose
from scoring_model.configuration.proposal.split import propose_parts, provable_bound
from scoring_model.configuration.proposal.text import proposal_text
from scoring_model.records.reading import read_records
from scoring_model.records.times import DAY
from scoring_model.training.preparation import prepare

N = 4_000
TIMES = (np.arange(N) * 360 * DAY) // N
AT: Any = {"as_of": 360 * DAY, "maturity": 10 * DAY, "gap": 10 * DAY, "burn_in": 20 * DAY}

PARTS = {
    400: ((0.6, 0.2, 0.2), True),
    100: ((0.5, 0.25, 0.25), True),
    85: ((0.4, 0.3, 0.3), True),
    77: ((0.7, 0.3, 0.0), True),
    50: ((0.5, 0.5, 0.0), True),
    30: ((0.5, 0.5, 0.0), False),
    15: ((0.5, 0.5, 0.0), False),
}


@pytest.mark.parametrize(("frauds", "expected"), PARTS.items())
def test_parts_are_lengthened_until_each_has_enough_frauds(
    frauds: int, expected: tuple[tuple[float, ...], bool]
) -> None:
    """Evenly spread frauds: first a longer validation part, then no test part, then the best of them."""
    targets = np.zeros(N, dtype=np.int64)
    targets[np.linspace(0, N - 1, frauds).astype(int)] = 1
    parts = propose_parts(TIMES, targets, known=TIMES, **AT)
    assert (parts.shares, parts.enough) == expected
    assert parts.enough == (min(parts.frauds) >= 20)
    assert parts.few == (frauds == 30)


@pytest.mark.parametrize(("every", "validated"), [(2, 0.12), (4, 0.2)])
def test_the_validation_part_is_longer_where_the_usual_one_proves_too_little(
    every: int, validated: float
) -> None:
    """Some 4,100 genuine records prove the lowest bound on false rejections that is proposed."""
    days = np.arange(0, 120_000, every)
    times = days * 360 * DAY // 120_000
    parts = propose_parts(times, (days % 50 == 0).astype(np.int64), known=times, **AT)
    assert (parts.shares[1], parts.usual, parts.enough) == (validated, every == 2, True)
    assert provable_bound(parts.genuine) == 0.002
    assert parts.genuine > 4_000


@pytest.mark.parametrize(
    ("days", "validated"), [(280, 0.12), (240, 0.13), (200, 0.15), (160, 0.19), (146, 0.2), (140, 0.12)]
)
def test_the_validation_part_has_four_weeks_where_a_fifth_of_the_time_suffices(
    days: int, validated: float
) -> None:
    """Of the time without burn-in, gaps and maturity; monitoring judges drift beside four of each weekday alone."""
    at = AT | {"as_of": (days + 50) * DAY}
    times = (np.arange(90_000) * (days + 50) * DAY) // 90_000
    parts = propose_parts(times, (np.arange(90_000) % 20 == 0).astype(np.int64), known=times, **at)
    assert (parts.shares[1], parts.enough) == (validated, True)
    assert parts.is_for_weeks == (validated > 0.12)
    assert sum(parts.shares) == pytest.approx(1)
    assert parts.usual == (validated == 0.12)


def test_the_train_part_counts_the_frauds_that_train() -> None:
    """Those known where validation begins, of persons who are in no later part: as the split of a training does."""
    targets = (np.arange(N) % 10 == 0).astype(np.int64)
    usual = propose_parts(TIMES, targets, known=TIMES, **AT)
    strangers = propose_parts(TIMES, targets, known=TIMES, persons=np.arange(N), **AT)
    assert strangers.frauds == usual.frauds
    everywhere = np.where(np.arange(N) % 20 == 0, 7, -1)
    assert (
        propose_parts(TIMES, targets, known=TIMES, persons=everywhere, **AT).frauds[0] == usual.frauds[0] // 2
    )
    late = propose_parts(TIMES, targets, known=TIMES + 400 * DAY, **AT)
    assert late.frauds[0] == 0
    assert not late.enough


def test_a_fraud_that_is_known_before_the_first_record_of_a_part_may_be_known_within_it() -> None:
    """Six tenths for the train part would begin validation on day 216, and its first record would be of day 219."""
    there = (TIMES < 214 * DAY) | (TIMES >= 219 * DAY)
    times, targets = TIMES[there], (np.arange(N) % 10 == 0).astype(np.int64)[there]
    assert propose_parts(times, targets, known=np.maximum(times, 215 * DAY), **AT).shares == (0.6, 0.2, 0.2)
    assert propose_parts(times, targets, known=np.maximum(times, 217 * DAY), **AT).shares == (0.7, 0.3, 0.0)


def test_a_proposal_counts_what_a_training_counts(tmp_path: Path) -> None:
    """Though persons recur, applicants are declined, and some frauds become known late."""
    draw = np.random.default_rng(4)
    days = np.sort(draw.uniform(0, 360, N))
    fraud = draw.random(N) < 0.08
    person = draw.integers(0, 2_500, N)
    start = pd.Timestamp("2024-01-01")
    known = (start + pd.to_timedelta(days + draw.exponential(9, N), unit="D")).strftime("%Y-%m-%d %H:%M:%S")
    letters = np.array([*"abcdefghij"])
    frame = pd.DataFrame(
        {
            "created_at": (start + pd.to_timedelta(days, unit="D")).strftime("%Y-%m-%d %H:%M:%S"),
            "first_name": [f"{letters[one % 10]}lee{letters[one // 10 % 10]}" for one in person],
            "last_name": [f"smith{letters[one // 100 % 10]}{letters[one // 1000]}" for one in person],
            "date_of_birth": [f"19{60 + one % 40}-0{1 + one % 9}-11" for one in person],
            "points": draw.normal(size=N).round(3),
            "decision": np.where(draw.random(N) < 0.2, "declined", "approved"),
            "is_fraud": np.where(fraud, "yes", "no"),
            "known_at": np.where(fraud, known, ""),
        }
    )
    path, config = tmp_path / "in.csv", tmp_path / "use.yaml"
    frame.to_csv(path, index=False)
    found = propose(path)
    config.write_text(proposal_text(found, name="use", source=path.name))
    configuration = load_configuration(config)
    table = read_records(path, configuration.schema, labelled=True).table
    used = {row.part: row.frauds for row in prepare(table, configuration).split.summaries}
    assert found.parts.frauds == (used["train"], used["validation"], used["test"])


def test_too_short_a_history_has_no_parts() -> None:
    """Burn-in, gaps and maturity alone are longer."""
    parts = propose_parts(
        TIMES // 30,
        np.ones(N, dtype=np.int64),
        known=TIMES,
        as_of=12 * DAY,
        maturity=10 * DAY,
        gap=10 * DAY,
        burn_in=DAY,
    )
    assert (parts.frauds, parts.enough) == ((), False)


def test_a_training_asks_for_fewer_frauds_where_no_split_has_enough(tmp_path: Path) -> None:
    """Such a file passed init and stopped in the training."""
    rows = [
        f"2024-{1 + day // 28:02}-{1 + day % 28:02}T00:00:00Z,{int(day % 9 == 7)},{day % 9}"
        for day in range(330)
    ]
    (tmp_path / "in.csv").write_text("\n".join(["created_at,is_fraud,points", *rows]))
    found = propose(tmp_path / "in.csv")
    (tmp_path / "use.yaml").write_text(proposal_text(found, name="use", source="in.csv"))
    assert 10 <= min(found.parts.frauds) < 20
    assert load_configuration(tmp_path / "use.yaml").training.split.min_frauds == 10
    assert "min_frauds is 10" in " ".join(found.decisions)


def test_what_helps_is_said_where_no_split_has_enough_frauds(tmp_path: Path) -> None:
    """In the decisions of a file with few frauds."""
    path = tmp_path / "in.csv"
    rows = [
        f"2024-{1 + day // 28:02}-{1 + day % 28:02}T00:00:00Z,{int(day % 20 == 7)},{day % 9}"
        for day in range(330)
    ]
    path.write_text("\n".join(["created_at,is_fraud,points", *rows]))
    said = " ".join(propose(path).decisions)
    assert "No split has 20 frauds in each part" in said
    assert "training.split.test: 0" not in said  # which is proposed already
