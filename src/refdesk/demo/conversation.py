"""
One question put to the gateway as any client puts it, and what was heard.

On the Messages wire the official client asks, with the search tool declared and forced.  A model
that speaks another wire is asked on that one, since the gateway does not translate between wires.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx2
import msgspec

from refdesk.demo.choose import Wire
from refdesk.errors import RefdeskError
from refdesk.wires.sse import Decoder

if TYPE_CHECKING:
    from anthropic.types import ContentBlock

TOOL: Final[Mapping[Wire, str]] = {
    "messages": "web_search_20250305",
    "responses": "web_search",
    "chat": "web_search_options",
}
"""How each wire declares search."""
PATH: Final[Mapping[Wire, str]] = {
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
}
_TIMEOUT_S: Final = 300.0
_KEY: Final = "none-needed-on-loopback"


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is asked, of which model."""

    text: str
    model: str
    wire: Wire
    max_tokens: int = 1024
    small: bool = False
    """The model is small: it answers without chance, in one paragraph."""


@dataclass(kw_only=True, slots=True)
class Heard:
    """What came back."""

    request_id: str = ""
    search: str = ""
    """The value of ``x-refdesk-search``."""
    text: str = ""
    blocks: list[str] = field(default_factory=list)
    """The parts of the answer, in order: types, with what is worth counting."""
    given: list[str] = field(default_factory=list)
    """URLs of the search block, where the wire's shows them."""
    cited: list[str] = field(default_factory=list)
    """URLs that the answer cites, in order, each once."""
    head_s: float = 0.0
    first_text_s: float | None = None
    total_s: float = 0.0

    def cite(self, url: str | None) -> None:
        """Note a citation."""
        if url and url not in self.cited:
            self.cited.append(url)


class Listener(Protocol):
    """Whoever shows the answer while it comes."""

    def head(self, heard: Heard) -> None:
        """The response's head is here."""

    def text(self, piece: str) -> None:
        """Some text of the answer."""


async def ask(
    question: Question, url: str, listener: Listener, *, clock: Callable[[], float] = time.monotonic
) -> Heard:
    """
    Ask, and listen to the end.

    Raises:
        RefdeskError: There was no answer, or it broke off; with what the gateway said.
    """
    heard = Heard()
    started = clock()

    def head(headers: Mapping[str, str]) -> None:
        heard.request_id = headers.get("x-request-id", "")
        heard.search = headers.get("x-refdesk-search", "")
        heard.head_s = clock() - started
        listener.head(heard)

    def text(piece: str) -> None:
        if not piece:
            return
        if heard.first_text_s is None:
            heard.first_text_s = clock() - started
        heard.text += piece
        listener.text(piece)

    way = {"messages": _messages, "responses": _responses, "chat": _chat}[question.wire]
    try:
        await way(question, url, heard, head, text)
    except httpx2.HTTPError as exc:
        raise _broke_off(exc) from None
    heard.total_s = clock() - started
    return heard


Head = Callable[[Mapping[str, str]], None]
Text = Callable[[str], None]


async def _messages(question: Question, url: str, heard: Heard, head: Head, text: Text) -> None:
    import anthropic  # takes a second or more: not before something is on the screen

    calm: dict[str, Any] = (
        {"extra_body": {"temperature": 0, "stop_sequences": ["\n\n", "<search_"]}}
        if question.small
        else {}
    )
    client = anthropic.AsyncAnthropic(
        base_url=url,
        api_key=_KEY,
        max_retries=0,
        timeout=_TIMEOUT_S,
        # A proxy of the environment is for the world outside, not for this machine.
        http_client=anthropic.DefaultAsyncHttpxClient(trust_env=False),
    )
    try:
        async with (
            client,
            client.messages.stream(
                model=question.model,
                max_tokens=question.max_tokens,
                messages=[{"role": "user", "content": question.text}],
                tools=[{"type": "web_search_20250305", "name": "web_search", "max_uses": 1}],
                tool_choice={"type": "tool", "name": "web_search"},
                **calm,
            ) as stream,
        ):
            head(stream.response.headers)
            async for event in stream:
                if event.type == "text":
                    text(event.text)
            for block in (await stream.get_final_message()).content:
                _note(heard, block)
    except anthropic.APIStatusError as exc:
        raise RefdeskError(f"the gateway answered {exc.status_code}: {_said(exc.body)}") from None
    except anthropic.APIError as exc:
        raise _broke_off(exc) from None


def _note(heard: Heard, block: ContentBlock) -> None:
    name: str = block.type
    if block.type == "web_search_tool_result" and isinstance(block.content, list):
        name += f" ({len(block.content)})"
        heard.given += [result.url for result in block.content]
    elif block.type == "text":
        for citation in block.citations or ():
            heard.cite(getattr(citation, "url", None))
    heard.blocks.append(name)


async def _responses(question: Question, url: str, heard: Heard, head: Head, text: Text) -> None:
    body = {
        "model": question.model,
        "input": question.text,
        "max_output_tokens": question.max_tokens,
        "tools": [{"type": "web_search"}],
        "tool_choice": "required",
        "store": False,
        "stream": True,
    }
    async for event in _events(url + PATH["responses"], body, head):
        match event.get("type"):
            case "response.output_text.delta":
                text(str(event.get("delta", "")))
            case "response.output_item.done":
                item = event.get("item") or {}
                heard.blocks.append(str(item.get("type")))
                for part in item.get("content") or ():
                    for note in part.get("annotations") or ():
                        heard.cite(note.get("url"))
            case "response.failed" | "error":
                failed = event.get("response") or event
                raise RefdeskError(f"the answer broke off: {_said(failed)}")


async def _chat(question: Question, url: str, heard: Heard, head: Head, text: Text) -> None:
    body = {
        "model": question.model,
        "messages": [{"role": "user", "content": question.text}],
        "max_tokens": question.max_tokens,
        "web_search_options": {},
        "stream": True,
    }
    notes = 0
    async for event in _events(url + PATH["chat"], body, head):
        if "error" in event:
            raise RefdeskError(f"the answer broke off: {_said(event)}")
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            text(str(delta.get("content") or ""))
            for note in delta.get("annotations") or ():
                notes += 1
                heard.cite((note.get("url_citation") or {}).get("url"))
    heard.blocks.append("message")
    if notes:
        heard.blocks.append(f"annotations ({notes})")


async def _events(url: str, body: Mapping[str, Any], head: Head) -> AsyncIterator[dict[str, Any]]:
    decoder = Decoder()
    async with (
        httpx2.AsyncClient(timeout=_TIMEOUT_S, trust_env=False) as client,
        client.stream(
            "POST", url, json=body, headers={"authorization": f"Bearer {_KEY}"}
        ) as response,
    ):
        if response.status_code >= 400:
            said = _said(_json(await response.aread()))
            raise RefdeskError(f"the gateway answered {response.status_code}: {said}")
        head(response.headers)
        async for piece in response.aiter_bytes():
            for event in decoder.feed(piece):
                if isinstance(value := _json(event.data), dict):
                    yield value


def _broke_off(error: Exception) -> RefdeskError:
    return RefdeskError(f"the answer broke off ({type(error).__name__}: {error})")


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


def _said(body: Any) -> str:
    """Return the message of an error, wherever its wire puts it."""
    if isinstance(body, dict):
        error = body.get("error")
        if isinstance(error, dict) and error.get("message"):
            return str(error["message"])[:500]
        if body.get("message"):
            return str(body["message"])[:500]
    return "no reason was given"
