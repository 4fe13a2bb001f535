"""
How ``/api/v1`` answers: JSON, and problem details (RFC 9457) where something went wrong.

Requests without a client key are answered only where no web page can have sent them behind the
user's back: such a page can give its own name another address, but no other name.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from refdesk.api.uploads import header_of
from refdesk.errors import WireError
from refdesk.gateway.client import HeaderList

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def problem(status: int, detail: str, **more: Any) -> bytes:
    """Return a problem as JSON; ``type`` is about:blank, so the title is the status's own."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Error"
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return msgspec.json.encode(body)


def reply_headers(kind: bytes, request_id: str) -> HeaderList:
    """Return the headers of every answer."""
    return [
        (b"content-type", kind),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        (b"x-request-id", request_id.encode()),
    ]


def refuse_foreign_page(headers: HeaderList, listen: str) -> None:
    """
    Raise WireError (403) where a web page may have sent a request that shows no key.

    Args:
        headers: Of the request.
        listen: The host that this server listens on.
    """
    host = _hostname(header_of(headers, b"host"))
    if not (host in _LOOPBACK or host == listen.lower() or _is_address(host)):
        raise WireError(
            f"the host is {host[:80]!r}, which is not where this server listens; send a client key,"
            " or use its address",
            status=403,
        )
    origin = header_of(headers, b"origin")
    if origin and urlsplit(origin).netloc.lower() != header_of(headers, b"host").lower():
        raise WireError(f"a web page of {origin[:80]!r} sent this; send a client key", status=403)
    if header_of(headers, b"sec-fetch-site") in ("cross-site", "same-site"):
        raise WireError("a web page of another site sent this; send a client key", status=403)


def read_json(body: bytes, example: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object that a body is, or raise WireError (400) with an example of one."""
    shown = msgspec.json.encode(example).decode()
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise WireError(
            f"the body is not JSON ({str(exc)[:200]}); send an object such as {shown}"
        ) from None
    if not isinstance(given, dict):
        raise WireError(f"the body is no JSON object; send one such as {shown}")
    return given


def _hostname(value: str) -> str:
    try:
        return (urlsplit(f"//{value}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
