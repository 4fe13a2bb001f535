"""Streams of the Responses wire, written by hand: the events that OpenAI sends, in their order."""

from __future__ import annotations

import json
from typing import Any

OURS = "ws_rd0123456789abcdef0123456789abcdef01234567"
"""The id of the search item in the tests of this wire."""


def sse(*events: dict[str, Any], number: bool = True) -> bytes:
    """Write events; with ``number`` each has its sequence number."""
    out = []
    for place, event in enumerate(events):
        data = {**event, **({"sequence_number": place} if number else {})}
        out.append(f"event: {event['type']}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n")
    return "".join(out).encode()


def response(status: str, output: list[Any], **more: Any) -> dict[str, Any]:
    """Return a response object."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "small",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        **more,
    }


def message(text: str, **more: Any) -> dict[str, Any]:
    """Return a message item."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **more,
    }


def answer(text: str, *, end: str = "completed", index: int = 0) -> list[dict[str, Any]]:
    """The events of an answer with one message, each character a delta."""
    at = {"item_id": "msg_1", "output_index": index, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    begun = {**message(""), "status": "in_progress", "content": []}
    return [
        {"type": "response.created", "response": response("in_progress", [])},
        {"type": "response.in_progress", "response": response("in_progress", [])},
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        {"type": "response.content_part.added", **at, "part": part},
        *(
            {"type": "response.output_text.delta", **at, "delta": char, "logprobs": []}
            for char in text
        ),
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": {**part, "text": text}},
        {"type": "response.output_item.done", "output_index": index, "item": message(text)},
        {"type": f"response.{end}", "response": response(end, [message(text)])},
    ]
