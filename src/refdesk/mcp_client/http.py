"""
The HTTP client under a session: bounded answers, no proxies from the environment, and a memory of
the last status.

The SDK bounds events but not whole JSON bodies, and hides the status of an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

import httpx2

SESSION_HEADER: Final = "mcp-session-id"

_CONNECT_S: Final = 10.0
_READ_S: Final = 600.0
"""
Calls have their own time-out.  This one is for what nobody waits for any more, and is long, since
an answer whose head does not come in time ends the session for all.
"""


class TooLarge(httpx2.StreamError):
    """A body is larger than what is taken; the SDK fails the one request, not the session."""


Seen = Callable[[int, bool], None]
"""Told of the status of each answer to a message, and whether that was part of a session."""


def http_client(*, headers: Mapping[str, str], max_bytes: int, seen: Seen) -> httpx2.AsyncClient:
    """Return a client for one server; ``headers`` go with every request to it."""

    async def tell(response: httpx2.Response) -> None:
        # A GET asks for a stream that few servers have, a DELETE says goodbye.
        if response.request.method == "POST":
            seen(response.status_code, SESSION_HEADER in response.request.headers)

    return httpx2.AsyncClient(
        headers={**headers, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
        trust_env=False,
        # Calls wait for each other nowhere: one that waits too long for a place ends the session.
        transport=_Bounded(
            httpx2.AsyncHTTPTransport(trust_env=False, limits=httpx2.Limits(max_connections=None)),
            max_bytes,
        ),
        event_hooks={"response": [tell]},
    )


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport, max_bytes: int) -> None:
        self._inner = inner
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # Not asked for, and a small body could become an endless one.
            await response.aclose()
            return httpx2.Response(502, request=request)
        kind = response.headers.get("content-type", "").lower()
        if not kind.startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream, self._max_bytes)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._inner = inner
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._max_bytes
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise TooLarge(f"the answer has more than {self._max_bytes} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
