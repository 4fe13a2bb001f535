"""One answer in its two forms: a whole message written as a stream, and a stream put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.base import Gathered
from refdesk.wires.document import Document, dump, elements, is_null, kind, plain, string
from refdesk.wires.messages.blocks import BOM, opened, written
from refdesk.wires.messages.response import message_blocks
from refdesk.wires.sse import Decoder, encode, joined, one_line

_PIECES: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
"""Deltas whose texts are strung together, and the member that holds each."""
_IN_BLOCK: Final = {"partial_json": "input"}
"""Where the whole of it stands in the block, if not under the same name."""
_OF_END: Final = ("stop_reason", "stop_sequence", "stop_details", "container")


def streamed(answer: bytes, asked: Document) -> bytes:
    """
    Write a whole answer as the events of a stream.

    Raises:
        UpstreamError: The answer is not a message (``bad_response``).
    """
    try:
        document = Document.read(answer.removeprefix(BOM))
        blocks = message_blocks(document)
    except WireError as exc:
        raise UpstreamError(
            f"the upstream's answer is no message: {exc}", fault="bad_response"
        ) from exc
    message = document.table()
    begun: dict[str, Any] = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    out = [_event("message_start", message=begun)]
    for index, raw in enumerate(blocks):
        out += _block_events(index, opened(raw))
    end: dict[str, Any] = {"stop_reason": None, "stop_sequence": None}
    end |= {key: message[key] for key in _OF_END if key in message}
    usage = {"usage": message["usage"]} if "usage" in message else {}
    out += [_event("message_delta", delta=end, **usage), _event("message_stop")]
    return b"".join(out)


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[bytes]:
    begun: dict[str, Any] = dict(block)
    deltas: list[dict[str, Any]] = []
    match string(block.get("type")):
        case "text":
            begun["text"] = ""
            listed = block.get("citations")
            if listed is not None and kind(listed) == "array":
                begun["citations"] = []
                deltas += [{"type": "citations_delta", "citation": c} for c in elements(listed)]
            deltas.append({"type": "text_delta", "text": block.get("text")})
        case "thinking":
            begun |= {"thinking": "", "signature": ""}
            deltas.append({"type": "thinking_delta", "thinking": block.get("thinking")})
            if "signature" in block:
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            begun["input"] = {}
            given = block.get("input")
            said = bytes(given).decode() if given is not None else ""
            deltas.append({"type": "input_json_delta", "partial_json": said})
    yield _event("content_block_start", index=index, content_block=begun)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(name: str, **more: object) -> bytes:
    return encode(one_line(plain(written({"type": name, **more}))), name)


def gathered(stream: bytes, asked: Document) -> Gathered:
    """
    Put a whole stream together.

    Raises:
        UpstreamError: It is no stream of this wire, or it ends in an error of the upstream's.
    """
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    pieces: dict[tuple[int, str], list[Raw]] = {}
    complete = False
    for event in _events(stream):
        place = event.get("index")
        index = int(bytes(place)) if place is not None and bytes(place).isdigit() else 0
        match string(event.get("type")):
            case "message_start":
                message = dict(opened(event.get("message")))
                usage |= opened(message.get("usage"))
            case "content_block_start":
                blocks[index] = dict(opened(event.get("content_block")))
            case "content_block_delta" if index in blocks:
                delta = opened(event.get("delta"))
                name = _PIECES.get(string(delta.get("type")) or "", "")
                if name in delta:
                    pieces.setdefault((index, name), []).append(delta[name])
                elif "citation" in delta:
                    blocks[index].setdefault("cited", []).append(delta["citation"])
            case "message_delta":
                message |= opened(event.get("delta"))
                usage |= opened(event.get("usage"))
            case "message_stop":
                complete = True
            case "error":
                said = string(opened(event.get("error")).get("message")) or "an error"
                raise UpstreamError(f"the upstream's stream ended in an error: {said}", fault="cut")
    if not message:
        raise UpstreamError("the upstream's stream began no message", fault="bad_response")
    for (index, name), strings in pieces.items():
        _fill(blocks[index], _IN_BLOCK.get(name, name), strings)
    message["content"] = [_whole(blocks[index]) for index in sorted(blocks)]
    if usage:
        message["usage"] = usage
    return Gathered(body=plain(dump(message)), complete=complete)


def _events(stream: bytes) -> Iterator[dict[str, Raw]]:
    decoder = Decoder()
    events = [*decoder.feed(stream)]
    if (rest := decoder.finish()) is not None:
        events.append(rest)
    for event in events:
        try:
            yield Document.read(event.data).table()
        except WireError:
            continue


def _fill(block: dict[str, Any], name: str, strings: list[Raw]) -> None:
    if name == "input":
        text = "".join(string(each) or "" for each in strings).encode() or b"{}"
        try:
            block[name] = Raw(bytes(Document.read(text)))
        except WireError:
            block[name] = {}
        return
    before = block.get(name)
    begun = [before] if before is not None and not is_null(before) else []
    block[name] = joined([*begun, *strings])


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    cited = block.pop("cited", None)
    if cited:
        before = block.get("citations")
        listed = before is not None and kind(before) == "array"
        block["citations"] = [*(elements(before) if listed and before else []), *cited]
    return block
