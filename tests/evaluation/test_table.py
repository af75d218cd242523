"""Tables of estimates: what a key says is what stands there, and every other way to a number is a query."""

from dataclasses import replace
from typing import Final

import numpy as np
import pytest

import made_results as made
from scoring_model.estimates import CHALLENGER, CHAMPION, MODEL, OVERALL, Decider, Estimate, Key, Slice, Table
from scoring_model.figures import FIGURES, FLIPS, MEASURED

ONE: Final = Estimate(value=0.5, records=4)
OTHER: Final = Estimate(value=0.25, records=8)
AUC: Final = Key(figure=FIGURES["roc_auc"])


def test_a_table_is_divided_and_named_by_its_keys() -> None:
    """Parts of a table hold each number once, in order; a later number replaces one of the same key."""
    keys = [replace(AUC, part=Slice(kind="month", value=month)) for month in ("2026-02", "2026-01")]
    table = Table(dict.fromkeys(keys, ONE)) | {AUC: ONE} | {keys[0]: OTHER}
    assert list(table) == [*keys, AUC]
    divided = table.by(lambda key: key.part)
    assert list(divided) == [keys[0].part, keys[1].part, OVERALL]
    assert [one.named() for one in divided.values()] == [
        {"roc_auc": OTHER},
        {"roc_auc": ONE},
        {"roc_auc": ONE},
    ]
    assert table.where(lambda key: key.part == OVERALL) == Table.of({"roc_auc": ONE}) == {AUC: ONE}
    with pytest.raises(KeyError):
        Table.of({"no_figure": ONE})


def test_a_figure_of_a_key_has_its_parameter() -> None:
    """No axis hides in a name: the false positive rate, the capacity and the score are numbers."""
    parameters = {name: figure.parameter for name, figure in MEASURED.items() if figure.parameter is not None}
    assert {name: float(name.rsplit("_", 1)[1]) for name in parameters} == parameters
    assert len(parameters) == 4 + 4 + 4 + 10


def test_numbers_of_an_evaluation_stand_under_their_keys() -> None:
    """Figures, months and groups of an evaluation are those of its table."""
    found = made.made_evaluation()
    assert {name: found.table[Key(figure=FIGURES[name])] for name in FIGURES} == found.figures
    month = Slice(kind="month", value="2026-02")
    assert found.table[replace(AUC, part=month)] == found.months["2026-02"].figures["roc_auc"]
    assert found.months["2026-02"].records == np.count_nonzero(
        found.records.event_times >= made.START + 31 * made.DAY
    )
    (table,) = found.groups
    rest = Slice(kind="rest", column="country")
    for group in table.groups:
        own = Key(figure=FIGURES["step_up"], part=Slice(kind="group", column="country", value=group.value))
        rate = group.rates["step_up"]
        assert found.table[own] == rate.estimate
        assert found.table[replace(own, against=rest, form="difference")] == rate.gap
        assert found.table[replace(own, against=rest, form="ratio")] == rate.ratio
    assert sum(group.records for group in table.groups) == len(found.records)
    assert sum(group.frauds for group in table.groups) == np.count_nonzero(found.records.labels)


def test_numbers_of_other_results_stand_under_their_keys() -> None:
    """Keys say whose decisions are compared with whose, and what is expected before labels."""
    pair = made.made_comparison()
    both = Key(figure=FLIPS["all"], decided_by=CHALLENGER, against=CHAMPION)
    assert pair.table[both] == pair.flip_rates["all"]
    assert pair.table[replace(both, figure=AUC.figure, form="difference")] == pair.differences["roc_auc"]
    part = Slice(kind="group", column="country", value=pair.groups[0].groups[1].value)
    change = replace(both, figure=FIGURES["failed"], part=part, form="difference")
    assert pair.table[change] == pair.groups[0].groups[1].changes["failed"]
    window = made.made_monitoring()
    first = window.estimates.periods[0]
    key = Key(figure=FIGURES["step_up"], part=Slice(kind="period", value=first.since))
    assert window.table[key] == first.realised["step_up"]
    assert window.table[replace(key, form="expected")] == first.estimated["step_up"]
    assert window.table[replace(key, part=OVERALL, form="expected")] == window.estimates.overall["step_up"]
    past = made.made_backtest()
    often = replace(AUC, decided_by=Decider(name="1m"), against=Decider(name="3m"), form="difference")
    assert past.table[often] == past.differences[0].figures["roc_auc"]
    assert {key.decided_by for key in past.table if key.form == "value"}.isdisjoint({MODEL})
    assert {key.decided_by.age for key in past.table} == {None, *(one.age for one in past.ageing)}
    assert len(past.table) == len(past.to_frame().query("part != 'family'"))
