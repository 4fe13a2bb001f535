"""
How ``/api/v1`` answers: JSON, and problem details (RFC 9457) where something went wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from refdesk.errors import WireError
from refdesk.gateway.client import HeaderList
from refdesk.wires.bounds import check_bounds


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


def read_json(body: bytes, example: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object that a body is, or raise WireError (400) with an example of one."""
    shown = msgspec.json.encode(example).decode()
    check_bounds(body)
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise WireError(
            f"the body is not JSON ({str(exc)[:200]}); send an object such as {shown}"
        ) from None
    if not isinstance(given, dict):
        raise WireError(f"the body is no JSON object; send one such as {shown}")
    return given
