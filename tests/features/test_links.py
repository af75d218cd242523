"""Link features of one record against those of a table, and their names."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from feature_tables import LINKS, SIGNALS, STATE
from scoring_model.features import (
    FeatureMatrix,
    FeatureSettings,
    FittedState,
    KeySettings,
    LinkSettings,
    SignalSettings,
    fingerprint,
    invented_table,
    links,
)
from scoring_model.history import (
    COUNT_KINDS,
    MOST_UNITS,
    NOTHING_BEFORE,
    STATISTICS,
    Amount,
    Counts,
    DelayedCounts,
    FraudTimes,
    LinkCounts,
    LinkSums,
    Sums,
    TableAmounts,
    WindowSpec,
    count_before,
)
from scoring_model.history.link_counts import LinkFraudTimes
from scoring_model.history.windows import exact_float
from scoring_model.records import SignalType

CENTS = Amount(signal="amountPaid", decimals=2)
AGE = Amount(signal="emailAgeDays", decimals=2)
SPEC = WindowSpec(windows=(3, 10, 40), cap=4, amounts=(CENTS,))
EVERYTHING = replace(
    SPEC, delay=6, delayed=(5, 30), counts=COUNT_KINDS, amounts=(CENTS, AGE), statistics=STATISTICS
)
N = 2**21 - 1
"""The most records that one window may see."""

numbers = st.tuples(*[st.integers(0, 3) | st.integers(0, N)] * 3)
times = st.just(NOTHING_BEFORE) | st.integers(1, 2**63 - 1)
units = st.integers(-MOST_UNITS, MOST_UNITS)
totals = st.tuples(*[st.integers(-3, 3) | st.integers(-N * MOST_UNITS, N * MOST_UNITS)] * 3)
variances = st.tuples(*[st.just(0.0) | st.integers(0, 2**120).map(exact_float)] * 3)
sums = st.builds(Sums, totals, numbers, st.just(100.0), st.tuples(units, units, units), numbers, variances)
counts = st.builds(
    Counts,
    numbers,
    numbers,
    numbers,
    times,
    times,
    st.tuples(sums, sums),
    st.builds(DelayedCounts, numbers.map(lambda n: n[:2]), numbers.map(lambda n: n[:2])),
    st.builds(FraudTimes, times, times, st.integers(0, N)),
)


def in_a_table(counts: Counts) -> LinkCounts:
    """The same counts as a table of one record has them."""

    def narrow(numbers: Sequence[int]) -> NDArray[np.int32]:
        return np.array([numbers], dtype=np.int32)

    assert counts.known is not None
    return LinkCounts(
        narrow(counts.records),
        narrow(counts.persons),
        narrow(counts.frauds),
        np.array([counts.since_last]),
        np.array([counts.age]),
        tuple(
            LinkSums(
                np.array([one.units]),
                narrow(one.records),
                one.scale,
                np.array([one.highest]),
                narrow(one.above),
                np.array([one.variances]),
            )
            for one in counts.sums
        ),
        narrow(counts.delayed.records),
        narrow(counts.delayed.frauds),
        LinkFraudTimes(
            np.array([counts.known.first]), np.array([counts.known.last]), narrow([counts.known.run])[0]
        ),
    )


@settings(max_examples=200)
@given(counts, st.tuples(st.none() | units, st.none() | units))
def test_one_record_has_the_bits_of_a_table(counts: Counts, own: tuple[int | None, ...]) -> None:
    """Law 2: plain numbers and arrays give the same features, bit for bit, however large the counts and sums are."""
    amounts = [TableAmounts(np.array([one or 0]), np.array([one is not None])) for one in own]
    of_table = links.link_rows(EVERYTHING, in_a_table(counts), amounts)
    assert np.array(links.link_row(EVERYTHING, counts, own), dtype=np.float64).tobytes() == of_table.tobytes()


@settings(max_examples=100)
@given(st.integers(-(2**53), 2**53), st.integers(1, 1000))
def test_sum_and_mean_are_the_nearest_doubles(total: int, records: int) -> None:
    """Up to 2**53 units a sum and a mean are the exact quotients, rounded once."""
    spec = WindowSpec(windows=(3,), amounts=(CENTS,))
    counts = Counts((1,), (1,), (0,), 5, 5, (Sums((total,), (records,), 100.0),))
    *_, found, mean = links.link_row(spec, counts)
    assert found == float(Fraction(total, 100))
    assert mean == float(Fraction(total, records * 100))


def test_an_amount_against_its_own_past() -> None:
    """Three payments of 1, 2 and 9, then one of 6: every statistic by hand."""
    spec = replace(EVERYTHING, windows=(40,), delayed=(), counts=(), amounts=(CENTS,), above=2)
    past = [(30, "a", None, 900), (20, "a", None, 200), (10, "a", None, 100)]
    row = links.link_row(spec, count_before(past, at=40, spec=spec), (600,))
    spread = math.sqrt((9 + 4 + 25) / 3)
    assert row == pytest.approx([12.0, 4.0, 1.5, 2 / spread, spread, 9.0, 6 / 9, 1.0])


def test_what_says_nothing_is_missing() -> None:
    """Equal amounts have no z-score, a mean or highest of 0 no ratio, and an absent amount of the record neither."""
    spec = replace(EVERYTHING, windows=(40,), delayed=(), counts=(), amounts=(CENTS,))
    zeros = [(20, "a", None, 0), (10, "a", None, 0)]
    row = links.link_row(spec, count_before(zeros, at=40, spec=spec), (600,))
    nan = math.nan
    assert row == pytest.approx([0.0, 0.0, nan, nan, 0.0, 0.0, nan, 0.0], nan_ok=True)
    ones = [(20, "a", None, 100), (10, "a", None, 300)]
    row = links.link_row(spec, count_before(ones, at=40, spec=spec), (None,))
    assert row == pytest.approx([4.0, 2.0, nan, nan, 1.0, 3.0, nan, 0.0], nan_ok=True)


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
    assert len(sums) == 2 * 2 * len(LINKS.keys)
    assert [name for name, column in sums.items() if len(np.unique(column)) < 3] == []


def test_keys_may_count_their_own() -> None:
    """Windows, kinds, amounts and delayed windows of one key, and the names of all that it counts."""
    number, card = SignalSettings(type=SignalType.NUMBER), SignalSettings(type=SignalType.IDENTIFIER)
    chosen = LinkSettings(
        keys={"card": ("signals.card",), "shop": ("signals.card",)},
        windows=(86_400_000_000,),
        counts=("records",),
        delay=7 * 86_400_000_000,
        amounts=(CENTS,),
        statistics=("z",),
        by_key={
            "shop": KeySettings(
                windows=(3_600_000_000, 86_400_000_000),
                delayed_windows=(86_400_000_000,),
                counts=("fraud_run", "change"),
                amounts=(),
            )
        },
    )
    use = FeatureSettings(signals={"amountPaid": number, "card": card}, links=chosen, families=())
    found = links.link_features(use)
    assert {feature.name: feature.reason for feature in found} == {
        "link_card_1d_records": "LINKED_CARD",
        "link_card_1d_amount_paid_z": "LINKED_CARD",
        "link_shop_1d_delayed_records": "LINKED_SHOP",
        "link_shop_1d_delayed_frauds": "LINKED_FRAUD_SHOP",
        "link_shop_1d_delayed_fraud_share": "LINKED_FRAUD_SHOP",
        "link_shop_1h_1d_change": "LINKED_SHOP",
        "link_shop_fraud_run": "LINKED_FRAUD_SHOP",
    }
    assert found[3].sentence == "Known frauds with the same shop in the 1d before the last 7d."
    assert chosen.reach == 8 * 86_400_000_000
