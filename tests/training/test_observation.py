"""Records that were not observed in a training: they have no class with age alone, and promises allow for them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from scoring_model.arrays import BoolArray
from scoring_model.bundle import Profile, ReferenceDays, ScoreCounts
from scoring_model.configuration import Configuration, PolicySettings, SplitSettings
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules
from scoring_model.evaluation import summary
from scoring_model.evaluation.holdout import EvaluationOptions, evaluate_table
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.monitoring import monitor
from scoring_model.records import NEVER, RecordTable
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer
from scoring_model.training.assembly import fit_rules
from scoring_model.training.run import Training, run_training
from scoring_model.training.split import Split, split

SETTINGS = SplitSettings(
    burn_in=10 * DAY, train=0.6, validation=0.2, test=0.2, gap=DAY, label_maturity=10 * DAY, min_frauds=5
)
RECORDS = 4_000


def cut(observed: BoolArray | None, *, labelled: BoolArray | None = None) -> Split:
    """Split records of 400 days; one in ten is a fraud that became known, and nobody else has a label."""
    times = np.linspace(0, 400 * DAY, RECORDS).astype(np.int64)
    known = np.arange(RECORDS) % 10 == 0
    known = known if labelled is None else known & labelled
    never = np.iinfo(np.int64).max
    return split(
        times,
        np.where(known, 1, -1).astype(np.int8),
        np.where(known, times + 1, never),
        np.arange(RECORDS, dtype=np.int64),
        SETTINGS,
        observed=observed,
    )


def test_the_stopped_have_no_class_with_age() -> None:
    """Without a label they are in no part; with one they train, and are never judged."""
    observed = np.arange(RECORDS) % 3 != 0
    found = cut(observed)
    stopped = np.flatnonzero(~observed)
    labelled = stopped[stopped % 10 == 0]
    assert not np.isin(stopped, np.concatenate([found.validation, found.test])).any()
    trained = np.intersect1d(stopped, found.train)
    assert len(trained)
    assert np.isin(trained, labelled).all()
    assert (found.train_targets[np.isin(found.train, trained)] == 1).all()
    for part in found.summaries:
        assert part.genuine + part.frauds + sum(part.left_out.values()) == part.records


def test_stopped_records_of_validation_may_be_genuine() -> None:
    """All of its period but known frauds; none where everyone was observed."""
    observed = np.arange(RECORDS) % 3 != 0
    found, everyone = cut(observed), cut(None)
    period = np.setdiff1d(np.arange(everyone.validation.min(), everyone.validation.max() + 1), [])
    expected = period[(period % 3 == 0) & (period % 10 != 0)]
    assert found.stopped.tolist() == expected.tolist()
    test = np.arange(everyone.test.min(), everyone.test.max() + 1)
    unseen = found.evaluated.not_observed
    assert (found.evaluated.name, unseen.rows.tolist()) == ("test", test[test % 3 == 0].tolist())
    assert unseen.targets.tolist() == np.where(unseen.rows % 10 == 0, 1, -1).tolist()
    assert len(everyone.evaluated.not_observed.rows) == 0
    assert len(everyone.stopped) == 0


@pytest.fixture(scope="module")
def stopping(small_table: RecordTable, small_use: Configuration) -> tuple[RecordTable, Training]:
    """Records of which one in twenty was stopped, and a training on them."""
    at = small_table.event_times
    table = replace(small_table, observed_until=np.where(np.arange(len(at)) % 20 == 0, at, NEVER))
    return table, run_training(table, small_use, threads=1)


def test_a_training_says_of_the_stopped_what_an_evaluation_says(
    small_table: RecordTable, stopping: tuple[RecordTable, Training], tmp_path: Path
) -> None:
    """Its report counts them first, and its promises allow for them."""
    at, (table, found) = small_table.event_times, stopping
    part = found.split.evaluated
    period = np.flatnonzero((at >= part.start) & (at < part.end))
    stopped = int(np.count_nonzero(period % 20 == 0))
    path = found.bundle.save(tmp_path / "bundle")
    scorer = Scorer.load(path)
    options = EvaluationOptions(as_of=found.split.boundaries.as_of)
    later = evaluate_table(
        scorer, table.take(period), options=options, history=table.take(np.flatnonzero(at < part.start))
    )
    told = [
        next(row.sentence for row in one.findings if row.code == "SM013") for one in (found.evaluation, later)
    ]
    assert told[0].startswith(f"{stopped} applicants (")
    assert told[0] == told[1]
    assert found.evaluation.stopped == later.stopped
    assert f"Figures are those of the {len(part.rows):,} who were observed" in summary(found.evaluation)


def test_the_reference_of_monitoring_is_about_all_applicants(
    small: Path, small_table: RecordTable, stopping: tuple[RecordTable, Training], tmp_path: Path
) -> None:
    """A window holds all applicants too; without the stopped ones every window would have drifted."""
    at, (_, found) = small_table.event_times, stopping
    parts, files = found.split, found.bundle.files
    days = ReferenceDays.from_bytes(files["reference_days.npz"])
    limits = parts.boundaries
    everyone = int(np.count_nonzero((at >= limits.validation_from) & (at < limits.validation_to)))
    assert days.records.sum() == days.outcomes.sum() == everyone > len(parts.validation)
    assert Profile.from_bytes(files["profile.json"]).records == everyone
    assert days.by_margin.sum() == len(parts.validation)
    assert days.frauds.sum() == parts.validation_targets.sum()
    records = pq.read_table(small)
    shown = monitor(
        found.bundle.save(tmp_path / "bundle"), records.slice(4_500), history=records.slice(0, 4_500)
    )
    unseen = everyone - len(parts.validation)
    share = share_of(int(days.frauds.sum()) + unseen, everyone)
    assert share.high is not None
    assert shown.prevalence.cap == 2 * share.high
    assert "where those who were stopped count as frauds" in " ".join(shown.notes)


def test_an_observed_world_is_split_as_before() -> None:
    """Where all were observed, saying so changes nothing."""
    one, other = cut(None), cut(np.ones(RECORDS, dtype=np.bool_))
    for name in (
        "burn_in",
        "train",
        "validation",
        "test",
        "train_targets",
        "validation_targets",
        "test_targets",
    ):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert one.summaries == other.summaries


def rules_of(stopped: int, margin: float) -> tuple[DecisionRules, ScoreCounts]:
    """Fit rules to 5,000 genuine records and 200 frauds, beside stopped ones of one margin."""
    drawn = np.random.default_rng(3)
    targets = np.repeat([0, 1], [5_000, 200]).astype(np.int8)
    margins = drawn.normal(targets * 3.0, 1.0)
    rules, _, counts = fit_rules(
        margins,
        targets,
        stopped=np.full(stopped, margin),
        persons=np.concatenate([np.arange(5_000), 5_200 + np.arange(stopped)]),
        rings=5_000 + np.arange(200),
        until=0,
        settings=PolicySettings(
            max_false_reject=0.02, max_step_up=0.05, max_missed_fraud=None, confidence=0.95
        ),
        calibration=Platt(slope=1.0, intercept=0.0),
    )
    return rules, counts


def test_bounds_count_each_stopped_record_as_genuine() -> None:
    """Those whom the model would stop again make its thresholds milder; it fails none of many."""
    plain, counts = rules_of(0, 5.0)
    strict, more = rules_of(40, 5.0)
    assert strict.policy.fail_from > plain.policy.fail_from
    assert int(more.persons.sum()) == int(counts.persons.sum()) + 40
    assert np.array_equal(more.genuine, counts.genuine)
    assert np.array_equal(strict.scale.cuts, plain.scale.cuts)
    none, _ = rules_of(1_000, 5.0)
    assert none.policy.fail_from > int(none.scale.scores(np.array([5.0]))[0])


@pytest.mark.parametrize("margin", [-5.0])
def test_stopped_records_that_pass_now_break_no_promise(margin: float) -> None:
    """A model that lets them pass may promise as much as without them."""
    plain, _ = rules_of(0, margin)
    found, _ = rules_of(1_000, margin)
    assert found.policy.fail_from <= plain.policy.fail_from
