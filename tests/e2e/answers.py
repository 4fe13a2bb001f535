"""Event streams as a model server writes them, for the scripts of the end-to-end runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def _frames(events: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(
        f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events
    )


def message(*blocks: Mapping[str, Any], number: int, stream: bool = True) -> bytes:
    """A Messages answer with these blocks (``text`` or ``tool_use``), streamed or whole."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    start = {
        "id": f"msg_e2e{number}",
        "type": "message",
        "role": "assistant",
        "model": "local",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    if not stream:
        return json.dumps({**start, **reason, "content": blocks}).encode()
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(blocks):
        if block["type"] == "tool_use":
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            begun = {**block, "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        events += [
            {"type": "content_block_start", "index": index, "content_block": begun},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return _frames(events)


def response(*items: Mapping[str, Any], number: int) -> bytes:
    """A Responses stream with these finished items (``message`` or ``function_call``)."""
    base = {
        "id": f"resp_e2e{number}",
        "object": "response",
        "created_at": 1,
        "model": "local",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    begun = {**base, "status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            part = item["content"][0]
            opened = {**item, "status": "in_progress", "content": []}
            inner = [
                {"type": "response.content_part.added", "part": {**part, "text": ""}},
                {"type": "response.output_text.delta", "delta": part["text"], "logprobs": []},
                {"type": "response.output_text.done", "text": part["text"], "logprobs": []},
                {"type": "response.content_part.done", "part": part},
            ]
            middle = [{**each, **at, "content_index": 0} for each in inner]
        else:
            opened = {**item, "status": "in_progress", "arguments": ""}
            arguments = item["arguments"]
            middle = [
                {"type": "response.function_call_arguments.delta", "delta": arguments, **at},
                {"type": "response.function_call_arguments.done", "arguments": arguments, **at},
            ]
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": opened},
            *middle,
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 19,
    }
    done = {**base, "status": "completed", "output": list(items), "usage": usage}
    events.append({"type": "response.completed", "response": done})
    return _frames({**each, "sequence_number": at} for at, each in enumerate(events))


def chat(text: str, *, number: int, stream: bool) -> bytes:
    """A Chat Completions answer that says this, streamed or whole."""
    base = {"id": f"chatcmpl-e2e{number}", "created": 1, "model": "local"}
    usage = {"prompt_tokens": 10, "completion_tokens": 9, "total_tokens": 19}
    message = {"role": "assistant", "content": text}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
        return json.dumps(whole).encode()
    chunk = {**base, "object": "chat.completion.chunk"}
    chunks: list[dict[str, Any]] = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**chunk, "choices": [], "usage": usage},
    ]
    lines = [f"data: {json.dumps(each)}\n\n" for each in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def last_of(stream: bytes) -> bytes:
    """The whole Responses answer that a stream of one ends with."""
    line = stream.decode().strip().rpartition("\ndata: ")[2]
    return json.dumps(json.loads(line)["response"]).encode()


def said(text: str, *, number: int) -> dict[str, Any]:
    """A Responses message item."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "id": f"msg_e2e{number}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def called(name: str, arguments: Mapping[str, Any], *, number: int) -> dict[str, Any]:
    """A Responses function call item."""
    return {
        "id": f"fc_e2e{number}",
        "type": "function_call",
        "status": "completed",
        "name": name,
        "call_id": f"call_e2e{number}",
        "arguments": json.dumps(arguments),
    }
