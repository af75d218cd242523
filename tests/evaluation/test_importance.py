"""Importance is the mean absolute contribution, over few records drawn from many."""

import numpy as np
import pytest

from scoring_model.evaluation.importance import family_names, measure_importance, sample_rows
from scoring_model.records import RecordTable
from scoring_model.scorer import Scorer


@pytest.fixture(scope="module")
def rows(scorer: Scorer, history: RecordTable) -> np.ndarray:
    """Inputs of the model of four hundred records."""
    return scorer.matrix.rows(history)[::60]


def test_weights_are_means_of_absolute_contributions(
    scorer: Scorer, history: RecordTable, rows: np.ndarray
) -> None:
    """Each weight is what a loop over the records gives, inside its interval, heaviest first."""
    found = measure_importance(
        rows,
        explain=scorer.contributions,
        matrix=scorer.matrix,
        event_times=history.event_times[::60],
        records=len(history),
    )
    given = np.array([scorer.contributions(row) for row in rows])
    sizes = dict(zip(scorer.matrix.names, np.abs(given).mean(axis=0), strict=True))
    assert {weight.name: weight.weight.value for weight in found.features} == pytest.approx(sizes)
    assert [weight.weight.value for weight in found.features] == sorted(sizes.values(), reverse=True)
    for weight in (*found.features, *found.families):
        assert weight.weight.low <= weight.weight.value <= weight.weight.high  # type: ignore[operator]
    names = family_names(scorer.matrix)
    for family in found.families:
        members = [names[name] == family.name for name in scorer.matrix.names]
        assert family.features == sum(members)
        assert family.weight.value == pytest.approx(np.abs(given[:, members].sum(axis=1)).mean())
    assert sum(family.features for family in found.families) == len(scorer.matrix.names)
    margins = scorer.decide(rows).margins
    np.testing.assert_allclose(found.contributions.sum(axis=1) + scorer.base, margins, atol=1e-9)
    columns = [weight.name for weight in found.features]
    first = scorer.matrix.names.index(columns[0])
    np.testing.assert_array_equal(found.values[:, 0], rows[:, first])


def test_few_records_are_all_explained_and_many_are_drawn() -> None:
    """A draw has no record twice, keeps their order and depends on the numbers alone."""
    assert sample_rows(7).tolist() == list(range(7))
    drawn = sample_rows(1000, limit=50)
    assert len(set(drawn.tolist())) == 50
    assert drawn.tolist() == sorted(drawn.tolist()) == sample_rows(1000, limit=50).tolist()
