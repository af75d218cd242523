"""What is known only after the event is no signal: how accounts stand, and when they were closed for fraud."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scoring_model.arrays import BoolArray
from scoring_model.configuration.proposal import Proposal, propose

N = 600
FRAUD = np.arange(N) % 10 == 3
EVENTS = pd.date_range("2024-01-01", periods=N, freq="12h")
DRAW = np.random.default_rng(5)


def later(mask: BoolArray, *, days: int) -> "pd.Series[pd.Timestamp]":
    """Times some days after the events of a mask."""
    return pd.Series(EVENTS + pd.Timedelta(days=days)).where(mask)


def proposed(folder: Path, **columns: Any) -> Proposal:
    """Propose a configuration for events with a label, beside other columns."""
    frame = pd.DataFrame({"created_at": EVENTS, "fraud": np.where(FRAUD, "yes", "no")} | columns)
    path = folder / "a.csv"
    frame.to_csv(path, index=False)
    return propose(path)


@pytest.mark.parametrize(
    "words",
    [
        ("ACTIVE", "BLOCKED", "CLOSED"),
        ("aktiv", "gesperrt", "gekündigt"),
        ("LAUFEND", "GEKUENDIGT", "ABGELOEST"),
        ("Vigente", "Cancelada", "Vencida"),
        ("有効", "凍結", "解約"),
        ("активен", "заблокирован", "закрыт"),
    ],
)
def test_how_an_account_stands_today_is_no_signal(tmp_path: Path, words: tuple[str, str, str]) -> None:
    """In any language and under any header, though genuine accounts are closed too; it is named."""
    standing = np.where(FRAUD & (DRAW.random(N) < 0.8), words[1], DRAW.choice(words, N, p=[0.9, 0.02, 0.08]))
    found = proposed(tmp_path, column7=standing)
    assert found.left_out["column7"].startswith("it says how an account stands today")
    assert any(decision.startswith("column7 is left out") for decision in found.decisions)


def test_a_word_of_work_is_a_signal(tmp_path: Path) -> None:
    """Where none of the words is one for blocked or closed."""
    found = proposed(tmp_path, work=DRAW.choice(["active", "retired", "student"], N))
    assert [signal.column for signal in found.signals] == ["work"]


@pytest.mark.parametrize(("share", "is_used"), [(0.9, False), (0.1, True)])
def test_accounts_that_were_closed_for_fraud_have_no_end_of_observation(
    tmp_path: Path, share: float, is_used: bool
) -> None:
    """Their frauds would count as not observed: the closing times of most frauds follow from the label."""
    closed = later(DRAW.random(N) < np.where(FRAUD, share, 0.1), days=20)
    found = proposed(tmp_path, closed_at=closed)
    assert ("closedAt" in found.fields, "closed_at" in found.left_out) == (is_used, not is_used)


def test_words_for_dates_may_be_others_than_those_known(tmp_path: Path) -> None:
    """Of a closing time under an abbreviation."""
    closed = later(DRAW.random(N) < 0.1, days=20)
    found = proposed(tmp_path, DT_CHIUSURA=closed)
    assert found.fields["closedAt"] == "DT_CHIUSURA"


def test_frauds_of_accounts_that_closed_early_are_not_counted_for_the_parts(tmp_path: Path) -> None:
    """A training does not judge on them either, so that its parts would lack frauds."""
    early = [time + pd.Timedelta(days=1) if place % 5 < 2 else None for place, time in enumerate(EVENTS)]
    parts = proposed(tmp_path, device=[f"d{place % 90}" for place in range(N)], closed_at=early).parts
    whole = proposed(tmp_path, device=[f"d{place % 90}" for place in range(N)]).parts
    assert parts.genuine < 0.7 * whole.genuine


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_a_change_that_genuine_records_have_too_is_not_when_labels_became_known(
    tmp_path: Path, share: float
) -> None:
    """One that only frauds have is."""
    changed = later(FRAUD | (DRAW.random(N) < share), days=9)
    found = proposed(tmp_path, status_changed=changed)
    assert ("labelKnownAt" in found.fields) == (share == 0.0)


def test_a_time_under_a_header_of_fraud_is_when_labels_became_known(tmp_path: Path) -> None:
    """Though some frauds have no label, since another word of its column says that they were stopped."""
    stopped = FRAUD & (np.arange(N) % 50 == 3)
    others = ~FRAUD & (np.arange(N) % 7 == 2)
    status = np.select([stopped | others, FRAUD], ["wc-failed", "wc-fraud"], "wc-completed")
    found = proposed(tmp_path, fraud=status, fraud_flagged_gmt=later(FRAUD & (np.arange(N) < 200), days=20))
    assert "labelKnownAt" not in found.fields
    flagged = later(FRAUD & (~stopped | (np.arange(N) < 200)), days=20)
    found = proposed(tmp_path, fraud=status, fraud_flagged_gmt=flagged)
    assert found.fields["labelKnownAt"] == "fraud_flagged_gmt"


def test_a_decision_with_a_few_unknown_words_is_no_signal(tmp_path: Path) -> None:
    """Under any header, where its other words are approved and declined."""
    found = proposed(tmp_path, column7=DRAW.choice(["Approved", "Declined", "Xyz"], N))
    assert found.left_out["column7"].startswith("it says what was decided")


def test_pass_and_fail_are_decisions_where_another_column_ends_their_reviews(tmp_path: Path) -> None:
    """Without a header that says so; what few records have is no decision, whatever its header."""
    checked = DRAW.choice(["pass", "refer", "fail"], N, p=[0.7, 0.2, 0.1])
    ended = np.where(checked == "refer", DRAW.choice(["accepted", "rejected"], N), "")
    fields = proposed(tmp_path, column7=checked, manual_outcome=ended).fields
    assert (fields["outcome"], fields["resolution"]) == ("column7", "manual_outcome")
    assert "outcome" not in proposed(tmp_path, column7=checked).fields


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("beslut", ("beviljad", "manuell granskning", "avslag")),
        ("القرار", ("مقبول", "قيد المراجعة", "مرفوض")),
        ("uw_dcsn_cd", ("APRV", "REFR", "DCLN")),
        ("Рішення", ("схвалено", "на розгляді", "відмовлено")),
        ("Parecer", ("Favorável", "Para análise", "Desfavorável")),
        ("Avis", ("Accordé", "À l'étude", "Refusé")),
    ],
)
def test_decisions_in_more_words(tmp_path: Path, header: str, words: tuple[str, str, str]) -> None:
    """Of other languages, and cut ones."""
    found = proposed(tmp_path, **{header: DRAW.choice(words, N)})
    assert found.fields["outcome"] == header
    assert [found.outcomes[kind] for kind in ("passed", "stepped_up", "failed")] == [
        [word.lower()] for word in words
    ]


def test_a_swedish_fraud_is_no_dutch_amount(tmp_path: Path) -> None:
    """Its ones are frauds, and its zeros are genuine."""
    path = tmp_path / "b.csv"
    pd.DataFrame({"tid": EVENTS, "device": DRAW.integers(0, 90, N), "bedrägeri": FRAUD * 1}).to_csv(path)
    assert propose(path).words["fraud"] == ["1"]


@pytest.mark.parametrize(
    ("decided", "ended"),
    [
        (("Beviljad", "Komplettering", "Avslag"), ("Godkänd", "Ej godkänd", "Ej inkommen")),
        (("ANGENOMMEN", "NACHWEIS", "ABGELEHNT"), ("ERBRACHT", "NICHT ERBRACHT", "KEINE REAKTION")),
        (("accepté", "pièce complémentaire", "refusé"), ("validé", "invalidé", "sans suite")),
        (("PAGO DIRECTO", "PERITAJE", "RECHAZADO"), ("CONFORME", "NO CONFORME", "DESISTIDO")),
        (("Approve", "Refer", "Decline"), ("Pass", "Fail", "No Show")),
        (("VERIFIED", "DOCS_REQUESTED", "REFUSED"), ("ACCEPTED", "REJECTED", "NEVER_SUPPLIED")),
        (("APPR", "MREV", "DECL"), ("CLR", "DENY", "EXPD")),
        (("Accept", "Verify", "Cancel"), ("Verified OK", "Could not verify", "No reply")),
        (("passed", "challenged", "failed"), ("Passed", "Failed", "Not_Completed")),
        (("direkt bezahlt", "an Gutachter", "abgewiesen"), ("plausibel", "nicht plausibel", "fehlt nicht")),
    ],
)
def test_reviews_tell_the_words_of_decisions(
    tmp_path: Path, decided: tuple[str, str, str], ended: tuple[str, str, str]
) -> None:
    """Where all stand beside one word, that is the one for stepped up; a word and its negation tell each other."""
    column7 = DRAW.choice(decided, N, p=[0.75, 0.15, 0.1])
    column8 = np.where(column7 == decided[1], DRAW.choice(ended, N, p=[0.7, 0.2, 0.1]), "")
    found = proposed(tmp_path, column7=column7, column8=column8)
    assert (found.fields["outcome"], found.fields["resolution"]) == ("column7", "column8")
    named = [*zip(("passed", "stepped_up", "failed"), decided, strict=True)]
    named += zip(("approved", "declined", "abandoned"), ended, strict=True)
    assert {kind: found.outcomes[kind] for kind, _ in named} == {kind: [word.lower()] for kind, word in named}


def test_a_check_of_some_records_is_no_review(tmp_path: Path) -> None:
    """The word beside which it stands is none of a decision, and neither are the others."""
    column7 = DRAW.choice(["card", "transfer", "invoice"], N, p=[0.3, 0.5, 0.2])
    checked = np.where(column7 == "card", DRAW.choice(["passed", "failed", "no answer"], N), "")
    found = proposed(tmp_path, column7=column7, secure=checked)
    assert not {"outcome", "resolution"} & found.fields.keys()


def test_amounts_that_are_zero_but_for_frauds_follow_from_the_label(tmp_path: Path) -> None:
    """Though half of the frauds have none."""
    refund = np.where(FRAUD & (DRAW.random(N) < 0.5), DRAW.uniform(5, 90, N).round(2), 0)
    found = proposed(tmp_path, column7=refund)
    assert found.left_out["column7"] == "hardly any record has it but those whose label was found"


def test_what_only_reviews_fill_is_no_signal(tmp_path: Path) -> None:
    """Such as who reviewed, and why others were stopped."""
    decided = DRAW.choice(["approved", "referred", "declined"], N, p=[0.7, 0.2, 0.1])
    found = proposed(
        tmp_path,
        decision=decided,
        reviewer=np.where(decided == "referred", DRAW.choice(["amy@a.example", "bob@a.example"], N), ""),
        reason=np.where(decided == "declined", DRAW.choice(["R1", "R2", "R3"], N), ""),
    )
    assert {found.left_out[column] for column in ("reviewer", "reason")} == {
        "hardly any record has it but those that were not let pass, or whose label was found"
    }


@pytest.mark.parametrize(
    "header",
    [
        "dias_em_atraso",
        "Inkassobelopp",
        "frozen_balance",
        "IMP_PAGADO",
        "hatralek_ft",
        "antal_rykkere",
        "Days past due",
    ],
)
def test_arrears_and_refunds_come_after_the_event(tmp_path: Path, header: str) -> None:
    """Where their values tell frauds from others; otherwise they may be those of earlier contracts."""
    arrears = np.where(FRAUD | (DRAW.random(N) < 0.3), DRAW.choice([30, 60, 90], N), 0)
    found = proposed(tmp_path, **{header: arrears, f"{header}_2": DRAW.permutation(arrears)})
    assert found.left_out[header].startswith("its header says what came after the event")
    assert [signal.column for signal in found.signals] == [f"{header}_2"]


def test_numbers_of_batches_run_with_the_time(tmp_path: Path) -> None:
    """Also with letters; versions of a program, which overlap, are signals."""
    days = [f"B{time:%Y%m%d}" for time in EVENTS[np.arange(N) // 10 * 10]]
    versions = [f"5.{(place + DRAW.integers(0, 60)) // 25}" for place in range(N)]
    found = proposed(tmp_path, batch=days, version=versions)
    assert found.left_out["batch"].startswith("it runs with the time")
    assert "version" not in found.left_out


@pytest.mark.parametrize("form", ["{:%Y%m}", "Q{0.quarter} {0.year}"])
def test_a_few_values_that_follow_each_other_run_with_the_time(tmp_path: Path, form: str) -> None:
    """Months and quarters; a rare word is a signal, and so is a day of the week."""
    months = [*map(form.format, EVENTS)]
    rare = np.where(np.arange(N) == 200, "web", "app")
    found = proposed(tmp_path, month=months, channel=rare, weekday=EVENTS.day_name())
    assert found.left_out["month"].startswith("it runs with the time")
    assert {signal.column for signal in found.signals} == {"channel", "weekday"}


def test_numbers_that_nearly_rise_with_the_time_run_with_it(tmp_path: Path) -> None:
    """As those of accounts, of which some are of older customers."""
    found = proposed(tmp_path, points=10 * np.arange(N) + DRAW.integers(0, N, N))
    assert found.left_out["points"].startswith("it runs with the time")


def test_claims_are_numbered_though_some_numbers_are_missing(tmp_path: Path) -> None:
    """Whole numbers that rise with the time, with small gaps, name the records."""
    numbers = 20_240_000_117 + np.cumsum(DRAW.integers(1, 5, N))
    assert proposed(tmp_path, NUM_SIN=numbers).fields["recordId"] == "NUM_SIN"


def test_how_a_loan_stands_today_is_no_signal(tmp_path: Path) -> None:
    """It is repaid or collected later."""
    standing = np.where(FRAUD, "Inkasso", DRAW.choice(["Löpande", "Slutbetald", "Inkasso"], N))
    assert proposed(tmp_path, column7=standing).left_out["column7"].startswith("it says how an account")


def test_the_status_of_an_account_that_tells_frauds_is_no_signal(tmp_path: Path) -> None:
    """In words that are not known; where it tells nothing it may be that of an earlier account."""
    standing = np.where(FRAUD | (DRAW.random(N) < 0.1), "CLSD", "NRML")
    found = proposed(tmp_path, ACCT_STS_CD=standing, contract_status=DRAW.permutation(standing))
    assert found.left_out["ACCT_STS_CD"].startswith("its header says what came after the event")
    assert [signal.column for signal in found.signals] == ["contract_status"]


@pytest.mark.parametrize("header", ["STATUS_POZ", "Stato fornitura", "Vertragszustand"])
def test_a_status_that_tells_frauds_is_one_of_today(tmp_path: Path, header: str) -> None:
    """In words that are not known, and whatever has the status."""
    standing = np.where(FRAUD | (DRAW.random(N) < 0.1), "ABCD", "EFGH")
    found = proposed(tmp_path, **{header: standing, f"{header}_2": DRAW.permutation(standing)})
    assert found.left_out[header].startswith("its header names a status")
    assert [signal.column for signal in found.signals] == [f"{header}_2"]


def test_what_reviews_fill_is_no_signal_without_labels_either(tmp_path: Path) -> None:
    """Labels may come from another file."""
    decided = DRAW.choice(["approved", "referred", "declined"], N, p=[0.7, 0.2, 0.1])
    reviewer = np.where(decided == "referred", DRAW.choice(["amy", "bob"], N), "")
    path = tmp_path / "b.csv"
    pd.DataFrame({"created_at": EVENTS, "decision": decided, "reviewer": reviewer}).to_csv(path, index=False)
    found = propose(path)
    assert found.fields["outcome"] == "decision"
    assert found.left_out["reviewer"].startswith("hardly any record has it but those that were not let pass")


def test_reviews_that_ended_badly_are_not_counted_for_the_parts(tmp_path: Path) -> None:
    """A training does not judge on them, so that its parts would lack frauds."""
    decided = DRAW.choice(["approved", "referred", "declined"], N, p=[0.5, 0.4, 0.1])
    devices = [f"d{place % 90}" for place in range(N)]
    counted = []
    for ends in (["accepted", "rejected"], ["rejected", "accepted"]):
        ended = np.where(decided == "referred", DRAW.choice(ends, N, p=[0.9, 0.1]), "")
        counted.append(proposed(tmp_path, device=devices, decision=decided, review=ended).parts.genuine)
    assert counted[1] < 0.8 * counted[0]


@pytest.mark.parametrize(
    "decided",
    [
        ("AUTORIZADO", "VALIDACION", "RECHAZADO"),
        ("naar klant", "handmatige controle", "geblokkeerd"),
        ("approved", "review", "kaput"),
    ],
)
def test_the_last_word_of_a_decision_has_the_meaning_that_is_left(
    tmp_path: Path, decided: tuple[str, str, str]
) -> None:
    """Under a header of decisions, if as many have it as usually pass or are stopped; it is named as guessed."""
    found = proposed(tmp_path, dictamen=DRAW.choice(decided, N, p=(0.8, 0.1, 0.1)))
    kinds = ("passed", "stepped_up", "failed")
    assert [found.outcomes[kind] for kind in kinds] == [[word.lower()] for word in decided]
    named = next(text for text in found.decisions if text.startswith("dictamen is taken"))
    assert named.count("guessed") == 1
    seldom = DRAW.choice(decided, N, p=(0.3, 0.35, 0.35))
    frauds = np.where(FRAUD, decided[1], DRAW.choice(decided, N, p=(0.8, 0.1, 0.1)))
    for other in (seldom, frauds):
        assert "outcome" not in proposed(tmp_path, dictamen=other).fields
    path = tmp_path / "without_labels.csv"
    pd.DataFrame({"created_at": EVENTS, "dictamen": DRAW.choice(decided, N, p=(0.8, 0.1, 0.1))}).to_csv(path)
    assert propose(path).fields["outcome"] == "dictamen"


def test_words_of_decisions_are_named_with_what_they_are_taken_for(tmp_path: Path) -> None:
    """Known ones first; those that other columns or the other words tell are named as guessed, yes and no are not."""
    decided = DRAW.choice(["approved", "paperwork", "declined"], N, p=[0.7, 0.2, 0.1])
    ended = np.where(decided == "paperwork", DRAW.choice(["accepted", "rejected", "gone"], N), "")
    said = proposed(tmp_path, decision=decided, review=ended).decisions
    assert [text for text in said if "is taken for what" in text or "is taken for how" in text] == [
        "decision is taken for what was decided: declined as failed, approved as passed; guessed by what is left or "
        "follows: paperwork as stepped_up. Check records.columns.outcome and records.outcomes.",
        "review is taken for how reviews ended: accepted as approved, rejected as declined; guessed by what is left "
        "or follows: gone as abandoned. Check records.columns.resolution and records.outcomes.",
    ]
    plain = proposed(tmp_path, approved=DRAW.choice(["yes", "no"], N, p=[0.8, 0.2])).decisions
    assert any(" what was decided: no as failed, yes as passed. Check" in text for text in plain)


def test_a_review_is_abandoned_where_its_word_names_the_customer(tmp_path: Path) -> None:
    """Beside a word of genuine records, which is approved, and one that is left."""
    decided = DRAW.choice(["schváleno", "k prověření", "zamítnuto"], N, p=[0.7, 0.2, 0.1])
    words = ["v pořádku", "nevyhověl", "klient nereaguje"]
    ended = np.where(decided == "k prověření", DRAW.choice(words, N), "")
    outcomes = proposed(tmp_path, rozhodnuti=decided, column8=ended).outcomes
    assert [outcomes[kind] for kind in ("approved", "declined", "abandoned")] == [[word] for word in words]


def test_what_follows_from_the_decision_is_no_signal(tmp_path: Path) -> None:
    """Such as whether an order was shipped, and how a line stands; what only hints at the decision is a signal."""
    decided = DRAW.choice(["approved", "declined"], N, p=[0.8, 0.2])
    stopped = decided == "declined"
    found = proposed(
        tmp_path,
        decision=decided,
        column7=~stopped,
        column8=np.where(stopped, "never", DRAW.choice(["one", "two"], N)),
        column9=np.where(DRAW.random(N) < 0.8, stopped, ~stopped),
    )
    for column in ("column7", "column8"):
        assert found.left_out[column].startswith("it tells those who were stopped")
        assert any(
            text.startswith(f"{column} is left out, since it nearly follows") for text in found.decisions
        )
    assert [signal.column for signal in found.signals] == ["column9"]


@pytest.mark.parametrize("header", ["column7", "Champion_Challenger__c", "kontrolgruppe"])
def test_a_word_for_a_control_group_is_no_signal(tmp_path: Path, header: str) -> None:
    """Under any header, and any words under one of champions."""
    other = "Control" if header == "column7" else "CG"
    found = proposed(tmp_path, **{header: DRAW.choice([other, "BAU"], N)})
    assert found.left_out[header].startswith("it says who was in a control group")


def test_the_time_by_which_rows_are_ordered_is_that_of_the_event(tmp_path: Path) -> None:
    """Of claims, which are reported after what happened; headers that name an event come first."""
    happened = EVENTS - pd.to_timedelta(DRAW.integers(1, 50, N), unit="D")
    table = {"DATA_SINISTRO": happened, "Xyz": EVENTS, "fraud": np.where(FRAUD, "yes", "no")}
    path = tmp_path / "b.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    assert propose(path).fields["eventTime"] == "Xyz"
    assert any("if it is at DATA_SINISTRO" in text for text in propose(path).decisions)
    pd.DataFrame(table).sample(frac=1, random_state=3).to_csv(path, index=False)
    assert propose(path).fields["eventTime"] == "DATA_SINISTRO"
    pd.DataFrame(table).rename(columns={"DATA_SINISTRO": "event_time"}).to_csv(path, index=False)
    assert propose(path).fields["eventTime"] == "event_time"


@pytest.mark.parametrize("header", ["LIQUIDATORE", "assigned_to", "Sachbearbeiter-Nr"])
def test_who_handled_a_record_is_no_signal(tmp_path: Path, header: str) -> None:
    """Though all records have one; who sold it is a signal."""
    found = proposed(
        tmp_path, **{header: DRAW.choice(["K1", "K2", "K3"], N), "vendor": DRAW.choice([*"ABC"], N)}
    )
    assert found.left_out[header].startswith("it says who handled the record")
    assert [signal.column for signal in found.signals] == ["vendor"]


def test_a_line_that_ended_in_spanish_says_how_it_stands(tmp_path: Path) -> None:
    """As closed ones do in other languages."""
    standing = np.where(FRAUD, "BAJA", DRAW.choice(["ACTIVA", "BAJA", "NUEVA"], N, p=[0.8, 0.1, 0.1]))
    assert proposed(tmp_path, column7=standing).left_out["column7"].startswith("it says how an account")


@pytest.mark.parametrize("stopped", ["declined", "step up"])
def test_what_nobody_who_was_stopped_has_is_no_signal(tmp_path: Path, stopped: str) -> None:
    """Such as the trips of the first month; numbers that some of them have are signals."""
    decided = DRAW.choice(["approved", stopped, "rejected"], N, p=[0.8, 0.15, 0.05])
    trips = np.where(decided == "approved", DRAW.integers(1, 900, N), 0)
    found = proposed(
        tmp_path, decision=decided, column7=trips, column8=np.maximum(trips, DRAW.integers(0, 9, N))
    )
    assert found.left_out["column7"].startswith("hardly anyone who was stopped has it")
    assert [signal.column for signal in found.signals] == ["column8"]


def test_reviews_of_a_buyer_who_is_not_reached_are_abandoned(tmp_path: Path) -> None:
    """Beside French words of decisions, of which one is known by its participle."""
    decided = DRAW.choice(["laissée passer", "mise en revue", "bloquée"], N, p=[0.8, 0.1, 0.1])
    ends = ["libérée", "annulée", "acheteur injoignable"]
    ended = np.where(decided == "mise en revue", DRAW.choice(ends, N), "")
    outcomes = proposed(tmp_path, decision_moteur=decided, issue_revue=ended).outcomes
    kinds = ("passed", "stepped_up", "failed", "approved", "declined", "abandoned")
    assert [outcomes[kind] for kind in kinds] == [
        [word] for word in ("laissée passer", "mise en revue", "bloquée", *ends)
    ]


def test_a_negation_beside_what_the_customer_did_is_declined(tmp_path: Path) -> None:
    """Though both words have one."""
    decided = DRAW.choice(["elfogadva", "kézi ellenőrzés", "elutasítva"], N, p=[0.8, 0.1, 0.1])
    ends = ["rendben", "nem felelt meg", "ügyfél nem válaszolt"]
    ended = np.where(decided == "kézi ellenőrzés", DRAW.choice(ends, N), "")
    outcomes = proposed(tmp_path, dontes=decided, column8=ended).outcomes
    assert [outcomes[kind] for kind in ("approved", "declined", "abandoned")] == [[word] for word in ends]


@pytest.mark.parametrize(
    "ends",
    [
        ("Potvrđen identitet", "Nije potvrđen", "Odustao"),
        ("적합", "부적합", "미제출"),
        ("ustreza", "ne ustreza", "molk"),
    ],
)
def test_a_word_is_denied_whatever_is_said_beside_it(tmp_path: Path, ends: tuple[str, ...]) -> None:
    """Or as one character before it; the word that is left is the end that is left."""
    decided = DRAW.choice(["승인", "보류", "반려"], N, p=[0.8, 0.1, 0.1])
    ended = np.where(decided == "보류", DRAW.choice(ends, N), "")
    outcomes = proposed(tmp_path, 심사결과=decided, column8=ended).outcomes
    found = [outcomes[kind] for kind in ("approved", "declined", "abandoned")]
    assert found == [[word.lower()] for word in ends]


def test_claims_are_paid_refused_or_sent_to_an_expert(tmp_path: Path) -> None:
    """What the expert says ends the reviews; the words for paid and for the expert are told by them."""
    decided = DRAW.choice(["PAGO RÁPIDO", "PERITACIÓN", "REHUSADO"], N, p=[0.8, 0.1, 0.1])
    ended = np.where(decided == "PERITACIÓN", DRAW.choice(["FAVORABLE", "DESFAVORABLE"], N), "")
    outcomes = proposed(tmp_path, Triaje=decided, **{"Informe Pericial": ended}).outcomes
    kinds = ("passed", "stepped_up", "failed", "approved", "declined")
    said = ("pago rápido", "peritación", "rehusado", "favorable", "desfavorable")
    assert [outcomes[kind] for kind in kinds] == [[word] for word in said]


def test_times_of_day_of_a_mainframe_are_joined(tmp_path: Path) -> None:
    """Digits without separators, under an abbreviation."""
    path = tmp_path / "b.csv"
    table = {"TRAN-DT": EVENTS.strftime("%Y%m%d"), "TRAN-TM": EVENTS.strftime("%H%M%S"), "fraud": FRAUD * 1}
    pd.DataFrame(table).to_csv(path, index=False)
    found = propose(path)
    assert (found.fields["eventTime"], found.clocks["eventTime"]) == ("TRAN-DT", "TRAN-TM")


def test_times_of_day_are_told_by_their_digits(tmp_path: Path) -> None:
    """Under any header, beside days without one."""
    days = [f"{time:%Y%m%d}" for time in EVENTS]
    clocks = [f"{DRAW.integers(24):02}{DRAW.integers(60):02}{DRAW.integers(60):02}" for _ in range(N)]
    found = proposed(tmp_path, created_at=days, XCHTM=clocks)
    assert found.clocks == {"eventTime": "XCHTM"}


def test_a_few_refunds_of_others_leave_those_of_frauds_to_come_after(tmp_path: Path) -> None:
    """Where less than half of the frauds were refunded."""
    refunded = np.where(DRAW.random(N) < np.where(FRAUD, 0.4, 0.03), DRAW.integers(10, 99, N), 0)
    assert "Amount Refunded" in proposed(tmp_path, **{"Amount Refunded": refunded}).left_out


def test_a_count_of_chargebacks_is_no_label_where_a_time_of_fraud_is(tmp_path: Path) -> None:
    """Though only frauds have one above 0; it follows from the label."""
    path = tmp_path / "b.csv"
    table = {
        "created_at": EVENTS,
        "chargebackCnt": FRAUD * (1 + np.arange(N) // 10 % 3),
        "fraudNoticeDate": later(FRAUD, days=9),
    }
    pd.DataFrame(table | {"device": DRAW.integers(0, 90, N)}).to_csv(path, index=False)
    found = propose(path)
    assert found.fields["label"] == "fraudNoticeDate"
    assert "chargebackCnt" in found.left_out
