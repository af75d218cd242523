"""Labels, times at which they became known, and decisions are found by what columns hold, in any language."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scoring_model.arrays import IntArray
from scoring_model.configuration import load_configuration
from scoring_model.configuration.headers import joined, links_records, tells, words_of
from scoring_model.configuration.profiles import Kind
from scoring_model.configuration.proposal import Proposal, propose
from scoring_model.configuration.proposal.label_columns import come_before, meaning_of, tell_when_known
from scoring_model.configuration.proposal.text import proposal_text
from scoring_model.records import NEVER
from scoring_model.records.reading import read_record, read_records
from scoring_model.records.record import InvalidRecord
from scoring_model.records.times import DAY, HOUR

N = 400
FRAUD = np.arange(N) % 10 == 3
HOURS = pd.Timedelta(hours=1)
DRAW = np.random.default_rng(5)
EVENTS = pd.date_range("2024-01-01", periods=N, freq="D") + pd.Timedelta(hours=9)


def frame(**columns: Sequence[object] | IntArray) -> pd.DataFrame:
    """A table with the time of each event and a number."""
    return pd.DataFrame({"Zeitpunkt": EVENTS, "Punkte": DRAW.normal(size=N).round(3)} | columns)


def proposed(tmp_path: Path, table: pd.DataFrame) -> Proposal:
    """Propose a configuration for a table as CSV, and load it."""
    path, config = tmp_path / "in.csv", tmp_path / "use.yaml"
    table.to_csv(path, index=False)
    found = propose(path)
    config.write_text(proposal_text(found, name="use", source=path.name), encoding="utf-8")
    load_configuration(config)
    return found


def words(fraud: str, other: str | None) -> list[str | None]:
    """Write a word for each record."""
    return [fraud if is_fraud else other for is_fraud in FRAUD]


MEANINGS = {
    "Betrug": "fraud",
    "Fraude confirmée": "fraud",
    "OSZUSTWO": "fraud",
    "chargeback": "fraud",
    "kein Betrug": "genuine",
    "pas de fraude": "genuine",
    "non-fraud": "genuine",
    "geen fraude": "genuine",
    "brak oszustwa": "genuine",
    "Legítimo": "genuine",
    "fraude no confirmado": "genuine",
    "FALSE_POSITIVE": "genuine",
    "Fraude - não reconhece a compra": "fraud",
    "fraud: no card was present": "fraud",
    "Fraud - not authorised": "fraud",
    "fraud not detected": "genuine",
    "Verdacht entkräftet": "genuine",
    "Betrugsverdacht": "other",
    "suspected fraud": "other",
    "offen": "other",
    "ohne Befund": "genuine",
    "classé sans suite": "genuine",
    "nie potwierdzone": "no",
    "nicht bestätigt": "no",
    "bestätigt": "yes",
    "oui": "yes",
    "0": "no",
    "OXI": "no",
}


@pytest.mark.parametrize(("text", "meaning"), MEANINGS.items())
def test_words_mean_the_same_in_every_language(text: str, meaning: str) -> None:
    """A suspicion is no fraud, and a denial of fraud is genuine."""
    assert meaning_of(text) == meaning


@pytest.mark.parametrize("word", ["Betrug", "fraude", "frode", "oszustwo", "chargeback"])
def test_a_lone_word_of_fraud_makes_the_label(tmp_path: Path, word: str) -> None:
    """Whatever its header says, also where all other cells are empty."""
    found = proposed(tmp_path, frame(Bemerkung=words(word, None)))
    assert (found.fields["label"], found.words["fraud"]) == ("Bemerkung", [word.lower()])
    assert "Bemerkung is taken for the label by its words" in " ".join(found.decisions)


@pytest.mark.parametrize(("yes", "no"), [("ja", "nein"), ("oui", "non"), ("1", "0"), ("bad", "good")])
def test_yes_and_no_make_a_label_only_under_a_header_that_tells_it(tmp_path: Path, yes: str, no: str) -> None:
    """Under another header the same words stay a signal."""
    found = proposed(tmp_path, frame(betrugskennzeichen=words(yes, no)))
    assert (found.fields["label"], found.words["fraud"], found.words["genuine"]) == (
        "betrugskennzeichen",
        [yes],
        [no],
    )
    found = proposed(tmp_path, frame(Stammkunde=words(yes, no)))
    assert "label" not in found.fields
    assert "No column holds labels" in " ".join(found.decisions)


def test_a_label_without_frauds_is_no_signal(tmp_path: Path) -> None:
    """A column that is called label and says genuine alone is left out, and the configuration is valid."""
    found = proposed(tmp_path, frame(label=words("genuine", None)))
    assert "label" not in found.fields
    assert "none of its words is fraud" in found.left_out["label"]


def test_under_a_header_of_genuine_yes_is_genuine(tmp_path: Path) -> None:
    """`is_legit: no` is a fraud."""
    found = proposed(tmp_path, frame(is_legit=words("no", "yes")))
    assert (found.words["fraud"], found.words["genuine"]) == (["no"], ["yes"])


@pytest.mark.parametrize(
    ("header", "fraud", "other", "expected"),
    [
        ("non_fraude", "0", "1", "0"),
        ("Betrugsfrei", "nein", "ja", "nein"),
        ("sin fraude", "No", "Sí", "no"),
        ("no_chargebacks", "1", "0", "1"),
        ("is_fraud", "1", "0", "1"),
    ],
)
def test_under_a_header_that_denies_fraud_a_rare_no_is_fraud(
    tmp_path: Path, header: str, fraud: str, other: str, expected: str
) -> None:
    """The number of chargebacks is seldom above zero."""
    found = proposed(tmp_path, frame(**{header: words(fraud, other)}))
    assert (found.fields["label"], found.words["fraud"]) == (header, [expected])


@pytest.mark.parametrize(("header", "none"), [("type_fraude", "aucune"), ("Betrugsart", None)])
def test_kinds_of_fraud_are_fraud_under_their_header(tmp_path: Path, header: str, none: str | None) -> None:
    """Though not each has a word of fraud; beside a label their share is one of all records."""
    kinds = ["usurpation", "faux document"]
    cells = [kinds[place // 10 % 2] if is_fraud else none for place, is_fraud in enumerate(FRAUD)]
    found = proposed(tmp_path, frame(**{header: cells}))
    assert (found.fields["label"], sorted(found.words["fraud"])) == (header, sorted(kinds))
    assert found.words["ignored"] == []
    said = " ".join(proposed(tmp_path, frame(fraude=words("oui", "non"), **{header: cells})).decisions)
    assert f"Several columns may be the label: fraude (10.00% frauds), {header} (10.00% frauds)." in said


def test_ways_of_legitimation_are_no_label(tmp_path: Path) -> None:
    """Their header begins with a word for genuine, and their cells say neither yes nor no."""
    ways = [("VideoIdent", "PostIdent", "eID")[place % 3] for place in range(N)]
    assert "label" not in proposed(tmp_path, frame(legitimation=ways)).fields


def test_candidates_are_listed_and_words_of_fraud_are_no_signal(tmp_path: Path) -> None:
    """The column of both words is the label before a header that tells one; the other has its share said."""
    few = ["chargeback" if place % 50 == 3 else "settled" for place in range(N)]
    found = proposed(tmp_path, frame(Status=few, Typ=words("Betrug", "kein Betrug")))
    said = " ".join(found.decisions)
    assert "Status (2.00% frauds)" in said
    assert "Typ (10.00% frauds)" in said
    assert len({"Status", "Typ"} & {signal.column for signal in found.signals}) == 0
    assert {found.fields["label"], *found.left_out} >= {"Status", "Typ"}


def test_frauds_that_only_another_column_names_are_counted(tmp_path: Path) -> None:
    """A chargeback may be a fraud that nobody confirmed: a person decides, and knows how many there are."""
    back = [int(is_fraud and place % 3 == 0) for place, is_fraud in enumerate(FRAUD)]
    sure = [int(is_fraud and place % 3 != 0) for place, is_fraud in enumerate(FRAUD)]
    found = proposed(tmp_path, frame(fraud_confirmed=sure, chargeback=back))
    taken = found.fields["label"]
    other, alone = ("chargeback", sum(back)) if taken == "fraud_confirmed" else ("fraud_confirmed", sum(sure))
    assert f"{other} calls {alone} records fraud that {taken} does not" in " ".join(found.decisions)
    found = proposed(tmp_path, frame(fraud_confirmed=[int(one) for one in FRAUD], chargeback=back))
    assert ("does not" in " ".join(found.decisions)) == (found.fields["label"] == "chargeback")


def known_times(share: float, delay: int = 9 * DAY) -> IntArray:
    """Times for the first frauds."""
    times = np.full(N, NEVER)
    rows = np.flatnonzero(FRAUD)[: round(FRAUD.sum() * share)]
    times[rows] = np.arange(N)[rows] * DAY + delay
    return times


TARGETS = np.where(FRAUD, 1, 0)
AT = np.arange(N) * DAY


@pytest.mark.parametrize(("share", "expected"), [(1.0, True), (0.9, True), (0.85, False)])
def test_nine_in_ten_frauds_need_a_known_time(share: float, expected: bool) -> None:
    """Below that the times are of something else."""
    assert tell_when_known(known_times(share), AT, TARGETS) is expected


def test_known_times_are_not_before_the_event_nor_without_a_label() -> None:
    """A few slips are let pass; whole days are compared by day; records without a label have no time."""
    assert not tell_when_known(known_times(1.0, -HOUR), AT + HOUR, TARGETS)
    assert tell_when_known(known_times(1.0, 0), AT + 9 * HOUR, TARGETS)
    assert not come_before(known_times(1.0, 0), AT + 9 * HOUR)
    assert come_before(known_times(1.0, 1), AT + 9 * HOUR)
    everywhere = AT + 3 * DAY
    assert not tell_when_known(everywhere, AT, TARGETS)
    open_ones = np.where((TARGETS == 0) & (np.arange(N) % 2 == 0), -1, TARGETS)
    assert tell_when_known(np.where(open_ones >= 0, everywhere, NEVER), AT, open_ones)
    assert not tell_when_known(everywhere, AT, open_ones)


def test_times_of_frauds_alone_tell_though_some_lack_their_label() -> None:
    """Nine in ten times are then those of frauds."""
    for hidden, expected in ((3, True), (13, False)):
        rows = np.concatenate([np.flatnonzero(FRAUD)[:hidden], np.flatnonzero(~FRAUD)[:100]])
        targets = np.where(np.isin(np.arange(N), rows), -1, TARGETS)
        assert tell_when_known(known_times(1.0), AT, targets) is expected


def test_the_delay_is_measured_on_an_unnamed_column(tmp_path: Path) -> None:
    """Genuine records, which have no time, get the delay; then the end of the file stands in the split."""
    later = [
        str(time + pd.Timedelta(days=5)) if is_fraud else None
        for time, is_fraud in zip(EVENTS, FRAUD, strict=True)
    ]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), Spalte7=later))
    assert found.fields["labelKnownAt"] == "Spalte7"
    assert (found.lengths.delay, found.partly_known) == (5 * DAY, True)
    text = (tmp_path / "use.yaml").read_text()
    assert "delay: 5d # of labels without a time of their own" in text
    assert 'as_of: "2025-02-0' in text
    assert "No column says when" not in text
    assert "nearly all frauds have one, and hardly any other records." in " ".join(found.decisions)
    early = [
        str(time - pd.Timedelta(days=5)) if is_fraud else None
        for time, is_fraud in zip(EVENTS, FRAUD, strict=True)
    ]
    for header in ("bekannt_am", "Spalte7"):
        found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), **{header: early}))
        assert "labelKnownAt" not in found.fields
        assert f"{header} can't be when labels became known" in " ".join(found.decisions)


def test_why_accounts_ended_is_no_label_but_for_fraud(tmp_path: Path) -> None:
    """Where most records have no reason; the date of all reasons is when labels became known."""
    moved = (np.arange(N) % 10 == 5) & (np.arange(N) < 300)
    reasons = np.where(FRAUD, "fraude identité", np.where(moved, "déménagement", ""))
    ended = [*pd.Series(EVENTS + 20 * 24 * HOURS).where(pd.Series(FRAUD | moved))]
    found = proposed(tmp_path, frame(motif=reasons, date_fin=ended))
    assert found.words == {"fraud": ["fraude identité"], "genuine": ["genuine"], "ignored": ["déménagement"]}
    assert found.fields["labelKnownAt"] == "date_fin"
    ended[-1] = EVENTS[-1] + 90 * 24 * HOURS
    found = proposed(tmp_path, frame(motif=[*reasons[:-1], "déménagement"], date_fin=ended))
    assert (
        found.ends < ended[-1].value // 1000
    )  # a training does not see the time of a reason that is no label


def test_of_words_of_fraud_those_under_a_header_of_fraud_are_the_label(tmp_path: Path) -> None:
    """Before those of how contracts stand, which all records have."""
    standing = np.where(FRAUD, "baixado por fraude", DRAW.choice(["quitado", "em dia"], N))
    reasons = np.where(FRAUD, "autofraude", np.where(np.arange(N) % 40 == 7, "desacordo", ""))
    assert (
        proposed(tmp_path, frame(status=standing, cb_motivo_fraude=reasons)).fields["label"]
        == "cb_motivo_fraude"
    )


def test_codes_of_fraud_are_told_by_their_letters(tmp_path: Path) -> None:
    """A first payment default is none."""
    codes = np.where(np.arange(N) % 10 == 3, "FRD3P", np.where(np.arange(N) % 10 == 5, "FPD30", "CURR"))
    found = proposed(tmp_path, frame(performance=codes))
    assert (found.fields["label"], found.words["fraud"]) == ("performance", ["frd3p"])


@pytest.mark.parametrize(
    ("header", "fraud", "genuine"),
    [
        ("bad_flag", "1", "0"),
        ("GB_FLAG", "BAD", "GOOD"),
        ("is_bad", "Y", "N"),
        ("ground_truth", "1", "0"),
        ("cb", "1", "0"),
        ("investigation_outcome", "confirmed", "cleared"),
    ],
)
def test_headers_of_labels_that_do_not_name_fraud(
    tmp_path: Path, header: str, fraud: str, genuine: str
) -> None:
    """Where no other column is the label."""
    found = proposed(tmp_path, frame(**{header: words(fraud, genuine)}))
    assert (found.fields.get("label"), found.words["fraud"]) == (header, [fraud.lower()])


def test_how_a_review_ended_is_no_label_where_another_column_is_one(tmp_path: Path) -> None:
    """One of its words may be of fraud, and more records may have one."""
    place = np.arange(N)
    reviews = np.select([place % 20 == 3, place % 4 == 1], ["refunded_as_fraud", "approved"], "")
    disputes = np.select([place % 10 == 3, place % 25 == 4], ["fraudulent", "duplicate"], "")
    columns = {"Review Closed Reason": reviews, "Dispute Reason": disputes}
    assert proposed(tmp_path, frame(**columns)).fields["label"] == "Dispute Reason"


def test_the_word_of_findings_has_a_time_and_that_of_what_was_not_reviewed_has_none(tmp_path: Path) -> None:
    """Whatever they say: the commonest word is not genuine where it has no time and another one has."""
    cleared = np.arange(N) % 10 == 5
    said = np.where(FRAUD, "penipuan", np.where(cleared, "qwx", "zzy"))
    closed = [*pd.Series(EVENTS + 20 * 24 * HOURS).where(pd.Series(FRAUD | cleared))]
    found = proposed(tmp_path, frame(hasil=said, tanggal_7=closed))
    assert found.words == {"fraud": ["penipuan"], "genuine": ["qwx"], "ignored": ["zzy"]}
    assert found.fields["labelKnownAt"] == "tanggal_7"
    found = proposed(tmp_path, frame(hasil=said))
    assert found.words["genuine"] == ["zzy"]


def test_a_date_of_fraud_in_swedish_is_a_label(tmp_path: Path) -> None:
    """Its header begins with the Dutch word for amounts, and measures nothing."""
    known = [*pd.Series(EVENTS + 20 * 24 * HOURS).where(pd.Series(FRAUD))]
    fields = proposed(tmp_path, frame(**{"Bedrägeri konstaterat": known})).fields
    assert fields["label"] == fields["labelKnownAt"] == "Bedrägeri konstaterat"


def test_decisions_are_mapped_or_their_absence_is_said(tmp_path: Path) -> None:
    """Outcomes and resolutions by their words; a column that stopped all frauds follows from the label."""
    outcomes = ["abgelehnt" if place % 7 == 0 else "genehmigt" for place in range(N)]
    ends = ["bestanden" if place % 7 == 0 and place % 2 else None for place in range(N)]
    ends[14] = "nicht bestanden"
    closed = [
        str(time + pd.Timedelta(days=90)) if place % 9 == 0 else None for place, time in enumerate(EVENTS)
    ]
    table = frame(Betrug=words("ja", "nein"), Bescheid=outcomes, Nachprüfung=ends, geschlossen_am=closed)
    found = proposed(tmp_path, table)
    assert {name: found.fields.get(name) for name in ("outcome", "resolution", "closedAt")} == {
        "outcome": "Bescheid",
        "resolution": "Nachprüfung",
        "closedAt": "geschlossen_am",
    }
    schema = load_configuration(tmp_path / "use.yaml").schema
    assert (schema.outcomes.passed, schema.outcomes.failed) == (("genehmigt",), ("abgelehnt",))
    assert (schema.outcomes.approved, schema.outcomes.declined) == (("bestanden",), ("nicht bestanden",))
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), Bescheid=words("abgelehnt", "genehmigt")))
    assert "outcome" not in found.fields
    assert "nearly all frauds were stopped by it" in found.left_out["Bescheid"]
    assert "No column says in known words what was decided, so all count as passed" in " ".join(
        found.decisions
    )


def test_a_japanese_export_has_its_decisions_its_names_and_its_control_group(tmp_path: Path) -> None:
    """What was decided and who was in a control group are no signals; others are titled by their headers."""
    decided = [("通過", "否認", "目視確認")[place % 10 % 3] for place in range(N)]
    ends = [
        (("承認", "却下", "連絡なし")[place % 4 % 3] if word == "目視確認" else None)
        for place, word in enumerate(decided)
    ]
    table = frame(
        不正区分=words("詐欺確定", None),
        審査結果=decided,
        目視結果=ends,
        対照群=[("いいえ", "はい")[place % 25 == 1] for place in range(N)],
        番地=[f"本町{place % 90}-{place % 7}" for place in range(N)],
        メールアドレス=[f"a{place % 800}@example.jp" for place in range(N)],
        入力秒数=[place % 37 for place in range(N)],
        端末ID=[f"D-{place % 700:06d}" for place in range(N)],
    )
    found = proposed(tmp_path, table)
    fields = ("outcome", "resolution", "address.line1")
    assert [found.fields[name] for name in fields] == ["審査結果", "目視結果", "番地"]
    assert found.outcomes["failed"] == ["否認"]
    assert found.outcomes["abandoned"] == ["連絡なし"]
    assert "control group" in found.left_out["対照群"]
    assert "docs/your-data.md#a-control-group-of-your-own" in " ".join(found.decisions)
    named = {signal.column: signal.name for signal in found.signals}
    assert named["メールアドレス"] == "email"
    assert named["端末ID"] != "id"
    signals = load_configuration(tmp_path / "use.yaml").signals
    assert signals[named["入力秒数"]].title == "入力秒数"


def test_a_polish_lender_has_its_decisions_and_its_propensities(tmp_path: Path) -> None:
    """What was decided, how it ended, who was in a control group and with which probability are no signals."""
    decided = [("przyjęty", "odrzucony", "weryfikacja")[place % 10 % 3] for place in range(N)]
    ends = [
        ("pozytywna", "negatywna", "rezygnacja klienta")[place % 4 % 3] if word == "weryfikacja" else None
        for place, word in enumerate(decided)
    ]
    table = frame(
        oszustwo=words("wyłudzenie", None),
        decyzja=decided,
        wynik_weryfikacji=ends,
        grupa_kontrolna=[("nie", "tak")[place % 25 == 1] for place in range(N)],
        szansa=[(1, 0.05)[place % 25 == 1] if place % 3 else None for place in range(N)],
        obniżka=[(0.1, 0.05)[place % 2] if place % 3 else None for place in range(N)],
    )
    found = proposed(tmp_path, table)
    assert (found.fields["outcome"], found.fields["resolution"]) == ("decyzja", "wynik_weryfikacji")
    assert found.outcomes == {
        "passed": ["przyjęty"],
        "failed": ["odrzucony"],
        "stepped_up": ["weryfikacja"],
        "approved": ["pozytywna"],
        "declined": ["negatywna"],
        "abandoned": ["rezygnacja klienta"],
    }
    assert "records.columns.propensity" in found.left_out["szansa"]
    assert "obniżka" in {signal.column for signal in found.signals}


def test_what_many_records_share_links_them_last(tmp_path: Path) -> None:
    """Five agents of 400 records join no ring; a device, a wallet and others that recur come before them."""
    codes = {
        name: [f"{name[0]}{place % 300:08d}" for place in range(N)]
        for name in ("device_id", "card_id", "wallet_id", "account_id", "customer_id", "cookie_id")
    }
    table = frame(Betrug=words("ja", "nein"), agent_id=[f"a{place % 5:08d}" for place in range(N)], **codes)
    found = proposed(tmp_path, table)
    assert {parts[0] for parts in found.keys.values()} == {f"signals.{name}" for name in codes}
    assert "agent_id may link records too" in " ".join(found.decisions)


def test_codes_that_recur_by_chance_link_records_last(tmp_path: Path) -> None:
    """Of so few digits as the last four of a card, beside more link keys than are proposed."""
    draw = np.random.default_rng(3)
    columns = {f"device_{place}": [f"d{code:05}" for code in draw.integers(0, 250, N)] for place in range(6)}
    last = [f"{code:03}" for code in draw.integers(0, 150, N)]
    keys = proposed(tmp_path, frame(card_token=last, **columns)).keys
    assert len(keys) == 6
    assert not any("card" in key for key in keys)


def test_a_decision_in_unknown_words_is_asked_for(tmp_path: Path) -> None:
    """A header that tells a decision is named where no word of it is known: it is a signal until someone says so."""
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), Bescheid=words("rot", "blau")))
    assert "Bescheid may say it: if so, it is no signal." in " ".join(found.decisions)


def test_the_end_of_reviews_in_unknown_words_is_asked_for(tmp_path: Path) -> None:
    """It stands where applicants were stepped up, and alone can say who of them was observed."""
    decided = [("approved", "declined", "review")[place % 10 % 3] for place in range(N)]
    ends = [("rot", "blau", "gelb")[place % 3] if decided[place] == "review" else None for place in range(N)]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), Entscheidung=decided, Farbe=ends))
    assert "resolution" not in found.fields
    asked = "Farbe stands where applicants were stepped up: if it says how reviews ended, name it in records.columns"
    assert asked in " ".join(found.decisions)
    known = [("ok", "nicht ok")[place % 2] if ends[place] else None for place in range(N)]
    both = frame(Betrug=words("ja", "nein"), Entscheidung=decided, Farbe=ends, Prüfung=known)
    assert "stands where applicants" not in " ".join(proposed(tmp_path, both).decisions)


@pytest.mark.parametrize(
    ("approved", "declined", "abandoned"),
    [
        ("onay", "red", "ulaşılamadı"),
        ("megfelelt", "nem felelt meg", "elállt"),
        ("αποδεκτό", "μη αποδεκτό", "χωρίς απάντηση"),
    ],
)
def test_ends_of_reviews_are_told_in_more_languages(
    tmp_path: Path, approved: str, declined: str, abandoned: str
) -> None:
    """Turkish, Hungarian and Greek: some words are known, others follow from these."""
    decided = [("approved", "declined", "review")[place % 10 % 3] for place in range(N)]
    said = (approved, approved, declined, abandoned)
    ends = [said[place % 4] if decided[place] == "review" else None for place in range(N)]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), Entscheidung=decided, Ende=ends))
    assert found.fields["resolution"] == "Ende"
    outcomes = {name: found.outcomes[name] for name in ("approved", "declined", "abandoned")}
    assert outcomes == {"approved": [approved], "declined": [declined], "abandoned": [abandoned]}


def test_ends_of_reviews_have_the_words_of_decisions(tmp_path: Path) -> None:
    """A code that stands for failed is declined; a word and its negation decide, whatever they are."""
    decided = [("OK", "ABL", "MAN")[place % 10 % 3] for place in range(N)]
    ends = [
        ("OK", "ABL", "STO")[place % 4 % 3] if word == "MAN" else None for place, word in enumerate(decided)
    ]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), PRUEF_ERG=decided, PRUEF_MAN=ends))
    assert found.outcomes["declined"] == ["abl"]
    decided = [("Xy", "Xy değil", "Zz")[place % 10 % 3] for place in range(N)]
    ends = [("onay", "reddedildi")[place % 2] if word == "Zz" else None for place, word in enumerate(decided)]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), Feld7=decided, Feld8=ends))
    assert (found.fields["outcome"], found.fields["resolution"]) == ("Feld7", "Feld8")
    assert found.outcomes["failed"] == ["xy değil"]


def test_decisions_are_found_by_the_beginnings_of_their_words(tmp_path: Path) -> None:
    """Reviews end where applicants were stepped up, whatever their header; a check of a card is a signal."""
    places = range(N)
    decided = [("Aprovação", "Recusada (score)", "Em análise manual")[place % 10 % 3] for place in places]
    ends = ["Rejeitada" if place % 4 else "Aceite" if place % 10 % 3 == 2 else None for place in places]
    ends = [end if word.startswith("Em") else None for end, word in zip(ends, decided, strict=True)]
    checks = [("pass", "fail")[place % 3 == 0] for place in places]
    found = proposed(
        tmp_path,
        frame(Betrug=words("ja", "nein"), Situação_do_pedido=decided, Fim=ends, cvv_result=checks),
    )
    assert (found.fields["outcome"], found.fields["resolution"]) == ("Situação_do_pedido", "Fim")
    assert found.outcomes == {
        "passed": ["aprovação"],
        "failed": ["recusada (score)"],
        "stepped_up": ["em análise manual"],
        "approved": ["aceite"],
        "declined": ["rejeitada"],
    }
    assert "cvv_result" in {signal.column for signal in found.signals}


@pytest.mark.parametrize(
    ("header", "passed", "failed"),
    [
        ("Bescheid", "genehmigt", "nicht genehmigt"),
        ("Решение", "Одобрено", "Отказано"),
        ("Approved", "Y", "N"),
        ("Durum", "Onaylandı", "Reddedildi"),
        ("decision", "auto-approve", "DECLINED_BY_SCORE"),
        ("AUTH_RSLT_CD", "APPROVE", "DECLINE"),
        ("decision.action", "ALLOW", "BLOCK"),
        ("status", "berhasil", "ditolak"),
        ("Parecer", "Aprovado", "Reprovado"),
        ("afgørelse", "GENNEMFØRT", "AFVIST"),
        ("Kết quả", "Chấp nhận", "Từ chối"),
    ],
)
def test_words_of_decisions_in_several_languages(
    tmp_path: Path, header: str, passed: str, failed: str
) -> None:
    """Also those of a column of yes and no that is called approved, and words with a negation."""
    decided = [failed if place % 7 == 0 else passed for place in range(N)]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), **{header: decided}))
    assert found.fields.get("outcome") == header
    assert found.outcomes == {"passed": [passed.lower()], "failed": [failed.lower()]}


def test_a_check_in_unknown_words_is_a_signal(tmp_path: Path) -> None:
    """Pass and fail under the header of a status decide nothing beside a third word."""
    checks = [("pass", "fail", "unavailable")[place % 10 % 3] for place in range(N)]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), Card_CVC_Status=checks))
    assert "Card_CVC_Status" in {signal.column for signal in found.signals}


def test_numbers_that_begin_with_a_year_are_no_times(tmp_path: Path) -> None:
    """2025010000001 is no instant of 2034, where the time of the event cannot be read."""
    numbers = [f"202501{place:07}" for place in range(N)]
    found = proposed(tmp_path, pd.DataFrame({"Protokol": numbers, "Betrug": words("ja", "nein")}))
    assert "eventTime" not in found.fields


def test_a_decision_in_unknown_words_is_no_signal(tmp_path: Path) -> None:
    """It is left out, and the words that are not known are named."""
    decided = [("approved", "declined", "XK")[place % 10 % 3] for place in range(N)]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), Status=decided))
    assert "outcome" not in found.fields
    # The file has no field of an identity: an identity needs none, not all seven.
    assert load_configuration(tmp_path / "use.yaml").use.identity_requires == ()
    assert found.left_out["Status"] == "it says what was decided, in words that are not all known"
    assert (
        "Status says what was decided: name it in records.columns.outcome, and what its words mean in "
        "records.outcomes (xk are not known)." in found.decisions
    )


COMPOUNDS = {
    ("transaktionsbetrag", "betrag"): True,
    ("betrugskennzeichen", "betrug"): True,
    ("midlands", "id"): False,
    ("wanted", "want"): False,
    ("is_fraud", "fraud"): True,
}


@pytest.mark.parametrize(("headers", "expected"), COMPOUNDS.items())
def test_only_long_words_are_found_in_compounds(headers: tuple[str, str], expected: bool) -> None:
    """Words of five letters or more at either end; shorter ones stand alone."""
    assert tells(*headers) is expected


LINKING = {
    "Kunden-Nr.": True,
    "numéro de carte": True,
    "id_klienta": True,
    "ID-Karte": True,
    "device_hash": True,
    "Kontonummer": True,
    "Kundennr": True,
    "Benutzer": True,
    "Ügyfélszám": True,
    "Asiakasnro": True,
    "Číslo účtu": True,
    "Αρ. πελάτη": True,
    "Broj klijenta": True,
    "anvandare_nr": True,
    "CARDNO": True,
    "Personnr": True,
    "account no": True,
    "Cédula del cliente": True,
    "RUT": True,
    "Kundenalter": False,
    "âge client": False,
    "IP-Land": False,
}


@pytest.mark.parametrize(("header", "expected"), LINKING.items())
def test_headers_of_what_connects_records(header: str, expected: bool) -> None:
    """The number of a card or a customer does; an age of a customer and the country of a network do not."""
    assert links_records(words_of(header)) is expected


def test_headers_are_compared_without_case_accents_and_fillers() -> None:
    """As they stand in files."""
    assert joined(words_of("Fecha de la Operación")) == joined(words_of("fechaOperacion"))


def test_devices_and_cards_are_no_record_ids(tmp_path: Path) -> None:
    """Though each occurs once; a code without such a header is one, and then other such numbers are no signals."""
    codes = [f"x{place * 7919 % 100_003:06d}" for place in range(N)]
    found = proposed(tmp_path, frame(Gerätekennung=codes, Betrug=words("ja", "nein")))
    assert "recordId" not in found.fields
    numbers = DRAW.permutation(N) + 1000
    found = proposed(tmp_path, frame(Schlüsselwert=codes, Zeile=numbers, Betrug=words("ja", "nein")))
    assert found.fields["recordId"] == "Schlüsselwert"
    assert found.left_out["Zeile"] == "it numbers the records"


def test_numbers_are_identifiers_by_their_digits_but_no_measures(tmp_path: Path) -> None:
    """Long numbers of one length that recur connect records; amounts, balances and incomes never do."""
    cards = 400_000 + DRAW.integers(0, 60, N) * 331
    found = proposed(tmp_path, frame(Feld3=cards, Saldo=cards + 1, Betrug=words("ja", "nein")))
    kinds = {signal.column: signal.type for signal in found.signals}
    assert (kinds["Feld3"], kinds["Saldo"]) == (Kind.IDENTIFIER, Kind.NUMBER)


def test_numbers_that_rise_with_the_time_are_no_signals(tmp_path: Path) -> None:
    """Also where they rise unevenly, as squares do."""
    found = proposed(tmp_path, frame(zähler2=np.arange(N) ** 4 + 5, Betrug=words("ja", "nein")))
    assert found.left_out["zähler2"].startswith("it runs with the time")


def test_words_of_documents_gaps_and_countries_are_known(tmp_path: Path) -> None:
    """In the language of the file; a word of two letters among codes of states stays one."""
    kinds = [("Reisepass", "Personalausweis", "Führerschein", "k.A.")[place % 4] for place in range(N)]
    lands = [("Deutschland", "Österreich", "Frankreich", "Polska")[place % 4] for place in range(N)]
    found = proposed(tmp_path, frame(Ausweisart=kinds, Land=lands, Betrug=words("ja", "nein")))
    assert found.nulls == ("k.A.",)
    assert found.values["documentType"]["Führerschein"] == "DRIVERS_LICENSE"
    assert found.fields["address.country"] == "Land"
    states = [f"{chr(65 + place % 26)}{chr(65 + place % 13)}" for place in range(N - 1)] + ["ND"]
    assert proposed(tmp_path, frame(Staat=states, Betrug=words("ja", "nein"))).nulls == ()


@pytest.mark.parametrize("towns", [40, None], ids=["towns", "alone"])
def test_a_state_is_a_region_where_it_follows_from_the_town(tmp_path: Path, towns: int | None) -> None:
    """A state of work never is: it is a signal, beside towns and without them."""
    town = np.arange(N) % (towns or N)
    columns = {"city": [f"Town{'abcdefghij'[one % 10]}{one}" for one in town]} if towns else {}
    codes = [("NSW", "VIC", "QLD", "WA")[one % 4] if towns else f"{chr(65 + one % 26)}A" for one in town]
    work = [("open", "open", "closed", "new")[place] for place in DRAW.integers(0, 4, N)]
    label = words("ja", "nein")
    found = proposed(tmp_path, frame(state=codes, Betrug=label, **columns))
    assert found.fields["address.region"] == "state"
    found = proposed(tmp_path, frame(state=work, Betrug=label, **columns))
    assert "address.region" not in found.fields
    assert "state" in {signal.column for signal in found.signals}
    assert (
        "address.region" not in proposed(tmp_path, frame(state=town % 9 + 1, Betrug=label, **columns)).fields
    )


def test_keys_with_encodings_are_counted_like_others(tmp_path: Path) -> None:
    """Addresses of one network are one value: without the encoding none would recur. The key is called a network."""
    ips = [f"10.{place % 40}.7.{place // 40 + 1}" for place in range(N)]
    found = proposed(tmp_path, frame(Rechner=ips, Betrug=words("ja", "nein")))
    assert found.keys == {"rechner_network": ("signals.Rechner:net24",)}
    assert (found.lengths.links, found.lengths.by_key) == (True, {})
    recurring = [f"10.{place % 40}.7.{place // 80 + 1}" for place in range(N)]
    found = proposed(tmp_path, frame(Rechner=recurring, Betrug=words("ja", "nein")))
    assert found.keys == {"rechner_network": ("signals.Rechner:net24",), "rechner": ("signals.Rechner",)}
    alone = [f"10.{place // 200}.{place % 200}.9" for place in range(N)]
    found = proposed(tmp_path, frame(Rechner=alone, Betrug=words("ja", "nein")))
    assert not found.lengths.links
    assert "No value of a link key recurs" in " ".join(found.decisions)


def test_a_date_of_birth_is_told_by_its_years(tmp_path: Path) -> None:
    """Of two complete columns of times without a known header the one of decades before is no event."""
    born = [f"19{60 + place % 40}-05-17 00:00:00" for place in range(N)]
    table = frame(Betrug=words("ja", "nein")).rename(columns={"Zeitpunkt": "Feld1"})
    table.insert(0, "Feld0", born)
    found = proposed(tmp_path, table)
    assert (found.fields["eventTime"], found.fields["dob"]) == ("Feld1", "Feld0")


def test_a_time_that_every_record_has_is_the_event_whatever_it_is_called(tmp_path: Path) -> None:
    """In Polish `data zgłoszenia` is the date of a report, or of an application; a report has gaps."""
    table = frame(Betrug=words("ja", "nein")).rename(columns={"Zeitpunkt": "data zgłoszenia"})
    known = [f"{time:%Y-%m-%d}" if fraud else "" for time, fraud in zip(EVENTS, FRAUD, strict=True)]
    found = proposed(tmp_path, table.assign(**{"data wykrycia": known}))
    assert (found.fields["eventTime"], found.fields["labelKnownAt"]) == ("data zgłoszenia", "data wykrycia")
    assert "data zgłoszenia is taken for the time of the event" in " ".join(found.decisions)


@pytest.mark.parametrize(
    ("amounts", "decimal", "kind"),
    [
        (["1,234", "12,500", "731"], ".", Kind.NUMBER),
        (["$1,234.50", "$731.25", "$12.00"], ".", Kind.NUMBER),
        (["1 234,5", "731,25 €", "0,125"], ",", Kind.NUMBER),
        (["1.234,5", "731", "12,5"], ",", Kind.NUMBER),
        (["1 234.5", "731.25", "12"], None, Kind.NUMBER),
        (["1 234", "2 500", "9 100"], None, Kind.NUMBER),
        (["$5", "7 €", "9"], None, Kind.CATEGORY),
        (["804 213 213", "546 395 586", "500 100 200"], None, Kind.CATEGORY),
    ],
)
def test_marks_within_numbers_are_told_apart(
    tmp_path: Path, amounts: list[str], decimal: str | None, kind: Kind
) -> None:
    """Groups of three digits, fractions and currencies are read; two currencies, and phone numbers, are not."""
    column = [amounts[place % 3] for place in range(N)]
    found = proposed(tmp_path, frame(Betrag=column, Betrug=words("ja", "nein")))
    assert (found.decimal, found.profiles["Betrag"].kind) == (decimal, kind)
    assert ("commas between groups of digits" in found.guesses) == (decimal == ".")


@pytest.mark.parametrize("stamp", ["%H:%M:%S", "%I:%M %p", "%H.%M"])
def test_a_time_of_day_is_no_signal_and_belongs_to_the_date(tmp_path: Path, stamp: str) -> None:
    """A column of dates beside one of times of day is joined with it; many gaps in it are said."""
    table = frame(
        Betrug=words("ja", "nein"),
        Uhrzeit=[f"{time + place * HOURS:{stamp}}" for place, time in enumerate(EVENTS)],
    )
    found = proposed(tmp_path, table)
    assert (found.clocks, found.left_out["Uhrzeit"]) == ({}, "times are no signals")
    days = table.assign(Zeitpunkt=[f"{time:%d.%m.%Y}" for time in EVENTS])
    found = proposed(tmp_path, days)
    assert (found.clocks, found.dates) == ({"eventTime": "Uhrzeit"}, ("%d.%m.%Y %H:%M:%S",))
    days.loc[: N // 10, "Uhrzeit"] = None
    found = proposed(tmp_path, days)
    assert found.clocks == {}
    assert "Uhrzeit holds them, but not in 10." in " ".join(found.decisions)


def test_births_are_no_events_where_the_time_of_the_event_cannot_be_read(tmp_path: Path) -> None:
    """They are told by the times of reports, which only frauds have; that no column holds the event is said."""
    born = [f"19{60 + place % 40}-05-17" for place in range(N)]
    known = [f"{time:%Y-%m-%d}" if fraud else "" for time, fraud in zip(EVENTS, FRAUD, strict=True)]
    days = [f"day {place}" for place in range(N)]
    table = {"Feld0": born, "Feld1": days, "Feld2": known, "Betrug": words("ja", "nein")}
    found = proposed(tmp_path, pd.DataFrame(table))
    assert ("eventTime" in found.fields, found.fields["dob"]) == (False, "Feld0")
    assert "No column holds the time of the event" in " ".join(found.decisions)


@pytest.mark.parametrize(
    ("header", "kind"), [("Mobiel", Kind.PHONE), ("Telefoonnummer", Kind.PHONE), ("Feld9", Kind.TEXT)]
)
def test_phone_numbers_are_told_by_their_header_in_any_language(
    tmp_path: Path, header: str, kind: Kind
) -> None:
    """Digits alone may be anything."""
    numbers = [f"06-{10_000_000 + place * 7919}" for place in range(N)]
    found = proposed(tmp_path, frame(Betrug=words("ja", "nein"), **{header: numbers}))
    assert found.profiles[header].kind is kind


def test_whole_names_are_no_category(tmp_path: Path) -> None:
    """They recur like words of a category, and a bundle would hold them."""
    names = [("Ada Lovelace", "Alan Turing", "Grace Hopper")[place % 3] for place in range(N)]
    found = proposed(tmp_path, frame(Name=names, Betrug=words("ja", "nein")))
    assert found.left_out["Name"] == "names are no signals"
    table = frame(Betrug=words("ja", "nein"), **{"Nome completo do titular": names})
    assert "Nome completo do titular" in proposed(tmp_path, table).left_out
    found = proposed(tmp_path, frame(Name=names, Betrug=words("ja", "nein")))
    assert "Name is called like names" in " ".join(found.decisions)
    table = frame(Betrug=words("ja", "nein"), **{"Primer apellido": names, "Segundo apellido": names})
    found = proposed(tmp_path, table)
    assert found.fields["lastName"] == "Primer apellido"
    assert found.left_out["Segundo apellido"] == "names are no signals"
    assert "is called like names" not in " ".join(found.decisions)


def test_events_with_objects_are_read(tmp_path: Path) -> None:
    """What objects around a person hold has its field; those of others are signals."""
    path = tmp_path / "in.jsonl"
    lines = (
        {
            "ts": f"{time:%Y-%m-%dT%H:%M:%SZ}",
            "applicant": {
                "name": {"first": "Ada", "last": f"Lee{place % 50}"},
                "birthDate": f"19{60 + place % 40}-05-17",
                "address": {"street": f"Main St {place}", "zip": f"{10000 + place}"},
            },
            "shop": {"city": ("Bern", "Basel")[place % 2]},
            "device": {"id": f"d{place % 90:04d}"},
            "fraud": bool(FRAUD[place]),
        }
        for place, time in enumerate(EVENTS)
    )
    path.write_text("\n".join(map(json.dumps, lines)))
    found = propose(path)
    assert {name: column.removeprefix("applicant.") for name, column in found.fields.items()} == {
        "eventTime": "ts",
        "label": "fraud",
        "firstName": "name.first",
        "lastName": "name.last",
        "dob": "birthDate",
        "address.line1": "address.street",
        "address.postalCode": "address.zip",
    }
    assert {signal.column for signal in found.signals} == {"shop.city", "device.id"}
    (tmp_path / "use.yaml").write_text(proposal_text(found, name="use", source=path.name))
    schema = load_configuration(tmp_path / "use.yaml").schema
    table, row = read_records(path, schema, labelled=True).table, json.loads(path.read_text().split("\n")[0])
    assert len(table) == N
    assert read_record(row, schema).values == table.record(0).values
    with pytest.raises(InvalidRecord, match="must come once"):
        read_record(row | {"applicant.name.first": "Eve"}, schema)


def test_one_decimal_comma_decides_for_all_columns(tmp_path: Path) -> None:
    """1,234 may be either; beside 12,5 it is a fraction."""
    found = proposed(
        tmp_path,
        frame(Menge=["1,234", "2,345"] * 200, Preis=["12,5", "8,75"] * 200, Betrug=words("ja", "nein")),
    )
    assert (found.decimal, found.numbers(["1,234"]).tolist()) == (",", [1.234])
