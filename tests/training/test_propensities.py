"""Records with propensities in a training: who is in which part, and how much each counts."""

from typing import Any

import numpy as np
import pytest

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.configuration import PolicySettings, SplitSettings
from scoring_model.evaluation.stopped import ControlGroup
from scoring_model.training.boundaries import SplitError
from scoring_model.training.fitting import fit
from scoring_model.training.preparation import counted_as_genuine
from scoring_model.training.split import Split, split

DAY = 86_400_000_000
SETTINGS = SplitSettings(
    burn_in=10 * DAY, train=0.6, validation=0.2, test=0.2, gap=DAY, label_maturity=10 * DAY, min_frauds=5
)


def cut(
    propensities: FloatArray | None, *, records: int = 40_000, observed: BoolArray | None = None
) -> Split:
    """Split labelled records of 400 days; one in ten is fraud."""
    times = np.linspace(0, 400 * DAY, records).astype(np.int64)
    labels = (np.arange(records) % 10 == 0).astype(np.int8)
    return split(
        times,
        labels,
        times + 1,
        np.arange(records, dtype=np.int64),
        SETTINGS,
        propensities=propensities,
        observed=observed,
    )


def tenth(records: int = 40_000) -> FloatArray:
    """A policy stops every other record of each class; a tenth of them pass all the same."""
    rng = np.random.default_rng(1)
    stopped = rng.random(records) < 0.5
    return np.where(stopped, np.where(rng.random(records) < 0.1, 0.1, np.nan), 1.0)


def test_parts_hold_whom_a_label_can_be_known_of() -> None:
    """Records without propensity are in no part; training counts the others by 1 / propensity, with a mean of 1."""
    propensities = tenth()
    found = cut(propensities)
    assert found.train_weights is not None
    for rows in (found.train, found.validation, found.test):
        assert not np.isnan(propensities[rows]).any()
    weights = found.train_weights
    assert weights.mean() == pytest.approx(1.0)
    heavy = propensities[found.train] < 1
    assert weights[heavy] == pytest.approx(10 * weights[~heavy][0])


def test_what_is_judged_is_a_sample_of_all() -> None:
    """Half of it was stopped, as of all applicants; the summary counts the records left out by chance."""
    propensities = tenth()
    found = cut(propensities)
    judged = np.concatenate([found.validation, found.test])
    assert abs((propensities[judged] < 1).mean() - 0.5) < 4 * 0.5 / np.sqrt(len(judged))
    for summary in found.summaries:
        assert summary.genuine + summary.frauds + sum(summary.left_out.values()) == summary.records
    thinned = [row for row in found.summaries if any("by chance" in reason for reason in row.left_out)]
    assert [row.part for row in thinned] == ["validation", "test"]


def test_equal_propensities_leave_nothing_out() -> None:
    """Where everyone passed the split is that of a file without the column."""
    plain, found = cut(None), cut(np.ones(40_000))
    assert found.summaries == plain.summaries
    assert np.array_equal(found.train, plain.train)
    assert np.array_equal(found.validation, plain.validation)
    assert plain.train_weights is None


@pytest.mark.parametrize(("every", "genuine"), [(260, 29), (250, 30)])
def test_a_control_group_of_few_stands_for_nobody(every: int, genuine: int) -> None:
    """Below 30 genuine records in validation all observed ones are judged, and the stopped ones may be genuine."""
    place = np.arange(40_000)
    propensities = np.where(place % 2 == 0, 1.0, np.where(place % every == 1, 0.1, np.nan))
    found = cut(propensities)
    assert found.control == ControlGroup(genuine=genuine, frauds=0)
    whole = genuine < 30
    assert any("by chance" in reason for row in found.summaries for reason in row.left_out) is not whole
    assert np.isnan(propensities[found.stopped]).all()
    assert len(found.stopped) > 3_000
    assert (len(found.spare) == 0) is whole
    part = found.evaluated
    assert (found.is_sample, len(part.not_observed.rows) == 0) == (not whole, not whole)
    times = np.linspace(0, 400 * DAY, len(place)).astype(np.int64)
    expected = np.flatnonzero(np.isnan(propensities) & (part.start <= times) & (times < part.end))
    assert part.not_observed.rows.tolist() == (expected.tolist() if whole else [])
    assert found.train_weights is not None
    assert np.isfinite(found.train_weights).all()
    assert found.train_weights.max() == pytest.approx(10 * found.train_weights.min())


@pytest.mark.parametrize(("frauds", "each"), [(0.02, True), (0.5, False)])
def test_stopped_ones_count_as_genuine_where_that_leaves_more_room(frauds: float, *, each: bool) -> None:
    """All observed and all stopped ones are tested beside a control group, unless the stopped ones are frauds."""
    rng = np.random.default_rng(2)
    is_stopped = rng.random(40_000) < np.where(np.arange(40_000) % 10 == 0, frauds, 0.02)
    drawn = rng.random(40_000) < 0.3
    found = cut(np.where(is_stopped, np.where(drawn, 0.3, np.nan), 1.0))
    assert found.control is not None
    assert found.control.stands_for_all
    settings = PolicySettings(max_step_up=0.05, max_false_reject=None)
    beside = counted_as_genuine(
        found.control,
        genuine=found.validation[found.validation_targets == 0],
        stopped=found.stopped,
        spare=found.spare,
        persons=np.arange(40_000),
        settings=settings,
    )
    assert np.array_equal(beside, np.concatenate([found.stopped, found.spare])[: None if each else 0])
    assert (found.spare % 10 > 0).all()
    judged = np.concatenate([found.validation, beside])
    assert len(np.unique(judged)) == len(judged)


def test_too_few_frauds_of_the_control_group_are_named() -> None:
    """A low propensity leaves few records: the error says of which parts and how many frauds there are."""
    propensities = np.where(np.arange(40_000) % 150 == 1, 0.001, 1.0)
    with pytest.raises(SplitError, match=r"validation .* frauds, needs 5"):
        cut(propensities)


def test_weights_count_as_repeated_records() -> None:
    """A booster with weights has the leaves of one on a file that repeats the records."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    targets = (rows[:, 0] + rng.normal(size=400) > 0.5).astype(np.int8)
    weights = np.where(rows[:, 1] > 0, 3.0, 1.0)
    options: dict[str, Any] = {
        "params": {"num_leaves": 2, "min_data_in_leaf": 1, "learning_rate": 0.5},
        "rounds": 1,
        "feature_names": ("a", "b"),
        "categorical": (),
        "monotone": (0, 0),
        "seed": 0,
        "threads": 1,
    }
    split_at = (rows > 0).astype(np.float64)
    found = fit(split_at, targets, weights=weights, **options)
    repeated = np.repeat(np.arange(400), weights.astype(np.int64))
    expected = fit(split_at[repeated], targets[repeated], **options)
    probes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert found.predict(probes) == pytest.approx(expected.predict(probes), rel=1e-6)
    unweighted = fit(split_at, targets, **options)
    assert unweighted.predict(probes) != pytest.approx(expected.predict(probes), rel=1e-6)


def test_who_passed_beside_a_small_control_group_is_judged() -> None:
    """They passed while there was none: where it stands for nobody they count as in a file without propensities."""
    place = np.arange(40_000)
    stopped = place % 2 == 1
    on = (place < 26_000) | (place >= 30_000)  # in between nobody was drawn, and who passed has no propensity
    propensities = np.where(on & ~stopped, 1.0, np.where(on & (place % 2_000 == 1), 0.1, np.nan))
    passed = ~stopped | (propensities < 1)
    plain, found = cut(None, observed=passed), cut(propensities, observed=passed)
    assert found.control is not None
    assert (found.control.stands_for_all, found.is_sample) == (False, False)
    for name in ("validation", "validation_targets", "test", "test_targets"):
        assert np.array_equal(getattr(found, name), getattr(plain, name)), name
    assert np.array_equal(found.stopped, plain.stopped)
    assert np.array_equal(found.evaluated.not_observed.rows, plain.evaluated.not_observed.rows)
    assert not passed[found.evaluated.not_observed.rows].any()


def test_who_passed_before_the_control_group_began_trains() -> None:
    """They count once each; who passed later without a propensity, or was stopped, does not train."""
    place = np.arange(40_000)
    stopped, began = place % 2 == 1, 15_000
    later = np.where(stopped, np.where(place % 10 == 1, 0.2, np.nan), np.where(place % 50 == 2, np.nan, 1.0))
    propensities = np.where(place < began, np.nan, later)
    found = cut(propensities, observed=~stopped | (propensities < 1))
    before = found.train[found.train < began]
    assert len(before) > 5_000
    assert not stopped[before].any()
    assert not np.isnan(propensities[found.train[found.train >= began]]).any()
    assert found.train_weights is not None
    once, drawn = found.train_weights[found.train < began], propensities[found.train] == 0.2
    assert len(np.unique(once)) == 1
    assert np.unique(found.train_weights[drawn]) == pytest.approx(5 * once[0])
    for rows in (found.validation, found.test):
        assert not np.isnan(propensities[rows]).any()
