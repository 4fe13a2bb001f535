"""
The numbers of a stream's events: put right after an item of ours, and filled in where none came.

``sequence_number`` is one running count.  Places in the output are given out without gap or clash.
Servers such as llama.cpp number nothing (https://github.com/ggml-org/llama.cpp/issues/20607); there
an event belongs to the item that its ``item_id`` names, else to the item that began last.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Raw

from refdesk.wires.document import Document, string
from refdesk.wires.responses.items import fields

_NUMBERS: Final = re.compile(rb'("(?:(sequence_number)|output_index)"\s*:\s*)(\d{1,15})(?!\d)')
_WHOLE: Final = re.compile(rb"\d{1,15}")
_OF_ITEM: Final = re.compile(
    r"response\.(?:output_item|content_part|output_text|refusal|function_call_arguments"
    r"|custom_tool_call_input|reasoning_(?:text|summary_part|summary_text)|web_search_call)\."
)
"""Events that belong to an item of the output."""
_OF_PART: Final = re.compile(r"response\.(?:content_part|output_text|refusal|reasoning_text)\.")
"""Events that belong to a content part of an item."""


class Numbering:
    """The places of the items and the count of the events of one stream."""

    def __init__(self) -> None:
        self.sequence = -1
        """The last number that was given out."""
        self.next_place = 0
        self._moved = 0
        """How many items of ours have been put in."""
        self._places: dict[int | None, int] = {}
        """Where each item of the upstream stands now, by its own output_index."""
        self._by_id: dict[str, int] = {}
        self._current: int | None = None
        self._parts: dict[int, int] = {}
        """The part of each item that began last."""

    # Giving out

    def next(self) -> int:
        """Return the next sequence number."""
        self.sequence += 1
        return self.sequence

    def put_in(self) -> int:
        """Return the place of an item of ours."""
        self._moved += 1
        self.next_place += 1
        return self.next_place - 1

    def begin(self, document: Document) -> int:
        """Return the place of an item that begins with this event."""
        place = self.next_place
        self.next_place += 1
        if (number := number_in(document, "output_index")) is not None:
            self._places[number] = place
        if id_ := _item_id(document):
            self._by_id[id_] = place
        self._current = place
        return place

    def begin_part(self, document: Document, place: int) -> None:
        """Note that a content part of an item begins."""
        number = number_in(document, "content_index")
        self._parts[place] = self._parts.get(place, -1) + 1 if number is None else number

    # Looking up

    def place(self, document: Document) -> int | None:
        """Return the place of the item that an event belongs to; None where it has not begun."""
        number = number_in(document, "output_index")
        if number in self._places:
            return self._places[number]
        place = self._by_id.get(_item_id(document))
        if place is not None or number is not None or "item" in document:
            return place
        return self._current

    def part(self, document: Document, place: int) -> int:
        """Return the number of the content part that an event belongs to."""
        number = number_in(document, "content_index")
        return self._parts.get(place, 0) if number is None else number

    # Changing

    def numbered(self, raw: bytes) -> bytes | None:
        """
        Return an event with its numbers changed where they stand.

        None where they are not all there, or stand somewhere else as well.
        """
        if raw.count(b'"output_index"') != 1 or raw.count(b'"sequence_number"') != 1:
            return None
        return _NUMBERS.sub(self._renumber, raw)

    def changes(self, name: str, document: Document) -> dict[str, bytes]:
        """Return the numbers of an event that are to be changed or filled in."""
        changes: dict[str, bytes] = {}
        number = number_in(document, "sequence_number")
        if number is not None or name.startswith("response.") or name == "error":
            new = self._count(number)
            if new != number:
                changes["sequence_number"] = b"%d" % new
        number = number_in(document, "output_index")
        place = self.place(document)
        if number is not None:
            new = number + self._moved if place is None else place
            if new != number:
                changes["output_index"] = b"%d" % new
        elif place is not None and _OF_ITEM.match(name):
            changes["output_index"] = b"%d" % place
        if place is not None and _OF_PART.match(name) and "content_index" not in document:
            changes["content_index"] = b"%d" % self.part(document, place)
        return changes

    def _renumber(self, match: re.Match[bytes]) -> bytes:
        number = int(match[3])
        if match[2]:
            return match[1] + b"%d" % self._count(number)
        return match[1] + b"%d" % self._places.get(number, number + self._moved)

    def _count(self, number: int | None) -> int:
        # The upstream's own first number is where the count begins.
        if self.sequence < 0 and number is not None:
            self.sequence = number
            return number
        return self.next()


def is_of_item(name: str) -> bool:
    """Whether an event belongs to an item of the output."""
    return _OF_ITEM.match(name) is not None


def is_of_part(name: str) -> bool:
    """Whether an event belongs to a content part of an item."""
    return _OF_PART.match(name) is not None


def number_in(document: Document, name: str) -> int | None:
    """Return a whole number of an event; None where there is none."""
    raw = document.get(name)
    data = b"" if raw is None else bytes(raw)
    return int(data) if _WHOLE.fullmatch(data) else None


def _item_id(document: Document) -> str:
    item: Raw | None = document.get("item")
    return string(document.get("item_id")) or string(fields(item).get("id")) or ""
