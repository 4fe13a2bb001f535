"""The official SDKs as judges of answers: they read them from memory, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import anthropic
import httpx2
import openai

from refdesk.wires import chat, messages, responses
from refdesk.wires.base import Wire
from refdesk.wires.document import Document

WIRES: Final[dict[str, Wire]] = {"messages": messages, "chat": chat, "responses": responses}
ASKED: Final = {
    "messages": Document.read(
        b'{"model":"m","tools":[{"type":"web_search_20260209","name":"web_search"}]}'
    ),
    "chat": Document.read(b'{"model":"m","web_search_options":{}}'),
    "responses": Document.read(
        b'{"model":"m","tools":[{"type":"web_search"}],"tool_choice":"auto",'
        b'"include":["web_search_call.action.sources"]}'
    ),
}
CALLED: Final[dict[str, Any]] = {
    "messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]},
    "chat": {"model": "m", "messages": [{"role": "user", "content": "?"}]},
    "responses": {"model": "m", "input": "?"},
}


class Judge:
    """The official clients on an endpoint in memory, which answers with given bytes."""

    def __init__(self) -> None:
        self._pieces: Sequence[bytes] = ()
        self._type = ""
        http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        given: dict[str, Any] = {"api_key": "k", "max_retries": 0, "http_client": http}
        self.anthropic = anthropic.Anthropic(base_url="http://127.0.0.1:1", **given)
        self.openai = openai.OpenAI(base_url="http://127.0.0.1:1/v1", **given)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": self._type}, content=self._flow())

    def _flow(self) -> Iterator[bytes]:
        yield from self._pieces

    def whole(self, wire: str, body: bytes) -> Any:
        """Read a whole answer."""
        self._pieces, self._type = [body], "application/json"
        match wire:
            case "messages":
                return self.anthropic.messages.create(**CALLED[wire])
            case "chat":
                return self.openai.chat.completions.create(**CALLED[wire])
        return self.openai.responses.create(**CALLED[wire])

    def accumulated(self, wire: str, pieces: Sequence[bytes]) -> Any:
        """Read a stream with the SDK's own accumulator; return what it put together."""
        self._pieces, self._type = pieces, "text/event-stream"
        if wire == "messages":
            with self.anthropic.messages.stream(**CALLED[wire]) as stream:
                return stream.get_final_message()
        if wire == "chat":
            with self.openai.chat.completions.stream(**CALLED[wire]) as stream:
                list(stream)
                # `get_final_completion` raises for an answer that was cut at its length.
                return stream.current_completion_snapshot
        with self.openai.responses.stream(**CALLED[wire]) as stream:
            # `get_final_response` knows no other end than `response.completed`.
            return list(stream)[-1].response

    def events(self, wire: str, pieces: Sequence[bytes]) -> list[Any]:
        """Read a stream event by event, as ``stream=True`` does."""
        self._pieces, self._type = pieces, "text/event-stream"
        match wire:
            case "messages":
                return list(self.anthropic.messages.create(**CALLED[wire], stream=True))
            case "chat":
                return list(self.openai.chat.completions.create(**CALLED[wire], stream=True))
        return list(self.openai.responses.create(**CALLED[wire], stream=True))


def cut(data: bytes, size: int) -> list[bytes]:
    """Return the data in pieces of this size."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def told(wire: str, read: Any) -> Any:
    """What an answer tells, in a form in which whole and streamed ones can be compared."""
    dumped = bare(read.to_dict())
    if wire == "messages":
        return dumped
    if wire == "chat":
        for choice in dumped["choices"]:
            for call in choice["message"].get("tool_calls", []):
                call.pop("index", None)  # the accumulator leaves it there
        return {key: dumped.get(key) for key in ("choices", "usage")}
    return dumped


def bare(tree: Any) -> Any:
    """Without nulls, empty members, and what only a parsing accumulator adds."""
    if isinstance(tree, dict):
        found = {
            key: bare(each)
            for key, each in tree.items()
            if key not in ("parsed", "parsed_arguments", "parsed_output", "obfuscation")
        }
        return {key: each for key, each in found.items() if each not in (None, [], {}, "")}
    return [bare(each) for each in tree] if isinstance(tree, list) else tree
