"""Columns that are known only after the decision are asked for; clean ones are not."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring_model.evaluation.telling_columns import check_columns
from scoring_model.features import FeatureSettings, SignalSettings
from scoring_model.findings import State
from scoring_model.records import Column, RecordTable, SignalType

RECORDS = 6_000
SIGNALS = {
    "status": SignalSettings(type=SignalType.CATEGORY),
    "amount": SignalSettings(type=SignalType.NUMBER),
    "device": SignalSettings(type=SignalType.IDENTIFIER),
}
Draw = np.random.Generator
Values = NDArray[np.object_]


def column(values: Values) -> Column:
    """A column of values, None where missing."""
    index = {value: code for code, value in enumerate(dict.fromkeys(v for v in values if v is not None))}
    return Column(tuple(index), np.array([index.get(value, -1) for value in values], dtype=np.int32))


def flipped(draw: Draw, frauds: NDArray[np.bool_]) -> Values:
    """The label with 3 % flips."""
    copies = frauds ^ (draw.random(RECORDS) < 0.03)
    return np.where(copies, "refunded", "none").astype(object)


def afterwards(draw: Draw, frauds: NDArray[np.bool_]) -> Values:
    """A status that support sets for half of the frauds, and for 1 % of the others."""
    blocked = draw.random(RECORDS) < np.where(frauds, 0.5, 0.01)
    return np.where(blocked, "blocked", draw.choice(["active", "new", "idle"], RECORDS)).astype(object)


def target_mean(draw: Draw, frauds: NDArray[np.bool_]) -> Values:
    """The share of frauds of one of 1,500 shops over the whole file."""
    shops = draw.integers(0, 1_500, RECORDS)
    held, all_of = np.bincount(shops, weights=frauds, minlength=1_500), np.bincount(shops, minlength=1_500)
    means: Values = (held / all_of.clip(1))[shops].astype(object)
    return means


def later_amount(draw: Draw, frauds: NDArray[np.bool_]) -> Values:
    """What was lost, where a third of the frauds is refunded in part."""
    refunded = frauds & (draw.random(RECORDS) < 0.35)
    return np.round(draw.gamma(2, 20, RECORDS) + np.where(refunded, 400, 0), 2).astype(object)


def gaps(draw: Draw, frauds: NDArray[np.bool_]) -> Values:
    """A number that is missing for six frauds in ten, and for 3 % of the others."""
    numbers = draw.normal(size=RECORDS).round(3).astype(object)
    numbers[draw.random(RECORDS) < np.where(frauds, 0.6, 0.03)] = None
    return numbers


def table(draw: Draw, share: float, **values: Values) -> tuple[RecordTable, NDArray[np.int8]]:
    """Records with these signals and their targets; other columns are drawn without regard to the label."""
    columns = {
        "status": draw.choice(np.array(["active", "new", None]), RECORDS),
        "amount": draw.gamma(2, 20, RECORDS).astype(object),
        "device": draw.integers(0, 5_000, RECORDS).astype(str).astype(object),
    } | values
    nothing = np.zeros(RECORDS, dtype=np.int64)
    records = RecordTable(
        record_ids=tuple(map(str, range(RECORDS))),
        event_times=nothing,
        columns={f"signals.{name}": column(found) for name, found in columns.items()},
        labels=np.full(RECORDS, -1, dtype=np.int8),
        label_times=nothing,
        source_rows=nothing,
    )
    return records, (np.arange(RECORDS) < share * RECORDS).astype(np.int8)


def several_words(draw: Draw, frauds: NDArray[np.bool_]) -> Values:
    """Forty words, of which eight are those of nearly all frauds: none of them holds many."""
    among = draw.random(RECORDS) < np.where(frauds, 0.97, 0.08)
    return (
        np.where(among, draw.integers(0, 8, RECORDS), draw.integers(8, 40, RECORDS))
        .astype(str)
        .astype(object)
    )


@pytest.mark.parametrize("share", [0.02, 0.1])
@pytest.mark.parametrize(
    ("leak", "signal", "said"),
    [
        (flipped, "status", "One of its values has "),
        (afterwards, "status", "One of its values has "),
        (target_mean, "amount", ""),
        (later_amount, "amount", "Its largest values have "),
        (gaps, "amount", "Its gap has "),
        (several_words, "status", "On its own it has an AUC of 0.9"),
    ],
)
def test_planted_leaks_are_asked_for(
    share: float, leak: Callable[[Draw, NDArray[np.bool_]], Values], signal: str, said: str
) -> None:
    """Each kind is named, and no other column, whether frauds are rare or not."""
    draw = np.random.default_rng(3)
    _, targets = table(draw, share)
    records, _ = table(draw, share, **{signal: leak(draw, targets == 1)})
    found = check_columns(records, targets, FeatureSettings(signals=SIGNALS))
    assert (found.state, found.names) == (State.FOUND, (f"signals.{signal}",))
    assert found.sentence.startswith(f"is `signals.{signal}` known at the decision? {said}")


def test_clean_tables_are_not() -> None:
    """Of ten clean tables none has a column that is asked for; columns that no feature reads never are."""
    draw = np.random.default_rng(5)
    for _ in range(10):
        records, targets = table(draw, 0.02)
        assert check_columns(records, targets, FeatureSettings(signals=SIGNALS)).state is State.CLEAR
    records, targets = table(draw, 0.02, device=np.where(targets == 1, "ring", "other").astype(object))
    assert check_columns(records, targets, FeatureSettings(signals=SIGNALS)).state is State.CLEAR
    leaked, _ = table(draw, 0.02, amount=gaps(draw, targets == 1))
    settings = FeatureSettings(signals=SIGNALS, exclude=("signal_amount",))
    assert check_columns(leaked, targets, settings).state is State.CLEAR


def test_few_frauds_decide_nothing() -> None:
    """Below twenty frauds there is no verdict; a genuine record that stands for many counts as many."""
    draw = np.random.default_rng(1)
    records, targets = table(draw, 19 / RECORDS)
    settings = FeatureSettings(signals=SIGNALS)
    assert check_columns(records, targets, settings).state is State.NOT_APPLICABLE
    records, targets = table(draw, 0.3)
    marked, _ = table(draw, 0.3, status=afterwards(draw, targets == 1))
    found = check_columns(marked, targets, settings, genuine_weight=20.0)
    assert "where all records have 2.10%" in found.sentence
