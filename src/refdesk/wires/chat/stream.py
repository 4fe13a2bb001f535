"""
A streamed answer with its citations, and how one ends that broke off.

All annotations of a choice go into the ``delta`` of the chunk that carries its ``finish_reason``,
as OpenAI's own do: the SDK's accumulator takes one list, and raises on a second whose entries have
no ``index``.  So annotations of the upstream's own that come earlier wait for that chunk too.
Every other event passes byte for byte.

Local servers write ``finish_reason`` early, or on every chunk.  A choice that goes on after its end
has not ended; once that happened after some text, the rest of its annotations wait for the end of
the stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.base import GatewaySearch, StreamRewriter
from refdesk.wires.chat.chunks import Chunk, is_json, read_chunk
from refdesk.wires.chat.response import Citing, annotation_list
from refdesk.wires.citations import MAX_CITED_CHARS
from refdesk.wires.document import Document, dump, elements, kind, members, plain
from refdesk.wires.openai_error import error_body
from refdesk.wires.sse import Decoder, Event, encode

_DONE: Final = b"[DONE]"
_HEAD: Final = ("id", "object", "created", "model", "service_tier", "system_fingerprint")
_NO_END: Final = "the upstream's answer broke off: it ended without a finish_reason"


@dataclass(slots=True)
class _Told:
    """What one choice has said so far."""

    texts: list[str] = field(default_factory=list)
    chars: int = 0
    plain: bool = True
    """False once its content was no string: offsets would mean nothing."""
    held: list[Raw] = field(default_factory=list)
    """Annotations of the upstream's own that wait for the last chunk."""
    finished: bool = False
    """Nothing but what repeats its end came after a finish_reason."""
    reasoned: bool = False
    """It had a finish_reason, early or not."""
    unknown: int = 0
    """Markers in its text that name no source."""
    sent: list[Raw] = field(default_factory=list)
    """Annotations that went out with a finish_reason."""
    doubted: bool = False
    """A finish_reason after some text was not the end: no later one is taken for it."""

    def hear(self, content: Any, text: str | None) -> None:
        """Take what a chunk adds to the content."""
        if self.finished and text:
            self.finished = False
            self.doubted = self.doubted or bool(self.texts)
        if text is not None:
            if text and self.chars < MAX_CITED_CHARS:
                self.texts.append(text)
                self.chars += len(text)
        elif content is not None:
            self.plain = False


class ChatRewriter:
    """Put the citations of a search into a stream of chunks; a `StreamRewriter`."""

    def __init__(self, search: GatewaySearch, asked: Document) -> None:
        self.unknown_citations = 0
        self.broken = False
        """Whether the answer was not complete when it ended."""
        self._citing = Citing(search, asked)
        self._decoder = Decoder()
        self._told: dict[int, _Told] = {}
        self._last = b""  # the newest chunk with choices: what one of ours looks like
        self._ended = False  # [DONE] or an error of the upstream's own has passed
        self._closed = False
        self._unsent = b""

    def feed(self, data: bytes) -> bytes:
        """
        Take the next bytes of the upstream; return what can be sent on.

        Raises:
            UpstreamError: One event is too long to be held.  `fail` then ends the stream.
        """
        if self._closed:
            return b""
        out: list[bytes] = []
        try:
            for event in self._decoder.feed(data):
                out.append(self._event(event))  # noqa: PERF401 (what came before a fault is kept)
        except UpstreamError:
            self._unsent = b"".join(out)
            raise
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the rest; the wire's error with it, where the answer is not complete."""
        event = None if self._closed else self._decoder.finish()
        cut = event is not None and not self._ended and not _is_whole(event)
        if event is not None and not cut:
            # A client that keeps to the standard drops an event that no blank line follows.
            pad = b"\n" if event.raw.endswith((b"\n", b"\r")) else b"\n\n"
            self._unsent += self._event(Event(event.name, event.data, event.raw + pad))
        return self._end(_NO_END, cut=cut)

    def fail(self, message: str) -> bytes:
        """Return an error event; nothing, where the answer is complete or ended in an error."""
        return self._end(message, cut=self._decoder.finish() is not None)

    def _end(self, message: str, *, cut: bool) -> bytes:
        out, self._unsent = self._unsent, b""
        told = self._told.values()
        finished = bool(told) and all(choice.reasoned for choice in told)
        if not self._closed and not self._ended:
            if cut or not finished:
                self.broken = True
                out += self._held() + error_event(message)
            else:
                out += self._unfinished()
        self._closed = True
        return out

    def _event(self, event: Event) -> bytes:
        data = event.data
        if not data or self._ended:
            return event.raw
        if data.startswith(_DONE):
            rest = self._unfinished()
            self._ended = True
            return rest + event.raw
        chunk = read_chunk(data)
        if event.name == "error" or (chunk is not None and chunk.error):
            rest = self._held()
            self._ended = True
            return rest + event.raw
        if chunk is None or not chunk.choices:
            return event.raw
        self._last = data
        return self._chunk(event, chunk)

    def _chunk(self, event: Event, chunk: Chunk) -> bytes:
        edits: dict[int, list[Any]] = {}
        holds: list[tuple[_Told, list[Raw]]] = []
        for place, choice in enumerate(chunk.choices or ()):
            told = self._told.get(choice.place)
            if told is None:
                told = self._told[choice.place] = _Told()
            if (delta := choice.delta) is not None:
                told.hear(delta.content, choice.text)
            if told.finished:
                continue  # OpenRouter sends a choice's last chunk twice, then with the usage
            told.finished = bool(choice.finish_reason)
            told.reasoned = told.reasoned or told.finished
            if not choice.finish_reason and choice.annotations is None:
                continue
            own = annotation_list(choice.annotations)
            if choice.finish_reason and not told.doubted:
                if own is not None:
                    whole = [*told.held, *own, *self._cite(told, own)]
                    if len(whole) > len(own):
                        edits[place] = whole
                    told.sent = [Raw(plain(dump(each))) for each in whole]
                    told.held = []
            elif own:
                holds.append((told, [Raw(plain(raw)) for raw in own]))
                edits[place] = []
        if not edits or (edited := _edited(event, edits)) is None:
            return event.raw
        for told, own in holds:
            told.held += own
        return edited

    def _cite(self, told: _Told, own: list[Raw]) -> list[dict[str, Any]]:
        if not (told.texts and told.plain):
            return []
        before = self._citing.unknown
        made = self._citing.annotations("".join(told.texts), [*told.sent, *told.held, *own])
        # The same text may be read twice, and counts once.
        told.unknown = self._citing.unknown - before
        self.unknown_citations = sum(each.unknown for each in self._told.values())
        return made

    def _unfinished(self) -> bytes:
        """Return a chunk of ours with the annotations of choices that got no finish_reason."""
        left = {n: told for n, told in self._told.items() if told.doubted or not told.finished}
        return self._own(
            {n: _after(told.sent, [*told.held, *self._cite(told, [])]) for n, told in left.items()}
        )

    def _held(self) -> bytes:
        """Return a chunk of ours with what is still held of the upstream's own."""
        left = {n: told for n, told in self._told.items() if told.doubted or not told.finished}
        return self._own({n: _after(told.sent, told.held) for n, told in left.items()})

    def _own(self, lists: dict[int, list[Any]]) -> bytes:
        choices = [
            {"index": place, "delta": {"annotations": annotations}, "finish_reason": None}
            for place, annotations in lists.items()
            if annotations
        ]
        if not choices:
            return b""
        try:
            last = Document.read(self._last)
        except WireError:
            return b""
        head = {key: raw for key in _HEAD if (raw := last.get(key)) is not None}
        return encode(dump({**head, "choices": choices}))


def rewriter(search: GatewaySearch, asked: Document) -> StreamRewriter:
    """Return what puts the citations of a search into a streamed answer."""
    return ChatRewriter(search, asked)


def error_event(message: str) -> bytes:
    """Return the event that ends an answer which broke off."""
    return encode(error_body(message, status=502, param=None))


def _after(sent: list[Raw], more: list[Any]) -> list[Any]:
    """Number what follows a first list, as the SDK's accumulator wants it."""
    if not sent:
        return more
    numbered: list[Any] = []
    for place, each in enumerate(more, len(sent)):
        table = each if isinstance(each, dict) else members(each)
        numbered.append({**table, "index": place})
    return numbered


def _is_whole(event: Event) -> bool:
    return not event.data or event.data.startswith(_DONE) or is_json(event.data)


def _edited(event: Event, edits: dict[int, list[Any]]) -> bytes | None:
    """Put these annotations into the deltas of these choices; None if the chunk is too odd."""
    try:
        document = Document.read(event.data)
        choices = elements(document.get("choices") or b"[]")
        for place, annotations in edits.items():
            choice = members(choices[place])
            inner = choice.get("delta")
            delta = members(inner) if inner is not None and kind(inner) == "object" else {}
            if annotations:
                delta["annotations"] = Raw(dump(annotations))
            else:
                delta.pop("annotations", None)
            choice["delta"] = Raw(dump(delta))
            choices[place] = Raw(dump(choice))
        data = bytes(document.replace({"choices": dump(choices)}))
    except WireError:
        return None
    if event.data in event.raw:
        return event.raw.replace(event.data, data, 1)
    # The data came on several lines; line ends in JSON are white space.
    return encode(data.replace(b"\n", b" "), event.name)
