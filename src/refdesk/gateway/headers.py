"""Which headers go on, in either direction, and which stay here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Final

from refdesk.errors import WireError

Headers = Iterable[tuple[bytes, bytes]]

MAX_HEADER_BYTES: Final = 64 * 1024
"""Bytes of a request's target and headers; beyond it the answer is 431 and the connection ends."""
MAX_HEADERS: Final = 200
"""Header lines of a request; beyond it the answer is 431 and the connection ends."""

_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""RFC 9110, section 7.6.1, and what old proxies add."""

_KEPT_FROM_UPSTREAM: Final = _HOP_BY_HOP | {
    # Framing and coding are made anew for whoever is next.
    b"host",
    b"content-length",
    b"content-encoding",
    b"accept-encoding",
    b"expect",
    # What the client used to log in here.
    b"authorization",
    b"x-api-key",
    b"api-key",
    b"x-goog-api-key",
    b"cookie",
    # What the client said to us.
    b"x-refdesk-incognito",
    b"x-refdesk-model",
    # Where the client sits is the operator's business, not the upstream's.
    b"forwarded",
    b"via",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-port",
    b"x-forwarded-proto",
    b"x-real-ip",
    b"origin",
    b"referer",
}

_KEPT_FROM_CLIENT: Final = _HOP_BY_HOP | {
    b"content-length",
    b"date",
    b"server",
    b"set-cookie",
    b"strict-transport-security",
    b"alt-svc",
    b"x-request-id",
    b"x-refdesk-search",
    b"server-timing",
}

_PATIENCE_S: Final = 60
"""Clients that wait longer for a retry only seem to hang."""

LOGIN_HEADERS: Final = frozenset({b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key"})


def check_size(scope: Mapping[str, Any]) -> None:
    """Raise WireError (431) for a request with more header than any client needs."""
    headers = scope["headers"]
    size = sum(map(len, chain.from_iterable(headers)))
    size += len(scope["path"]) + len(scope["query_string"])
    if size > MAX_HEADER_BYTES or len(headers) > MAX_HEADERS:
        raise WireError(
            f"the header has {len(headers)} lines and {size} bytes; the limit is {MAX_HEADERS} "
            f"lines and {MAX_HEADER_BYTES} bytes",
            status=431,
        )


def to_upstream(headers: Headers, kept: frozenset[bytes] = frozenset()) -> bytes:
    """
    Return the client's headers as lines for the upstream.

    Args:
        headers: As received, names in lower case.
        kept: Names that are not sent on besides, such as those that the configuration sets.
    """
    lines: list[bytes] = []
    named: set[bytes] | None = None
    for name, value in headers:
        if name in _KEPT_FROM_UPSTREAM:
            if name == b"connection" and value.lower() not in (b"keep-alive", b"close"):
                named = {part.strip() for part in value.lower().split(b",")}
            continue
        if name in kept:
            continue
        lines.append(b"%b: %b\r\n" % (name, value))
    if named:
        lines = [line for line in lines if line.split(b":", 1)[0] not in named]
    return b"".join(lines)


def to_client(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return the upstream's headers for the client, less what belongs to its connection."""
    lines = [line for line in headers if line[0] not in _KEPT_FROM_CLIENT]
    values = b"".join([value for _, value in lines])
    if b"\r" in values or b"\n" in values or b"\0" in values:
        return [(name, clean(value)) for name, value in lines]
    return lines


def clean(value: bytes) -> bytes:
    """Return a header value without what would end it."""
    if b"\r" in value or b"\n" in value or b"\0" in value:
        return value.replace(b"\r", b" ").replace(b"\n", b" ").replace(b"\0", b" ")
    return value


def refusal_headers(status: int, retry_after_s: int | None = None) -> list[tuple[bytes, bytes]]:
    """
    Return the header lines that every refusal of ours carries for its status.

    ``x-should-retry: false`` keeps the official SDKs and Claude Code from repeating a request that
    a repetition cannot mend, so that their users see the message at once.

    Args:
        status: Of the answer.
        retry_after_s: After how many seconds the same request may pass.
    """
    lines: list[tuple[bytes, bytes]] = []
    if status == 401:
        lines.append((b"www-authenticate", b"Bearer"))
    if status in (408, 413, 415, 431, 503):
        # What is left of the body is not read.
        lines.append((b"connection", b"close"))
    if retry_after_s is not None:
        lines.append((b"retry-after", b"%d" % retry_after_s))
    again = status in (408, 409, 429) or status >= 500
    if not again or (retry_after_s or 0) > _PATIENCE_S:
        lines.append((b"x-should-retry", b"false"))
    return lines


def is_incognito(headers: Headers) -> bool:
    """Return whether the client asks that nothing of its request be kept."""
    given = [value for name, value in headers if name == b"x-refdesk-incognito"]
    return bool(given) and given[-1].strip().lower() not in (b"", b"0", b"false", b"off", b"no")


def login_tokens(headers: Headers) -> list[str]:
    """Return what a client presents to log in, whichever header carries it, without repeats."""
    tokens: list[str] = []
    for name, value in headers:
        if name not in LOGIN_HEADERS:
            continue
        text = value.decode("latin-1")
        if name == b"authorization":
            scheme, _, rest = text.partition(" ")
            text = rest if scheme.lower() == "bearer" else ""
        if (text := text.strip()) and text not in tokens:
            tokens.append(text)
    return tokens
