"""What the recall loses without a family of features."""

from dataclasses import replace

import numpy as np

from scoring_model.configuration import Configuration
from scoring_model.estimates import NamedEstimates
from scoring_model.records import RecordTable
from scoring_model.training.ablation import measure_recall_lost
from scoring_model.training.preparation import Prepared, prepare


def lost_of(prepared: Prepared, use: Configuration) -> NamedEstimates:
    """What is lost where one column has the label and all others noise."""
    assert use.training.tuned is not None
    tuned = replace(use.training.tuned, rounds=5)  # the first trees use the label alone
    generator = np.random.default_rng(1)
    rows = generator.normal(size=prepared.rows.shape)
    rows[:, list(prepared.feature_options["categorical"])] = 0.0
    place = prepared.matrix.names.index("signal_email_age_days")
    for part, targets in (
        (prepared.split.train, prepared.split.train_targets),
        (prepared.split.test, prepared.split.test_targets),
    ):
        rows[part, place] = np.where(targets == 1, -1.0, 1.0)
    return measure_recall_lost(replace(prepared, rows=rows), tuned, seed=7, threads=1)


def test_only_a_family_that_tells_frauds_is_missed(
    small_table: RecordTable, small_use: Configuration
) -> None:
    """Its family carries the recall, and no other does; the interval rests on the rings of the frauds."""
    prepared = prepare(small_table, small_use)
    frauds = (np.arange(len(prepared.split.test)) % 20 == 0) | (prepared.split.test_targets == 1)
    split = replace(prepared.split, test_targets=frauds.astype(np.int8))
    lost = lost_of(replace(prepared, split=split), small_use)
    assert lost["signals"].value is not None
    assert lost["signals"].value > 0.8
    assert (lost["signals"].low or 0.0) > 0.6
    assert {found.value for name, found in lost.items() if name != "signals"} == {0.0}
    rings = prepared.rings(split.evaluated)
    independent = len(np.unique(rings[rings >= 0]))
    assert (lost["signals"].independent, lost["signals"].records) == (independent, frauds.sum())
    assert 10 <= independent < frauds.sum()


def test_few_rings_give_no_interval(small_table: RecordTable, small_use: Configuration) -> None:
    """Five frauds of four rings lie on days enough, but say nothing of others."""
    lost = lost_of(prepare(small_table, small_use), small_use)["signals"]
    assert (lost.records, lost.independent, lost.absence) == (5, 4, "few independent")
    assert (lost.low, lost.high) == (None, None)
