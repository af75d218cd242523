"""Which addresses may be dialled: the registries of IANA, and what is hidden in IPv6."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.delivery.egress import SPECIAL_IPV4, SPECIAL_IPV6, AddressPolicy, Egress, IpAddress

# Every row of IANA's two special-purpose registries but those that stand for IPv4 addresses, and multicast.
REGISTERED = """
0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24
192.52.193.0/24 192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
203.0.113.0/24 240.0.0.0/4 255.255.255.255/32 224.0.0.0/4
::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001:1::1/128 2001:1::2/128 2001:1::3/128
2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32
2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 ff00::/8 fec0::/10 ::/96
"""

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
    "2000::", "2001:200::", "2001:4860:4860::8888", "2001:db7:ffff::", "2001:db9::", "2606:4700::1111",
    "2a00:1450::1", "3ffe:ffff::", "3fff:1000::",
]  # fmt: skip


def is_special(address: IpAddress) -> bool:
    """Return True if an address may be dialled only with a setting."""
    return not AddressPolicy().permits(address)


def embeddings(inner: IPv4Address) -> list[IPv6Address]:
    """All forms of IPv6 that dial an IPv4 address in the end."""
    low = int(inner)
    return [
        IPv6Address((0xFFFF << 32) | low),
        IPv6Address((0x64FF9B << 96) | low),
        IPv6Address((0x2002 << 112) | (low << 80) | 1),
        IPv6Address((0x2001 << 112) | (0x08080808 << 64) | (low ^ 0xFFFFFFFF)),
        IPv6Address((0x2001 << 112) | (low << 64) | (0x08080808 ^ 0xFFFFFFFF)),
    ]


@pytest.mark.parametrize("block", REGISTERED.split())
def test_registered_blocks_are_special_from_end_to_end(block: str) -> None:
    """Webhooks, delivery: the first, the last and a middle address of every registered block are special."""
    network = ip_network(block)
    middle = network.network_address + network.num_addresses // 2
    for address in (network.network_address, middle, network.broadcast_address):
        assert is_special(address)


@pytest.mark.parametrize("text", PUBLIC)
def test_neighbours_of_blocks_are_public(text: str) -> None:
    """Webhooks, delivery: addresses beside the blocks, and well-known public ones, are not special."""
    assert not is_special(ip_address(text))


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_an_embedded_address_is_judged_like_itself(inner: IPv4Address) -> None:
    """Webhooks, delivery: embedded IPv4 addresses are unwrapped and checked."""
    assert {is_special(outer) for outer in embeddings(inner)} == {is_special(inner)}


@pytest.mark.parametrize("inner", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0"])
def test_no_form_of_a_special_address_passes(inner: str) -> None:
    """Webhooks, delivery: neither compatible forms nor NAT64 of one's own nor any other let one pass."""
    low = int(IPv4Address(inner))
    others = [IPv6Address(low), IPv6Address((0x64FF9B0001 << 80) | low)]
    for outer in [*embeddings(IPv4Address(inner)), *others]:
        assert not AddressPolicy().permits(outer)


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_only_global_unicast_and_nat64_are_public(address: IPv6Address) -> None:
    """Outside 2000::/3 only representations of public IPv4 addresses are public."""
    if not is_special(address):
        assert any(address in IPv6Network(text) for text in ("2000::/3", "::ffff:0:0/96", "64:ff9b::/96"))


def test_named_networks_may_be_dialled_and_no_others() -> None:
    """Webhooks, delivery: special addresses are dialled in ranges that a setting names, in all their forms."""
    policy = AddressPolicy.of(["10.1.0.0/16", "fd00:1::/32"])
    assert all(
        map(policy.permits, ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd00:1::5", "8.8.8.8"])
    )
    assert not any(map(policy.permits, ["10.2.0.1", "::ffff:10.2.0.1", "fd00:2::5", "127.0.0.1", "::1"]))


def test_development_allows_this_machine_alone() -> None:
    """Webhooks, delivery: under development loopback may be dialled, and nothing else that is special."""
    policy = AddressPolicy.of(development=True)
    assert all(map(policy.permits, ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]))
    assert not any(map(policy.permits, ["10.0.0.1", "0.0.0.0", "::", "169.254.169.254", "fe80::1"]))


@pytest.mark.parametrize(
    ("prefix", "special", "public"),
    [
        ("64:ff9b:1:abcd::/96", "64:ff9b:1:abcd::7f00:1", "64:ff9b:1:abcd::808:808"),
        ("64:ff9b:1:abcd::/64", "64:ff9b:1:abcd:7f:0:100:0", "64:ff9b:1:abcd:8:808:800:0"),
        ("64:ff9b:1:ab00::/56", "64:ff9b:1:ab7f:0:1::", "64:ff9b:1:ab08:8:808::"),
        ("64:ff9b:1::/48", "64:ff9b:1:7f00:0:100:808:808", "64:ff9b:1:808:8:800::"),
    ],
)
def test_a_named_translator_is_looked_through(prefix: str, special: str, public: str) -> None:
    """RFC 6052, section 2.2: behind a prefix of one's own the length says where the IPv4 address stands."""
    policy = AddressPolicy.of([prefix])
    assert policy.permits(public)
    assert not policy.permits(special)
    assert not AddressPolicy().permits(public)


@pytest.mark.parametrize("length", [50, 112, 128])
def test_a_translator_of_an_unknown_length_is_refused(length: int) -> None:
    """A prefix whose length RFC 6052 does not know hides where the IPv4 address stands."""
    everywhere = "64:ff9b:1:808:8:808:808:808"  # a public one, wherever it is looked for
    network = IPv6Network(f"{everywhere}/{length}", strict=False)
    assert not AddressPolicy.of([network]).permits(everywhere)


def test_zones_and_words_are_no_way_around() -> None:
    """A zone changes nothing, and an invalid address is not permitted."""
    assert not any(
        map(AddressPolicy().permits, ["fe80::1%1", "::1%eth0", "localhost", "", "127.1", "08.8.8.8"])
    )
    assert AddressPolicy.of(["fe80::/10"]).permits("fe80::1%1")


@pytest.mark.parametrize(
    "settings",
    [
        {"networks": ("10.0.0.1/8",)},
        {"networks": ("",)},
        {"proxy": "http:///"},
        {"proxy": "socks5://u:s3cret@h"},
    ],
)
def test_settings_that_could_not_be_used_are_refused(settings: dict[str, Any]) -> None:
    """The text names the setting and does not show a proxy, which may hold a password."""
    with pytest.raises(ValueError, match=r"^egress_\w+(\.0)?: must be (a URL|an address)") as caught:
        Egress(**settings)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("blocks", [SPECIAL_IPV4, SPECIAL_IPV6])
def test_blocks_of_the_table_do_not_overlap(blocks: dict[str, str]) -> None:
    """Each block of the table is a network of its own, so that none hides a mistake in another."""
    networks = [ip_network(text) for text in blocks]
    assert not [
        (one, other) for one in networks for other in networks if one is not other and one.overlaps(other)
    ]
