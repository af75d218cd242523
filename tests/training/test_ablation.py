"""What the recall loses without a family of features."""

from dataclasses import replace

import numpy as np

from scoring_model.configuration import Configuration
from scoring_model.records import RecordTable
from scoring_model.training.ablation import measure_recall_lost
from scoring_model.training.preparation import prepare


def test_only_a_family_that_tells_frauds_is_missed(
    small_table: RecordTable, small_use: Configuration
) -> None:
    """With the label in one column and noise in all others, its family carries the recall, and no other does."""
    prepared = prepare(small_table, small_use)
    assert small_use.training.tuned is not None
    tuned = replace(small_use.training.tuned, rounds=5)  # the first trees use the label alone
    generator = np.random.default_rng(1)
    rows = generator.normal(size=prepared.rows.shape)
    rows[:, list(prepared.feature_options["categorical"])] = 0.0
    place = prepared.matrix.names.index("signal_email_age_days")
    for part, targets in (
        (prepared.split.train, prepared.split.train_targets),
        (prepared.split.test, prepared.split.test_targets),
    ):
        rows[part, place] = np.where(targets == 1, -1.0, 1.0)
    lost = measure_recall_lost(replace(prepared, rows=rows), tuned, seed=7, threads=1)
    assert lost["signals"].value is not None
    assert lost["signals"].value > 0.8
    assert (lost["signals"].low or 0.0) > 0.6
    assert {found.value for name, found in lost.items() if name != "signals"} == {0.0}
