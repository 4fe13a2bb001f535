"""
The gate in front of every route: which requests may pass, and as which caller.

A valid client key passes everywhere.  A request without one passes only where keys are not required
and no web page can have sent it behind the user's back:

- its ``Host`` is a loopback name, an IP literal, the address listened on, or one of
  ``server.hosts`` (a page can point its own name at this machine, but cannot use another name);
- its ``Origin`` is absent, this server, or one of ``server.origins``;
- its ``Sec-Fetch-Site`` is absent, ``none`` or ``same-origin``;
- a body sent by a browser has a content type that another site's page cannot send unasked.

No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from refdesk.errors import WireError
from refdesk.gateway.client import HeaderList
from refdesk.gateway.headers import LOGIN_HEADERS, login_tokens
from refdesk.types import ANONYMOUS, Caller

_LOOPBACK: Final = frozenset({"localhost", "localhost.", "127.0.0.1", "::1"})
_FORWARDED: Final = frozenset(
    {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"}
)
_READ: Final = LOGIN_HEADERS | _FORWARDED | {b"host", b"origin", b"sec-fetch-site", b"content-type"}
_OWN_SITE: Final = (b"none", b"same-origin")
_UNASKED: Final = frozenset(
    {b"", b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data"}
)
"""Content types that a page may send to another site without a preflight (Fetch, "CORS-safelisted
request-header")."""
_MAX_NAME_BYTES: Final = 255
"""A longer ``Host`` or ``Origin`` is no name (RFC 1035)."""
_MAX_REMEMBERED: Final = 256
"""``Host`` values that are remembered as this server's own; others are read each time."""
_SHOWN: Final = 80


class Right(Enum):
    """What a route asks of its caller.  Every route declares one."""

    OPEN = "open"
    """Answered to all: health checks."""
    PAGE = "page"
    """Tells nothing but what is served: needs no key, and no foreign page gets it without one."""
    CLIENT = "client"
    """A valid key where keys are required; elsewhere a request that passes the gate."""
    METRICS = "metrics"
    """As CLIENT; where keys are required, the key's claims must have ``metrics`` or ``admin``."""


class ClientKey(Protocol):
    """A valid client key."""

    @property
    def id(self) -> str: ...
    @property
    def claims(self) -> Mapping[str, Any]: ...
    @property
    def requests_per_minute(self) -> int | None: ...


class Keys(Protocol):
    """The client keys."""

    def check(self, presented: str) -> ClientKey | None:
        """Return the valid key that a text is, None for anything else, in constant time."""


class Rates(Protocol):
    """Requests a minute of each client key."""

    def take(self, key_id: str, per_minute: int) -> int:
        """Count a request; return 0, or the seconds after which one would pass."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Which requests need a key, and where those without one may come from."""

    required: bool = False
    """Whether every request needs a key."""
    automatic: bool = False
    """Whether `required` was not configured but follows from the address listened on."""
    listen: str = "127.0.0.1"
    """The host listened on."""
    hosts: frozenset[str] = frozenset()
    """Further names that this server is reached by (``server.hosts``), in lower case."""
    origins: frozenset[str] = frozenset()
    """Web origins whose pages may call this server (``server.origins``), in lower case."""


class Gate:
    """
    Admit or refuse requests.

    Args:
        keys: The client keys.
        access: Where requests without a key may come from.
        rates: Counts the requests of keys that have a limit.
    """

    def __init__(self, keys: Keys, access: Access, rates: Rates) -> None:
        self._keys = keys
        self.access = access
        self.rates = rates
        self._names = _LOOPBACK | access.hosts | {access.listen.lower()}
        self._own: set[str] = set()
        """``Host`` values that were found to name this server: clients repeat theirs."""

    def admit(
        self, headers: HeaderList, right: Right, *, posts: bool = False, files: bool = False
    ) -> Caller:
        """
        Return who the caller is.

        Args:
            headers: Of the request, names in lower case.
            right: What its route asks for.
            posts: Whether the request carries a body.
            files: Whether the route takes uploads, so that forms may be sent to it.

        Raises:
            WireError: 401 without a key where one is required, 403 where the request may come from
                a web page of another site or the key lacks a claim, 415 for a content type that
                such a page could send, 429 beyond the key's requests a minute.
        """
        if right is Right.OPEN:
            return ANONYMOUS
        told = [line for line in headers if line[0] in _READ]
        key = self._key(told)
        if key is not None:
            if right is Right.METRICS and self.access.required:
                _check_metrics(key.claims)
            limit = key.requests_per_minute
            if limit is not None and (wait_s := self.rates.take(key.id, limit)):
                raise WireError(
                    f"this client key may send {limit} requests a minute; try again in {wait_s} s",
                    status=429,
                    retry_after_s=wait_s,
                )
            return Caller(key_id=key.id, claims=key.claims)
        if self.access.required:
            if right is Right.PAGE:
                return ANONYMOUS
            raise _key_needed("the key is not valid here" if login_tokens(told) else "")
        self._check_page(told, posts=posts, files=files)
        return ANONYMOUS

    def allows_origin(self, headers: HeaderList) -> bytes | None:
        """Return the request's origin if it is one of ``server.origins``, else None."""
        if not self.access.origins:
            return None
        for name, value in headers:
            if name == b"origin" and _text(value) in self.access.origins:
                return value
        return None

    def _key(self, told: HeaderList) -> ClientKey | None:
        for token in login_tokens(told):
            if (key := self._keys.check(token)) is not None:
                return key
        return None

    def _check_page(self, told: HeaderList, *, posts: bool, files: bool) -> None:
        hosts: list[str] = []
        origins: list[str] = []
        kind, site = b"", b""
        for name, value in told:
            if name == b"host":
                hosts.append(_text(value))
            elif name == b"origin":
                origins.append(_text(value))
            elif name == b"sec-fetch-site":
                site = value.strip().lower() if site in (b"", *_OWN_SITE) else site
            elif name == b"content-type":
                kind = value.partition(b";")[0].strip().lower()
            elif name in _FORWARDED and self.access.automatic:
                raise _key_needed(
                    f"the request came through a proxy ({name.decode()}), so it is not local",
                    "  To serve without keys behind a proxy, set auth.required: false",
                )
        for host in hosts or [""]:
            if not self._is_own(host):
                raise WireError(
                    f"the host {host[:_SHOWN]!r} is not a name of this server; send a client key, "
                    "use its address, or add the name to server.hosts",
                    status=403,
                )
        listed = bool(origins) and all(each in self.access.origins for each in origins)
        if not listed:
            for origin in origins:
                if not _same(origin, hosts[0]):
                    raise _foreign(f"a web page of {origin[:_SHOWN]!r}")
            if site and site not in _OWN_SITE:
                raise _foreign("a web page of another site")
        if posts and (origins or site) and not _is_asked(kind, files=files):
            raise WireError(
                f"the content type {kind.decode('latin-1')!r} is not taken from a browser; send "
                "`content-type: application/json`",
                status=415,
            )

    def _is_own(self, host: str) -> bool:
        if host in self._own:
            return True
        name = _hostname(host)
        own = name in self._names or _is_address(name)
        if own and len(self._own) < _MAX_REMEMBERED:
            self._own.add(host)
        return own


def _is_asked(kind: bytes, *, files: bool) -> bool:
    """Return whether a route takes a browser's body of a content type."""
    if files:
        return kind == b"multipart/form-data" or kind not in _UNASKED
    return kind == b"application/json" or kind.endswith(b"+json")


def _check_metrics(claims: Mapping[str, Any]) -> None:
    if claims.get("metrics") is True or claims.get("admin") is True:
        return
    raise WireError(
        "this client key may not read metrics: its claims have neither metrics: true nor admin: "
        "true; `refdesk keys create --claims '{\"metrics\": true}'` makes one that may",
        status=403,
    )


def _key_needed(why: str, remedy: str = "") -> WireError:
    return WireError(
        f"{why or 'a key is required'}; send a client key as `Authorization: Bearer …`, "
        "`x-api-key` or `x-goog-api-key`.  The operator makes keys with `refdesk keys create`."
        f"{remedy}",
        status=401,
    )


def _foreign(what: str) -> WireError:
    return WireError(
        f"{what} sent this request; send a client key, or add its origin to server.origins",
        status=403,
    )


def _text(value: bytes) -> str:
    return value.strip().decode("latin-1").lower() if len(value) <= _MAX_NAME_BYTES else "?"


def _hostname(value: str) -> str:
    try:
        parts = urlsplit(f"//{value}")
        port_is_number = parts.port is None or parts.port >= 0
    except ValueError:
        return ""
    bare = parts.username is None and not (parts.path or parts.query or parts.fragment)
    return (parts.hostname or "") if bare and port_is_number else ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def _same(origin: str, host: str) -> bool:
    """Return whether an origin is the server that a ``Host`` names."""
    scheme, mark, place = origin.partition("://")
    port = _DEFAULT_PORTS.get(scheme)
    if not mark or port is None:
        return False
    return place.removesuffix(port) == host.removesuffix(port)
