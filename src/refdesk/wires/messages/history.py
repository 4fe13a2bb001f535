"""
What of ours comes back in a client's history, and what becomes of it before an upstream sees it.

A search of ours is a pair of blocks whose payloads no provider can open; a call that another
provider ran is a pair whose payloads this one cannot open.  Either becomes one block of readable
text where its result stood, or leaves; half of a pair leaves always.  Thinking blocks are never
touched, and stay where they are.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from refdesk.wires import restored
from refdesk.wires.base import GatewaySearch, History, Kept, Marks, Source
from refdesk.wires.document import Document, dump, elements, kind, string
from refdesk.wires.messages import foreign, pairs
from refdesk.wires.messages.blocks import SEALED, content_blocks, is_own_call, opened, written

_SEALED_SIGN: Final = (b'"rd1.',)
_SIGNS: Final = (*_SEALED_SIGN, b"web_search_result_location", b'"caller"', *pairs.SIGNS)
_CITATION: Final = "web_search_result_location"
_NOTHING_LEFT: Final = "(web search results are no longer available)"
"""An assistant message without content is refused."""


def find_marks(document: Document) -> Marks:
    """
    Return the sealed rows that stand in the messages.

    They are all that is needed: the ids of this wire are too short to find a search by.
    """
    messages = document.get("messages")
    if messages is None or kind(messages) != "array" or not _holds(bytes(messages), _SEALED_SIGN):
        return Marks()
    tokens: dict[str, None] = {}
    for raw in elements(messages):
        if not _holds(bytes(raw), _SEALED_SIGN):
            continue
        for each in content_blocks(opened(raw)):
            block = opened(each)
            for key, payload in (
                ("content", "encrypted_content"),
                ("citations", "encrypted_index"),
            ):
                for item in _items(block.get(key)):
                    token = string(item.get(payload))
                    if token is not None and token.startswith(SEALED):
                        tokens[token] = None
    return Marks(tokens=tuple(tokens))


def restore(document: Document, history: History, *, kept: Kept | None) -> Document:
    """Turn our pairs into text, or take them out; a provider's too unless ``kept`` has them."""
    messages = document.get("messages")
    if messages is None or kind(messages) != "array" or not _holds(bytes(messages), _SIGNS):
        return document
    old = elements(messages)
    calls = pairs.calls_in(old)
    restorer = _Restorer(history, kept, calls)
    new = [restorer.message(raw) if _holds(bytes(raw), _SIGNS) else raw for raw in old]
    if all(after is before for after, before in zip(new, old, strict=True)):
        return document
    return document.replace({"messages": dump(new)})


def earlier_search(document: Document, history: History, *, after: int) -> GatewaySearch | None:
    """Return our newest search after a user message, as far as its rows can be read."""
    messages = document.get("messages")
    if messages is None or kind(messages) != "array" or not _holds(bytes(messages), _SEALED_SIGN):
        return None
    old = elements(messages)
    calls = pairs.calls_in(old)
    for raw in reversed(old[after + 1 :]):
        for each in reversed(content_blocks(opened(raw))):
            block = opened(each)
            call = calls.get(name := string(block.get("tool_use_id")) or "")
            if call is None or not is_own_call(name):
                continue
            if sources := _sources(block, history):
                return GatewaySearch(id="", query=call.query, sources=tuple(sources), shown=False)
    return None


class _Restorer:
    """Restores the messages of one history."""

    def __init__(self, history: History, kept: Kept | None, calls: dict[str, pairs.Call]) -> None:
        self._history = history
        self._kept = kept
        self._calls = calls
        self._staying = pairs.staying(calls, kept)

    def message(self, raw: Raw) -> Raw:
        """Return a message, the same where nothing of it changes."""
        message = opened(raw)
        old = content_blocks(message)
        new = [after for block in old if (after := self._block(block)) is not None]
        if len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True)):
            return raw
        content = new or [_text(_NOTHING_LEFT)]
        return Raw(dump({**message, "content": content}))

    def _block(self, raw: Raw) -> Raw | None:
        """Return what stands in a block's place: itself, another, or nothing."""
        block = opened(raw)
        type_ = string(block.get("type"))
        if pairs.is_call(type_):
            return raw if string(block.get("id")) in self._staying else None
        if pairs.is_result(type_):
            return self._result(raw, block)
        if type_ == "text":
            return self._without_citations(raw, block)
        if (parent := pairs.caller_of(block)) and parent not in self._staying:
            # A client's tool, called from code that the upstream never ran.
            return Raw(dump({key: each for key, each in block.items() if key != "caller"}))
        return raw

    def _result(self, raw: Raw, block: dict[str, Raw]) -> Raw | None:
        name = string(block.get("tool_use_id")) or ""
        if name in self._staying:
            return raw
        call = self._calls.get(name)
        if call is None:
            # Half of a pair: whoever gets it could not tell what was asked.
            return None
        if string(block.get("type")) != "web_search_tool_result":
            told = foreign.told(block.get("content"))
            return _text(foreign.rendered(call.name, told)) if told else None
        sources = _sources(block, self._history)
        if _items(block.get("content")) and not sources:
            return None
        return _text(restored.results(call.query, sources))

    def _without_citations(self, raw: Raw, block: dict[str, Raw]) -> Raw | None:
        listed = block.get("citations")
        if listed is None or kind(listed) != "array":
            return raw
        old = elements(listed)
        left = [each for each in old if not self._is_foreign(opened(each))]
        if len(left) == len(old):
            return raw
        if not string(block.get("text")):
            return None
        if left:
            return Raw(dump({**block, "citations": left}))
        return Raw(dump({key: each for key, each in block.items() if key != "citations"}))

    def _is_foreign(self, citation: dict[str, Raw]) -> bool:
        index = string(citation.get("encrypted_index")) or ""
        if index.startswith(SEALED):
            return True
        if string(citation.get("type")) != _CITATION:
            return False
        return self._kept is None or not self._kept.has_payload(index)


def _sources(block: dict[str, Raw], history: History) -> list[Source]:
    items = _items(block.get("content"))
    return [source for item in items if (source := _source(item, history)) is not None]


def _source(item: dict[str, Raw], history: History) -> Source | None:
    token = string(item.get("encrypted_content")) or ""
    if token.startswith(SEALED):
        return history.rows.get(token)
    url = string(item.get("url"))
    if not url:
        return None
    return Source(
        url=url, title=string(item.get("title")) or url, published=string(item.get("page_age"))
    )


def _items(raw: Raw | None) -> list[dict[str, Raw]]:
    """Open the objects of a list; an error stands there as an object, and is no list."""
    if raw is None or kind(raw) != "array":
        return []
    return [table for each in elements(raw) if (table := opened(each))]


def _text(text: str) -> Raw:
    block: dict[str, Any] = {"type": "text", "text": text}
    return Raw(written(block))


def _holds(data: bytes, signs: tuple[bytes, ...]) -> bool:
    return any(sign in data for sign in signs)
