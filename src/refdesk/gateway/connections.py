"""How many connections may be open, in all and from one address."""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Final

import structlog

from refdesk.config.schema import LimitsSection

_OWN_FILES: Final = 64
"""Files that the server opens for itself: the store, collections, the log."""
_TOLD_EVERY_S: Final = 60.0
_REFUSED_AT_ONCE: Final = 128
"""Refused connections that are held for a moment, so that their clients see the answer; no more
than may be open."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")


class Connections:
    """
    Counts the open connections of a process.

    Args:
        most: In all.
        most_per_address: From one IPv4 address, or one IPv6 network of 64 bits, which is what one
            customer is given.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self, *, most: int, most_per_address: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit(most, most_per_address)
        self.open = 0
        """Refused ones are not among them."""
        self.refused = 0
        """Since the start."""
        self._by_address: Counter[str] = Counter()
        self._leaving = 0
        self._clock = clock
        self._told = float("-inf")

    def limit(self, most: int, most_per_address: int) -> None:
        """Set the bounds anew; connections that are open stay."""
        self.most = most
        self.most_per_address = most_per_address

    def enter(self, address: str) -> str:
        """Count a connection; return why it is one too many, or an empty string."""
        address = network(address)
        if self.open >= self.most:
            why = f"{self.open} connections are open, and no more may be"
            setting = "server.limits.connections"
        elif (own := self._by_address[address]) >= self.most_per_address:
            why = f"{own} connections are open from your address, and no more may be"
            setting = "server.limits.connections_per_address"
        else:
            self.open += 1
            self._by_address[address] += 1
            return ""
        if not self._by_address[address]:
            del self._by_address[address]
        self.refused += 1
        self._leaving += 1
        self._tell(address, setting)
        return f"{why}; try again in a moment"

    def leave(self, address: str, *, refused: bool) -> None:
        """Count a connection out that entered, or was refused."""
        if refused:
            self._leaving -= 1
            return
        address = network(address)
        self.open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    @property
    def must_hurry(self) -> bool:
        """Whether so many refused connections are held that the next one is closed at once."""
        return self._leaving > min(_REFUSED_AT_ONCE, self.most)

    def _tell(self, address: str, setting: str) -> None:
        now = self._clock()
        if now - self._told < _TOLD_EVERY_S:
            return
        self._told = now
        _log.warning(
            "connections are refused: too many are open",
            setting=setting,
            open=self.open,
            address=address,
            refused=self.refused,
        )


def bounds(limits: LimitsSection) -> tuple[int, int]:
    """
    Return how many connections may be open, in all and from one address.

    Each may need a second one, to an upstream, so the process asks the system for two files for
    each; where it gets fewer, the bounds are lower.
    """
    wanted = 2 * limits.connections + _OWN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft not in (-1, resource.RLIM_INFINITY) and soft < wanted:
        soft = wanted if hard in (-1, resource.RLIM_INFINITY) else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        most = max(1, min(limits.connections, (soft - _OWN_FILES) // 2))
    else:
        most = limits.connections
    return most, min(most, limits.connections_per_address or max(1, most // 2))


def network(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 of an IPv6 one."""
    if ":" not in address:
        return address
    parsed = IPv6Address(address.partition("%")[0])
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(int(parsed) >> 64 << 64))
