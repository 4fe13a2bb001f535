"""
What models without search answer, on each wire, whole and streamed: material of the judges.

`ANSWERS` holds both recorded answers and small ones made for what no recording shows.  A recorded
answer has one form; `streamed` writes the other, as the vendor would have streamed it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any, Final

from recorded import recording
from refdesk.wires.base import GatewaySearch, Source

URLS: Final = tuple(f"https://site{number}.example/a?q=é&n={number}" for number in range(1, 11))
CITING: Final = (
    f"As of today [1] — 今日は🏔️, see ([one]({URLS[0]})) and {URLS[1]}; but not [99] or `[1]`.\n"
    "A second line [2][3]."
)
_PIECES: Final = (1, 2, 90, 3)
"""How many characters a delta has, in turn: markers are cut, and a long text has few deltas."""


def search_of(count: int) -> GatewaySearch:
    """A search with so many sources, some of them dated, one without a title."""
    return GatewaySearch(
        id="0123456789abcdef0123456789abcdef01234567",
        query='newest "k8s" release 🚀\u2028now',
        sources=tuple(
            Source(
                url=url,
                title="" if place == 1 else f"Site {place + 1} «é»",
                snippet=f"What site {place + 1} says. " * 9,
                published="2026-11-02" if place % 2 else None,
                sealed=f"rd1.{'A' * 40}{place}",
            )
            for place, url in enumerate(URLS[:count])
        ),
    )


def _message(*content: Any, stop: str = "end_turn", **usage: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 5, **usage},
    }


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


_THINKING: Final = {"type": "thinking", "thinking": "Hm [1] …", "signature": "c2ln"}
_REDACTED: Final = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
_TOOL: Final = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "shell",
    "input": {"cmd": "echo 'é [1]'", "n": [1, None, {}]},
}


def _completion(*messages: Any, stop: str = "stop", usage: bool = True) -> dict[str, Any]:
    choices = [
        {"index": at, "message": {"role": "assistant", **each}, "finish_reason": stop}
        for at, each in enumerate(messages)
    ]
    counts = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764500000,
        "model": "m",
        "choices": choices,
        **({"usage": counts} if usage else {}),
    }


_CALL: Final = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "shell", "arguments": '{"cmd":"echo \'é [1]\'"}'},
}


def _response(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1764500000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "m",
        "output": list(output),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 11,
            "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 16,
        },
        **more,
    }


def _said(*texts: str, name: str = "msg_1", **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            for text in texts
        ],
        **more,
    }


def _reasoning(name: str = "rs_1") -> dict[str, Any]:
    return {"id": name, "type": "reasoning", "summary": [], "encrypted_content": "Z0FBQUE="}


_FUNCTION: Final = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "name": "shell",
    "call_id": "call_1",
    "arguments": '{"cmd":"echo \'é [1]\'"}',
}
_REFUSED: Final = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "refusal", "refusal": "No, not even with [1]."}],
}

MADE: Final[Mapping[str, Mapping[str, dict[str, Any]]]] = {
    "messages": {
        "plain": _message(_text(CITING)),
        "no marker": _message(_text("I do not know."), cache_read_input_tokens=4),
        "thinking": _message(_THINKING, _REDACTED, _text(CITING)),
        "tool": _message(_text("Let me look [1]."), _TOOL, stop="tool_use"),
        "tool only": _message(_THINKING, _TOOL, stop="tool_use"),
        "interleaved": _message(_THINKING, _text("One [1]."), _THINKING, _text("Two [2].")),
        "refusal": _message(_text("I can not [1]"), stop="refusal"),
        "length": _message(_text("It was in [1] and [2"), stop="max_tokens"),
        "empty": _message(stop="end_turn"),
        "counted": _message(
            _text("As told [1]."),
            server_tool_use={"web_search_requests": 2, "web_fetch_requests": 1},
        ),
    },
    "chat": {
        "plain": _completion({"content": CITING, "refusal": None}),
        "no marker": _completion({"content": "I do not know."}, usage=False),
        "tool": _completion({"content": None, "tool_calls": [_CALL]}, stop="tool_calls"),
        "text and tool": _completion(
            {"content": "Let me look [1].", "tool_calls": [_CALL]}, stop="tool_calls"
        ),
        "refusal": _completion({"content": None, "refusal": "No, not even with [1]."}),
        "length": _completion({"content": "It was in [1] and [2"}, stop="length"),
        "filtered": _completion({"content": "So [1]"}, stop="content_filter"),
        "two choices": _completion({"content": CITING}, {"content": "Other [2]."}),
        "empty": _completion({"content": ""}),
    },
    "responses": {
        "plain": _response(_said(CITING)),
        "no marker": _response(_said("I do not know.")),
        "reasoning": _response(_reasoning(), _said(CITING, phase="final_answer")),
        "function": _response(_reasoning(), _FUNCTION),
        "text and function": _response(_said("Let me look [1]."), _FUNCTION),
        "two parts": _response(_said("One [1].", CITING)),
        "two messages": _response(
            _said("One [1].", phase="commentary"), _reasoning(), _said("Two [2].", name="msg_2")
        ),
        "refusal": _response(_REFUSED),
        "length": _response(
            {**_said("It was in [1] and [2"), "status": "incomplete"},
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        "reasoning only": _response(
            _reasoning(),
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        "empty": _response(),
    },
}

RECORDED_WHOLE: Final[Mapping[str, tuple[str, ...]]] = {
    "messages": (
        "anthropic-messages/plain-client-tools/1-response.json",
        "anthropic-messages/plain-client-tools/2-response.json",
        "anthropic-messages/mixed-server-and-client-tools/response.json",
        "anthropic-messages/nonstream-search-then-replay/1-response.json",
    ),
    "chat": (
        "openai-chat/plain-tools/response.json",
        "openai-chat/plain-reasoning/response.json",
        "openai-chat/nonstream-search-preview-location/response.json",
    ),
    "responses": (
        "openai-responses/nonstream-url-citations/1-response.json",
        "openai-responses/nonstream-cache-only-gpt56/response.json",
        "openai-responses/nonstream-search-then-replay/1-response.json",
        "openai-responses/deepseek-function-tool-replay/1-response.json",
    ),
}

RECORDED_STREAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "messages": (
        "anthropic-messages/plain-thinking-stream/response.sse",
        "anthropic-messages/stream-search-citations/response.sse",
    ),
    "chat": (
        "openai-chat/plain-stream-usage/response.sse",
        "openai-chat/stream-search-preview-mini/response.sse",
    ),
    "responses": (
        "openai-responses/stream-url-citations/3-response.sse",
        "openai-responses/plain-function-call-stream/1-response.sse",
        "openai-responses/deepseek-plain-stream/response.sse",
    ),
}


def wholes(wire: str) -> Iterator[tuple[str, bytes, int]]:
    """
    Yield every whole answer, with how many sources it is to be given: its name, bytes and number.

    Recorded ones come only where they are; they are large, and get the most sources only.
    """
    for name, answer in MADE[wire].items():
        for count in (0, 1, len(URLS)):
            yield name, json.dumps(answer, ensure_ascii=False).encode(), count
    for name in RECORDED_WHOLE[wire]:
        yield name, recording(name), len(URLS)


def recorded_streams(wire: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of recorded streams."""
    for name in RECORDED_STREAMS[wire]:
        yield name, recording(name)


# The other form


def streamed(wire: str, whole: bytes) -> bytes:
    """Write a whole answer as its vendor streams it, in many small deltas."""
    answer = json.loads(whole)
    writes = {"messages": _messages_events, "responses": _responses_events}
    if wire == "chat":
        chunks = [f"data: {json.dumps(each)}\n\n" for each in _chat_chunks(answer)]
        return "".join([*chunks, "data: [DONE]\n\n"]).encode()
    events = [
        f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in writes[wire](answer)
    ]
    return "".join(events).encode()


def _pieces(text: str) -> Iterator[str]:
    at = 0
    for size in cycle(_PIECES):
        if at >= len(text):
            return
        yield text[at : at + size]
        at += size


def _messages_events(answer: Any) -> Iterator[dict[str, Any]]:
    usage = dict(answer["usage"])
    begun = {**answer, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    begun["usage"].pop("server_tool_use", None)
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(answer["content"]):
        opened, deltas = _block_deltas(block)
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            if index == 1:
                yield {"type": "ping"}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": answer["stop_reason"], "stop_sequence": answer["stop_sequence"]}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _block_deltas(block: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            cited = block.get("citations")
            opened = {**block, "text": "", **({"citations": []} if cited else {})}
            citing = [{"type": "citations_delta", "citation": each} for each in cited or []]
            texts = [{"type": "text_delta", "text": each} for each in _pieces(block["text"])]
            return opened, citing + texts
        case "thinking":
            thoughts = [
                {"type": "thinking_delta", "thinking": each} for each in _pieces(block["thinking"])
            ]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
        case "tool_use" | "server_tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            parts = [
                {"type": "input_json_delta", "partial_json": each}
                for each in ("", *_pieces(written))
            ]
            return {**block, "input": {}}, parts
        case _:
            return block, []


def _chat_chunks(answer: Any) -> Iterator[dict[str, Any]]:
    base = {**answer, "object": "chat.completion.chunk"}
    usage = base.pop("usage", None)

    def chunk(index: int, delta: Any, reason: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": index, "delta": delta, "finish_reason": reason}]}

    for choice in answer["choices"]:
        at, message = choice["index"], choice["message"]
        first = {"role": "assistant", "content": "" if message.get("content") is not None else None}
        yield chunk(at, first)
        for text in _pieces(message.get("content") or ""):
            yield chunk(at, {"content": text})
        for text in _pieces(message.get("refusal") or ""):
            yield chunk(at, {"refusal": text})
        for place, call in enumerate(message.get("tool_calls") or []):
            function = call["function"]
            opened = {**call, "index": place, "function": {**function, "arguments": ""}}
            yield chunk(at, {"tool_calls": [opened]})
            for text in _pieces(function["arguments"]):
                yield chunk(at, {"tool_calls": [{"index": place, "function": {"arguments": text}}]})
    for choice in answer["choices"]:
        yield chunk(choice["index"], {}, choice["finish_reason"])
    if usage:
        yield {**base, "choices": [], "usage": usage}


def _responses_events(answer: Any) -> Iterator[dict[str, Any]]:
    for number, each in enumerate(_unnumbered(answer)):
        yield {**each, "sequence_number": number}


def _unnumbered(answer: Any) -> Iterator[dict[str, Any]]:
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(answer["output"]):
        opened, inner = _item_events(item)
        yield {"type": "response.output_item.added", "output_index": index, "item": opened}
        for each in inner:
            yield {**each, "output_index": index, "item_id": item["id"]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{answer['status']}", "response": answer}


def _item_events(item: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match item["type"]:
        case "message":
            parts = [
                {**each, "content_index": at}
                for at, part in enumerate(item["content"])
                for each in _part_events(part)
            ]
            return {**item, "status": "in_progress", "content": []}, parts
        case "function_call":
            name, arguments = "response.function_call_arguments", item["arguments"]
            deltas = [{"type": f"{name}.delta", "delta": each} for each in _pieces(arguments)]
            done = {"type": f"{name}.done", "arguments": arguments, "name": item["name"]}
            return {**item, "status": "in_progress", "arguments": ""}, [*deltas, done]
        case "web_search_call":
            steps = ("in_progress", "searching", "completed")
            called = {key: each for key, each in item.items() if key != "action"}
            return {**called, "status": "in_progress"}, [
                {"type": f"response.web_search_call.{step}"} for step in steps
            ]
        case _:
            return item, []


def _part_events(part: Any) -> Iterator[dict[str, Any]]:
    kind = "refusal" if part["type"] == "refusal" else "text"
    name = "response.refusal" if kind == "refusal" else "response.output_text"
    logprobs: dict[str, Any] = {} if kind == "refusal" else {"logprobs": []}
    opened = {**part, kind: "", **({} if kind == "refusal" else {"annotations": []})}
    yield {"type": "response.content_part.added", "part": opened}
    for text in _pieces(part[kind]):
        yield {"type": f"{name}.delta", "delta": text, **logprobs}
    for at, annotation in enumerate(part.get("annotations") or []):
        yield {
            "type": "response.output_text.annotation.added",
            "annotation_index": at,
            "annotation": annotation,
        }
    yield {"type": f"{name}.done", kind: part[kind], **logprobs}
    yield {"type": "response.content_part.done", "part": part}
