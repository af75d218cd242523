"""Features of mail addresses, phone numbers and IP addresses, and what of them a bundle may hold."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from feature_tables import STATE, table_of, values_of
from scoring_model.contract.violation import Invalid
from scoring_model.features import (
    FeatureMatrix,
    FeatureSettings,
    FittedState,
    LinkSettings,
    MailProviders,
    SignalSettings,
    feature_versions,
    fit_state,
)
from scoring_model.features.signal_settings import READ_TYPES
from scoring_model.features.signals import read_families
from scoring_model.records import RecordTable, SignalType
from scoring_model.records.phone import KINDS

SIGNALS = {
    "email": SignalSettings(type=SignalType.EMAIL),
    "mobile": SignalSettings(type=SignalType.PHONE, country="DE"),
    "ip": SignalSettings(type=SignalType.IP),
}
SETTINGS = FeatureSettings(signals=SIGNALS, links=LinkSettings(keys={}), families=("signals",))


def features(state: FittedState = STATE, /, **record: object) -> dict[str, float]:
    """The features of one record by name; names of signals are without prefix."""
    values = {f"signals.{name}" if name in SIGNALS else name: value for name, value in record.items()}
    return {
        name: float(value)
        for family in read_families(SIGNALS, state)
        for name, value in values_of(family, values).items()
    }


def test_an_address_is_described() -> None:
    """Form of the local part, provider, and likeness to the names without accents."""
    found = features(email="Anna.Nunez84+x@GMail.com", firstName="Anna", lastName="Núñez")
    expected = {
        "email_unreadable": 0,
        "email_length": 12,
        "email_digits": 2,
        "email_digits_at_end": 2,
        "email_separators": 1,
        "email_tag": 1,
        "email_domain": 0,
        "email_top_domain": 0,
        "email_domain_length": 9,
        "email_domain_labels": 2,
        "email_free": 1,
        "email_disposable": 0,
        "email_first_name": 1,
        "email_last_name": 1,
        "email_name_share": 1,
    }
    assert {name: found[name] for name in expected} == expected
    assert found["email_improbability"] > 0


def test_providers_of_disposable_addresses_are_known_with_their_subdomains() -> None:
    """A subdomain counts, a domain that only ends alike does not."""
    assert features(email="x@a.mailinator.com")["email_disposable"] == 1
    assert features(email="x@notmailinator.com")["email_disposable"] == 0


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"firstName": "Bo", "lastName": "Zed"}, (0, 0, 0)),
        ({"firstName": "Anna"}, (1, None, 0.5)),
        ({"lastName": "Олена"}, (None, None, None)),
        ({}, (None, None, None)),
    ],
)
def test_likeness_needs_a_name_in_latin_letters(
    names: dict[str, str], expected: tuple[float | None, ...]
) -> None:
    """Without one nothing can be compared."""
    found = features(email="annaxyz@mail.example", **names)
    likeness = [found[f"email_{part}"] for part in ("first_name", "last_name", "name_share")]
    assert [None if math.isnan(value) else value for value in likeness] == list(expected)


def test_a_number_is_described() -> None:
    """Validity, kind and country, compared with that of the address."""
    found = features(mobile="0151 23456789", **{"address.country": "FR"})
    expected = {
        "unreadable": 0,
        "invalid": 0,
        "kind": 1,
        "country": 0,
        "longest_run": 1,
        "code_differs": 1,
    }
    assert {part: found[f"phone_mobile_{part}"] for part in expected} == expected
    assert features(mobile="+49 1")["phone_mobile_unreadable"] == 1
    odd = features(mobile="+1 200 000 0000", **{"address.country": "US"})
    assert (odd["phone_mobile_invalid"], odd["phone_mobile_code_differs"]) == (1, 0)
    assert math.isnan(odd["phone_mobile_kind"])


@pytest.mark.parametrize(
    ("ip", "version", "code"),
    [
        ("8.8.8.8", 4, 0),
        ("2a00:1450::1", 6, 0),
        ("10.1.2.3", 4, 1),
        ("::ffff:10.1.2.3", 4, 1),
        ("fd00::1", 6, 1),
        ("100.64.0.1", 4, 2),
        ("127.0.0.1", 4, 3),
        ("::1", 6, 3),
        ("fe80::1%eth0", 6, 4),
        ("203.0.113.9", 4, 5),
        ("2001:db8::1", 6, 5),
        ("2002:808:808::1", 6, 6),
        ("64:ff9b::808:808", 6, 6),
        ("224.0.0.1", 4, 7),
        ("ff02::1", 6, 7),
        ("255.255.255.255", 4, 8),
        ("::", 6, 8),
    ],
)
def test_ranges_of_addresses_are_those_of_the_registries(ip: str, version: int, code: int) -> None:
    """By the special-purpose registries of IANA."""
    found = features(ip=ip)
    assert (found["ip_version"], found["ip_range"], found["ip_special"]) == (version, code, code > 0)


@pytest.mark.parametrize(
    ("values", "unreadable"),
    [
        ({"email": "anna", "mobile": "none", "ip": "1.2.3"}, 1.0),
        ({}, math.nan),
    ],
)
def test_what_cannot_be_read_is_missing_but_for_the_sign_of_it(
    values: dict[str, str], unreadable: float
) -> None:
    """A value that is sent and cannot be read differs from one that is not sent."""
    found = features(**values)
    signs = {"email_unreadable", "phone_mobile_unreadable", "phone_mobile_invalid", "ip_unreadable"}
    assert {name for name, value in found.items() if not math.isnan(value)} == (signs if values else set())
    assert all(found[name] == unreadable for name in signs if values)


def persons(size: int) -> RecordTable:
    """Records of persons who share a domain, a calling code and a network."""
    rows = [
        {
            "subjectId": f"s{i}",
            "signals.email": f"canary{'abcdefgh'[i]}@Office.example",
            "signals.mobile": f"0151 2345670{i}",
            "signals.ip": f"192.0.2.{i}",
        }
        for i in range(size)
    ]
    return table_of(rows, range(size), [(-1, 0)] * size)


def test_parts_of_fewer_than_five_persons_are_dropped() -> None:
    """Four persons leave no trace of their values; five leave what they share, and none of their addresses."""
    few, enough = fit_state(persons(4), SETTINGS), fit_state(persons(5), SETTINGS)
    shared = {
        "signals.email:domain": ("office.example",),
        "signals.email:top": ("example",),
        "signals.mobile:country": ("DE",),
        "signals.ip:network": ("192.0.0.0/16",),
    }
    assert {name: few.vocabulary(name).values for name in shared} == dict.fromkeys(shared, ())
    assert {name: enough.vocabulary(name).values for name in shared} == shared
    assert few.mail.locals.counts == {}
    assert enough.mail.locals.counts["can"] == 5
    written = json.dumps(enough.to_json())
    assert not any(text in written for text in ("canarya", "canary", "2345670", "192.0.2"))


def test_a_person_with_many_addresses_counts_once() -> None:
    """Five addresses of one person leave no trace of their letters, domain or network."""
    table = persons(5)
    subjects = table.columns["subjectId"]
    alone = {**table.columns, "subjectId": replace(subjects, codes=np.zeros_like(subjects.codes))}
    state = fit_state(replace(table, columns=alone), SETTINGS)
    assert state.mail.locals.counts == {}
    assert {vocabulary.values for vocabulary in state.vocabularies.values()} == {()}


def test_providers_of_the_configuration_are_added_and_kept() -> None:
    """They are in the fitted state with those of the package, so that later lists change no bundle."""
    more = MailProviders(free=("free.example",), disposable=("gone.example",))
    plain: Any = json.loads(
        json.dumps(fit_state(persons(5), FeatureSettings(signals=SIGNALS, mail_providers=more)).to_json())
    )
    state = FittedState.from_json(plain)
    assert {"gmail.com", "free.example"} <= state.mail.free
    assert {"mailinator.com", "gone.example"} <= state.mail.disposable
    assert features(state, email="x@y.gone.example")["email_disposable"] == 1


def test_a_use_without_such_signals_is_as_before() -> None:
    """Neither versions nor fitted tables mention what it does not use."""
    without = FeatureSettings(signals={"x": SignalSettings(type=SignalType.NUMBER)})
    state = fit_state(persons(5), without)
    assert "mail" not in state.to_json()
    kinds = {kind.value for kind in READ_TYPES}
    assert kinds.isdisjoint(feature_versions(FeatureMatrix(without, state)))
    assert kinds <= feature_versions(FeatureMatrix(SETTINGS, STATE)).keys()


def test_names_do_not_clash_with_signals_of_parts() -> None:
    """A use may have an address and, as a signal of its own, its domain."""
    signals = {**SIGNALS, "emailDomain": SignalSettings(type=SignalType.CATEGORY)}
    matrix = FeatureMatrix(FeatureSettings(signals=signals, families=("signals",)), FittedState())
    assert {"email_domain", "signal_email_domain"} <= set(matrix.names)


def test_mistaken_settings_are_reported() -> None:
    """A country is for phone numbers and is one; providers are domains."""
    with pytest.raises(Invalid, match="country: must be absent for type email"):
        SignalSettings(type=SignalType.EMAIL, country="DE")
    with pytest.raises(Invalid, match="country: must be an ISO"):
        SignalSettings(type=SignalType.PHONE, country="de")
    with pytest.raises(Invalid, match="disposable: must be domains"):
        MailProviders(disposable=("@gone.example",))


def test_codes_have_words() -> None:
    """Domains, countries and networks are those of the vocabularies; kinds and ranges have names."""
    matrix = FeatureMatrix(SETTINGS, STATE)
    words = {one.name: matrix.code_words(one) for one in matrix.features if one.categorical}
    assert words == {
        "email_domain": STATE.vocabulary("signals.email:domain").values,
        "email_top_domain": STATE.vocabulary("signals.email:top").values,
        "phone_mobile_country": STATE.vocabulary("signals.mobile:country").values,
        "phone_mobile_kind": tuple(kind.replace("_", " ") for kind in KINDS),
        "ip_network": STATE.vocabulary("signals.ip:network").values,
        "ip_range": words["ip_range"],
    }
    assert words["ip_range"][:2] == ("public", "private")
    assert all(words.values())
