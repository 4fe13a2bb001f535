"""
Which addresses may be connected to.

The standard library's ``is_global`` is not enough: it passes NAT64, 6to4, multicast and some cloud
metadata addresses.  So the lists are our own (IANA's special-purpose registries, November 2026, and
the metadata services of the clouds), and an IPv4 address inside an IPv6 one counts as itself.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

WEB_PORTS: Final = frozenset((80, 443, 8000, 8008, 8080, 8443, 8888))
"""Where the public web is served; other ports lead to mail servers, databases and the like."""

_NOT_PUBLIC_4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/3",  # multicast, reserved, broadcast
            "168.63.129.16/32",  # Azure's host agent, a public address by its looks
        ),
    )
)
_PUBLIC_6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # Teredo, ORCHID, benchmarks and other protocols
            "2001:db8::/32",
            "2002::/16",  # 6to4
            "3fff::/20",
        ),
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_METADATA: Final = (
    IPv4Network("169.254.0.0/16"),  # AWS, Azure, Google and most others; also ECS and EKS
    IPv4Network("100.100.100.200/32"),  # Alibaba
    IPv4Network("168.63.129.16/32"),  # Azure
    IPv4Network("192.0.0.192/32"),  # Oracle
    IPv6Network("fd00:ec2::/32"),  # AWS
    IPv6Network("fd20:ce::254/128"),  # Google
    IPv6Network("fd00:42::42/128"),  # Scaleway
)


def why_blocked(address: str, *, public_only: bool) -> str | None:
    """
    Return what speaks against connecting to an address, or None if nothing does.

    Args:
        address: An address as the resolver gave it, not a name.
        public_only: Whether it must be one of the public internet.  Where the operator chose the
            place, loopback and private networks are fine; cloud metadata never is.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return "it is no address"
    forms = [ip, *embedded(ip)] if isinstance(ip, IPv6Address) else [ip]
    if any(form in network for form in forms for network in _METADATA):
        return "it belongs to a cloud's metadata service"
    if public_only and not _is_public(ip):
        return "it is not on the public internet"
    return None


def embedded(ip: IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 addresses that an IPv6 address may lead to."""
    value, found = int(ip), []
    if ip.ipv4_mapped is not None:
        found.append(ip.ipv4_mapped)
    if ip.sixtofour is not None:
        found.append(ip.sixtofour)
    if ip.teredo is not None:
        found.extend(ip.teredo)
    last = IPv4Address(value & 0xFFFFFFFF)
    compatible = value >> 32 == 0 and value > 1
    isatap = (value >> 32) & 0xFDFFFFFF == 0x5EFE
    # RFC 8215 leaves open where in 64:ff9b:1::/48 the address stands; the last place is usual.
    local_nat64 = value >> 80 == 0x0064_FF9B_0001
    if compatible or isatap or local_nat64 or ip in _NAT64:
        found.append(last)
    return found


def _is_public(ip: IPv4Address | IPv6Address) -> bool:
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in _NOT_PUBLIC_4)
    if ip.ipv4_mapped is not None:
        return _is_public(ip.ipv4_mapped)
    if ip in _NAT64:
        # On a network without IPv4 every IPv4-only site has such an address.
        return _is_public(IPv4Address(int(ip) & 0xFFFFFFFF))
    return (
        ip in _PUBLIC_6
        and not any(ip in network for network in _NOT_PUBLIC_6)
        and all(_is_public(inner) for inner in embedded(ip))
    )
