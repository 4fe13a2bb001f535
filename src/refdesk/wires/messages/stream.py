"""
A streamed answer with a search in it.

What has no number and no search to count goes through as the bytes that came.  In the others the
number is changed where it stands, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from refdesk.errors import UpstreamError
from refdesk.wires.base import GatewaySearch, StreamRewriter
from refdesk.wires.citations import CitationFinder, Cited
from refdesk.wires.document import Document
from refdesk.wires.json_text import finder
from refdesk.wires.messages.blocks import BOM, THINKING, citation, search_blocks, written
from refdesk.wires.messages.events import Part, counted, error_event, moved, own_event, read
from refdesk.wires.messages.request import calls_directly, wants_json
from refdesk.wires.sse import Decoder, Event

_CUT: Final = "the upstream's answer ended before it was complete"
_OWN_BLOCKS: Final = 2


class Rewriter:
    """Put a search before the first block that is no thinking, and number the later ones on."""

    def __init__(self, search: GatewaySearch, *, direct: bool, as_json: bool = False) -> None:
        self._search = search
        self._direct = direct
        self._as_json = as_json
        self._decoder = Decoder()
        self._started = False
        self._shown = not search.shown
        self._over = False
        self._closed = False
        self._next = 0
        """The first number above those of the blocks that have begun."""
        self._shift: int | None = None
        self._places: dict[int, int] = {}
        """The upstream's numbers, and those we gave instead."""
        self._finders: dict[int, CitationFinder] = {}
        """Of the text blocks that run, by the upstream's number."""
        self._unsent: list[bytes] = []
        self.unknown_citations = 0

    def feed(self, data: bytes) -> bytes:
        """
        Take the next bytes of the upstream; return what can be sent on.

        Raises:
            UpstreamError: One event is too long to be held.  What stood before it comes out of
                `fail`.
        """
        if self._closed:
            return b""
        out: list[bytes] = []
        try:
            for event in self._decoder.feed(data):
                out += self._rewrite(event)
        except UpstreamError:
            self._decoder = Decoder()
            self._unsent = out
            raise
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the rest; an answer that has not ended yet is ended as `fail` does."""
        return self.fail(_CUT)

    def fail(self, message: str) -> bytes:
        """Return an error event; nothing where the answer had ended all the same."""
        if self._closed:
            return b""
        self._closed = True
        out, self._unsent = self._unsent, []
        rest = self._decoder.finish()
        if rest is not None and (not rest.data or read(rest.data) is not None):
            out += self._rewrite(Event(rest.name, rest.data, rest.raw.rstrip(b"\r\n") + b"\n\n"))
        if not self._over:
            out.append(error_event(message))
        return b"".join(out)

    def _rewrite(self, event: Event) -> Iterator[bytes]:
        if not self._started and event.raw.startswith(BOM):
            # The official SDK would take it for a part of the first field's name.
            event = Event(event.name, event.data, event.raw.removeprefix(BOM))
        if event.name == "ping" or not event.data or self._over:
            yield event.raw
            return
        body = read(event.data)
        name = (body.type if body else "") or event.name
        self._over = event.name == "error" or name in ("message_stop", "error")
        if body is None or name == "error":
            yield event.raw
        elif name == "message_start":
            self._started = True
            yield counted(event, in_message=True) if self._search.shown else event.raw
        elif name == "content_block_delta" and body.index is not None:
            yield self._moved(event, body.index)
            if body.delta is not None and body.delta.type == "text_delta":
                yield from self._cite(body.index, body.delta.text)
        elif name == "content_block_start" and body.index is not None:
            yield from self._begin(event, body.index, body.content_block or Part())
        elif name == "content_block_stop" and body.index is not None:
            yield from self._end_text(body.index)
            yield self._moved(event, body.index)
        elif name in ("message_delta", "message_stop"):
            yield from self._show()
            for index in sorted(self._finders):
                yield from self._end_text(index)
            counts = name == "message_delta" and self._search.shown
            yield counted(event, in_message=False) if counts else event.raw
        else:
            yield event.raw

    def _begin(self, event: Event, index: int, block: Part) -> Iterator[bytes]:
        yield from self._end_text(index)
        if block.type not in THINKING:
            yield from self._show()
        if self._shown and self._search.shown and self._shift is None:
            # More than the two of ours only where the upstream uses a number again.
            self._shift = max(_OWN_BLOCKS, self._next - index)
        place = index + (self._shift or 0)
        self._next = max(self._next, place + 1)
        self._places[index] = place
        yield self._moved(event, index)
        if block.type == "text" and self._search.sources:
            self._finders[index] = finder(self._search.urls, as_json=self._as_json)
            yield from self._cite(index, block.text)

    def _show(self) -> Iterator[bytes]:
        """Write the search's blocks, once; before the message has begun there is no place."""
        if self._shown or not self._started:
            return
        self._shown = True
        call, result = search_blocks(self._search, direct=self._direct)
        asked = written(call["input"]).decode()
        first, second = self._next, self._next + 1
        self._next += _OWN_BLOCKS
        yield own_event("content_block_start", first, content_block={**call, "input": {}})
        for piece in ("", asked):
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield own_event("content_block_delta", first, delta=delta)
        yield own_event("content_block_stop", first)
        yield own_event("content_block_start", second, content_block=result)
        yield own_event("content_block_stop", second)

    def _moved(self, event: Event, index: int) -> bytes:
        place = self._places.get(index, index + (self._shift or 0))
        return event.raw if place == index else moved(event, index, place)

    def _cite(self, index: int, text: str) -> Iterator[bytes]:
        finding = self._finders.get(index)
        if finding is not None and text:
            yield from self._citations(index, finding.feed(text))

    def _end_text(self, index: int) -> Iterator[bytes]:
        finding = self._finders.pop(index, None)
        if finding is not None:
            yield from self._citations(index, finding.finish())
            self.unknown_citations += finding.unknown

    def _citations(self, index: int, found: list[Cited]) -> Iterator[bytes]:
        for each in found:
            cited = citation(self._search.sources[each.source])
            delta = {"type": "citations_delta", "citation": cited}
            yield own_event("content_block_delta", self._places[index], delta=delta)


def rewriter(search: GatewaySearch, asked: Document) -> StreamRewriter:
    """Return what puts the search into a streamed answer."""
    return Rewriter(search, direct=calls_directly(asked), as_json=wants_json(asked))
