"""Where a connection goes: scheme, host, port, and addresses if somebody has checked them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, quote, urlsplit

from refdesk.errors import ConfigError

Scheme = Literal["http", "https"]

_DEFAULT_PORT = {"http": 80, "https": 443}
_NETLOC = re.compile(r"(\[[0-9A-Fa-f:.]+(%[\w.-]+)?\]|[^\[\]:]+)(:[0-9]*)?\Z")
_IN_TARGET = "!#$%&'()*+,/:;=?@[]~"


@dataclass(frozen=True, slots=True)
class Origin:
    """
    One server.  Connections are pooled by it, so it is compared and hashed often.

    Args:
        scheme: ``http`` or ``https``.
        host: A name in ASCII or an address without brackets, lower-case.  TLS asks for it, and the
            certificate must be for it.
        port: The port, always given.
        addresses: Where to connect instead of asking the resolver: addresses that were checked.
    """

    scheme: Scheme
    host: str
    port: int
    addresses: tuple[str, ...] = field(default=(), kw_only=True)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        value = hash((self.scheme, self.host, self.port, self.addresses))
        object.__setattr__(self, "_hash", value)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        """Return ``host:port``, as messages name it."""
        return f"{self._host}:{self.port}"

    @property
    def authority(self) -> str:
        """What belongs in the host header: the port only where it is not the scheme's own."""
        return self._host if self.port == _DEFAULT_PORT[self.scheme] else str(self)

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @classmethod
    def parse(cls, base_url: str) -> tuple[Origin, str]:
        """
        Return the origin of a base URL, and its path without a trailing slash.

        Raises:
            ConfigError: It is no http or https URL, or has a part that a base URL cannot have.
        """
        origin, parts = _split(base_url)
        if parts.query or parts.fragment:
            raise ConfigError(
                f"the base URL of {origin} has a query or a fragment; leave out what follows the "
                "path"
            )
        return origin, _ascii(parts.path.rstrip("/"))

    @classmethod
    def split(cls, url: str) -> tuple[Origin, str]:
        """
        Return the origin of a URL, and the request target: path and query, in ASCII.

        Raises:
            ConfigError: It is no http or https URL, or it holds a user name.
        """
        origin, parts = _split(url)
        target = parts.path or "/"
        return origin, _ascii(f"{target}?{parts.query}" if parts.query else target)


def _split(url: str) -> tuple[Origin, SplitResult]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as exc:
        # The text of a URL may hold a key, and urllib's messages quote it.
        fault = "port" if "ort" in str(exc) else "host"
        raise ConfigError(f"a URL has a {fault} that cannot be read; write it again") from None
    if parts.scheme not in ("http", "https"):
        raise ConfigError(
            f"a URL starts with {parts.scheme[:20]!r}; it must start with http:// or https://"
        )
    if not host:
        raise ConfigError(f"a URL names no host; write {parts.scheme}://host/path")
    if "@" in parts.netloc:
        raise ConfigError(
            f"the URL of {host} holds a user name; set the credentials by a header instead"
        )
    try:
        # What the resolver would make of it: lower-case, wide digits and dots folded to ASCII.
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise ConfigError(f"{host!r} is no host name; write it in ASCII (xn--…)") from None
    if not _NETLOC.match(parts.netloc) or not all(c.isalnum() or c in "-._:%" for c in name):
        raise ConfigError(f"{host!r} is no host name; it has characters no host name can have")
    scheme: Scheme = "https" if parts.scheme == "https" else "http"
    given = _DEFAULT_PORT[scheme] if port is None else port
    if given == 0:
        raise ConfigError(f"the URL of {host} has port 0; give the port the server listens on")
    return Origin(scheme, name.lower(), given), parts


def _ascii(target: str) -> str:
    return quote(target, safe=_IN_TARGET)
