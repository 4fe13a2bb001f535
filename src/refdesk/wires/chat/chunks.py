"""What must be seen of a streamed chunk; the rest of it is skipped while decoding."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Raw

from refdesk.errors import WireError
from refdesk.wires.document import Document, dump, string

_ABSENT: Final = Raw(b"")


class Delta(msgspec.Struct):
    """What a chunk adds to a message."""

    content: Any = None
    annotations: Raw = _ABSENT


class Choice(msgspec.Struct):
    """One choice of a chunk."""

    index: Any = 0
    delta: Delta | None = None
    finish_reason: Any = None

    @property
    def place(self) -> int:
        """The choice's number; upstreams with one choice forget it at times."""
        return self.index if type(self.index) is int else 0

    @property
    def annotations(self) -> Raw | None:
        """The upstream's own annotations, as they stand."""
        if self.delta is None or self.delta.annotations is _ABSENT:
            return None
        return self.delta.annotations

    @property
    def text(self) -> str | None:
        """The content as it counts for offsets; None where it is no string."""
        content = self.delta.content if self.delta is not None else None
        if not isinstance(content, str):
            return None
        return string(dump(content)) if "\ufdd0" in content else content


class Chunk(msgspec.Struct):
    """One chunk.  ``error`` is what some upstreams send once the head is out."""

    choices: list[Choice] | None = None
    error: Any = None


_CHUNK: Final = msgspec.json.Decoder(Chunk)
_ANY: Final = msgspec.json.Decoder(Raw)


def read_chunk(data: bytes) -> Chunk | None:
    """Return what must be seen of an event's data; None where it is no chunk of this wire."""
    try:
        return _CHUNK.decode(data)
    except (msgspec.DecodeError, RecursionError):
        if b"\\ud" not in data and b"\\uD" not in data:
            return None
    try:
        document = Document.read(data)
        seen = {key: document.get(key) for key in ("choices", "error")}
        return _CHUNK.decode(dump(seen))
    except (WireError, msgspec.DecodeError, RecursionError):
        return None


def is_json(data: bytes) -> bool:
    """Whether these bytes are one whole JSON value."""
    try:
        _ANY.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
