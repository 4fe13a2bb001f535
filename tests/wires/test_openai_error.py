"""The error object of OpenAI's wires."""

from __future__ import annotations

import json

import pytest

from refdesk.wires.openai_error import error_body


@pytest.mark.parametrize(
    ("status", "type_", "code"),
    [
        (400, "invalid_request_error", None),
        (401, "authentication_error", "invalid_api_key"),
        (403, "permission_error", None),
        (404, "invalid_request_error", None),
        (413, "invalid_request_error", "request_too_large"),
        (422, "invalid_request_error", None),
        (429, "rate_limit_error", "rate_limit_exceeded"),
        (500, "server_error", None),
        (502, "server_error", None),
        (503, "server_error", None),
    ],
)
def test_type_and_code_follow_the_status(status: int, type_: str, code: str | None) -> None:
    """Clients that read the body instead of the status learn the same from it."""
    body = error_body("no.", status=status, param=None, request_id="req_1")

    assert json.loads(body) == {
        "error": {"message": "no.", "type": type_, "param": None, "code": code}
    }


def test_unknown_model() -> None:
    """A 404 that is about the model has the code that OpenAI's own has."""
    body = error_body("no model is called 'x'", status=404, param="model", request_id="req_1")

    assert json.loads(body)["error"]["code"] == "model_not_found"
