"""
What upstreams keep for clients: which upstream has it, and which client key had it made.

In memory only.  An id that is not remembered any more is asked for at the only upstream that can
have it, where there is only one.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw

from refdesk.errors import WireError
from refdesk.gateway.endpoints import MAX_ID_CHARS
from refdesk.wires.document import Document, kind, members, string
from refdesk.wires.sse import Decoder

MAX_STORED_IDS: Final = 8192
"""Ids of stored answers, files and batches that are remembered; beyond it the oldest are not."""
_STARTS_WITH_ID: Final = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]+)"')
_IN_CREATED: Final = re.compile(rb'"response"\s*:\s*\{\s*"id"\s*:\s*"([^"\\]+)"')
_IN_CHUNK: Final = re.compile(rb'data:\s*\{\s*"id"\s*:\s*"([^"\\]+)"')
_REFERENCES: Final = ("previous_response_id", "conversation", "input_file_id")
"""Fields of a body that name something that an upstream keeps."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Something that an upstream keeps."""

    upstream: str
    key_id: str | None
    """The client key that had it made; None for a request without one."""


class StoredIds:
    """
    The ids that are remembered.

    Args:
        most: How many.
    """

    def __init__(self, most: int = MAX_STORED_IDS) -> None:
        self._most = most
        self._found: OrderedDict[str, Stored] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def add(self, id_: str, upstream: str, key_id: str | None) -> None:
        """Remember that an upstream made this for a client key; an overlong id is no id."""
        if not id_ or len(id_) > MAX_ID_CHARS:
            return
        self._found[id_] = Stored(upstream, key_id)
        self._found.move_to_end(id_)
        if len(self._found) > self._most:
            self._found.popitem(last=False)

    def find(self, id_: str, key_id: str | None, *, param: str | None = None) -> Stored | None:
        """
        Return what is remembered of an id; None if nothing is.

        Raises:
            WireError: Another client key had it made (404, as if it did not exist).
        """
        stored = self._found.get(id_)
        if stored is not None and stored.key_id != key_id:
            raise WireError(
                f"{id_[:80]!r} was not found among what this client key had made",
                status=404,
                param=param,
            )
        return stored

    def named(self, document: Document, key_id: str | None) -> tuple[str, Stored] | None:
        """
        Return the field of a body that names something remembered, and what is remembered.

        Raises:
            WireError: Another client key had it made (404).
        """
        for field in _REFERENCES:
            if (raw := document.get(field)) is None:
                continue
            id_ = _reference(raw)
            if id_ and (stored := self.find(id_, key_id, param=field)) is not None:
                return field, stored
        return None


def _reference(raw: Raw) -> str | None:
    """Return an id, whether it stands alone or as ``{"id": …}``."""
    return string(members(raw).get("id") if kind(raw) == "object" else raw)


def is_stored(wire: str, document: Document) -> bool:
    """
    Whether the upstream is asked to keep its answer.

    Responses are kept unless ``store`` is false, completions where it is true; an answer in the
    background is kept until it was fetched.
    """
    store = document.get("store")
    if wire == "responses":
        return is_background(document) or store is None or bytes(store) != b"false"
    return wire == "chat" and store is not None and bytes(store) == b"true"


def is_background(document: Document) -> bool:
    """Whether the client will fetch the answer later (Responses)."""
    background = document.get("background")
    return background is not None and bytes(background) == b"true"


def id_of(answer: bytes) -> str:
    """Return the id of a whole JSON answer, or an empty string."""
    if match := _STARTS_WITH_ID.match(answer):
        return match[1].decode(errors="replace")
    return ids_of(answer)[0]


def id_in_stream(head: bytes) -> str | None:
    """
    Return the id of an answer whose stream begins with these bytes.

    None while that cannot be told; an empty string where the first event names none.
    """
    if match := _IN_CREATED.search(head) or _IN_CHUNK.search(head):
        return match[1].decode(errors="replace")
    for event in Decoder().feed(head):
        if event.data:
            try:
                first = msgspec.json.decode(event.data, type=_First)
            except (msgspec.DecodeError, RecursionError):
                return ""
            return (first.response.id if first.response else first.id) or ""
    return None


class _Ids(msgspec.Struct):
    id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None


def ids_of(answer: bytes) -> tuple[str, list[str]]:
    """Return the id of a JSON object, and those of the files that it names."""
    try:
        found = msgspec.json.decode(answer, type=_Ids)
    except (msgspec.DecodeError, RecursionError):
        return "", []
    files = (found.output_file_id, found.error_file_id)
    return found.id or "", [each for each in files if each]


class _First(msgspec.Struct):
    id: str | None = None
    response: _Ids | None = None
