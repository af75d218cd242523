"""Counts by day of the reference period: sums, round trip, and days of enough persons."""

from pathlib import Path

import numpy as np
import pytest

from scoring_model.bundle import Profile, ReferenceDays, measure_profile, measure_reference_days, read_bundle
from scoring_model.bundle.codec import npz_bytes, read_npz
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.bundle.reference_days import _merged_days, names_of_bins
from scoring_model.decision.rules import Decisions

DAY = 86_400_000_000


def measured(*, records: int = 3000, days: int = 40) -> tuple[Profile, ReferenceDays]:
    """Measure a number with gaps and a category; the later days have few records."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=records), rng.integers(0, 4, records).astype(float)])
    rows[rng.random(records) < 0.1, 0] = np.nan
    persons, scores = np.arange(records) // 2, rng.integers(0, 1001, records)
    profile = measure_profile(rows, scores, names=("number", "code"), persons=persons, categorical=[1])
    found = measure_reference_days(
        rows,
        profile=profile,
        names=("number", "code"),
        persons=persons,
        event_times=np.sort((days * rng.random(records) ** 3 * DAY).astype(np.int64))[::-1],
        decisions=Decisions(
            rng.normal(size=records),
            scores,
            np.minimum(scores // 400, 2).astype(np.int8),
            np.full(records, np.nan),
        ),
        targets=(rng.random(records) < 0.05).astype(np.int8),
        thresholds=(400, 800),
        contributions=rng.normal(size=(100, 2)),
    )
    return profile, found


def test_sums_over_days_are_those_of_the_profile() -> None:
    """Bins, scores, outcomes and groups of margins count every record once."""
    profile, found = measured()
    sums = found.bins.sum(axis=0)
    for name, columns in names_of_bins(profile).items():
        *values, missing = sums[columns].tolist()
        assert values == pytest.approx([share * (3000 - missing) for share in profile.features[name].shares])
        assert missing == pytest.approx(3000 * profile.features[name].missing)
    for counts in (found.scores, found.outcomes, found.by_margin):
        assert counts.sum(axis=1).tolist() == found.records.tolist()
    assert np.all(found.frauds <= found.by_margin)
    assert np.all(np.diff(found.margins) > 0)


def test_every_row_is_of_five_persons() -> None:
    """A person has two records, so a day of fewer than nine may be of too few persons, and is merged."""
    found = measured(records=400, days=200)[1]
    assert found.records.min() >= 5
    assert len(found.days) > 10
    assert np.all(np.diff(found.days) > 0)


def test_merged_days_count_for_the_one_with_most_records() -> None:
    """One record on a Sunday and fifty on the Monday are a Monday; so are fifty and a few on the day after the last."""
    sunday = 3  # 1970-01-04
    days = np.repeat([sunday, sunday + 1, sunday + 7, sunday + 8, sunday + 9], [1, 50, 2, 40, 3])
    found, code = _merged_days(days, np.arange(len(days)))
    assert found.tolist() == [sunday + 1, sunday + 8]
    assert np.bincount(code).tolist() == [51, 45]


def test_the_round_trip_is_exact() -> None:
    """What is read back gives the same bytes; altered arrays are refused."""
    data = measured()[1].to_bytes()
    assert ReferenceDays.from_bytes(data).to_bytes() == data
    arrays = dict(read_npz(data))
    with pytest.raises(ContentInvalid, match="not the arrays"):
        ReferenceDays.from_bytes(npz_bytes({**arrays, "more": arrays["days"]}))
    with pytest.raises(ContentInvalid, match="records"):
        ReferenceDays.from_bytes(npz_bytes({**arrays, "records": arrays["records"][1:]}))


def test_a_training_counts_its_validation_period(sealed: Path) -> None:
    """The counts of a real bundle are those of its profile."""
    bundle = read_bundle(sealed)
    profile, found = Profile.of(bundle), ReferenceDays.of(bundle)
    assert found.records.sum() == profile.records
    assert len(found.contributions) == len(profile.features)
