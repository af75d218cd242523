"""The public catalogue of reasons: every stated reason is true of its record."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_tables import LINKS, SIGNALS, STATE, table_of
from reason_oracle import Earlier, History, is_true
from scoring_model.arrays import FloatArray
from scoring_model.bundle import Use, reason_factors
from scoring_model.decision.reasons import FactualReasons
from scoring_model.features import FeatureMatrix, FeatureSettings, LinkSettings, SignalSettings
from scoring_model.history import CountKind
from scoring_model.records import RecordTable, SignalType

SETTINGS = FeatureSettings(signals=SIGNALS, links=LINKS, use_protected=("age", "citizenship", "sex"))
POOLS: Mapping[str, Sequence[object]] = {
    "firstName": ("Anna", "Dr. Anna", "TEST", "李", "Ünknown"),
    "lastName": ("Núñez", "Acme-Holdings", "x"),
    "dob": ("1984-02-29", "2000-01-01"),
    "citizenship": ("DE", "NA"),
    "documentType": ("PASSPORT", "RESIDENCE_PERMIT"),
    "imageUrls": (("https://a.example/1",), ("https://a.example/1?x", "https://B.example/2")),
    "address.line1": ("Main Street 1", "P.O. Box 3", "Hotel Adler", "c/o Anna", "12345", "unknown"),
    "address.line2": ("Flat 2",),
    "address.city": ("Berlin", "X"),
    "address.region": ("BE",),
    "address.postalCode": ("10115", "AB1 2CD"),
    "address.country": ("DE", "NA", "AE", "FR"),
    "subjectId": ("s1",),
    "signals.channel": ("web", "kiosk"),
    "signals.device": ("d1", "d2"),
    "signals.email": ("anna.nunez@gmail.com", "x9@a.mailinator.com", "anna@"),
    "signals.emailAgeDays": (0.0, -3.5),
    "signals.ip": ("192.0.2.7", "8.8.8.8", "10.1"),
    "signals.ipCountry": ("DE", "NA"),
    "signals.mobile": ("0151 23456789", "+33 6", "none"),
    "signals.sex": ("f",),
    "signals.vpn": (0.0, 1.0),
}
START, STEP = 1_700_000_000_000_000, 600_000
WINDOWS = (1_000_000, 3_000_000)

MATRIX = FeatureMatrix(replace(SETTINGS, links=replace(LINKS, windows=WINDOWS, cap=1)), STATE)
READ = sorted(
    {
        column
        for statement in reason_factors(MATRIX, use=Use(), share=0.1).statements
        for fact in statement.facts
        for column in fact.columns
    }
)
"""Columns that facts read: without one of them a row shows less."""

Drawn = tuple[dict[str, object], int, int, int]
"""Values, time, label (-1 none, 0 genuine, 1 fraud) and from when it is known."""

instants = st.integers(0, 12).map(lambda n: START + n * STEP)
records = st.tuples(
    st.fixed_dictionaries({}, optional={name: st.sampled_from(pool) for name, pool in POOLS.items()}),
    instants,
    st.integers(-1, 1),
    instants,
)


def said_of_each_factor(
    matrix: FeatureMatrix, reasons: FactualReasons, row: FloatArray
) -> list[tuple[str, str]]:
    """Code and sentence of every factor of a row, each as if it alone had raised the margin."""
    found = []
    for factor in reasons.factors.factors:
        alone = np.array([float(name in factor.features) for name in matrix.names])
        (code,) = reasons.choose(row, alone)
        found.append((code, reasons.sentences[code]))
    return found


def untrue(matrix: FeatureMatrix, drawn: Sequence[Drawn]) -> list[str]:
    """Sentences that are untrue of their record."""
    table: RecordTable = table_of(
        [values for values, *_ in drawn],
        [time for _, time, *_ in drawn],
        [(label, known) for *_, label, known in drawn],
    )
    history = History(matrix.link_keys)
    for values, time, label, known in drawn:
        history.add(values, Earlier(time, label == 1, known))
    reasons = FactualReasons(reason_factors(matrix, use=Use(), share=0.1), matrix.names)
    rows = matrix.rows(table)
    return [
        f"{code}: {sentence}"
        for (values, time, *_), row in zip(drawn, rows, strict=True)
        for code, sentence in said_of_each_factor(matrix, reasons, row)
        if not is_true(sentence, values, time, history)
    ]


@settings(max_examples=40)
@given(st.lists(records, min_size=1, max_size=14))
def test_nothing_untrue_is_said(drawn: list[Drawn]) -> None:
    """Of records with any pattern of missing values and any history, whichever factor counted."""
    assert untrue(MATRIX, drawn) == []


@settings(max_examples=40)
@given(st.lists(records, min_size=1, max_size=8), st.data())
def test_nothing_untrue_is_said_where_features_are_left_out(drawn: list[Drawn], data: st.DataObject) -> None:
    """A row that does not show whether something was given claims neither."""
    out = data.draw(st.lists(st.sampled_from(READ), unique=True, max_size=12))
    assert untrue(FeatureMatrix(replace(MATRIX.settings, exclude=tuple(out)), STATE), drawn) == []


@pytest.mark.parametrize(
    ("left_out", "code"),
    [
        ("link_device_3s_records", "LINKED_DEVICE"),
        ("link_device_3s_frauds", "LINKED_FRAUD_DEVICE"),
        ("region_length", "ADDRESS_FORM"),
        ("image_count", "DOCUMENT_IMAGES"),
        ("signal_ip_country", "SIGNAL_IP_COUNTRY"),
    ],
)
def test_without_a_column_that_shows_all_neither_is_claimed(left_out: str, code: str) -> None:
    """A shorter window, or some parts of an address, do not show that there is nothing."""
    matrix = FeatureMatrix(replace(MATRIX.settings, exclude=(left_out,)), STATE)
    said = reason_factors(matrix, use=Use(), share=0.1).sentences
    assert f"ABOUT_{code}" in said
    assert {code, f"NO_{code}"}.isdisjoint(said)


def test_every_sentence_is_said_of_some_record() -> None:
    """Every reason of the catalogue is used, except the one for an unraised score."""
    matrix = MATRIX
    reasons = FactualReasons(reason_factors(matrix, use=Use(), share=0.1), matrix.names)
    draw = np.random.default_rng(5)
    found = {reasons.factors.otherwise.code}
    for _ in range(20):
        drawn = [
            {n: pool[int(draw.integers(len(pool)))] for n, pool in POOLS.items() if draw.random() < 0.8}
            for _ in range(12)
        ]
        times = [START + int(n) * STEP for n in draw.integers(0, 12, 12)]
        table = table_of(drawn, times, [(int(n), START) for n in draw.integers(-1, 2, 12)])
        rows = [*matrix.rows(table), matrix.rows(table_of([{"subjectId": "s"}], [START], [(-1, 0)]))[0]]
        found |= {code for row in rows for code, _ in said_of_each_factor(matrix, reasons, row)}
    assert found == set(reasons.sentences)


def test_sentences_speak_of_the_use_and_its_titles() -> None:
    """The words of the use stand in the sentences, a signal under its title, a key in words."""
    signals = {"emailAgeDays": SignalSettings(type=SignalType.NUMBER, title="email age")}
    links = LinkSettings(keys={"card_merchant": ("subjectId",)}, windows=(86_400_000_000,))
    matrix = FeatureMatrix(FeatureSettings(signals=signals, links=links, families=("signals",)), STATE)
    said = reason_factors(matrix, use=Use(subject="customer", event="payment"), share=0.1).sentences
    assert said == {
        "LINKED_CARD_MERCHANT": "An earlier payment with the same card merchant is known.",
        "LINKED_FRAUD_CARD_MERCHANT": "An earlier payment with the same card merchant is known to be fraud.",
        "NOTHING_ALONE": "Nothing counted against the payment by itself.",
        "NO_LINKED_CARD_MERCHANT": "No earlier payment with the same card merchant is known from the 24 hours before.",
        "NO_LINKED_FRAUD_CARD_MERCHANT": "No earlier payment with the same card merchant is known to be fraud "
        "(the latest 256 of the 24 hours before).",
        "NO_SIGNAL_EMAIL_AGE_DAYS": "No email age was given.",
        "SIGNAL_EMAIL_AGE_DAYS": "The email age counted against the payment.",
    }


@pytest.mark.parametrize(
    ("counts", "known", "frauds", "columns"),
    [
        (
            ("records", "frauds"),
            "24 hours before and the 30 days before the last 7 days",
            "24 hours before and the 30 days before the last 7 days",
            ["link_card_1d_frauds", "link_card_1d_delayed_frauds", "link_card_30d_delayed_frauds"],
        ),
        (
            ("records",),
            "24 hours before and the 30 days before the last 7 days",
            "30 days before the last 7 days",
            ["link_card_1d_delayed_frauds", "link_card_30d_delayed_frauds"],
        ),
    ],
)
def test_reasons_read_the_windows_that_count(
    counts: tuple[CountKind, ...], known: str, frauds: str, columns: list[str]
) -> None:
    """Delayed windows bear a fact out too; what is not counted in the others is neither read nor spoken of."""
    day = 86_400_000_000
    links = LinkSettings(
        keys={"card": ("subjectId",)},
        windows=(day,),
        delay=7 * day,
        delayed_windows=(day, 30 * day),
        counts=counts,
    )
    matrix = FeatureMatrix(FeatureSettings(links=links, families=()), STATE)
    factors = reason_factors(matrix, use=Use(event="payment"), share=0.1)
    said = factors.sentences
    same = "No earlier payment with the same card is known"
    assert said["NO_LINKED_CARD"] == f"{same} from the {known}."
    assert said["NO_LINKED_FRAUD_CARD"] == f"{same} to be fraud (the latest 256 of the {frauds})."
    (fact,) = factors.factors[1].statements[0].facts
    assert list(fact.columns) == columns


def test_codes_that_collide_are_refused() -> None:
    """Two signals, or a key and the frauds of another key, with the same code are reported."""
    number = SignalSettings(type=SignalType.NUMBER)
    signals = FeatureSettings(signals={"email-age": number, "email_age": number}, families=("signals",))
    with pytest.raises(ValueError, match="SIGNAL_EMAIL_AGE: rename"):
        reason_factors(FeatureMatrix(signals, STATE), use=Use(), share=0.1)
    links = LinkSettings(keys={"device": ("subjectId",), "fraud_device": ("dob",)})
    with pytest.raises(ValueError, match="LINKED_FRAUD_DEVICE: rename"):
        reason_factors(FeatureMatrix(FeatureSettings(links=links), STATE), use=Use(), share=0.1)


@pytest.mark.parametrize("words", [{"event": "Payment"}, {"subject": "a{b}"}, {"event": ""}])
def test_words_of_a_use_are_plain(words: dict[str, Any]) -> None:
    """Capitals, signs and empty words are refused by name."""
    with pytest.raises(ValueError, match=f"^{next(iter(words))}: must be"):
        Use(**words)
