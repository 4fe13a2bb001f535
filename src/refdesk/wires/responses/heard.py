"""
What a stream told of its items, so that the final object holds all of them.

Some servers end their stream with an empty ``output``, and some never send ``output_item.done``.
Deltas are kept as they came, and are read only where an item was not finished.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from refdesk.errors import WireError
from refdesk.wires.document import Document, dump, plain
from refdesk.wires.responses.items import entries, fields, item_type
from refdesk.wires.responses.numbering import Numbering
from refdesk.wires.sse import joined

_TEXT: Final = "response.output_text.delta"
_ARGUMENTS: Final = "response.function_call_arguments.delta"
_KEPT: Final = (_TEXT, _ARGUMENTS)


class Heard:
    """The items of one stream, finished and not."""

    def __init__(self) -> None:
        self.finished: dict[int, bytes] = {}
        """The finished items, by their place."""
        self._begun: dict[int, dict[str, Raw]] = {}
        self._unread: list[tuple[str, bytes]] = []
        self._pieces: dict[tuple[str, int], list[tuple[int, Raw]]] = {}
        """What the deltas of each kind added to each item, with the parts."""
        self._texts: dict[tuple[int, int], str] = {}
        """Whole texts of parts, by place and part, where an event told them."""

    def begin(self, place: int, item: Raw) -> None:
        """Note that an item begins."""
        self._begun[place] = fields(plain(item))

    def finish(self, place: int, item: bytes) -> None:
        """Note a finished item."""
        self.finished[place] = item
        self._begun.pop(place, None)
        if not self._begun:
            self._unread.clear()
            self._pieces.clear()

    def delta(self, name: str, data: bytes) -> None:
        """Note a delta that has all its numbers; it is read only if that turns out to be needed."""
        if name in _KEPT:
            self._unread.append((name, data))

    def piece(self, name: str, place: int, part: int, piece: Raw | None) -> None:
        """Note what a delta adds."""
        if name in _KEPT and piece is not None:
            self._pieces.setdefault((name, place), []).append((part, Raw(plain(piece))))

    def text(self, place: int, part: int, text: str) -> None:
        """Note the whole text of a part."""
        self._texts[place, part] = text

    def complete(self, place: int, item: Raw, numbering: Numbering) -> Raw:
        """Return a finished item; a message without content with what was told of its text."""
        opened = fields(item)
        if item_type(opened) != "message" or entries(opened.get("content")):
            return item
        content = self._content(place, numbering)
        return Raw(dump({**opened, "content": content})) if content else item

    def close(self, numbering: Numbering, status: str) -> list[int]:
        """
        Finish the items that the upstream left open, with what was told of them.

        Args:
            numbering: Tells which item a delta belongs to.
            status: The status of an item that was under way.

        Returns:
            Their places.
        """
        left = sorted(self._begun)
        for place in left:
            item: dict[str, Any] = dict(self._begun[place])
            kind = item_type(item)
            if kind == "message":
                item["content"] = self._content(place, numbering)
            elif kind == "function_call" and (said := self._said(place, _ARGUMENTS, numbering)):
                item["arguments"] = joined([piece for _, piece in said])
            if "status" in item or kind == "message":
                item["status"] = status
            self.finished[place] = dump(item)
        self._begun.clear()
        return left

    def _content(self, place: int, numbering: Numbering) -> list[dict[str, Any]]:
        pieces: dict[int, list[Raw]] = {}
        for part, piece in self._said(place, _TEXT, numbering):
            pieces.setdefault(part, []).append(piece)
        texts: dict[int, Any] = {part: joined(each) for part, each in pieces.items()}
        texts |= {part: text for (at, part), text in self._texts.items() if at == place}
        return [
            {"type": "output_text", "text": texts[part], "annotations": [], "logprobs": []}
            for part in sorted(texts)
        ]

    def _said(self, place: int, name: str, numbering: Numbering) -> list[tuple[int, Raw]]:
        """Return the pieces that the deltas of an item added, each with its part."""
        unread, self._unread = self._unread, []
        for told, data in unread:
            try:
                document = Document.read(data)
            except WireError:
                continue
            where = numbering.place(document)
            if where is not None:
                part = numbering.part(document, where)
                self.piece(told, where, part, document.get("delta"))
        return self._pieces.get((name, place), [])
