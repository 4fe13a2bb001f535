"""
What a stream told of its items, so that the final object holds all of them.

Some servers end their stream with an empty ``output``, and some never send ``output_item.done``.
Deltas are kept as they came, and are read only where an item was not finished.
"""

from __future__ import annotations

from collections.abc import Iterator
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
        self._deltas: list[tuple[str, bytes]] = []
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
            self._deltas.clear()

    def delta(self, name: str, data: bytes) -> None:
        """Note a delta."""
        if name in _KEPT:
            self._deltas.append((name, data))

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

    def _said(self, place: int, name: str, numbering: Numbering) -> Iterator[tuple[int, Raw]]:
        """Yield the pieces that the deltas of an item added, each with its part."""
        for told, data in self._deltas:
            if told != name:
                continue
            try:
                document = Document.read(data)
            except WireError:
                continue
            piece = document.get("delta")
            if piece is not None and numbering.place(document) == place:
                yield numbering.part(document, place), piece
