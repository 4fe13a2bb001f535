"""The error object that OpenAI's wires share, whole and in a stream."""

from __future__ import annotations

from typing import Final

from refdesk.wires.document import dump

_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
_CODES: Final = {
    401: "invalid_api_key",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}


def error_body(
    message: str,
    *,
    status: int,
    param: str | None,
    request_id: str = "",
    code: str | None = None,
) -> bytes:
    """
    Return ``{"error": {"message", "type", "param", "code"}}``, all four always present.

    The SDKs choose their exception by the HTTP status; ``type`` and ``code`` say the same in words.
    The request id has no place in this body: it travels in the ``x-request-id`` header.
    """
    type_ = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    if code is None:
        code = "model_not_found" if status == 404 and param == "model" else _CODES.get(status)
    return dump({"error": {"message": message, "type": type_, "param": param, "code": code}})
