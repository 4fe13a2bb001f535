"""Which addresses may be connected to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.fetch.addresses import why_blocked

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450:4001:80b::200e",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
]

PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b:1::808:808",
    "100::1",
    "2001::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff::1",
    "2a00:1450::5efe:10.0.0.1",
    "2a00:1450::200:5efe:127.0.0.1",
    "5f00::1",
    "fc00::1",
    "fdff::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]

METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::6464:64c8",
    "2002:a9fe:a9fe::1",
    "fe80::5efe:169.254.169.254",
    "::ffff:100.100.100.200",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address: str) -> None:
    """The public internet may be asked by everybody; NAT64 and mapped forms count as IPv4."""
    assert why_blocked(address, public_only=True) is None
    assert why_blocked(address, public_only=False) is None


@pytest.mark.parametrize("address", PRIVATE)
def test_what_only_the_operator_may_choose(address: str) -> None:
    """Loopback, private and special networks are the operator's own, nobody else's."""
    assert why_blocked(address, public_only=True)
    assert why_blocked(address, public_only=False) is None


@pytest.mark.parametrize("address", METADATA)
def test_metadata_services(address: str) -> None:
    """A cloud's metadata is out of reach, in every spelling, for everybody."""
    for public_only in (True, False):
        assert "metadata" in (why_blocked(address, public_only=public_only) or "")


@pytest.mark.parametrize("text", ["localhost", "", "127.1", "0x7f000001", "1.2.3.4.", "[::1]"])
def test_what_is_no_address(text: str) -> None:
    """Names and odd spellings are not judged: they are blocked until they are resolved."""
    assert why_blocked(text, public_only=False)


@given(st.ip_addresses())
def test_we_are_never_laxer_than_the_standard_library(address: object) -> None:
    """What Python calls not global is blocked here too, but for NAT64 of a public address."""
    import ipaddress

    assert isinstance(address, ipaddress.IPv4Address | ipaddress.IPv6Address)
    if why_blocked(str(address), public_only=True) is None:
        inner = getattr(address, "ipv4_mapped", None) or address
        assert inner.is_global


@given(st.ip_addresses(v=4))
def test_the_wrapped_are_judged_like_the_bare(address: object) -> None:
    """An IPv4 address is judged the same inside the two forms that networks really use."""
    import ipaddress

    assert isinstance(address, ipaddress.IPv4Address)
    for public_only in (True, False):
        bare = why_blocked(str(address), public_only=public_only)
        for prefix in ("::ffff:", "64:ff9b::"):
            wrapped = why_blocked(f"{prefix}{address}", public_only=public_only)
            assert (bare is None) == (wrapped is None)
