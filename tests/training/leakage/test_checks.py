"""Leaks that were planted are found, each by its leakage check."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import Configuration, LeakageSettings
from scoring_model.evaluation.metrics import Ranking
from scoring_model.evaluation.single_column import single_auc
from scoring_model.features import FeatureMatrix
from scoring_model.findings import State
from scoring_model.history import LinkCounts, WindowSpec
from scoring_model.history import sweep as sweeps
from scoring_model.history.amounts import TableAmounts
from scoring_model.history.sweep import TableLabels
from scoring_model.records import Column, RecordTable
from scoring_model.training.leakage import LeakageError, refuse_leaks, run_leakage_checks
from scoring_model.training.leakage.future_leakage import check_future_leakage
from scoring_model.training.leakage.label_permutation import check_label_permutation
from scoring_model.training.leakage.shared_persons import check_shared_persons
from scoring_model.training.leakage.single_feature import check_single_features
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.run import Training, run_training

SEEDS = range(2)
SETTINGS = LeakageSettings()


@pytest.fixture(scope="module")
def prepared(small_table: RecordTable, small_use: Configuration) -> Prepared:
    """The history as the model sees it."""
    return prepare(small_table, small_use)


def numeric_column(values: list[float | None]) -> Column:
    """A column of numbers, None where missing."""
    distinct = {value: code for code, value in enumerate(dict.fromkeys(v for v in values if v is not None))}
    codes = [-1 if value is None else distinct[value] for value in values]
    return Column(tuple(distinct), np.array(codes, dtype=np.int32))


def with_signal(table: RecordTable, values: list[float | None]) -> RecordTable:
    """The history with other values of a signal that the model reads as a number."""
    return replace(table, columns={**table.columns, "signals.formSeconds": numeric_column(values)})


def test_a_sound_history_has_no_leak(prepared: Prepared) -> None:
    """On the invented history every check comes to a verdict, and it is that nothing leaks."""
    found = run_leakage_checks(prepared, SETTINGS, seed=7)
    assert [finding.code for finding in found] == ["SM001", "SM002", "SM003", "SM004"]
    assert {finding.state for finding in found} == {State.CLEAR}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_of_the_label_is_found(prepared: Prepared, seed: int) -> None:
    """A signal that copies the label, and one that does so with noise, are found and named."""
    rng = np.random.default_rng(seed)
    fraud = (prepared.table.labels == 1).astype(np.float64)
    noisy = fraud + rng.normal(0, 0.25, len(fraud))
    for values in (fraud, noisy):
        rows = prepared.rows.copy()
        rows[:, prepared.matrix.names.index("signal_form_seconds")] = values
        leaky = replace(prepared, rows=rows)
        found = check_single_features(leaky, SETTINGS, seed=seed)
        assert (found.state, found.names) == (State.FOUND, ("signal_form_seconds",))
        assert "signal_form_seconds has an AUC of " in found.sentence


@pytest.mark.parametrize("how", ["missing", "one value", "in the middle", "reversed"])
def test_a_copy_is_found_however_it_is_written(
    how: str, prepared: Prepared, small_table: RecordTable
) -> None:
    """A label that is copied as a gap, as one value among many, from the middle or upside down is found."""
    rng = np.random.default_rng(0)
    fraud = small_table.labels == 1
    values = rng.uniform(0, 10, len(small_table))
    mark = {"missing": np.nan, "one value": 3.25, "in the middle": 5.0, "reversed": -1.0}[how]
    noise = rng.normal(0, 0.001, len(small_table)) if how == "in the middle" else np.zeros(len(small_table))
    if how == "in the middle":
        values[np.abs(values - 5) < 0.5] = 9.0
    values[fraud] = mark + noise[fraud]
    rows = prepared.rows.copy()
    rows[:, prepared.matrix.names.index("signal_form_seconds")] = values
    found = check_single_features(replace(prepared, rows=rows), SETTINGS, seed=7)
    assert found.names == ("signal_form_seconds",)


@pytest.mark.parametrize("seed", SEEDS)
def test_direction_does_not_matter(seed: int) -> None:
    """A number and its negative have the same area, which is at least that of their order."""
    rng = np.random.default_rng(seed)
    targets = np.repeat(np.array([1, 0], dtype=np.int8), (10, 190))
    values = 2 * targets + rng.normal(size=200)
    by_order = Ranking.of(values, targets).roc_auc()
    assert by_order is not None
    assert single_auc(values, targets, categorical=False) >= by_order > 0.8
    assert single_auc(-values, targets, categorical=False) >= by_order


def test_a_category_that_copies_the_label_is_found(
    small_table: RecordTable, small_use: Configuration
) -> None:
    """Categories have no order: frauds with two of five codes, in between those of others, are found."""
    rng = np.random.default_rng(1)
    letters = np.where(
        small_table.labels == 1, rng.choice([1, 3], len(small_table)), rng.choice([0, 2, 4], len(small_table))
    )
    column = Column.compact(tuple("abcde"), letters.astype(np.int32))
    table = replace(small_table, columns={**small_table.columns, "signals.channel": column})
    assert check_single_features(prepare(table, small_use), SETTINGS, seed=7).names == ("signal_channel",)


def leaky_sweep(
    keys: IntArray,
    times: IntArray,
    persons: IntArray,
    labels: TableLabels,
    spec: WindowSpec,
    amounts: Sequence[TableAmounts] = (),
    first: int = 0,
) -> LinkCounts:
    """Count the past as the law says, and the record's own label with it."""
    counts = SWEEP(keys, times, persons, labels, spec, amounts, first=first)
    own = np.zeros(len(keys), dtype=np.int32)
    own[labels.rows[labels.frauds]] = 1
    counts.frauds[:] += np.where(keys >= 0, own, 0).astype(np.int32)[first:, None]
    return counts


SWEEP = sweeps.sweep


def test_an_own_label_is_found_by_shuffling(
    small_table: RecordTable, small_use: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A law that counts a record's own label is found, and its features are named, whatever the seed."""
    monkeypatch.setattr(sweeps, "sweep", leaky_sweep)
    leaky = prepare(small_table, small_use)
    for seed in SEEDS:
        found = check_label_permutation(leaky, SETTINGS, seed=seed)
        assert found.state is State.FOUND
        assert found.figures["auc"] > 0.8
        assert all(name.startswith("link_") and "_fraud" in name for name in found.names)
        assert len(found.names) == 5


def test_shuffling_does_not_take_a_copied_column_for_ours(
    small_table: RecordTable, small_use: Configuration
) -> None:
    """What a user supplies stays where it is when labels are shuffled: only the check of single features finds it."""
    fraud = (small_table.labels == 1).astype(np.float64)
    leaky = prepare(with_signal(small_table, fraud.tolist()), small_use)
    assert check_label_permutation(leaky, SETTINGS, seed=7).state is State.CLEAR
    assert check_single_features(leaky, SETTINGS, seed=7).state is State.FOUND


def reaching(ahead: int, what: str) -> type[FeatureMatrix]:
    """A matrix one of whose features reads what follows within `ahead` microseconds."""

    class Reaching(FeatureMatrix):
        def rows(self, table: RecordTable, first: int = 0) -> FloatArray:
            rows = super().rows(table, first)
            keys = table.column("signals.deviceId").codes
            order = np.lexsort((table.event_times, keys))
            early, late = order[:-1], order[1:]
            same = (keys[early] == keys[late]) & (keys[early] >= 0)
            near = same & (table.event_times[late] - table.event_times[early] < ahead)
            if what == "labels":
                near &= table.labels[early] == 1
                rows[late[near], 0] += 1
            else:
                rows[early[near], 0] += 1
            return rows

    return Reaching


@pytest.mark.parametrize(
    ("ahead", "what"), [(10**12, "records"), (3_600_000_000, "records"), (10**14, "labels")]
)
def test_a_look_ahead_is_found(prepared: Prepared, ahead: int, what: str) -> None:
    """A feature that sees records to come, an hour or days ahead, or labels before they are known, is named."""
    matrix = reaching(ahead, what)(prepared.matrix.settings, prepared.matrix.state)
    leaky = replace(prepared, matrix=matrix, rows=matrix.rows(prepared.table))
    found = check_future_leakage(leaky, SETTINGS)
    assert (found.state, found.names) == (State.FOUND, (prepared.matrix.names[0],))


def test_a_share_of_the_whole_table_is_found(prepared: Prepared) -> None:
    """A feature that is scaled by all records, as by a mean, is found."""

    class Scaled(FeatureMatrix):
        def rows(self, table: RecordTable, first: int = 0) -> FloatArray:
            rows = super().rows(table, first)
            rows[:, 3] -= np.nanmean(rows[:, 3])
            return rows

    matrix = Scaled(prepared.matrix.settings, prepared.matrix.state)
    leaky = replace(prepared, matrix=matrix, rows=matrix.rows(prepared.table))
    assert check_future_leakage(leaky, SETTINGS).names == (prepared.matrix.names[3],)


def test_a_person_on_both_sides_is_found(prepared: Prepared, small_table: RecordTable) -> None:
    """One person of validation or test who also trains is found, as is one who is spelled otherwise."""
    for part in (prepared.split.validation, prepared.split.test):
        source, place = int(part[5]), int(prepared.split.train[9])
        columns = dict(small_table.columns)
        for name in ("firstName", "lastName", "dob"):
            given = small_table.column(name)
            values, codes = [*given.values], given.codes.copy()
            copied = values[codes[source]]
            if name != "dob":
                values.append(str(copied).upper() + " ")
                codes[place] = len(values) - 1
            else:
                codes[place] = codes[source]
            columns[name] = Column.compact(tuple(values), codes)
        twice = replace(prepared, table=replace(small_table, columns=columns))
        found = check_shared_persons(twice)
        assert (found.state, found.figures["persons"]) == (State.FOUND, 1)
        assert "1 persons are on both sides" in found.sentence


def test_a_record_in_two_parts_is_found(prepared: Prepared) -> None:
    """A record that trains and is judged is found, as is a part that begins before the last one ends."""
    split = prepared.split
    train = np.concatenate([split.train[:-1], split.test[:1]])
    targets = np.concatenate([split.train_targets[:-1], split.test_targets[:1]])
    found = check_shared_persons(replace(prepared, split=replace(split, train=train, train_targets=targets)))
    assert (found.figures["records"], found.figures["overlaps"]) == (1, 1)


def test_no_false_alarm_over_many_seeds(prepared: Prepared) -> None:
    """Of 12 shuffles none is beyond four standard errors, and they spread as one standard error says.

    Of sound trainings four standard errors stop 6 in 100,000; the standard deviation of 12 draws of a normal
    distribution lies within 0.354 to 1.783 of its own but for 5 in 10,000 cases (chi-squared, 11 degrees).
    """
    found = [check_label_permutation(prepared, SETTINGS, seed=seed) for seed in range(12)]
    z = np.array([(f.figures["auc"] - 0.5) / f.figures["standard_error"] for f in found])
    assert {finding.state for finding in found} == {State.CLEAR}
    assert 0.354 < z.std(ddof=1) < 1.783
    assert abs(z.mean()) < 4 / 12**0.5


def test_too_few_frauds_are_no_verdict(prepared: Prepared) -> None:
    """An inconclusive check says so, and stops nothing."""
    table = replace(prepared.table, labels=np.zeros_like(prepared.table.labels))
    split = replace(prepared.split, train_targets=np.zeros_like(prepared.split.train_targets))
    few = replace(prepared, table=table, split=split)
    found = (check_label_permutation(few, SETTINGS, seed=7), check_single_features(few, SETTINGS, seed=7))
    assert [finding.state for finding in found] == [State.NOT_APPLICABLE] * 2
    refuse_leaks(found, ())


@pytest.fixture(scope="module")
def leaky_small(small_table: RecordTable) -> RecordTable:
    """A small history with a signal that copies the label."""
    return with_signal(small_table, (small_table.labels == 1).astype(np.float64).tolist())


def with_leakage_checks(configuration: Configuration, settings: LeakageSettings) -> Configuration:
    """The same use with other leakage."""
    return replace(configuration, training=replace(configuration.training, leakage_checks=settings))


def test_a_leak_stops_a_training_before_the_search(
    leaky_small: RecordTable, small_use: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the check and the feature and says what to do; nothing is fitted."""
    monkeypatch.setattr("scoring_model.training.run.fit_forest", None)
    monkeypatch.setattr("scoring_model.training.run.tune", None)
    with pytest.raises(LeakageError) as caught:
        run_training(
            leaky_small, with_leakage_checks(small_use, LeakageSettings(max_records=2000)), threads=1
        )
    text = str(caught.value)
    assert "SM002 single_features: on its own signal_form_seconds has an AUC of " in text
    assert "features.exclude" in text
    assert "training.leakage_checks.tolerate: [single_features]" in text
    assert [leak.code for leak in caught.value.leaks] == ["SM002"]


def test_a_tolerated_leak_is_in_the_card(leaky_small: RecordTable, small_use: Configuration) -> None:
    """Only the configuration lets a leak pass, and the card reports it."""
    tolerant = with_leakage_checks(small_use, LeakageSettings(tolerate=("single_features",)))
    done = run_training(leaky_small, tolerant, threads=1)
    card = done.bundle.files["card.md"].decode()
    assert "| SM002 | Each feature alone | error | found (1) | " in card
    assert "signal_form_seconds has an AUC of " in card
    assert "; tolerated by training.leakage_checks.tolerate |" in card


def test_checks_that_did_not_run_are_in_the_card(leaky_small: RecordTable, small_use: Configuration) -> None:
    """The configuration may turn all checks off, and the card reports that."""
    done = run_training(leaky_small, small_use, threads=1)
    assert done.bundle.files["card.md"].decode().count("turned the leakage checks off") == 4
    assert {one.state for one in done.evaluation.findings[:4]} == {State.NOT_APPLICABLE}


def test_findings_of_a_sound_training_are_in_the_card(training: Training) -> None:
    """The card lists every check, with its result, and what can't be seen from the records is said."""
    card = training.bundle.files["card.md"].decode()
    found = training.evaluation.findings
    assert all(
        f"| {f.code} | {f.check.title} | {f.check.severity} | {f.verdict} | {f.records:,} | " in card
        for f in found
    )
    assert [f.code for f in found if f.check.of_training and f.state is State.CLEAR][:4] == [
        "SM001",
        "SM002",
        "SM003",
        "SM004",
    ]
    assert "Columns that users supply were checked one by one" in card
