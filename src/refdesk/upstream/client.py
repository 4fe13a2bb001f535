"""The seam: one method that sends a request, and the pool behind it."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import Mapping

from refdesk.errors import ConfigError, UpstreamError
from refdesk.upstream import dial
from refdesk.upstream.connection import PIECE, Connection
from refdesk.upstream.origin import Origin
from refdesk.upstream.proxy import Proxy, ProxyTable, Tunnel
from refdesk.upstream.reply import Reply


class UpstreamClient:
    """
    An HTTP/1.1 client with a pool of connections for each origin.  It belongs to one event loop.

    Args:
        connect_timeout_s: For name, connection, proxy and TLS together.
        idle_timeout_s: How long the server may send nothing while an answer is due.
        keep_alive_s: How long a connection without a request is kept; less where the server says
            so in its ``keep-alive`` header.
        max_idle_per_origin: How many of them.
        ssl_context: What verifies certificates; the system's authorities if None.
        proxies, trust_env: See `refdesk.upstream.proxy.ProxyTable`.

    A request is sent once.  There is one exception, in which the server cannot have seen it whole:
    a connection from the pool turns out to be closed while the request is still being handed over,
    and not a byte came back; then it is sent on a new connection, at most once.  A connection that
    is closed after the request was handed over is an error, even if nothing came back, since the
    server may have acted on it.
    """

    def __init__(
        self,
        *,
        connect_timeout_s: float = 10.0,
        idle_timeout_s: float = 600.0,
        keep_alive_s: float = 30.0,
        max_idle_per_origin: int = 256,
        ssl_context: ssl.SSLContext | None = None,
        proxies: Mapping[str, str] | None = None,
        trust_env: bool = False,
    ) -> None:
        if ssl_context is not None and not (
            ssl_context.verify_mode is ssl.CERT_REQUIRED and ssl_context.check_hostname
        ):
            raise ConfigError(
                "the TLS context does not verify certificates; to trust a private authority, add "
                "its certificate with load_verify_locations"
            )
        self.idle_timeout_s = idle_timeout_s
        self.keep_alive_s = keep_alive_s
        self.shortest_s = min(idle_timeout_s, keep_alive_s)
        self.connections_opened = 0
        """How many connections were ever opened."""
        self._connect_timeout_s = connect_timeout_s
        self._max_idle = max_idle_per_origin
        self._ssl_context = ssl_context
        self._proxies = ProxyTable(proxies, trust_env=trust_env)
        self._idle: dict[Origin, list[Connection]] = {}
        self._open: set[Connection] = set()
        self._closed = False
        self._all_lost = asyncio.Event()

    @property
    def open_connections(self) -> int:
        """How many connections are open, with or without a request."""
        return len(self._open)

    @property
    def idle_connections(self) -> int:
        """How many of them wait in the pool."""
        return sum(map(len, self._idle.values()))

    def proxy_for(self, origin: Origin) -> Proxy | None:
        """Return the proxy that leads to an origin, or None."""
        return self._proxies.find(origin)

    async def send(
        self,
        origin: Origin,
        head: bytes,
        body: bytes,
        *,
        whole: bool = False,
        max_bytes: int | None = None,
        limit_s: float = math.inf,
    ) -> Reply:
        """
        Send one request; return when the head of its answer is there, or the whole of it.

        Args:
            origin: Where to.
            head: The request line and the header lines, each with its ``\\r\\n``; without
                ``content-length`` and without the empty line, which are added here.
            body: The body; a GET or HEAD without one gets no length.
            whole: Return when the whole answer is in, in ``Reply.body``.
            max_bytes: The longest body that is taken; beyond it the answer is a bad response.
            limit_s: How long the whole answer may take, from the request on.

        A cancelled call closes its connection at once.

        Raises:
            UpstreamError: There is no answer, or none that can be used.  Its message names host,
                port and remedy, and holds nothing of the request.
        """
        connection = self._take(origin)
        fresh = connection is None
        while True:
            if connection is None:
                connection, fresh = await self._connect(origin), True
            reply = connection.begin(head, body, whole, max_bytes, limit_s)
            try:
                if len(body) > PIECE:
                    await connection.upload(body)
                await reply.ready()
            except UpstreamError:
                if fresh or not connection.unheard:
                    raise
                connection = None
            except BaseException:
                reply.close()
                raise
            else:
                return reply

    async def close(self) -> None:
        """Close all connections, and return when they are closed; requests under way fail."""
        self._closed = True
        for connection in list(self._open):
            connection.close()
        while self._open:
            self._all_lost.clear()
            await self._all_lost.wait()

    # What connections tell

    def opened(self, connection: Connection) -> None:
        """Count a new connection."""
        self._open.add(connection)
        self.connections_opened += 1

    def lost(self, connection: Connection) -> None:
        """Take note that a connection is closed."""
        self._open.discard(connection)
        self.forget(connection)
        if not self._open:
            self._all_lost.set()

    def release(self, connection: Connection) -> None:
        """Put a connection whose answer is whole into the pool."""
        stack = self._idle.setdefault(connection.origin, [])
        if len(stack) >= self._max_idle or self._closed:
            connection.drop()
        else:
            stack.append(connection)

    def forget(self, connection: Connection) -> None:
        """Take a connection out of the pool, if it is there."""
        stack = self._idle.get(connection.origin)
        if stack is not None:
            if connection in stack:
                stack.remove(connection)
            if not stack:
                del self._idle[connection.origin]

    def _take(self, origin: Origin) -> Connection | None:
        # The one used last is the one most likely to be open still.
        stack = self._idle.get(origin)
        while stack:
            connection = stack.pop()
            if connection.is_usable():
                return connection
            connection.drop()
        return None

    # Connecting

    async def _connect(self, origin: Origin) -> Connection:
        if self._closed:
            raise UpstreamError(f"no request to {origin}: this client is closed", fault="cut")
        proxy = self._proxies.find(origin)
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                connection = await self._open_connection(origin, proxy)
        except TimeoutError:
            raise UpstreamError(
                f"{origin} took no connection within {self._connect_timeout_s:g} s; check the "
                "address, and what stands between (firewall, VPN, proxy)",
                fault="timeout",
            ) from None
        except ssl.SSLCertVerificationError as exc:
            raise UpstreamError(
                f"{origin} could not be trusted: {exc.verify_message.rstrip('.')}; put its "
                "certificate right, or trust its authority",
                fault="unreachable",
            ) from None
        except (OSError, UnicodeError) as exc:
            raise UpstreamError(
                f"{origin} could not be reached: {_reason(exc)}; check the address and that the "
                "server runs",
                fault="unreachable",
            ) from None
        if self._closed:
            connection.drop()
            raise UpstreamError(f"no request to {origin}: this client was closed", fault="cut")
        return connection

    async def _open_connection(self, origin: Origin, proxy: Proxy | None) -> Connection:
        loop = asyncio.get_running_loop()
        context = self._tls() if origin.scheme == "https" else None
        name = origin.host if context else None
        host, port = (proxy.host, proxy.port) if proxy else (origin.host, origin.port)
        addresses = origin.addresses or await dial.resolve(host, port)
        sock = await dial.connect(addresses, port)
        connection = Connection(self, origin, proxy)
        try:
            if proxy is not None and context is not None:
                return await self._tunnel(origin, proxy, context, sock)
            await loop.create_connection(
                lambda: connection, sock=sock, ssl=context, server_hostname=name
            )
        except BaseException:
            connection.abandon()
            sock.close()
            raise
        return connection

    async def _tunnel(
        self, origin: Origin, proxy: Proxy, context: ssl.SSLContext, sock: socket.socket
    ) -> Connection:
        loop = asyncio.get_running_loop()
        plain, tunnel = await loop.create_connection(lambda: Tunnel(origin, proxy), sock=sock)
        try:
            await tunnel.opened
            connection = Connection(self, origin, None)
            secure = await loop.start_tls(plain, connection, context, server_hostname=origin.host)
        except BaseException:
            plain.abort()
            raise
        if secure is None or secure.is_closing():
            raise OSError("the connection was closed during the TLS handshake")
        connection.connection_made(secure)
        return connection

    def _tls(self) -> ssl.SSLContext:
        if self._ssl_context is None:
            # Reading the system's authorities takes 20 ms, so it waits until somebody needs them.
            self._ssl_context = ssl.create_default_context()
            self._ssl_context.set_alpn_protocols(["http/1.1"])
        return self._ssl_context


def _reason(exc: OSError | UnicodeError) -> str:
    if isinstance(exc, socket.gaierror):
        return "its name has no address"
    if isinstance(exc, UnicodeError):
        return "its name is no host name"
    return (exc.strerror or str(exc) or type(exc).__name__).rstrip(".").lower()
