"""From a forest to a bundle: what is said of it is what its scorer does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scoring_model.arrays import IntArray
from scoring_model.bundle import Golden, read_bundle
from scoring_model.bundle.codec import read_json
from scoring_model.configuration import Configuration, PolicySettings, Tuned
from scoring_model.decision.scale import nominal_share
from scoring_model.evaluation import evaluate
from scoring_model.records import RecordTable, rfc3339
from scoring_model.scorer import Decisions, Scorer
from scoring_model.training.assembly import assemble, resolved
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.run import Training
from scoring_model.training.thresholds import InfeasiblePolicy


@pytest.fixture(scope="module")
def prepared(history: RecordTable, identity: Configuration) -> Prepared:
    """The history as the model sees it."""
    return prepare(history, identity)


@pytest.fixture(scope="module")
def validation(prepared: Prepared, scorer: Scorer) -> Decisions:
    """What the bundle decides about the validation period."""
    return scorer.decide(prepared.rows[prepared.split.validation])


def first_records(persons: IntArray, times: IntArray) -> IntArray:
    """The first record of each person, the long way round."""
    firsts: dict[int, int] = {}
    for place in np.lexsort((np.arange(len(times)), times)):
        firsts.setdefault(int(persons[place]), int(place))
    return np.array(sorted(firsts.values()))


def test_promises_are_what_the_scorer_keeps(
    prepared: Prepared, validation: Decisions, scorer: Scorer, identity: Configuration
) -> None:
    """Each promise was observed as its text says, on one genuine record per person, within its bound."""
    part = prepared.split.validation
    genuine = np.flatnonzero(prepared.split.validation_targets == 0)
    rows = part[genuine]
    genuine = genuine[first_records(prepared.persons[rows], prepared.table.event_times[rows])]
    policy = scorer.contents.rules.policy
    from_score = {"max_false_reject": policy.fail_from, "max_step_up": policy.step_up_from}
    assert {promise.bound for promise in policy.promises} == set(from_score)
    for promise in policy.promises:
        above = validation.scores[genuine] >= from_score[promise.bound]
        assert promise.records == len(genuine)
        assert promise.observed == above.mean()
        assert above.mean() < promise.limit == identity.policy.limits()[promise.bound]
        assert promise.p_value <= promise.delta


def test_scores_mean_what_they_say(prepared: Prepared, validation: Decisions, scorer: Scorer) -> None:
    """Of the genuine records that fitted the scale, at most 10^(-s/250) reach s, and a record more exceeds it."""
    genuine = validation.scores[prepared.split.validation_targets == 0]
    for score in range(1, scorer.contents.rules.scale.extrapolated_from):
        reached = np.count_nonzero(genuine >= score)
        assert reached <= nominal_share(score) * len(genuine)
        if np.any(genuine == score):
            more = np.count_nonzero(genuine >= score - 1)
            assert more >= reached


def test_evaluation_is_of_the_test_period(prepared: Prepared, scorer: Scorer, training: Training) -> None:
    """The evaluation in the bundle is that of its own scorer's decisions about the test period."""
    split = prepared.split
    found = evaluate(
        scorer.decide(prepared.rows[split.test]),
        labels=split.test_targets,
        event_times=prepared.table.event_times[split.test],
    )
    assert found.to_json() == training.evaluation.to_json()
    assert read_json(training.bundle.files["evaluation.json"]) == found.to_json()
    assert found.overall.records == len(split.test)
    assert found.overall.roc_auc is not None
    assert found.overall.roc_auc > 0.7


def test_golden_rows_reach_every_outcome_and_split(training: Training, prepared: Prepared) -> None:
    """Golden rows are decided in all three ways, have gaps, and none of them is a row of a record."""
    golden: Golden = training.bundle.contents.golden
    assert len(golden.rows) == 256
    assert set(golden.decisions.outcomes.tolist()) == {0, 1, 2}
    assert np.isnan(golden.rows).any()
    rows = {row.tobytes() for row in prepared.rows}
    assert not any(row.tobytes() in rows for row in golden.rows)


def test_configuration_is_resolved(sealed: Path, identity: Configuration, training: Training) -> None:
    """The configuration in the bundle names parameters and burn-in, and nothing of a search."""
    plain = read_json(read_bundle(sealed).files["configuration.json"])
    assert "tuning" not in plain["training"]
    assert plain["training"]["tuned"]["rounds"] == training.tuned.rounds == 30
    assert plain["training"]["split"]["burn_in"] == 30 * 86_400_000_000
    other = replace(identity, training=replace(identity.training, tuned=None))
    assert resolved(other, training.tuned) == resolved(identity, training.tuned)


def test_data_are_named_by_what_they_say(sealed: Path, history: RecordTable, prepared: Prepared) -> None:
    """The manifest's dates are those of the first and last record and of the as-of instant."""
    data = read_bundle(sealed).manifest.data
    assert data["from"] == rfc3339(int(history.event_times.min()))
    assert data["to"] == rfc3339(int(history.event_times.max()))
    assert data["as_of"] == rfc3339(prepared.split.borders.as_of)


def test_an_infeasible_policy_is_an_error(
    prepared: Prepared, identity: Configuration, training: Training
) -> None:
    """A bound that the records can't certify stops the training and is named, with what it would take."""
    strict = replace(identity, policy=PolicySettings(max_false_reject=1e-5, max_step_up=0.08))
    forest = training.bundle.contents.forest
    with pytest.raises(InfeasiblePolicy, match="max_false_reject 1e-05 is certified nowhere") as caught:
        assemble(prepared, forest, strict, Tuned(params={}, rounds=1), threads=1)
    assert caught.value.bounds == ("max_false_reject",)


def test_profile_counts_the_validation_period(training: Training, validation: Decisions) -> None:
    """The reference profile holds the scores of the validation period and every feature."""
    profile = read_json(training.bundle.files["profile.json"])
    assert profile["records"] == len(validation.scores)
    shares = np.bincount(validation.scores // 10, minlength=101) / len(validation.scores)
    assert np.allclose(profile["scores"], shares, atol=0.01)
    assert_array_equal(sorted(profile["features"]), sorted(training.bundle.contents.features.names))
