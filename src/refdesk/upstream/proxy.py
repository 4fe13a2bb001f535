"""Proxies: which one, if any, and how a connection is made through it."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment

from refdesk.errors import ConfigError
from refdesk.upstream.origin import Origin

MAX_ANSWER_BYTES: Final = 16 * 1024
"""Bytes of a proxy's answer to CONNECT; a larger one is an error."""

_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?=[ \r]|\Z)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxy:
    """An HTTP proxy."""

    host: str
    port: int
    authorization: bytes = field(default=b"", repr=False)
    """A whole header line, or nothing."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, url: str) -> Proxy:
        """Read a proxy's URL; ConfigError if it is none that can be used."""
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or parts.scheme != "http":
            # The URL is not shown: it may hold a password.
            raise ConfigError(
                "a proxy's URL is not understood; it must look like http://proxy.example:3128"
            )
        line = b""
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            line = b"proxy-authorization: Basic %b\r\n" % b64encode(pair.encode())
        return cls(host=host, port=port or 80, authorization=line)


class ProxyTable:
    """
    Which proxy leads where.

    Args:
        proxies: By scheme (``http``, ``https``, ``all``), with the hosts that need none, separated
            by commas, under ``no``.  None: no proxy.
        trust_env: Without explicit proxies, take ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and
            ``NO_PROXY``, in either case.

    Loopback is never asked for through a proxy.
    """

    def __init__(self, proxies: Mapping[str, str] | None, *, trust_env: bool) -> None:
        if proxies is None:
            proxies = getproxies_environment() if trust_env else {}
        self._direct = [part.strip().lower() for part in proxies.get("no", "").split(",")]
        self._by_scheme = {
            scheme: Proxy.parse(url)
            for scheme, url in proxies.items()
            if scheme in ("http", "https", "all") and url
        }

    def find(self, origin: Origin) -> Proxy | None:
        """Return the proxy for an origin; one with checked addresses is reached directly."""
        if not self._by_scheme or origin.addresses or _is_loopback(origin.host):
            return None
        if any(_matches(origin, entry) for entry in self._direct if entry):
            return None
        return self._by_scheme.get(origin.scheme) or self._by_scheme.get("all")


class Tunnel(asyncio.Protocol):
    """Ask a proxy for a tunnel; `opened` ends when it is there, or raises OSError."""

    def __init__(self, origin: Origin, proxy: Proxy) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = b"CONNECT %b HTTP/1.1\r\nhost: %b\r\n%b\r\n" % (
            str(origin).encode(),
            str(origin).encode(),
            proxy.authorization,
        )
        self._proxy = proxy
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: uvloop's transports are none of asyncio's classes.
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, end, beyond = self._answer.partition(b"\r\n\r\n")
        if not end and len(self._answer) <= MAX_ANSWER_BYTES:
            return
        answer = _STATUS.match(head)
        status = answer[1].decode() if answer else "nothing readable"
        if end and not beyond and status.startswith("2"):
            self._settle(None)
        else:
            self._settle(OSError(f"the proxy {self._proxy} answered {status} to CONNECT"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle(OSError(f"the proxy {self._proxy} closed the connection"))

    def _settle(self, fault: OSError | None) -> None:
        if self.opened.done():
            return
        if fault is None:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(fault)


def absolute_form(origin: Origin, proxy: Proxy, head: bytes) -> bytes:
    """Return a head as a proxy wants it for plain HTTP: the whole URL in the request line."""
    line, _, rest = head.partition(b"\r\n")
    method, target, version = line.split(b" ")
    url = b"http://%b%b" % (origin.authority.encode(), target)
    return b"%b %b %b\r\n%b%b" % (method, url, version, proxy.authorization, rest)


def _matches(origin: Origin, entry: str) -> bool:
    """Whether a NO_PROXY entry covers an origin: ``*``, a domain, an address, or host:port."""
    if entry == "*" or entry in (str(origin), origin.host):
        return True
    try:
        # Networks are no standard, but Go, curl and requests take them.
        return ipaddress.ip_address(origin.host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        domain = "." + entry.removeprefix("*").removeprefix(".")
        return f".{origin.host}".endswith(domain) or f".{origin}".endswith(domain)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
