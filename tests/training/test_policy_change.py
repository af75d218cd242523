"""Another policy for a sealed bundle: the same model, and promises that hold for what was seen before."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import scoring_model
from scoring_model.bundle import BundleError, Contents, ScoreCounts, SealedFiles, read_bundle
from scoring_model.bundle.bundle import model_version
from scoring_model.bundle.codec import read_json
from scoring_model.configuration import (
    Configuration,
    ConfigurationError,
    ControlSettings,
    CostSettings,
    Tuned,
)
from scoring_model.decision.control import Control, ControlArm
from scoring_model.records import rfc3339
from scoring_model.records.layout import MissingColumns
from scoring_model.records.schema import Names
from scoring_model.scorer import Scorer
from scoring_model.training.assembly import assemble
from scoring_model.training.certification import InfeasiblePolicy
from scoring_model.training.choice import NotCertified, Thresholds
from scoring_model.training.fresh_records import NotFresh
from scoring_model.training.ladder import LADDER, AboveLadder
from scoring_model.training.policy_change import (
    Evidence,
    PolicyChange,
    PolicyUnchanged,
    change_policy,
)
from scoring_model.training.preparation import Prepared
from scoring_model.training.run import Training

COSTS = CostSettings(fraud_loss=2, reject_cost=20, step_up_cost=3, step_up_effectiveness=0.5)
LOOSER = {"max_false_reject": 0.03, "max_step_up": 0.15}

DAY = 86_400_000_000  # microseconds

Change = Callable[..., PolicyChange]


@pytest.fixture(scope="module")
def bundle(sealed: Path) -> SealedFiles:
    """The trained bundle."""
    return read_bundle(sealed)


@pytest.fixture(scope="module")
def change(bundle: SealedFiles, identity: Configuration) -> Change:
    """Give the bundle the policy of the configuration with these settings changed."""

    def changed(
        *data: object,
        of: SealedFiles = bundle,
        thresholds: Thresholds | None = None,
        history: Sequence[object] = (),
        as_of: int | None = None,
        names: Names | None = None,
        **settings: object,
    ) -> PolicyChange:
        policy = replace(identity.policy, **settings)  # type: ignore[arg-type]
        configuration = replace(identity, policy=policy)
        return change_policy(
            of,
            configuration,
            *data,
            thresholds=thresholds,
            history=history,
            as_of=as_of,
            names=names,
            threads=1,
        )

    return changed


@pytest.fixture(scope="module")
def later(frame: pa.Table, prepared: Prepared) -> pa.Table:
    """The rows of the history from the end of the validation part on."""
    times = prepared.table.event_times
    kept = times >= prepared.split.boundaries.validation_to
    assert len(times) == len(frame)
    return frame.filter(pa.array(kept))


def under_columns(bundle: SealedFiles, columns: dict[str, str]) -> SealedFiles:
    """The bundle for files whose columns have these names."""
    contents = Contents.of(bundle)
    files = {**bundle.files, **replace(contents, schema=replace(contents.schema, columns=columns)).to_files()}
    version = model_version(bundle.manifest.name, files)
    return replace(bundle, files=files, manifest=replace(bundle.manifest, model_version=version))


def test_costs_choose_as_a_training_with_them_would(
    change: Change, prepared: Prepared, identity: Configuration, training: Training, tmp_path: Path
) -> None:
    """New costs give the policy and version of a training with them, the model's files stay byte for byte."""
    changed = change(costs=COSTS)
    priced = replace(identity, policy=replace(identity.policy, costs=COSTS))
    trained, _, alternatives = assemble(
        prepared,
        training.bundle.contents.forest,
        priced,
        Tuned(params={}, rounds=1),
        findings=(),
        threads=1,
    )
    assert changed.evidence is Evidence.SAME_BOUNDS
    assert changed.policy == trained.contents.rules.policy != training.bundle.contents.rules.policy
    assert changed.alternatives == alternatives
    new = read_bundle(changed.save(tmp_path / "new"))
    assert new.manifest.policy_version == trained.contents.policy_version
    assert new.manifest.model_version == training.bundle.model_version
    differ = {name for name, content in new.files.items() if content != training.bundle.files[name]}
    assert differ <= {"policy.json", "golden.npz", "configuration.json", "evaluation.json", "card.md"}
    same = {name for name, content in new.files.items() if content == trained.files[name]}
    # The reference days are those of the training; they hold the thresholds that gave their outcomes.
    others = {"configuration.json", "evaluation.json", "card.md", "reference_days.npz"}
    assert same == trained.files.keys() - others


def test_a_control_group_is_sealed_and_removed_again(
    change: Change, bundle: SealedFiles, tmp_path: Path
) -> None:
    """It has a version of its own and changes no outcome; without it the bytes are the former ones."""
    arm = ControlArm(share=0.02, most_per_day=20)
    settings = ControlSettings(failed=arm, stepped_up=arm)
    new = read_bundle(change(control=settings).save(tmp_path / "controlled"))
    scorer = Scorer.of(new)
    assert new.manifest.policy_version != bundle.manifest.policy_version
    assert new.manifest.model_version == bundle.manifest.model_version
    assert scorer.rules.policy.control == Control(failed=arm, stepped_up=arm)
    assert new.files["golden.npz"] == bundle.files["golden.npz"]
    assert read_json(new.files["configuration.json"])["policy"]["control"]["failed"]["share"] == 0.02
    assert b"0.02 of the persons who would be failed, at most 20 a day" in new.files["card.md"]
    former = read_bundle(change(of=new).save(tmp_path / "former"))
    assert former.files["policy.json"] == bundle.files["policy.json"]
    assert former.manifest.policy_version == bundle.manifest.policy_version
    assert former.files["configuration.json"] == bundle.files["configuration.json"]


def test_the_service_decides_as_the_thresholds_say(
    change: Change, scorer: Scorer, prepared: Prepared, tmp_path: Path
) -> None:
    """Loaded again, the bundle gives the former scores and probabilities, and outcomes by the new thresholds."""
    changed = change(thresholds=Thresholds(step_up_from=400, fail_from=800))
    rows = prepared.rows[prepared.split.test]
    found, former = Scorer.load(changed.save(tmp_path / "new")).decide(rows), scorer.decide(rows)
    assert np.array_equal(found.scores, former.scores)
    assert np.array_equal(found.probabilities, former.probabilities)
    assert np.array_equal(found.outcomes, (found.scores >= 400).astype(int) + (found.scores >= 800))
    assert not np.array_equal(found.outcomes, former.outcomes)


def test_only_certified_pairs_may_be_picked(change: Change, training: Training) -> None:
    """A certified row of the table is taken with its promises, any other one is refused with the certified region."""
    rows = [row for row in training.alternatives.rows if not row.chosen]
    good = next(row for row in rows if row.certified)
    picked = change(thresholds=Thresholds(step_up_from=good.step_up_from, fail_from=good.fail_from))
    assert (picked.policy.step_up_from, picked.policy.fail_from) == (good.step_up_from, good.fail_from)
    observed = {promise.bound: promise.observed for promise in picked.policy.promises}
    assert observed == {"max_false_reject": good.false_reject.value, "max_step_up": good.step_up.value}
    assert {promise.delta for promise in picked.policy.promises} == {0.025}
    assert "A person picked these thresholds" in picked.described["card.md"].decode()
    bad = next(row for row in rows if not row.certified)
    with pytest.raises(
        NotCertified, match=r"step_up_from must be in \d+\.\.1001 and fail_from in \d+\.\.1001"
    ):
        change(thresholds=Thresholds(step_up_from=bad.step_up_from, fail_from=bad.fail_from))


def test_other_bounds_are_tested_on_the_ladder(change: Change, prepared: Prepared, scorer: Scorer) -> None:
    """Bounds that were not set before are rounded up, and each passes its exact test at delta / 120."""
    changed = change(max_false_reject=0.026, max_step_up=0.15, max_missed_fraud=None)
    assert changed.evidence is Evidence.LADDER
    assert changed.rounded == {"max_false_reject": (0.026, 0.0315), "max_step_up": (0.15, 0.16)}
    scores = scorer.decide(prepared.rows[prepared.split.validation]).scores[prepared.genuine_persons]
    thresholds = {"max_false_reject": changed.policy.fail_from, "max_step_up": changed.policy.step_up_from}
    for promise in changed.policy.promises:
        errors = int(np.count_nonzero(scores >= thresholds[promise.bound]))
        assert promise.limit in LADDER[promise.bound]
        assert promise.delta == 0.05 / 120
        assert promise.records == len(scores)
        p_value = binom.cdf(errors, len(scores), promise.limit)
        assert promise.p_value == pytest.approx(p_value, rel=1e-5)
        assert p_value <= promise.delta
        below = np.count_nonzero(scores >= thresholds[promise.bound] - 1)
        assert binom.cdf(below, len(scores), promise.limit) > promise.delta
    policy = read_json(changed.described["configuration.json"])["policy"]
    assert (policy["max_false_reject"], policy["max_step_up"]) == (0.0315, 0.16)
    assert "a value of a ladder of 40" in changed.described["card.md"].decode()


def test_fewer_bounds_keep_their_certificates(change: Change, training: Training) -> None:
    """Without one bound the other one is what it was, at its own share of delta; more confidence is the ladder's."""
    former = {promise.bound: promise for promise in training.bundle.contents.rules.policy.promises}
    changed = change(max_false_reject=None)
    assert changed.evidence is Evidence.SAME_BOUNDS
    assert changed.policy.promises == (former["max_step_up"],)
    assert changed.policy.fail_from == 1001
    assert change(confidence=0.9, **LOOSER).evidence is Evidence.LADDER


def test_the_ladder_is_not_left_by_a_second_change(change: Change, tmp_path: Path) -> None:
    """Bounds of the ladder stay on it in the next bundle, and the first bounds stay free there."""
    first = read_bundle(change(**LOOSER).save(tmp_path / "first"))
    second = change(of=first, costs=COSTS, **LOOSER)
    assert second.evidence is Evidence.LADDER
    assert {promise.delta for promise in second.policy.promises} == {0.05 / 120}
    back = change(of=first)
    assert back.evidence is Evidence.SAME_BOUNDS
    stale = read_json(second.described["evaluation.json"])["stale"]
    assert stale == read_json(first.files["evaluation.json"])["stale"]


def test_what_was_measured_under_the_former_policy_is_marked(
    change: Change, bundle: SealedFiles, tmp_path: Path
) -> None:
    """Evaluation and card name the policy that they were measured under; the card describes the new one."""
    former = bundle.manifest.policy_version
    new = read_bundle(change(**LOOSER).save(tmp_path / "new"))
    evaluation, before = read_json(new.files["evaluation.json"]), read_json(bundle.files["evaluation.json"])
    assert evaluation.pop("stale")["policy_version"] == former
    assert evaluation == before
    card, old_card = new.files["card.md"].decode(), bundle.files["card.md"].decode()
    assert f"policy `{new.manifest.policy_version}`." in card
    assert f"were measured under the policy `{former}`" in card
    assert "| max_step_up | 0.16 |" in card
    assert "| max_step_up | 0.08 |" not in card
    sections = [line for line in old_card.splitlines() if line.startswith("## ")]
    assert [line for line in card.splitlines() if line.startswith("## ")] == sections


def test_equal_changes_give_equal_bytes(change: Change, tmp_path: Path) -> None:
    """The same bundle and settings give the same new bundle, byte for byte."""
    first, second = (read_bundle(change(**LOOSER).save(tmp_path / name)) for name in ("first", "second"))
    assert first.manifest == second.manifest
    assert first.files == second.files


def test_fresh_records_certify_bounds_in_full(
    change: Change, frame: pa.Table, later: pa.Table, prepared: Prepared, scorer: Scorer, tmp_path: Path
) -> None:
    """On later records each bound has its whole share of delta, on one mature record of each genuine person."""
    boundaries = prepared.split.boundaries
    past = frame.slice(0, len(frame) - len(later))
    as_of = int(prepared.table.event_times.max())
    changed = change(later, history=[past], as_of=as_of, max_step_up=0.15, max_false_reject=None)
    (promise,) = changed.policy.promises
    assert changed.evidence is Evidence.FRESH_RECORDS
    assert (promise.limit, promise.delta) == (0.15, 0.05)
    table = prepared.table
    known_fraud = (table.labels == 1) & (table.label_times < as_of)
    counted = (table.event_times >= boundaries.validation_to) & (table.event_times < as_of - 30 * DAY)
    assert (known_fraud & (table.event_times >= as_of - 30 * DAY)).any()  # young, and left out all the same
    genuine = np.flatnonzero(counted & ~known_fraud)
    assert promise.records == len(set(prepared.persons[genuine].tolist()))
    counts = ScoreCounts.from_bytes(changed.described["score_counts.json"])
    scores = scorer.decide(prepared.rows[genuine]).scores
    assert np.array_equal(counts.genuine, np.bincount(scores, minlength=1001))
    assert counts.rings.sum() < counts.frauds.sum() == (counted & known_fraud).sum()
    assert dict(counts.limits) == {"max_step_up": 0.15}
    new = read_bundle(changed.save(tmp_path / "new"))
    assert new.manifest.data["policy_records"] == counted.sum()
    assert str(new.manifest.data["policy_from"]) >= rfc3339(boundaries.validation_to)
    again = change(of=new, max_step_up=0.2, max_false_reject=None)
    assert again.evidence is Evidence.LADDER
    period = (
        f"the fresh records from {new.manifest.data['policy_from']} to {new.manifest.data['policy_to']} were"
    )
    for card in (new.files["card.md"], again.described["card.md"]):
        assert period in card.decode()
    with pytest.raises(NotFresh, match="from before"):
        change(later, of=new, max_step_up=0.15)


def test_fresh_records_that_were_stopped_count_as_genuine(
    change: Change, bundle: SealedFiles, frame: pa.Table, later: pa.Table, prepared: Prepared, tmp_path: Path
) -> None:
    """Nobody knows what they were, so the bound holds whatever they were, and the card says so; known frauds do not."""
    as_of = int(prepared.table.event_times.max())
    past = frame.slice(0, len(frame) - len(later))
    failed = np.arange(len(later)) % 20 == 0
    outcomes = later.append_column("outcome", pa.array(np.where(failed, "FAILED", "PASSED")))
    past = past.append_column("outcome", pa.array(["PASSED"] * len(past)))
    mapped = under_columns(bundle, {"outcome": "outcome"})
    changed = change(outcomes, of=mapped, history=[past], as_of=as_of, max_step_up=0.2, max_false_reject=None)
    counts = ScoreCounts.from_bytes(changed.described["score_counts.json"])
    table, start = prepared.table, len(frame) - len(later)
    counted = np.flatnonzero(table.event_times[start:] < as_of - 30 * DAY)
    fraud = (table.labels == 1) & (table.label_times < as_of)
    genuine = counted[~fraud[start + counted]]
    assert int(counts.genuine.sum()) == np.count_nonzero(~failed[genuine])
    (promise,) = changed.policy.promises
    assert (
        promise.records == int(counts.persons.sum()) == len(set(prepared.persons[start + genuine].tolist()))
    )
    assert 0 < counts.stopped <= np.count_nonzero(failed[genuine])
    card = changed.described["card.md"].decode()
    assert f"{counts.stopped:,} of the {promise.records:,} persons that count as genuine were stopped" in card
    assert "missed fraud is about frauds among those who were passed" not in card
    again = change(of=read_bundle(changed.save(tmp_path / "new")), max_step_up=0.25, max_false_reject=None)
    assert f"{counts.stopped:,} of the" in again.described["card.md"].decode()


@pytest.mark.parametrize(("every", "stands"), [(40, True), (2_000, False), (10**9, False)])
def test_a_control_group_of_fresh_records_costs_no_records(
    change: Change, later: pa.Table, prepared: Prepared, every: int, *, stands: bool
) -> None:
    """Bounds on genuine persons are tested on all, as in a training; missed fraud is tested on a thin sample."""
    as_of, start = int(prepared.table.event_times.max()), len(prepared.table) - len(later)
    place, share = np.arange(len(later)), 20 / every
    passed = np.where(place % 20 == 0, np.where(place % every == every - 20, share, np.nan), 1.0)
    controlled = later.append_column("propensity", pa.array(passed, from_pandas=True))
    changed = change(controlled, as_of=as_of, max_step_up=0.2, max_false_reject=None)
    counts = ScoreCounts.from_bytes(changed.described["score_counts.json"])
    table = prepared.table
    counted = np.flatnonzero(table.event_times[start:] < as_of - 30 * DAY)
    fraud = ((table.labels == 1) & (table.label_times < as_of))[start + counted]
    persons = set(prepared.persons[start + counted[~fraud]].tolist())
    assert counts.persons.sum() == len(persons)
    observed = ~np.isnan(passed[counted]) & ~fraud
    assert 0 < counts.stopped <= np.count_nonzero(~fraud & ~observed)
    assert abs(counts.genuine.sum() / observed.sum() - (share if stands else 1)) < 0.05
    card = changed.described["card.md"].decode()
    assert f"{counts.stopped:,} of the {len(persons):,} persons that count as genuine were stopped" in card


def test_who_passed_before_a_small_control_group_counts_as_without_it(
    change: Change, bundle: SealedFiles, later: pa.Table, prepared: Prepared
) -> None:
    """Their class is known, though they have no propensity: nobody calls them stopped."""
    as_of, place = int(prepared.table.event_times.max()), np.arange(len(later))
    drawn = place % 2_000 == 1_980
    outcomes = np.where((place % 20 == 0) & ~drawn, "FAILED", "PASSED")
    propensities = np.where(drawn, 0.01, np.where((place % 20 == 0) | (place < 1_000), np.nan, 1.0))
    plain = later.append_column("outcome", pa.array(outcomes))
    controlled = plain.append_column("propensity", pa.array(propensities, from_pandas=True))
    mapped = under_columns(bundle, {"outcome": "outcome"})
    options = {"of": mapped, "as_of": as_of, "max_step_up": 0.2, "max_false_reject": None}
    without, beside = (
        ScoreCounts.from_bytes(change(one, **options).described["score_counts.json"])
        for one in (plain, controlled)
    )
    assert np.array_equal(beside.genuine, without.genuine)
    assert beside.stopped == without.stopped


def test_records_that_are_not_fresh_are_refused(change: Change, frame: pa.Table, later: pa.Table) -> None:
    """Records of the validation part, and records of which none is mature, certify nothing."""
    count = len(frame) - len(later)
    with pytest.raises(NotFresh, match=rf"^{count} of {len(frame)} records are from before 20"):
        change(frame)
    with pytest.raises(NotFresh, match=r"^no fresh record counts \(.*younger than 30d"):
        change(later.slice(len(later) - 5))


def test_fresh_records_with_names_of_both_kinds_are_read_as_told(
    change: Change, bundle: SealedFiles, later: pa.Table, prepared: Prepared
) -> None:
    """A file with own names and those of the contract is refused, unless the caller says which count."""
    mapped = under_columns(bundle, {"eventTime": "Eingang"})
    both = later.append_column("Eingang", later["eventTime"])
    as_of = int(prepared.table.event_times.max())
    with pytest.raises(MissingColumns, match="say which count with --names"):
        change(both, of=mapped, as_of=as_of, **LOOSER)
    named = [
        change(both, of=mapped, as_of=as_of, names=name, **LOOSER).policy for name in ("contract", "own")
    ]
    assert named == [change(later, as_of=as_of, **LOOSER).policy] * 2


def test_the_end_of_the_validation_part_is_that_of_the_training(
    change: Change, bundle: SealedFiles, prepared: Prepared, frame: pa.Table
) -> None:
    """What certified the policy ends where the validation part of the training did: older records are not fresh."""
    assert ScoreCounts.of(bundle).until == prepared.split.boundaries.validation_to
    with pytest.raises(NotFresh, match="are from before"):
        change(frame)


def test_a_bundle_without_counts_is_refused(change: Change, bundle: SealedFiles) -> None:
    """Every bundle holds what certified its policy."""
    files = {name: content for name, content in bundle.files.items() if name != "score_counts.json"}
    with pytest.raises(BundleError, match=r"lacks score_counts\.json"):
        change(of=replace(bundle, files=files))


def test_policies_that_cannot_be_are_refused(
    change: Change, bundle: SealedFiles, identity: Configuration
) -> None:
    """Bounds that no thresholds keep, or above the ladder, the present policy, and another use are errors."""
    with pytest.raises(InfeasiblePolicy) as caught:
        change(max_step_up=0.07, max_missed_fraud=0.2)
    for row in caught.value.shortfalls:
        assert row.requested == {"max_step_up": 0.07, "max_missed_fraud": 0.2}[row.bound]
        assert row.possible in LADDER[row.bound]
        kept = {"max_step_up": 0.07, "max_missed_fraud": 0.2, row.bound: row.possible}
        assert change(**kept).policy.promises
    with pytest.raises(AboveLadder, match=r"max_step_up: 0\.9 is above 0\.8"):
        change(max_step_up=0.9)
    with pytest.raises(PolicyUnchanged, match="has this policy already"):
        scoring_model.change_policy(bundle)
    with pytest.raises(ConfigurationError, match="of the use other, the bundle of identity"):
        change_policy(bundle, replace(identity, name="other"))
