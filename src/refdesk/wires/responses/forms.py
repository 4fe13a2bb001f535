"""One answer in its two forms: a whole response as events, and events put together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.base import GatewaySearch, Gathered
from refdesk.wires.document import Document, dump, kind, plain, string
from refdesk.wires.responses.items import entries, fields, item_type
from refdesk.wires.responses.stream import ResponsesRewriter
from refdesk.wires.sse import Decoder, encode, one_line

_BOM: Final = b"\xef\xbb\xbf"
_ENDS: Final = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
}
_NOTHING: Final = GatewaySearch(id="", query="", shown=False)
_UNFINISHED: Final = b'\n\ndata: {"type":"response.incomplete"}\n\n'


def streamed(answer: bytes, asked: Document) -> bytes:
    """
    Write a whole response as the events of a stream.

    Raises:
        UpstreamError: The answer has no output (``bad_response``).
    """
    try:
        response = Document.read(answer.removeprefix(_BOM)).table()
    except WireError as exc:
        raise UpstreamError(f"the upstream's answer: {exc}", fault="bad_response") from exc
    if kind(response.get("output")) != "array":
        raise UpstreamError(
            "the upstream's answer has no output array; it is no answer of this wire",
            fault="bad_response",
        )
    begun: dict[str, Any] = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for place, item in enumerate(entries(response["output"])):
        events += _item_events(place, fields(item))
    end = _ENDS.get(string(response.get("status")) or "", "response.completed")
    events.append({"type": end, "response": response})
    return b"".join(
        encode(one_line(plain(dump({**event, "sequence_number": number}))), event["type"])
        for number, event in enumerate(events)
    )


def _item_events(place: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    at = {"item_id": item.get("id", ""), "output_index": place}
    begun: dict[str, Any] = {**item, "status": "in_progress"} if "status" in item else {**item}
    inner: list[dict[str, Any]] = []
    match item_type(item):
        case "message":
            begun["content"] = []
            for number, part in enumerate(entries(item.get("content"))):
                inner += _part_events({**at, "content_index": number}, fields(part))
        case "function_call":
            begun["arguments"] = ""
            said = item.get("arguments", "")
            inner.append({"type": "response.function_call_arguments.delta", **at, "delta": said})
            inner.append({"type": "response.function_call_arguments.done", **at, "arguments": said})
        case "web_search_call":
            begun.pop("action", None)
            inner += [
                {"type": f"response.web_search_call.{state}", **at}
                for state in ("in_progress", "searching", "completed")
            ]
        case "reasoning":
            begun |= {"summary": []} | ({"content": []} if "content" in item else {})
            inner += _thoughts(at, item)
    yield {"type": "response.output_item.added", "output_index": place, "item": begun}
    yield from inner
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _part_events(at: dict[str, Any], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if string(part.get("type")) == "refusal":
        said = part.get("refusal", "")
        yield {"type": "response.content_part.added", **at, "part": {**part, "refusal": ""}}
        yield {"type": "response.refusal.delta", **at, "delta": said}
        yield {"type": "response.refusal.done", **at, "refusal": said}
    elif string(part.get("type")) == "output_text":
        text = part.get("text", "")
        begun = {**part, "text": "", "annotations": []}
        yield {"type": "response.content_part.added", **at, "part": begun}
        yield {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []}
        for number, annotation in enumerate(entries(part.get("annotations"))):
            yield {
                "type": "response.output_text.annotation.added",
                **at,
                "annotation_index": number,
                "annotation": annotation,
            }
        yield {"type": "response.output_text.done", **at, "text": text, "logprobs": []}
    else:
        yield {"type": "response.content_part.added", **at, "part": part}
    yield {"type": "response.content_part.done", **at, "part": part}


def _thoughts(at: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, raw in enumerate(entries(item.get("summary"))):
        here = {**at, "summary_index": number}
        part = fields(raw)
        text = part.get("text", "")
        begun = {**part, "text": ""}
        yield {"type": "response.reasoning_summary_part.added", **here, "part": begun}
        yield {"type": "response.reasoning_summary_text.delta", **here, "delta": text}
        yield {"type": "response.reasoning_summary_text.done", **here, "text": text}
        yield {"type": "response.reasoning_summary_part.done", **here, "part": part}
    for number, raw in enumerate(entries(item.get("content"))):
        here = {**at, "content_index": number}
        text = fields(raw).get("text", "")
        yield {"type": "response.reasoning_text.delta", **here, "delta": text}
        yield {"type": "response.reasoning_text.done", **here, "text": text}


def gathered(stream: bytes, asked: Document) -> Gathered:
    """
    Return the response that a stream told; one that broke off as incomplete, with what it said.

    Raises:
        UpstreamError: It told no response.
    """
    rewriter = ResponsesRewriter(_NOTHING, asked)
    out = rewriter.feed(stream)
    complete = rewriter.ended
    if not complete:
        out += rewriter.feed(_UNFINISHED)
    response: Raw | None = None
    said = "the upstream's stream told no response"
    for event in Decoder().feed(out):
        try:
            told = Document.read(event.data).table()
        except WireError:
            continue
        if string(told.get("type")) in _ENDS.values():
            response = told.get("response")
        elif string(told.get("type")) == "error":
            error = fields(told.get("error")) or told
            said = f"the upstream's stream ended in an error: {string(error.get('message'))}"
    if response is None or kind(response) != "object":
        raise UpstreamError(said, fault="bad_response")
    return Gathered(body=plain(response), complete=complete)
