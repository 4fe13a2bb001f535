"""One guarded exchange: checked address, one deadline, a size cap, no redirect."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from ipaddress import ip_address
from typing import Final
from urllib.parse import urljoin, urlsplit

from refdesk.errors import ConfigError, EngineError, EngineTimeout, UpstreamError
from refdesk.fetch.addresses import WEB_PORTS, why_blocked
from refdesk.fetch.decoding import BadEncoding, BodyDecoder, TooLong
from refdesk.http import HttpRequest, HttpResponse
from refdesk.upstream import Origin, Reply, UpstreamClient
from refdesk.upstream.dial import resolve as ask_resolver

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_OURS: Final = frozenset(
    ("accept-encoding", "connection", "content-length", "host", "transfer-encoding", "upgrade")
)
_UNDONE: Final = frozenset(
    ("connection", "content-encoding", "content-length", "transfer-encoding")
)
_METHOD: Final = re.compile(r"[A-Z]{1,20}\Z")
_NAME: Final = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+\Z")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
_HOST: Final = re.compile(r"[a-z0-9.:_-]{1,253}\Z")


class Redirected(EngineError):
    """
    The answer was a redirect.

    Args:
        message: Says where to, as far as the host.
        location: The address as the server wrote it, to be checked like any other; None without.
    """

    def __init__(self, message: str, *, location: str | None) -> None:
        super().__init__(message, outcome="upstream_down")
        self.location = location


class Fetcher:
    """
    Calls to places outside, each of them bounded in time and size.

    Args:
        client: Carries the requests; a new one, without proxies, if None.
        resolve: Gives the addresses of a host and port; the system's resolver if None.

    The host is resolved once, all its addresses are checked, and the connection goes to one of
    those, whatever the resolver would say later; TLS and the host header keep the name.  No
    redirect is followed.  What is sent is asked for in gzip or plain; anything else is refused.
    """

    def __init__(
        self, client: UpstreamClient | None = None, *, resolve: Resolver | None = None
    ) -> None:
        self.client = client or UpstreamClient()
        self._resolve = resolve or ask_resolver

    async def send(
        self, request: HttpRequest, *, timeout_s: float, max_bytes: int, public_only: bool
    ) -> HttpResponse:
        """
        Return the whole answer, decoded.

        Args:
            request: What to send.  Headers that belong to the connection are set here.
            timeout_s: For everything together, from the resolver to the last byte.
            max_bytes: The longest body, before decoding and after.
            public_only: Whether only the public internet may be asked; see
                `refdesk.fetch.addresses.why_blocked`.  Then proxies are not used either.

        Raises:
            EngineError: There is no usable answer.  ``outcome`` says why: timeout, unreachable,
                too_large, parse_error, blocked, upstream_down, bad_request; a redirect is a
                `Redirected`.  The message names the host, and neither path, query nor headers.
        """
        origin, head = _prepare(request)
        try:
            async with asyncio.timeout(timeout_s):
                checked = await self._check(origin, public_only=public_only)
                return await self._exchange(checked, head, request, max_bytes)
        except TimeoutError:
            raise EngineTimeout(
                f"{origin.host} gave no whole answer within {timeout_s:g} s; allow it more time, "
                "or see whether it is reachable"
            ) from None

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()

    async def _check(self, origin: Origin, *, public_only: bool) -> Origin:
        """Return the origin with the addresses it may be reached at."""
        if public_only and origin.port not in WEB_PORTS:
            raise EngineError(
                f"{origin} is not asked: port {origin.port} is none of the web's "
                f"({', '.join(map(str, sorted(WEB_PORTS)))})",
                outcome="blocked",
            )
        if not public_only and not _is_address(origin.host) and self.client.proxy_for(origin):
            return origin  # the proxy resolves the name, and this machine may not be able to
        try:
            addresses = await self._resolve(origin.host, origin.port)
        except TimeoutError:
            raise
        except (OSError, UnicodeError):
            addresses = ()
        if not addresses:
            raise EngineError(
                f"{origin.host} has no address; check its name and this machine's resolver",
                outcome="unreachable",
            )
        for address in addresses:
            if fault := why_blocked(address, public_only=public_only):
                raise EngineError(
                    f"{origin.host} is not asked: its address is {address}, and {fault}",
                    outcome="blocked",
                )
        return replace(origin, addresses=tuple(addresses))

    async def _exchange(
        self, origin: Origin, head: bytes, request: HttpRequest, max_bytes: int
    ) -> HttpResponse:
        try:
            reply = await self.client.send(origin, head, request.body)
        except UpstreamError as exc:
            if exc.fault == "timeout":
                raise EngineTimeout(str(exc)) from None
            garbled = exc.fault == "bad_response"
            raise EngineError(
                str(exc), outcome="parse_error" if garbled else "unreachable"
            ) from None
        try:
            return await _read(origin, request, reply, max_bytes)
        finally:
            reply.close()


def _prepare(request: HttpRequest) -> tuple[Origin, bytes]:
    """Return where the request goes and its head; nothing in it can end a line."""
    try:
        origin, target = Origin.split(request.url)
    except ConfigError as exc:
        raise EngineError(str(exc), outcome="blocked") from None
    if not _METHOD.match(request.method):
        raise EngineError(
            f"{request.method[:20]!r} is no method that can be sent; it must be like GET or POST",
            outcome="bad_request",
        )
    given = {name for name, _ in request.headers}
    lines = [
        f"{request.method} {target} HTTP/1.1",
        f"host: {origin.authority}",
        "accept-encoding: gzip",
    ]
    if "user-agent" not in given:
        lines.append("user-agent: refdesk")
    if "accept" not in given:
        lines.append("accept: */*")
    for name, value in request.headers:
        if not _NAME.match(name) or not _VALUE.match(value):
            raise EngineError(
                f"the header {name[:40]!r} for {origin.host} has characters that no header can "
                "have, such as a line end; look for a stray one in the configured key",
                outcome="bad_request",
            )
        if name not in _OURS:
            lines.append(f"{name}: {value}")
    return origin, "\r\n".join([*lines, ""]).encode("latin-1")


async def _read(origin: Origin, request: HttpRequest, reply: Reply, max_bytes: int) -> HttpResponse:
    if reply.status in _REDIRECTS:
        location = reply.header(b"location")
        raise Redirected(
            f"{origin.host} answered {reply.status}, a redirect to "
            f"{_target_host(request.url, reply)}; redirects are not followed: set its address to "
            "the place it moved to",
            location=location.decode("latin-1") if location else None,
        )
    try:
        encodings = [value for name, value in reply.headers if name == b"content-encoding"]
        decoder = BodyDecoder(b",".join(encodings).decode("latin-1"), max_bytes)
        async for chunk in reply:
            decoder.feed(chunk)
        body = decoder.finish()
    except TooLong:
        raise EngineError(
            f"the answer of {origin.host} is longer than the {max_bytes} bytes allowed; ask for "
            "fewer results, or raise gateway.search.max_response_bytes",
            outcome="too_large",
        ) from None
    except BadEncoding as exc:
        raise EngineError(
            f"the answer of {origin.host} cannot be read: {exc}; look at what stands between",
            outcome="parse_error",
        ) from None
    except UpstreamError as exc:
        if exc.fault == "timeout":
            raise EngineTimeout(str(exc)) from None
        raise EngineError(str(exc), outcome="parse_error") from None
    return HttpResponse(
        status=reply.status,
        headers=tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in reply.headers
            if name.decode("latin-1") not in _UNDONE
        ),
        body=body,
    )


def _target_host(url: str, reply: Reply) -> str:
    """Return the host that a redirect leads to, or a word for it; the server wrote it."""
    location = reply.header(b"location")
    if not location:
        return "nowhere"
    try:
        target = urlsplit(urljoin(url, location.decode("latin-1")))
        host = target.hostname or ""
    except ValueError:
        return "an address that cannot be read"
    if target.scheme not in ("http", "https"):
        return "something that is no web address"
    return host if _HOST.match(host) else "an address that cannot be read"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
