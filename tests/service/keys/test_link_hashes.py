import hashlib
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring_model.history import PERSON, LinkKey, key_codes, key_of, person_of
from scoring_model.history.keys import PERSONS
from scoring_model.records import Column, RecordTable
from scoring_model.service.keys.link_hashes import Linker, Links
from scoring_model.service.keys.secrets import Secrets

KEYS = (
    LinkKey(name="address", parts=("address.line1", "address.postalCode", "address.country")),
    LinkKey(name="device", parts=("signals.device",)),
    LinkKey(name="household", parts=("lastName", "address.line1")),
    LinkKey(name="image", parts=("imageUrls",)),
    LinkKey(name="phone", parts=("signals.device",)),
    LinkKey(name="reference", parts=("externalId",)),
    LinkKey(name=PERSON, parts=()),
)
SECRETS = Secrets(bytes(range(32)))
LINKER = Linker(SECRETS, KEYS)

_names = st.sampled_from(["Zoë", "ZOE", "zo e", "Zo", "eBo", "Bo", "E.Bo", "---", "张", "\ud800"])
_records = st.fixed_dictionaries(
    {},
    optional={
        "firstName": _names,
        "lastName": _names,
        "dob": st.sampled_from(["1990-01-01", "1990-01-02"]),
        "subjectId": st.sampled_from(["s1", "s2", "1990-01-01"]),
        "identityId": st.sampled_from(["s1", "i1"]),
        "externalId": st.sampled_from(["s1", "x"]),
        "address.line1": st.sampled_from(["1 Main Street", "1, main st", "2 Main St", "!"]),
        "address.postalCode": st.sampled_from(["AB1 2CD", "ab12cd", "1"]),
        "address.country": st.sampled_from(["GB", "IE"]),
        "imageUrls": st.lists(
            st.sampled_from(["https://a.example/1?x=1", "https://A.example/1", "https://a.example/2"]),
            max_size=2,
        ),
        "signals.device": st.sampled_from(["d", "d1", 1.0, "1", 1.5, True, "True", "\ud800"]),
    },
)


@settings(max_examples=500)
@given(_records, _records)
def test_hashes_are_equal_where_keys_are(one: Mapping[str, object], other: Mapping[str, object]) -> None:
    """Two records of a client share a hash under a link key exactly when they share the key."""
    hashes, others = dict(LINKER.link("1", 1, one).hashes), dict(LINKER.link("1", 1, other).hashes)
    for key in KEYS:
        mine, theirs = key_of(one, key), key_of(other, key)
        assert (hashes.get(key.name) is None) == (mine is None)
        if mine is not None and theirs is not None:
            assert (hashes[key.name] == others[key.name]) == (mine == theirs)


@given(_records)
def test_person_is_that_of_history(record: Mapping[str, object]) -> None:
    """There is a person exactly when history knows one; the link key gives the same."""
    links = LINKER.link("1", 1, record)
    assert (links.person is None) == (person_of(record) is None)
    assert dict(links.hashes).get(PERSON) == links.person


@settings(max_examples=50)
@given(st.lists(_records, min_size=1, max_size=30))
def test_hashes_partition_records_as_codes_of_a_table_do(records: list[Mapping[str, object]]) -> None:
    """The records of a file and of the service fall into the same groups, under every link key."""
    table = _table(records)
    linked = [dict(LINKER.link("1", 1, record).hashes) for record in records]
    for key in KEYS:
        codes = key_codes(table, key)
        pairs = {(int(code), found.get(key.name)) for code, found in zip(codes, linked, strict=True)}
        known = {(code, found) for code, found in pairs if code >= 0}
        assert len(known) == len({code for code, _ in known}) == len({found for _, found in known})
        assert {found for code, found in pairs if code < 0} <= {None}
        assert None not in {found for _, found in known}


def _table(records: list[Mapping[str, object]]) -> RecordTable:
    fields = {part for key in KEYS for part in key.parts} | {field for _, parts in PERSONS for field in parts}
    count = len(records)
    columns = {field: _column([record.get(field) for record in records]) for field in fields}
    never = np.zeros(count, dtype=np.int64)
    return RecordTable(
        columns=columns,
        event_times=never,
        record_ids=tuple(str(number) for number in range(count)),
        labels=never.astype(np.int8) - np.int8(1),
        label_times=never,
        source_rows=np.arange(count),
    )


def _column(values: list[object]) -> Column:
    distinct: list[object] = []
    codes = []
    for value in values:
        same = [n for n, seen in enumerate(distinct) if type(seen) is type(value) and seen == value]
        if value is not None and not same:
            distinct.append(value)
            same = [len(distinct) - 1]
        codes.append(same[0] if value is not None else -1)
    return Column(values=tuple(distinct), codes=np.array(codes, dtype=np.int32))


FULL: Mapping[str, object] = {
    "firstName": "Zoë",
    "lastName": "Bo",
    "dob": "1990-01-01",
    "subjectId": "s1",
    "externalId": "s1",
    "address.line1": "1 Main Street",
    "address.postalCode": "AB1 2CD",
    "address.country": "GB",
    "imageUrls": ["https://a.example/1"],
    "signals.device": "d",
}


def _hashes(links: Links) -> set[bytes]:
    return {found for _, found in links.hashes}


def test_links_come_in_the_order_of_the_keys() -> None:
    """A full record has a hash of 16 bytes under every link key, no two alike."""
    links = LINKER.link("1", 1, FULL)
    assert [name for name, _ in links.hashes] == [key.name for key in KEYS]
    assert len(_hashes(links)) == len(KEYS)
    assert {len(found) for found in _hashes(links)} == {16}


def test_record_without_values_has_no_links() -> None:
    """What is missing links nothing."""
    assert LINKER.link("1", 1, {}) == Links(None, ())


def test_privacy_neither_history_scopes_nor_databases_share_a_hash() -> None:
    """Hashes differ between history scopes and databases, so that neither reveals anything of another."""
    mine, other = _hashes(LINKER.link("1", 1, FULL)), Linker(Secrets(bytes(32)), KEYS)
    assert not mine & _hashes(LINKER.link("2", 1, FULL))
    assert not mine & _hashes(other.link("1", 1, FULL))


def test_clients_of_a_history_scope_share_everything_but_their_references() -> None:
    """Within a history scope a person is known to all by names and date of birth; a reference is its client's own."""
    one, other = dict(LINKER.link("p", 1, FULL).hashes), dict(LINKER.link("p", 2, FULL).hashes)
    assert {name for name in one if one[name] == other[name]} == set(one) - {"reference"}
    alone = {"subjectId": "s1"}
    assert LINKER.link("p", 1, alone).person == LINKER.link("p", 1, alone).person
    assert LINKER.link("p", 1, alone).person != LINKER.link("p", 2, alone).person


def test_parts_do_not_run_into_each_other() -> None:
    """The hash covers the boundaries and the number of the parts."""
    keys = (LinkKey(name="k", parts=("signals.a", "signals.b")),)
    linker = Linker(SECRETS, keys)
    pairs = [("ab", "c"), ("a", "bc"), ("a\0b", "c"), ("a", "b\0c"), ("abc", ""), ("", "abc")]
    found = [linker.link("1", 1, {"signals.a": a, "signals.b": b}).hashes for a, b in pairs]
    assert len(set(found[:4])) == 4
    assert found[4:] == [(), ()]
    single = Linker(SECRETS, (LinkKey(name="k", parts=("signals.a",)),))
    assert single.link("1", 1, {"signals.a": "abc"}).hashes not in found


@pytest.mark.parametrize("names", [("a", "b"), ("a", "aa"), ("k", "k\0")])
def test_link_keys_do_not_meet(names: tuple[str, str]) -> None:
    """The same value under two link keys gives two hashes."""
    one, other = (LinkKey(name=name, parts=("signals.a",)) for name in names)
    found = Linker(SECRETS, (one, other)).link("1", 1, {"signals.a": "x"})
    assert len(_hashes(found)) == 2


def test_hash_is_made_as_documented() -> None:
    """A hash is keyed BLAKE2b (RFC 7693) of name, number of parts and parts, lengths before them.

    Whatever changes here cuts every database from its history.
    """

    def framed(text: str) -> bytes:
        return len(text.encode()).to_bytes(4, "little") + text.encode()

    def keyed(*parts: bytes) -> bytes:
        return hashlib.blake2b(b"".join(parts), digest_size=16, key=SECRETS.link_key("1")).digest()

    three, one = (3).to_bytes(4, "little"), (1).to_bytes(4, "little")
    client = (1).to_bytes(8, "little")
    found = dict(LINKER.link("1", 1, FULL).hashes)
    assert found["address"] == keyed(
        framed("address"), three, framed("1 main st"), framed("AB12CD"), framed("GB")
    )
    assert found[PERSON] == keyed(framed(PERSON), three, framed("zoe"), framed("bo"), framed("1990-01-01"))
    assert found["reference"] == keyed(framed("reference"), one, client, framed("s1"))
    assert LINKER.link("1", 1, {"subjectId": "s1"}).person == keyed(framed(PERSON), one, client, framed("s1"))
    assert found["device"].hex() == "6a27a96b8b11591a4a5189b3aa255488"


def test_person_is_known_without_a_link_key_for_it() -> None:
    """The pseudonym of a person does not depend on which link keys a bundle has."""
    bare = Linker(SECRETS, ()).link("1", 1, FULL)
    assert bare == Links(LINKER.link("1", 1, FULL).person, ())
