"""
A search in a streamed answer: its events, and all numbers after them put right.

What always holds: every event keeps its order and the bytes around its numbers; places in the
output are given out without gap or clash; ``sequence_number`` is one running count; what was
streamed and the final ``output`` are the same list.

The annotations of a text go out together, after its last delta and after the upstream's own: so
their order in the stream, in the final object and in a whole answer is one.
"""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.base import GatewaySearch, StreamRewriter
from refdesk.wires.document import Document, dump, plain, string
from refdesk.wires.responses.broken import failed_events
from refdesk.wires.responses.items import entries, fields, item_type
from refdesk.wires.responses.response import Dressing
from refdesk.wires.sse import Decoder, Event, encode

_NUMBERS: Final = re.compile(rb'("(?:(sequence_number)|output_index)"\s*:\s*)(\d{1,15})(?!\d)')
_WHOLE: Final = re.compile(rb"\d{1,15}")
_TYPE: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"([a-z_.]+)"')
_TERMINAL: Final = ("response.completed", "response.incomplete", "response.failed")
_LIFE: Final = ("response.created", "response.queued", "response.in_progress")


def rewriter(search: GatewaySearch, asked: Document) -> StreamRewriter:
    """Return what puts the search into one streamed answer."""
    return ResponsesRewriter(search, asked)


class ResponsesRewriter:
    """
    Put the search call after leading reasoning, and move every later item up.

    Events that this class does not know keep everything but their numbers.
    """

    def __init__(self, search: GatewaySearch, asked: Document) -> None:
        self._decoder = Decoder()
        self._dressing = Dressing(search, asked)
        self._model = string(asked.get("model")) or ""
        self._held = b""
        self._ended = self._failed = self._attached = False
        self._sequence = -1
        """The last number that was given out."""
        self._places: dict[int, int] = {}
        """Where each item of the upstream stands now, by its own output_index."""
        self._next_place = 0
        self._items: dict[int, bytes] = {}
        """The finished items, by their place."""
        self._cited: set[tuple[int, int]] = set()
        self._annotated: dict[tuple[int, int], int] = {}
        """How many annotations each text part has."""
        self._response: bytes | None = None
        self.unknown_citations = 0
        """How many markers in the model's text named no source."""

    def feed(self, data: bytes) -> bytes:
        """
        Take the next bytes of the upstream; return what can be sent on.

        Raises:
            UpstreamError: An event is too long.  What stood before it comes out of `fail`.
        """
        if self._failed:
            return b""
        out: list[bytes] = []
        try:
            for event in self._decoder.feed(data):
                self._event(event, out)
        except UpstreamError:
            self._held = b"".join(out)
            raise
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the rest; an answer without its terminal event ends as `fail` ends it."""
        if self._failed:
            return b""
        out: list[bytes] = []
        event = self._decoder.finish()
        if event is not None and _readable(event.data):
            # Its blank line is missing; without one a client would not read it.
            self._event(Event(event.name, event.data, event.raw.rstrip(b"\r\n") + b"\n\n"), out)
        if not self._ended:
            out.append(self.fail("the upstream ended its answer before it was complete"))
        return b"".join(out)

    def fail(self, message: str) -> bytes:
        """Return ``response.failed`` with the next sequence number; nothing may follow it."""
        held, self._held = self._held, b""
        if self._failed:
            return b""
        self._failed = True
        if self._ended:
            return held
        return held + failed_events(
            message,
            sequence=self._sequence + 1,
            response=self._response,
            output=[self._items[place] for place in sorted(self._items)],
            response_id="resp_rd" + self._dressing.search.id,
            model=self._model,
        )

    def _event(self, event: Event, out: list[bytes]) -> None:
        name = event.name
        if not name and (match := _TYPE.match(event.data)):
            name = match[1].decode()
        if name.endswith(".delta") and event.raw.count(b'"output_index"') < 2:
            out.append(_NUMBERS.sub(self._renumber, event.raw))
            return
        if not event.data:
            out.append(event.raw)
            return
        try:
            document = Document.read(event.data)
        except WireError:
            out.append(event.raw)
            return
        if not name.startswith("response.") and name != "error":
            name = string(document.get("type")) or ""
        before, changes = self._edit(name, document)
        self.unknown_citations = self._dressing.unknown
        out += before
        changes |= self._numbers(document)
        out.append(_framed(event, bytes(document.replace(changes))) if changes else event.raw)

    def _edit(self, name: str, document: Document) -> tuple[list[bytes], dict[str, Any]]:
        """Return the events to go before this one, and the members of it to change."""
        if name == "response.output_item.added":
            return self._added(document), {}
        if name == "response.output_item.done":
            return self._item_done(document)
        if name == "response.output_text.done":
            return self._text_done(document, document.get("text")), {}
        if name == "response.content_part.done":
            return self._part_done(document)
        if name == "response.output_text.annotation.added":
            key = self._key(document)
            self._annotated[key] = self._annotated.get(key, 0) + 1
            return [], {}
        if name in _LIFE:
            return [], self._life(document)
        if name in _TERMINAL:
            return self._terminal(name, document)
        if name == "error":
            self._ended = True
        return [], {}

    # The numbers

    def _renumber(self, match: re.Match[bytes]) -> bytes:
        number = int(match[3])
        new = self._count(number) if match[2] else self._place(number)
        return match[1] + b"%d" % new

    def _numbers(self, document: Document) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        if (number := _number(document, "sequence_number")) is not None:
            new = self._count(number)
            if new != number:
                changes["sequence_number"] = b"%d" % new
        if (number := _number(document, "output_index")) is not None:
            new = self._place(number)
            if new != number:
                changes["output_index"] = b"%d" % new
        return changes

    def _count(self, number: int) -> int:
        # The upstream's own first number is where the count begins.
        self._sequence = number if self._sequence < 0 else self._sequence + 1
        return self._sequence

    def _place(self, number: int) -> int:
        return self._places.get(number, number + self._attached)

    def _key(self, document: Document) -> tuple[int, int]:
        place = self._place(_number(document, "output_index") or 0)
        return place, _number(document, "content_index") or 0

    # The events

    def _own(self, name: str, **more: Any) -> bytes:
        self._sequence += 1
        event = {"type": name, "sequence_number": self._sequence, **more}
        return encode(dump(event), name)

    def _attach(self) -> list[bytes]:
        """Return the events of our item, as a model's own search would have sent them."""
        place = self._next_place
        self._next_place += 1
        self._attached = True
        self._items[place] = bytes(self._dressing.item)
        id_ = self._dressing.id
        begun = {"id": id_, "type": "web_search_call", "status": "in_progress"}
        at: dict[str, Any] = {"output_index": place, "item_id": id_}
        return [
            self._own("response.output_item.added", output_index=place, item=begun),
            self._own("response.web_search_call.in_progress", **at),
            self._own("response.web_search_call.searching", **at),
            self._own("response.web_search_call.completed", **at),
            self._own("response.output_item.done", output_index=place, item=self._dressing.item),
        ]

    def _added(self, document: Document) -> list[bytes]:
        before: list[bytes] = []
        if (
            not self._attached
            and not self._ended
            and item_type(fields(document.get("item"))) != "reasoning"
        ):
            before = self._attach()
        if (number := _number(document, "output_index")) is not None:
            self._places[number] = self._next_place
            self._next_place += 1
        return before

    def _text_done(self, document: Document, text: Raw | None) -> list[bytes]:
        key = self._key(document)
        if key in self._cited:
            return []
        self._cited.add(key)
        before: list[bytes] = []
        for annotation in self._dressing.annotations(string(text) or ""):
            index = self._annotated.get(key, 0)
            self._annotated[key] = index + 1
            before.append(
                self._own(
                    "response.output_text.annotation.added",
                    item_id=string(document.get("item_id")) or "",
                    output_index=key[0],
                    content_index=key[1],
                    annotation_index=index,
                    annotation=annotation,
                )
            )
        return before

    def _part_done(self, document: Document) -> tuple[list[bytes], dict[str, Any]]:
        part = document.get("part")
        opened = fields(part)
        if part is None or string(opened.get("type")) != "output_text":
            return [], {}
        before = self._text_done(document, opened.get("text"))
        cited = self._dressing.cited_part(part)
        return before, {} if cited is part else {"part": cited}

    def _item_done(self, document: Document) -> tuple[list[bytes], dict[str, Any]]:
        item = document.get("item")
        if item is None:
            return [], {}
        before: list[bytes] = []
        opened = fields(item)
        number = _number(document, "output_index")
        if item_type(opened) == "message" and number is not None:
            # An upstream may have told the text of a part nowhere but here.
            whole = Document.read(
                dump({"output_index": number, "item_id": opened.get("id", Raw(b'""'))})
            )
            for place, raw in enumerate(entries(opened.get("content"))):
                part = fields(raw)
                if string(part.get("type")) == "output_text":
                    at = whole.replace({"content_index": b"%d" % place})
                    before += self._text_done(at, part.get("text"))
        cited = self._dressing.cited_item(item)
        if number is not None:
            self._items[self._place(number)] = plain(cited)
        return before, {} if cited is item else {"item": cited}

    def _life(self, document: Document) -> dict[str, Any]:
        response = _response(document)
        if response is None:
            return {}
        echoed = bytes(self._dressing.echoed(response))
        self._response = echoed
        return {"response": echoed}

    def _terminal(self, name: str, document: Document) -> tuple[list[bytes], dict[str, Any]]:
        ended, self._ended = self._ended, True
        response = _response(document)
        before: list[bytes] = []
        if not self._attached and not ended and name != "response.failed":
            before = self._attach()
        if response is None:
            return before, {}
        if entries(response.get("output")) or not self._items:
            finished = self._dressing.finished(response, attach=self._attached)
        else:
            # Items were streamed, and yet the final list is empty.
            items = [Raw(self._items[place]) for place in sorted(self._items)]
            finished = self._dressing.echoed(response).replace({"output": dump(items)})
        return before, {"response": bytes(finished)}


def _response(document: Document) -> Document | None:
    raw = document.get("response")
    try:
        return None if raw is None else Document.read(plain(raw))
    except WireError:
        return None


def _number(document: Document, name: str) -> int | None:
    raw = document.get(name)
    data = b"" if raw is None else bytes(raw)
    return int(data) if _WHOLE.fullmatch(data) else None


def _readable(data: bytes) -> bool:
    try:
        Document.read(data)
    except WireError:
        return data.strip() == b"[DONE]"
    return True


def _framed(event: Event, data: bytes) -> bytes:
    """Put other data into an event, and leave its name, comments and line ends as they came."""
    data = data.replace(b"\n", b" ")
    at = event.raw.find(event.data)
    if at < 0 or b"\n" in event.data:
        return encode(data, event.name)
    return event.raw[:at] + data + event.raw[at + len(event.data) :]
