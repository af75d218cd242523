"""Label statistics in a training: folds see them as they are served, and they stay only where the folds show a gain."""

from dataclasses import replace
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.configuration import Configuration, ConfigurationError, load_configuration, read_settings
from scoring_model.features import FeatureMatrix, fit_known_labels
from scoring_model.features.label_statistics import DailyCounts
from scoring_model.findings import Code, State
from scoring_model.records import Column, RecordTable
from scoring_model.records.times import DAY
from scoring_model.training import fitting
from scoring_model.training import folds as folds_module
from scoring_model.training.folds import Lead, build_folds, cut_folds
from scoring_model.training.label_gain import leave_out_gainless
from scoring_model.training.leakage import run_leakage_checks
from scoring_model.training.preparation import Prepared, prepare, statistic_names

COUNT, SHOPS, DELAY = 4_000, 150, 5 * DAY
USE = {
    "name": "claims",
    "records": {"labels": {"fraud": ["1"], "genuine": ["0"], "delay": "5d"}},
    "signals": {"shop": {"type": "category"}, "amount": {"type": "number"}},
    "links": {"keys": {}},
    "features": {"families": ["signals", "label_statistics"]},
    "training": {
        "split": {"label_maturity": "5d", "burn_in": "0s", "min_frauds": 3},
        "leakage_checks": {"max_records": 1_000},
        "tuning": {"folds": 2, "max_rounds": 30, "patience": 5},
    },
}


@pytest.fixture(scope="module")
def use() -> Configuration:
    """A use with a category of many values and no burn-in."""
    return read_settings(Configuration, USE)


@pytest.fixture(scope="module")
def table() -> RecordTable:
    """Claims of 200 days at shops, some of which are nearly all fraud."""
    rng = np.random.default_rng(3)
    shops, times = rng.integers(0, SHOPS, COUNT), np.sort(rng.integers(0, 200 * DAY, COUNT))
    frauds = rng.random(COUNT) < np.where(shops % 7 == 0, 0.6, 0.05)
    return RecordTable(
        record_ids=tuple(map(str, range(COUNT))),
        event_times=times,
        columns={
            "signals.shop": Column(tuple(f"shop {shop}" for shop in range(SHOPS)), shops.astype(np.int32)),
            "signals.amount": Column(
                tuple(map(float, range(COUNT))), rng.permutation(COUNT).astype(np.int32)
            ),
        },
        labels=frauds.astype(np.int8),
        label_times=times + DELAY,
        source_rows=np.arange(COUNT),
    )


@pytest.fixture(scope="module")
def prepared(table: RecordTable, use: Configuration) -> Prepared:
    """The claims as the model sees them."""
    return prepare(table, use)


def test_folds_read_label_statistics_as_they_are_served(
    prepared: Prepared, table: RecordTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its origin a fold reads the tables of a training at its origin, and its bins hold these values."""
    train, learnt = prepared.split.train, prepared.learnt
    assert learnt is not None
    times = table.event_times[train]
    cuts = cut_folds(times, prepared.split.train_targets, 2)
    for number, (before, after) in enumerate(cuts):
        origin = int(times[after].min())
        known = fit_known_labels(table.before(origin), ["signals.shop"], delay=DELAY, until=origin)
        state = replace(prepared.matrix.state, known_labels=known)
        rows = FeatureMatrix(prepared.matrix.settings, state).value_rows(table.take(train[after]))
        for name in statistic_names(prepared.matrix):
            column = learnt.values[number][len(before) :, learnt.names.index(name)]
            assert column.tobytes() == rows[:, prepared.matrix.names.index(name)].tobytes()
        assert len(np.unique(column)) <= SHOPS + 1  # nothing moves after the origin
    seen: list[FloatArray] = []

    def binned(rows: FloatArray, targets: NDArray[np.int8], **options: Any) -> lgb.Dataset:
        seen.append(rows)
        return fitting.binned(rows, targets, **options)

    monkeypatch.setattr(folds_module, "binned", binned)
    folds = build_folds(
        prepared.rows[train],
        prepared.split.train_targets,
        cuts,
        features=prepared.feature_options,
        params={"verbosity": -1},
        thinning=1.0,
        seed=1,
        learnt=learnt,
    )
    places = [prepared.matrix.names.index(name) for name in learnt.names]
    for rows, values in zip(seen, learnt.values, strict=True):
        assert rows[:, places].tobytes() == values.tobytes()
    assert [fold.size for fold in folds] == [len(before) for before, _ in cuts]
    assert [len(fold.targets) for fold in folds] == [len(after) for _, after in cuts]


def test_statistics_that_gain_are_kept_and_others_are_left_out(
    prepared: Prepared, table: RecordTable, use: Configuration
) -> None:
    """Telling shops keep them; with shuffled labels they and their tables are gone, and the finding can name them."""
    lines: list[str] = []
    assert leave_out_gainless(prepared, use, threads=1, report=lines.append) is prepared
    # Of ten shuffles four lead by more than their standard error over two folds: this is one of them.
    shuffled = replace(table, labels=np.random.default_rng(0).permutation(table.labels))
    noise = prepare(shuffled, use)
    left = leave_out_gainless(noise, use, threads=1, report=lines.append)
    assert (statistic_names(left.matrix), left.learnt) == ((), None)
    assert not left.matrix.state.known_labels.fields
    assert left.rows.shape[1] == len(left.matrix.names) == noise.rows.shape[1] - 2
    assert set(left.useless) - set(noise.useless) == set(statistic_names(noise.matrix))
    assert [line.rpartition(": ")[2] for line in lines] == ["kept", "left out"]
    few = replace(noise, learnt=None)
    assert "none can be cut" in str(leave_out_gainless(few, use, threads=1, report=lines.append).useless)


def test_leakage_checks_compute_the_statistics_again(
    prepared: Prepared, use: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sound statistics are clear; those that read ten days too many are found by removing later records."""
    settings = use.training.leakage_checks
    clear = run_leakage_checks(prepared, settings, seed=7)
    assert {one.state for one in clear} == {State.CLEAR}
    sound = DailyCounts.before
    monkeypatch.setattr(DailyCounts, "before", lambda counts, day: sound(counts, day + 10))
    leaky = replace(prepared, rows=prepared.matrix.rows(prepared.table))
    found = run_leakage_checks(leaky, settings, seed=7)
    assert Code.FUTURE in [one.code for one in found if one.state is State.FOUND]


def test_a_lead_is_clear_beyond_its_standard_error() -> None:
    """The standard error is that of the mean; one fold has none."""
    lead = Lead.of([0.3, 0.5], [0.2, 0.2])
    assert [lead.mean, lead.error] == pytest.approx([0.2, 0.1])
    assert (lead.is_clear, Lead.of([0.2], [0.2]).is_clear, Lead.of([0.2], [0.1]).is_clear) == (
        True,
        False,
        True,
    )


def test_a_lead_is_sure_beyond_what_noise_leads_by() -> None:
    """Of differences without a mean at most one set in nine is; one in five exceeds its standard error."""
    draws = np.random.default_rng(5).normal(size=(2_000, 3))
    for folds in (2, 3):
        leads = [Lead.of(draw[:folds].tolist(), [0.0] * folds) for draw in draws]
        assert np.mean([lead.is_sure for lead in leads]) < 1 / 9
        assert np.mean([lead.is_clear for lead in leads]) > 0.18
    assert Lead.of([0.3, 0.31, 0.32], [0.2, 0.2, 0.2]).is_sure
    assert not Lead.of([0.2], [0.1]).is_sure


def test_thinned_trainings_have_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A training that leaves records out cannot count all of them."""
    path = tmp_path_factory.mktemp("use") / "use.yaml"
    path.write_text(
        "{name: x, signals: {shop: {type: category}}, features: {families: [signals, label_statistics]}, "
        "training: {thinning: {genuine: 0.5}}}"
    )
    with pytest.raises(ConfigurationError, match=r"features.families: label_statistics counts all records"):
        load_configuration(path)
