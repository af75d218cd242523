"""The bundle that is assembled from a forest describes what its scorer does."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scoring_model.bundle import Bundle, Golden, read_bundle
from scoring_model.bundle.codec import read_json
from scoring_model.configuration import Configuration, CostSettings, PolicySettings, Tuned
from scoring_model.decision.scale import nominal_share
from scoring_model.evaluation import EvaluatedRecords, evaluate_records
from scoring_model.evaluation.stopped import ASSUMED
from scoring_model.findings import CHECKS
from scoring_model.history import PERSON, LinkKey, key_codes
from scoring_model.records import RecordTable, rfc3339
from scoring_model.scorer import Decisions, Scorer
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.assembly import assemble, resolved
from scoring_model.training.certification import InfeasiblePolicy
from scoring_model.training.preparation import Prepared, one_of_each
from scoring_model.training.run import Training


@pytest.fixture(scope="module")
def validation(prepared: Prepared, scorer: Scorer) -> Decisions:
    """What the bundle decides about the validation period."""
    return scorer.decide(prepared.rows[prepared.split.validation])


def test_promises_match_the_decisions_of_the_scorer(
    prepared: Prepared, validation: Decisions, scorer: Scorer, identity: Configuration
) -> None:
    """Each promise reports what the scorer decides on one genuine record per person, within its bound."""
    part = prepared.split.validation
    genuine = np.flatnonzero(prepared.split.validation_targets == 0)
    rows = part[genuine]
    genuine = genuine[one_of_each(prepared.persons[rows])]
    assert len(genuine) == len(set(prepared.persons[rows].tolist()))
    policy = scorer.contents.rules.policy
    from_score = {"max_false_reject": policy.fail_from, "max_step_up": policy.step_up_from}
    assert {promise.bound for promise in policy.promises} == set(from_score)
    for promise in policy.promises:
        above = validation.scores[genuine] >= from_score[promise.bound]
        assert promise.records == len(genuine)
        assert promise.observed == above.mean()
        assert above.mean() < promise.limit == identity.policy.limits()[promise.bound]
        assert promise.p_value <= promise.delta


def test_scores_have_their_nominal_share(prepared: Prepared, validation: Decisions, scorer: Scorer) -> None:
    """At most 10^(-s/250) of the genuine records that fitted the scale score s or more."""
    genuine = validation.scores[prepared.split.validation_targets == 0]
    for score in range(1, scorer.contents.rules.scale.extrapolated_from):
        assert np.count_nonzero(genuine >= score) <= nominal_share(score) * len(genuine)


def test_evaluation_is_of_the_test_period(prepared: Prepared, scorer: Scorer, training: Training) -> None:
    """The evaluation in the bundle equals that of its own scorer on the test period."""
    split = prepared.split
    records = EvaluatedRecords(
        decisions=scorer.decide(prepared.rows[split.test]),
        labels=split.test_targets,
        event_times=prepared.table.event_times[split.test],
        rings=prepared.rings(split.evaluated),
    )
    of_training = [
        one for one in training.evaluation.findings if one.check.of_training or one.code in ("SM007", "SM017")
    ]
    found = evaluate_records(
        records,
        rules=scorer.contents.rules,
        counts=scorer.score_counts,
        findings=of_training,
        population=[ASSUMED],
    )
    assert {one.code for one in of_training} >= {code for code, check in CHECKS.items() if check.of_training}
    assert found.to_json() == training.evaluation.to_json()
    assert read_json(training.bundle.files["evaluation.json"]) == found.to_json()
    assert found.overall.records == len(split.test)
    area = found.overall.figures["roc_auc"].value
    assert area is not None
    assert area > 0.7


def test_golden_rows_reach_every_outcome_and_split(training: Training, prepared: Prepared) -> None:
    """Golden rows reach all three outcomes, have missing values, and none equals the row of a record."""
    golden: Golden = training.bundle.contents.golden
    assert len(golden.rows) == 256
    assert set(golden.decisions.outcomes.tolist()) == {0, 1, 2}
    assert np.isnan(golden.rows).any()
    rows = {row.tobytes() for row in prepared.rows}
    assert not any(row.tobytes() in rows for row in golden.rows)


def test_configuration_is_resolved(sealed: Path, identity: Configuration, training: Training) -> None:
    """The configuration in the bundle has parameters and burn-in, and no search settings."""
    plain = read_json(read_bundle(sealed).files["configuration.json"])
    assert "tuning" not in plain["training"]
    assert plain["training"]["leakage_checks"]["max_records"] == 2000
    assert plain["training"]["tuned"]["rounds"] == training.tuned.rounds == 30
    assert plain["training"]["split"]["burn_in"] == 30 * 86_400_000_000
    other = replace(identity, training=replace(identity.training, tuned=None))
    assert resolved(other, training.tuned, 0) == resolved(identity, training.tuned, 0)


def test_manifest_has_the_dates_of_the_data(sealed: Path, history: RecordTable, prepared: Prepared) -> None:
    """The manifest has the dates of the first and last record and the as-of instant."""
    data = read_bundle(sealed).manifest.data
    assert data["from"] == rfc3339(int(history.event_times.min()))
    assert data["to"] == rfc3339(int(history.event_times.max()))
    assert data["as_of"] == rfc3339(prepared.split.boundaries.as_of)


def test_an_infeasible_policy_is_an_error(
    prepared: Prepared, identity: Configuration, training: Training
) -> None:
    """Bounds that the model cannot keep together stop the training with an error that names them."""
    strict = replace(
        identity, policy=PolicySettings(max_false_reject=0.01, max_step_up=0.02, max_missed_fraud=0.4)
    )
    forest = training.bundle.contents.forest
    with pytest.raises(InfeasiblePolicy, match=r"^no thresholds of the fitted model keep") as caught:
        assemble(prepared, forest, strict, Tuned(params={}, rounds=1), findings=(), threads=1)
    assert [row.bound for row in caught.value.shortfalls] == ["max_missed_fraud", "max_step_up"]
    alternatives = caught.value.alternatives
    assert alternatives is not None
    assert len(alternatives.rows) > 800
    assert not any(row.certified or row.chosen for row in alternatives.rows)


def test_profile_counts_the_validation_period(training: Training, validation: Decisions) -> None:
    """The reference profile holds the scores of the validation period and every feature."""
    profile = read_json(training.bundle.files["profile.json"])
    assert profile["records"] == len(validation.scores)
    shares = np.bincount(validation.scores // 10, minlength=101) / len(validation.scores)
    assert np.allclose(profile["scores"], shares, atol=0.01)
    assert_array_equal(sorted(profile["features"]), sorted(training.bundle.contents.features.names))


def joined(history: RecordTable, configuration: Configuration, rows: list[int]) -> list[set[int]]:
    """Group records that share a link value which at most 256 records have, by plain loops."""
    groups = [{row} for row in rows]
    for key in (*configuration.links.link_keys, LinkKey(name=PERSON, parts=())):
        codes = key_codes(history, key)
        holders = Counter(codes.tolist())
        for code in {int(codes[row]) for row in rows} - {-1}:
            holding = {row for row in rows if codes[row] == code}
            if holders[code] <= 256:
                touched = [group for group in groups if group & holding]
                groups = [group for group in groups if not group & holding] + [set().union(*touched)]
    return groups


def test_missed_frauds_count_rings(
    prepared: Prepared, history: RecordTable, training: Training, scorer: Scorer, identity: Configuration
) -> None:
    """The promise on frauds counts one record of each group of frauds that link keys connect."""
    targets, part = prepared.split.validation_targets, prepared.split.validation
    rows = part[targets == 1].tolist()
    rings = joined(history, identity, rows)
    ring_of = {row: number for number, ring in enumerate(rings) for row in ring}
    chosen = part[targets == 1][one_of_each(np.array([ring_of[row] for row in rows]))]
    persons = {int(prepared.persons[row]) for row in rows}
    assert len(rings) < len(persons) <= len(rows)
    bounded = replace(identity, policy=replace(identity.policy, max_missed_fraud=0.9))
    policy = assembled(prepared, training, bounded)[0].contents.rules.policy
    promise = next(promise for promise in policy.promises if promise.bound == "max_missed_fraud")
    scores = scorer.decide(prepared.rows[chosen]).scores
    assert promise.records == len(rings)
    assert promise.observed == np.mean(scores < policy.step_up_from)


def assembled(
    prepared: Prepared, training: Training, configuration: Configuration
) -> tuple[Bundle, Alternatives]:
    """Assemble a bundle of the same forest under another policy, and its alternatives."""
    bundle, _, alternatives = assemble(
        prepared,
        training.bundle.contents.forest,
        configuration,
        Tuned(params={}, rounds=1),
        findings=(),
        threads=1,
    )
    return bundle, alternatives


def test_costs_reach_the_bundle(prepared: Prepared, training: Training, identity: Configuration) -> None:
    """With costs the bundle and the card have the cheapest certified pair; the model is the same."""
    costs = CostSettings(fraud_loss=2, reject_cost=20, step_up_cost=3, step_up_effectiveness=0.5)
    priced = replace(identity, policy=replace(identity.policy, costs=costs))
    bundle, alternatives = assembled(prepared, training, priced)
    policy, plain = bundle.contents.rules.policy, training.bundle.contents.rules.policy
    assert bundle.model_version == training.bundle.model_version
    assert policy.version != plain.version
    assert policy.step_up_from > plain.step_up_from
    certified = [row.expected_cost for row in alternatives.rows if row.certified]
    assert alternatives.chosen.expected_cost == min(cost for cost in certified if cost is not None)
    assert (alternatives.chosen.step_up_from, alternatives.chosen.fail_from) == (
        policy.step_up_from,
        policy.fail_from,
    )
    targets = prepared.split.validation_targets
    assert alternatives.prevalence == pytest.approx(np.mean(targets == 1))
    card = bundle.files["card.md"].decode()
    assert f"least expected cost per application: {alternatives.chosen.expected_cost:.4g}," in card
    assert "lowest thresholds" in training.bundle.files["card.md"].decode()
    assert read_json(bundle.files["configuration.json"])["policy"]["costs"]["fraud_loss"] == 2
