"""
A search in a streamed answer: its events, and all numbers after them put right.

What always holds: every event keeps its order and the bytes around its numbers; what was streamed
and the final ``output`` are the same list, whatever the upstream's own says.

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
from refdesk.wires.responses.heard import Heard
from refdesk.wires.responses.items import entries, fields, item_type
from refdesk.wires.responses.numbering import Numbering, is_of_item, is_of_part
from refdesk.wires.responses.response import Dressing
from refdesk.wires.sse import Decoder, Event, encode

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
        self.ended = self._failed = False
        """Whether the upstream's terminal event has come."""
        self._attached = not search.shown
        """Whether the item of the search stands in the stream, or is not to."""
        self._numbering = Numbering()
        self._heard = Heard()
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
        if not self.ended:
            out.append(self.fail("the upstream ended its answer before it was complete"))
        return b"".join(out)

    def fail(self, message: str) -> bytes:
        """Return ``response.failed`` with the next sequence number; nothing may follow it."""
        held, self._held = self._held, b""
        if self._failed:
            return b""
        self._failed = True
        if self.ended:
            return held
        return held + failed_events(
            message,
            sequence=self._numbering.sequence + 1,
            response=self._response,
            output=[bytes(item) for item in self._items()],
            response_id="resp_rd" + self._dressing.search.id,
            model=self._model,
        )

    def _event(self, event: Event, out: list[bytes]) -> None:
        name = event.name
        if not name and (match := _TYPE.match(event.data)):
            name = match[1].decode()
        if name.endswith(".delta") and (passed := self._passed(name, event)) is not None:
            out.append(passed)
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
        changes |= self._numbering.changes(name, document)
        out.append(_framed(event, bytes(document.replace(changes))) if changes else event.raw)

    def _passed(self, name: str, event: Event) -> bytes | None:
        """Return a delta with its numbers put right; None where it must be looked at."""
        if not self._attached and "reasoning" not in name:
            return None
        if is_of_part(name) and b'"content_index"' not in event.raw:
            return None
        numbered = self._numbering.numbered(event.raw)
        if numbered is not None:
            self._heard.delta(name, event.data)
        return numbered

    def _edit(self, name: str, document: Document) -> tuple[list[bytes], dict[str, Any]]:
        """Return the events to go before this one, and the members of it to change."""
        if name == "response.output_item.added":
            return self._begin(document, name), {}
        before: list[bytes] = []
        if is_of_item(name) and self._numbering.place(document) is None:
            # The upstream did not say that this item begins.
            before = self._begin(document, name)
        more, changes = self._edit_known(name, document)
        return before + more, changes

    def _edit_known(self, name: str, document: Document) -> tuple[list[bytes], dict[str, Any]]:
        if name == "response.content_part.added":
            self._numbering.begin_part(document, self._place(document))
            return [], {}
        if name.endswith(".delta"):
            place, part = self._key(document)
            self._heard.piece(name, place, part, document.get("delta"))
            return [], {}
        if name == "response.output_item.done":
            return self._item_done(document)
        if name == "response.output_text.done":
            return self._text_done(document, document.get("text")), {}
        if name == "response.content_part.done":
            return self._part_done(document)
        if name == "response.output_text.annotation.added":
            key = self._key(document)
            number = self._annotated.get(key, 0)
            self._annotated[key] = number + 1
            numbered = "annotation_index" in document
            return [], {} if numbered else {"annotation_index": b"%d" % number}
        if name in _LIFE:
            return [], self._life(document)
        if name in _TERMINAL:
            return self._terminal(name, document)
        if name == "error":
            self.ended = True
        return [], {}

    def _place(self, document: Document) -> int:
        place = self._numbering.place(document)
        return 0 if place is None else place

    def _key(self, document: Document) -> tuple[int, int]:
        place = self._place(document)
        return place, self._numbering.part(document, place)

    # The events

    def _own(self, name: str, **more: Any) -> bytes:
        event = {"type": name, "sequence_number": self._numbering.next(), **more}
        return encode(dump(event), name)

    def _attach(self) -> list[bytes]:
        """Return the events of our item, as a model's own search would have sent them."""
        place = self._numbering.put_in()
        self._attached = True
        self._heard.finish(place, bytes(self._dressing.item))
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

    def _begin(self, document: Document, name: str) -> list[bytes]:
        """Note an item that begins with this event; return what goes before it."""
        before: list[bytes] = []
        item = document.get("item")
        reasoning = "reasoning" in name or item_type(fields(item)) == "reasoning"
        if not self._attached and not self.ended and not reasoning:
            before = self._attach()
        place = self._numbering.begin(document)
        if item is None and is_of_part(name) and not reasoning:
            message = {"id": document.get("item_id"), "type": "message", "role": "assistant"}
            item = Raw(dump(message))
        if item is not None:
            self._heard.begin(place, item)
        return before

    def _text_done(self, document: Document, text: Raw | None) -> list[bytes]:
        key = self._key(document)
        whole = string(text) or ""
        self._heard.text(*key, whole)
        return self._annotations(key, string(document.get("item_id")) or "", whole)

    def _annotations(self, key: tuple[int, int], item_id: str, text: str) -> list[bytes]:
        """Return the events of the citations in a whole text, once."""
        if key in self._cited:
            return []
        self._cited.add(key)
        events: list[bytes] = []
        for annotation in self._dressing.annotations(text):
            index = self._annotated.get(key, 0)
            self._annotated[key] = index + 1
            events.append(
                self._own(
                    "response.output_text.annotation.added",
                    item_id=item_id,
                    output_index=key[0],
                    content_index=key[1],
                    annotation_index=index,
                    annotation=annotation,
                )
            )
        return events

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
        place = self._place(document)
        whole = self._heard.complete(place, item, self._numbering)
        # An upstream may have told the text of a part nowhere but here.
        before = self._texts_done(place, fields(whole))
        cited = self._dressing.cited_item(whole)
        self._heard.finish(place, plain(cited))
        return before, {} if cited is item else {"item": cited}

    def _texts_done(self, place: int, item: dict[str, Raw]) -> list[bytes]:
        if item_type(item) != "message":
            return []
        before: list[bytes] = []
        for number, raw in enumerate(entries(item.get("content"))):
            part = fields(raw)
            if string(part.get("type")) == "output_text":
                before += self._annotations(
                    (place, number), string(item.get("id")) or "", string(part.get("text")) or ""
                )
        return before

    def _life(self, document: Document) -> dict[str, Any]:
        response = _response(document)
        if response is None:
            return {}
        echoed = bytes(self._dressing.echoed(response))
        self._response = echoed
        return {"response": echoed}

    def _terminal(self, name: str, document: Document) -> tuple[list[bytes], dict[str, Any]]:
        ended, self.ended = self.ended, True
        response = _response(document)
        before: list[bytes] = []
        if not self._attached and not ended and name != "response.failed":
            before = self._attach()
        if response is None:
            if self._response is None:
                return before, {}
            # The event has no response: the one that began is completed.
            status = name.removeprefix("response.")
            response = Document.read(self._response).replace({"status": dump(status)})
        told = entries(response.get("output"))
        ours = self._attached and self._dressing.search.shown
        if len(told) + ours >= self._numbering.next_place and all(map(_says_something, told)):
            finished = self._dressing.finished(response, attach=ours)
        else:
            # More was streamed than the final list holds.
            if name != "response.failed":
                before += self._close(name)
            finished = self._dressing.echoed(response).replace({"output": dump(self._items())})
        return before, {"response": bytes(finished)}

    def _close(self, name: str) -> list[bytes]:
        """Finish the items that are open; return the events of the citations in their texts."""
        status = "completed" if name == "response.completed" else "incomplete"
        events: list[bytes] = []
        for place in self._heard.close(self._numbering, status):
            item = Raw(self._heard.finished[place])
            events += self._texts_done(place, fields(item))
            self._heard.finish(place, bytes(self._dressing.cited_item(item)))
        return events

    def _items(self) -> list[Raw]:
        finished = self._heard.finished
        return [Raw(finished[place]) for place in sorted(finished)]


def _says_something(item: Raw) -> bool:
    opened = fields(item)
    return item_type(opened) != "message" or bool(entries(opened.get("content")))


def _response(document: Document) -> Document | None:
    raw = document.get("response")
    try:
        return None if raw is None else Document.read(plain(raw))
    except WireError:
        return None


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
