"""IP addresses and their networks, against those of the standard library."""

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.records.ip import IPV6_BITS, network_of, read_ip

addresses = st.one_of(
    st.integers(0, 2**32 - 1).map(IPv4Address), st.integers(2**120, 2**128 - 1).map(IPv6Address)
)


@given(addresses, st.sampled_from(sorted(IPV6_BITS)))
def test_a_network_holds_the_address(address: IPv4Address | IPv6Address, bits: int) -> None:
    """It is the supernet of that length."""
    assert read_ip(str(address)) == address
    length = bits if address.version == 4 else IPV6_BITS[bits]
    assert ip_network(network_of(address, bits)) == ip_network(f"{address}/{length}", strict=False)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("192.0.2", None),
        ("192.0.2.07", None),
        ("192.0.2.7:80", None),
        ("3221225991", None),
        ("", None),
    ],
)
def test_texts_are_read_strictly(text: str, address: str | None) -> None:
    """A mapped address is that of IPv4; anything but one address is none."""
    found = read_ip(text)
    assert (None if found is None else str(found)) == address
