"""
Which upstreams are known to refuse a declared search tool.

An upstream is known when two different requests were refused for the tool: one client's mistake
takes the tool from nobody else.  What is known is forgotten after some hours and on reload, since
upstreams learn.  No upstream is ever called to find out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from refdesk.errors import WireError
from refdesk.gateway.complaints import Declared, concerns, declared
from refdesk.wires.document import Document, elements, kind, members

KNOWN_S: Final = 6 * 3600.0
_MOST: Final = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Sender:
    """Where a request came from, and where it went."""

    upstream: str
    wire: str
    model: str
    """The name that the upstream knows."""
    key_id: str | None = None
    """The client's key."""


@dataclass(slots=True)
class _Seen:
    shape: Hashable
    until: float
    confirmed: bool = False


_Place = tuple[str, str, str, str]
"""Upstream, wire, the tool's type, and the model where the refusal named it, else empty."""


class Refusals:
    """
    Refusals of search tools.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[_Place, _Seen] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def clear(self) -> None:
        """Forget all."""
        self._seen.clear()

    def known(self, sender: Sender, document: Document) -> bool:
        """Whether the upstream is known to refuse the search tool that a request declares."""
        if not self._seen or (tool := declared(document)) is None:
            return False
        return any(
            (seen := self._at(place)) is not None and seen.confirmed
            for place in _places(sender, tool)
        )

    def take(self, sender: Sender, document: Document, status: int, body: bytes) -> str:
        """
        Learn from an upstream's answer.

        Returns:
            A notice where the answer refused the tool, else an empty string.
        """
        if status < 400:
            if self._seen and (tool := declared(document)) is not None:
                for place in _places(sender, tool):
                    self._seen.pop(place, None)
            return ""
        if status not in (400, 422):
            return ""
        tool = declared(document)
        if tool is None or not concerns(body, tool):
            return ""
        place = _places(sender, tool)[_names_model(body, sender.model)]
        shape = _shape(sender, document)
        seen = self._at(place)
        if seen is None:
            if len(self._seen) >= _MOST:
                self._seen.pop(next(iter(self._seen)))
            self._seen[place] = _Seen(shape, self._clock() + KNOWN_S)
        elif seen.shape != shape:
            seen.confirmed = True
            seen.until = self._clock() + KNOWN_S
        told = f"the upstream {sender.upstream!r} answered {status} to a request with a search tool"
        if seen is None or not seen.confirmed:
            return f"{told}; if it refuses another request so, it is no longer sent {tool.type!r}"
        return (
            f"{told}; for {KNOWN_S / 3600:g} hours, or until the next reload, it is not sent "
            f"{tool.type!r} where nobody searches"
        )

    def _at(self, place: _Place) -> _Seen | None:
        seen = self._seen.get(place)
        if seen is not None and seen.until <= self._clock():
            del self._seen[place]
            return None
        return seen


def _names_model(body: bytes, model: str) -> bool:
    name = re.escape(model.encode())
    return re.search(rb"(?<![\w.-])" + name + rb"(?![\w.-])", body[:65_536]) is not None


def _places(sender: Sender, tool: Declared) -> tuple[_Place, _Place]:
    """Return where a refusal of all models of an upstream is kept, and where one of this model."""
    upstream = (sender.upstream, sender.wire, tool.type)
    return (*upstream, ""), (*upstream, sender.model)


def _shape(sender: Sender, document: Document) -> Hashable:
    """Return what two requests have in common that may be refused for one mistake."""
    table = members(bytes(document))
    sizes = []
    for name in ("tools", "messages", "input"):
        raw = table.get(name)
        try:
            sizes.append(len(elements(raw)) if raw is not None and kind(raw) == "array" else -1)
        except WireError:
            sizes.append(-1)
    choice = hash(bytes(table["tool_choice"])) if "tool_choice" in table else None
    stream = bytes(table.get("stream", b""))
    return sender.key_id, hash(frozenset(table)), tuple(sizes), choice, stream
