"""State fitted on a burn-in contains nothing of few persons and survives JSON unchanged."""

import json

import numpy as np
import pytest
from hypothesis import given, settings

from feature_tables import LINKS, SIGNALS, table_of, tables
from scoring_model.evaluation.single_column import single_auc
from scoring_model.features import FeatureSettings, FittedState, fit_state
from scoring_model.features.state import MAX_LEVELS, Vocabulary
from scoring_model.records import RecordTable

SETTINGS = FeatureSettings(signals=SIGNALS, links=LINKS)


def group(size: int, **values: object) -> RecordTable:
    """Records of `size` persons who share some values."""
    rows = [{"subjectId": f"s{i}", **values} for i in range(size)]
    return table_of(rows, range(size), [(-1, 0)] * size)


def test_values_of_fewer_than_five_persons_are_dropped() -> None:
    """Four persons leave no trace; five do."""
    shared = {"signals.channel": "kiosk", "firstName": "Zoë", "address.country": "NA"}
    few, enough = fit_state(group(4, **shared), SETTINGS), fit_state(group(5, **shared), SETTINGS)
    assert few.vocabulary("signals.channel").values == ()
    assert few.names.counts == {}
    assert enough.vocabulary("signals.channel").values == ("kiosk",)
    assert enough.vocabulary("address.country").values == ("NA",)
    assert enough.names.counts["zoë"] == 5


def test_one_person_who_comes_often_is_one_person() -> None:
    """Repeated records of a person do not make a group."""
    table = group(4, **{"signals.channel": "kiosk"})
    often = table.take(np.array([0, 0, 0, 1, 2, 3]))
    assert fit_state(often, SETTINGS).vocabulary("signals.channel").values == ()


@pytest.mark.parametrize(("levels", "power"), [(300, 1.0), (2_000, 0.0)])
def test_codes_do_not_tell_the_records_of_the_fit_from_new_ones(levels: int, power: float) -> None:
    """Own against new values of a noise category give an AUC of at most .51, with rare values and with too many."""
    rng, count = np.random.default_rng(5), 40_000
    shares = np.arange(1, levels + 1) ** -power
    own, new = rng.choice(levels, (2, count), p=shares / shares.sum())
    persons = np.bincount(own, minlength=levels).tolist()
    vocabulary = Vocabulary.fit([(str(level), persons[level]) for level in range(levels)])
    assert len(vocabulary.values) == MAX_LEVELS
    codes = np.array([vocabulary.code(str(level)) for level in range(levels)])[np.concatenate([own, new])]
    order = rng.permutation(2 * count)
    which = np.repeat([1, 0], count).astype(np.int8)
    assert single_auc(codes[order], which[order], categorical=True) < 0.51


def test_a_value_of_the_train_part_alone_is_numbered() -> None:
    """Without a burn-in, and with a value that appears after it, categories have codes; tables stay empty."""
    late = group(5, **{"signals.channel": "kiosk", "firstName": "Zoë"})
    state = fit_state(late.take(np.arange(0)), SETTINGS, categories=late)
    assert (state.vocabulary("signals.channel").values, state.names.counts) == (("kiosk",), {})


@settings(max_examples=50)
@given(tables())
def test_state_survives_json(table: RecordTable) -> None:
    """Reading back gives the same tables."""
    state = fit_state(table, SETTINGS)
    read = FittedState.from_json(json.loads(json.dumps(state.to_json())))
    assert read.to_json() == state.to_json()
    assert read.names.improbability("Anna") == state.names.improbability("Anna")


@settings(max_examples=50)
@given(tables())
def test_state_does_not_depend_on_order(table: RecordTable) -> None:
    """The order of the burn-in is no input."""
    reverse = np.arange(len(table))[::-1]
    assert fit_state(table.take(reverse), SETTINGS).to_json() == fit_state(table, SETTINGS).to_json()
