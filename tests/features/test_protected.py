"""Protected attributes: a one-to-one exchange of their values over a whole history changes nothing by default."""

import dataclasses
from collections.abc import Mapping
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_tables import LINKS, SIGNALS, STATE, tables
from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.contract.rules import COUNTRIES
from scoring_model.features import FeatureMatrix, FeatureSettings, fit_state
from scoring_model.records import RecordTable
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table

DEFAULT = FeatureMatrix(FeatureSettings(signals=SIGNALS, links=LINKS), STATE)
_LEAP_YEARS = [str(year) for year in range(1904, 2024, 4)]
_OTHER_YEARS = [str(year) for year in range(1900, 2024) if str(year) not in _LEAP_YEARS]


def shuffled(values: list[str], random: Random) -> dict[str, str]:
    """Each value's new one, never itself where there are several."""
    order = random.sample(values, len(values))
    return dict(zip(order, order[1:] + order[:1], strict=True))


def relabelled(table: RecordTable, random: Random) -> RecordTable:
    """The same records with other citizenships, sexes and years of birth, one to one."""
    citizenships = shuffled(sorted(COUNTRIES), random)
    sexes = shuffled(sorted(map(str, table.column("signals.sex").values)), random)
    # Among leap years and among others, so that a 29th of February stays a day of the calendar.
    years = shuffled(_LEAP_YEARS, random) | shuffled(_OTHER_YEARS, random)
    exchanges: dict[str, Mapping[str, str]] = {
        "citizenship": citizenships,
        "signals.sex": sexes,
        "dob": {str(d): years[str(d)[:4]] + str(d)[4:] for d in table.column("dob").values},
    }
    columns = {
        name: dataclasses.replace(column, values=tuple([exchanges[name][str(v)] for v in column.values]))
        if name in exchanges
        else column
        for name, column in table.columns.items()
    }
    return dataclasses.replace(table, columns=columns)


def same_bits(one: FloatArray, other: FloatArray) -> bool:
    """NaN equals NaN, and -0.0 is not 0.0."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()


@settings(max_examples=30)
@given(tables(), st.randoms(use_true_random=False))
def test_relabelling_protected_values_changes_no_row(table: RecordTable, random: Random) -> None:
    """Of any table, links included: they keep who is the same person, not who it is."""
    assert same_bits(DEFAULT.rows(relabelled(table, random)), DEFAULT.rows(table))


def test_relabelling_a_history_changes_no_decision(scorer: Scorer, history: RecordTable) -> None:
    """The whole path: what is fitted, rows, scores, outcomes and reasons of a trained model stay as they are."""
    history = history.take(np.arange(len(history) - 8_000, len(history)))
    other = relabelled(history, Random(5))
    settings = scorer.matrix.settings
    assert not settings.use_protected
    burn_in = np.arange(len(history) // 4)
    for state in (scorer.matrix.state, fit_state(other.take(burn_in), settings)):
        assert same_bits(
            FeatureMatrix(settings, state).rows(other), FeatureMatrix(settings, state).rows(history)
        )
    fitted, anew = fit_state(history.take(burn_in), settings), fit_state(other.take(burn_in), settings)
    for name in ("names", "lines", "documents"):
        assert getattr(fitted, name).counts == getattr(anew, name).counts, name
    last = np.arange(len(history) - 2_000, len(history))
    before, after = (score_table(scorer, table.take(last)) for table in (history, other))
    assert same_bits(after.decisions.margins, before.decisions.margins)
    assert np.array_equal(after.decisions.scores, before.decisions.scores)
    assert np.array_equal(after.decisions.outcomes, before.decisions.outcomes)
    assert after.reasons == before.reasons


def test_features_that_read_them_would_change(scorer: Scorer, history: RecordTable) -> None:
    """The relabelling is none that nobody could see: features that are named after all do see it."""
    settings = dataclasses.replace(scorer.matrix.settings, use_protected=("age", "citizenship", "sex"))
    matrix = FeatureMatrix(settings, scorer.matrix.state)
    some = history.take(np.arange(2_000))
    before, after = matrix.rows(some), matrix.rows(relabelled(some, Random(1)))
    changed = {matrix.names[column] for column in np.flatnonzero(~_equal_columns(before, after))}
    protected = {feature.name for feature in matrix.features if feature.protected}
    assert changed <= protected
    assert {"age", "birth_round_year", "citizenship", "citizenship_abroad", "signal_sex"} <= changed


def _equal_columns(one: FloatArray, other: FloatArray) -> BoolArray:
    equal: BoolArray = (one.view(np.int64) == other.view(np.int64)).all(axis=0)
    return equal
