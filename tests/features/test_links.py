"""Link features of one record against those of a table, and the counts of a full past."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from feature_tables import LINKS, SIGNALS, STATE
from scoring_model.features import (
    FeatureMatrix,
    FeatureSettings,
    FittedState,
    LinkSettings,
    SignalSettings,
    fingerprint,
    invented_table,
    links,
)
from scoring_model.history import (
    NOTHING_BEFORE,
    PERSON,
    Amount,
    Counts,
    LinkCounts,
    LinkKey,
    LinkSums,
    PastRecord,
    Sums,
    TableAmounts,
    WindowSpec,
    count_before,
    pack_label,
)
from scoring_model.history.sweep import TableLabels, sweep
from scoring_model.records import SignalType
from window_oracle import amounts

CENTS = Amount(signal="amountPaid", decimals=2)
AGE = Amount(signal="emailAgeDays", decimals=2)
SPEC = WindowSpec(windows=(3, 10, 40), cap=4, amount=CENTS)
KEYS = (LinkKey(name=PERSON, parts=()), LinkKey(name="device", parts=("signals.device",)))

whole = st.integers(0, 2**31 - 1)


scales = st.integers(0, 6).map(lambda decimals: 10.0**decimals)


@st.composite
def drawn_counts(draw: st.DrawFn) -> Counts:
    """Counts as large as they may be, any time since the last record and any sum that 64 bits hold."""
    width = draw(st.integers(1, 4))
    numbers = st.lists(st.one_of(whole, st.integers(0, 3)), min_size=width, max_size=width).map(tuple)
    since_last = draw(st.one_of(st.just(NOTHING_BEFORE), st.integers(1, 2**63 - 1)))
    units = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=width, max_size=width).map(tuple)
    sums = draw(st.none() | st.builds(Sums, units, numbers, scales))
    return Counts(draw(numbers), draw(numbers), draw(numbers), since_last, sums)


def in_a_table(counts: Counts) -> LinkCounts:
    """The same counts as a table of one record has them."""
    records, persons, frauds = (np.array([numbers], dtype=np.int32) for numbers in counts[:3])
    sums = None
    if counts.sums is not None:
        units, summed = np.array([counts.sums.units]), np.array([counts.sums.records], dtype=np.int32)
        sums = LinkSums(units, summed, counts.sums.scale)
    return LinkCounts(records, persons, frauds, np.array([counts.since_last]), sums)


@settings(max_examples=500, deadline=None)
@given(drawn_counts(), st.sampled_from(KEYS))
@example(Counts((3,), (1,), (0,), 5, Sums((2**53 + 1,), (3,), 1.0)), KEYS[0])
def test_one_record_has_the_bits_of_a_table(counts: Counts, key: LinkKey) -> None:
    """Law 2: plain numbers and arrays give the same features, bit for bit, whatever was counted and summed."""
    of_table = links.link_rows(key, in_a_table(counts))
    assert np.array(links.link_row(key, counts)).tobytes() == of_table.tobytes()


@settings(max_examples=300, deadline=None)
@given(st.integers(-(2**53), 2**53), st.integers(1, 1000), scales)
def test_sum_and_mean_are_the_nearest_doubles(units: int, records: int, scale: float) -> None:
    """Up to 2**53 units a sum and a mean are the exact quotients, rounded once."""
    counts = Counts((1,), (1,), (0,), 5, Sums((units,), (records,), scale))
    *_, total, mean = links.link_row(KEYS[0], counts)
    assert total == float(Fraction(units, int(scale)))
    assert mean == float(Fraction(units, records * int(scale)))


def test_without_amounts_the_row_ends_where_it_did() -> None:
    """Sums stand behind all other features of the key, which are the same with and without them."""
    with_sums = Counts((2,), (1,), (0,), 5_000_000, Sums((-250,), (0,), 100.0))
    row = links.link_row(KEYS[1], with_sums)
    assert row[:-2] == links.link_row(KEYS[1], with_sums._replace(sums=None)) == [2.0, 1.0, 0.0, 0.0, 5.0]
    assert row[-2] == -2.5
    assert np.isnan(row[-1])


def test_features_of_sums_are_named_after_the_signal() -> None:
    """Each key and window has a sum and a mean with the reason of the key; a protected signal makes them so."""
    signal = SignalSettings(type=SignalType.NUMBER)
    chosen = LinkSettings(
        keys={"card": ("signals.card",)}, windows=(3_600_000_000, 86_400_000_000), amount=CENTS
    )
    card = SignalSettings(type=SignalType.IDENTIFIER)
    use = FeatureSettings(signals={"amountPaid": signal, "card": card}, links=chosen, families=())
    features = links.link_features(use)
    without = links.link_features(replace(use, links=replace(chosen, amount=None)))
    assert features[: len(without)] == without
    assert [feature.name for feature in features[len(without) :]] == [
        "link_card_1h_amount_paid_sum",
        "link_card_1h_amount_paid_mean",
        "link_card_1d_amount_paid_sum",
        "link_card_1d_amount_paid_mean",
    ]
    assert {feature.reason for feature in features[len(without) :]} == {"LINKED_CARD"}
    assert {feature.inputs for feature in features[len(without) :]} == {
        ("signals.card", "signals.amountPaid")
    }
    hidden = replace(use, signals={**use.signals, "amountPaid": replace(signal, protected="age")})
    assert {f.protected for f in links.link_features(hidden)[len(without) :]} == {"age"}
    assert FeatureMatrix(hidden, FittedState()).names == tuple(feature.name for feature in without)


def test_the_fingerprint_reports_what_is_summed() -> None:
    """Invented records reach every sum and mean, and another unit or none is another fingerprint."""
    none, cents, whole_ones = (replace(LINKS, amount=a) for a in (None, AGE, replace(AGE, decimals=0)))
    matrices = [
        FeatureMatrix(FeatureSettings(signals=SIGNALS, links=chosen), STATE)
        for chosen in (none, cents, whole_ones)
    ]
    assert len(set(map(fingerprint, matrices))) == 3
    rows = matrices[1].rows(invented_table(matrices[1].settings, STATE))
    sums = {n: c for n, c in zip(matrices[1].names, rows.T, strict=True) if n.endswith(("_sum", "_mean"))}
    assert len(sums) == 12
    assert [name for name, column in sums.items() if len(np.unique(column)) < 3] == []


events = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 4), amounts), min_size=1, max_size=40)
report_lists = st.lists(st.tuples(st.integers(0, 39), st.integers(0, 70), st.booleans()), max_size=40)


@pytest.mark.parametrize("key", KEYS)
@settings(max_examples=200, deadline=None)
@given(events, report_lists)
def test_a_packed_past_gives_the_row_of_the_table(
    key: LinkKey, table: list[tuple[int, int, int | None]], labels: list[tuple[int, int, bool]]
) -> None:
    """Law 2 of links: with ties, caps, amounts and late or repeated labels, a store's past gives the table's bits."""
    times, persons = np.array([row[:2] for row in table], dtype=np.int64).T
    paid = [row[2] for row in table]
    summed = TableAmounts(
        np.array([units or 0 for units in paid]), np.array([units is not None for units in paid])
    )
    reported = [label for label in labels if label[0] < len(table)]
    rows, instants, said = np.array(reported, dtype=np.int64).reshape(-1, 3).T
    marks = TableLabels(rows, instants, said == 1)
    swept = sweep(np.zeros(len(table), np.int64), times, persons, marks, SPEC, summed)
    of_table = links.link_rows(key, swept)
    past = [
        PastRecord(
            time, person, b"".join(pack_label(t, fraud=f) for r, t, f in reported if r == row) or None, units
        )
        for row, (time, person, units) in enumerate(table)
    ]
    latest_first = sorted(past, key=lambda record: -record.time)
    for row, (time, _, _) in enumerate(table):
        alone = links.link_row(key, count_before(latest_first, at=time, spec=SPEC))
        assert np.array(alone).tobytes() == of_table[row].tobytes()
