"""
What is said to a model on each wire, and what it says back.  No I/O.

Only what a question and its answer need: no tools, no history, text alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from refdesk.wires.sse import Decoder, Event

PATHS: Final[Mapping[str, str]] = {
    "messages": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
}
HEADERS: Final[Mapping[str, tuple[tuple[bytes, bytes], ...]]] = {
    "messages": ((b"anthropic-version", b"2023-06-01"),),
}
_CUT_SHORT: Final = frozenset({"max_tokens", "length", "max_output_tokens"})


def body_of(
    wire: str,
    *,
    model: str,
    system: str,
    text: str,
    max_tokens: int,
    besides: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the request that asks for a streamed answer; ``besides`` are further fields of it."""
    user = {"role": "user", "content": text}
    body: dict[str, Any] = {"model": model, "stream": True, **(besides or {})}
    if wire == "messages":
        body |= {"max_tokens": max_tokens, "messages": [user]}
        body |= {"system": system} if system else {}
    elif wire == "responses":
        body |= {"input": [user], "store": False, "max_output_tokens": max_tokens}
        body |= {"instructions": system} if system else {}
    else:
        # No limit is sent: two fields for it exist, and every server refuses one of them.
        body["messages"] = [*([{"role": "system", "content": system}] if system else []), user]
    return msgspec.json.encode(body)


def error_in(body: bytes) -> str:
    """Return the message of an error that a gateway or an upstream answered with."""
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        given = None
    error = given.get("error") if isinstance(given, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return said if isinstance(said, str) and said else body[:500].decode(errors="replace").strip()


class AnswerReader:
    """
    Reads the text of a streamed answer, however its bytes were cut.

    Args:
        wire: What it is in.
    """

    def __init__(self, wire: str) -> None:
        self._wire = wire
        self._decoder = Decoder()
        self.error = ""
        """What the stream said went wrong; empty while all is well."""
        self.cut_short = False
        """Whether the model stopped since it had written as much as it may."""
        self.complete = False
        """Whether the stream said that the answer is whole."""

    def feed(self, data: bytes) -> Iterator[str]:
        """
        Yield the pieces of text in these bytes.

        Raises:
            UpstreamError: They hold an event that is too long.
        """
        for event in self._decoder.feed(data):
            yield from self._take(event)

    def finish(self) -> Iterator[str]:
        """Yield what is left at the end."""
        if (event := self._decoder.finish()) is not None:
            yield from self._take(event)

    def _take(self, event: Event) -> Iterator[str]:
        if event.data == b"[DONE]":
            self.complete = True
            return
        try:
            given = msgspec.json.decode(event.data) if event.data else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        if not isinstance(given, dict):
            return
        match self._wire:
            case "messages":
                text = self._messages(given)
            case "responses":
                text = self._responses(given)
            case _:
                text = self._chat(given)
        if text:
            yield text

    def _messages(self, given: Mapping[str, Any]) -> str:
        match given:
            case {
                "type": "content_block_delta",
                "delta": {"type": "text_delta", "text": str(text)},
            }:
                return text
            case {"type": "message_delta", "delta": {"stop_reason": str(reason)}}:
                self.cut_short = reason in _CUT_SHORT
            case {"type": "message_stop"}:
                self.complete = True
            case {"type": "error", "error": {"message": str(message)}}:
                self.error = message
        return ""

    def _responses(self, given: Mapping[str, Any]) -> str:
        match given:
            case {"type": "response.output_text.delta", "delta": str(text)}:
                return text
            case {"type": "response.completed"}:
                self.complete = True
            case {"type": "response.incomplete", "response": {"incomplete_details": dict(why)}}:
                self.complete = True
                self.cut_short = why.get("reason") in _CUT_SHORT
            case {"type": "response.failed", "response": {"error": {"message": str(message)}}}:
                self.error = message
            case {"type": "error", "message": str(message)}:
                self.error = message
        return ""

    def _chat(self, given: Mapping[str, Any]) -> str:
        if "error" in given:
            self.error = error_in(msgspec.json.encode(given))
            return ""
        choices = given.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict):
            return ""
        if isinstance(reason := first.get("finish_reason"), str):
            self.complete = True
            self.cut_short = reason in _CUT_SHORT
        delta = first.get("delta")
        text = delta.get("content") if isinstance(delta, dict) else None
        return text if isinstance(text, str) else ""
