"""
A whole answer with its citations: ``annotations`` in every choice whose text names a source.

An annotation has all four fields, since strict parsers fail on one that lacks its title or its
offsets.  A text that cites nothing gets no annotation, and no field either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.http import normal_url
from refdesk.wires.base import GatewaySearch
from refdesk.wires.chat.request import wants_json
from refdesk.wires.citations import MAX_CITED_CHARS
from refdesk.wires.document import Document, dump, elements, kind, members, string
from refdesk.wires.json_text import finder


class Citing:
    """
    What turns a finished text into annotations.

    Args:
        search: The search whose sources the text may name.
        asked: The client's own request; where it wants JSON, only what stands in its strings is
            read, since ``[1]`` elsewhere is a list.
    """

    def __init__(self, search: GatewaySearch, asked: Document) -> None:
        self._search = search
        self._urls = search.urls
        self._json = wants_json(asked)
        self.unknown = 0
        """How many markers named no source."""

    def annotations(self, text: str, existing: Sequence[Raw] = ()) -> list[dict[str, Any]]:
        """Return the annotations of a text, less those that the upstream made already."""
        finding = finder(self._urls, as_json=self._json)
        found = finding.feed(text[:MAX_CITED_CHARS]) + finding.finish()
        self.unknown += finding.unknown
        made = {_place(raw) for raw in existing} if found else set()
        annotations = []
        for cited in found:
            source = self._search.sources[cited.source]
            if (normal_url(source.url), cited.start, cited.end) not in made:
                citation = {
                    "start_index": cited.start,
                    "end_index": cited.end,
                    "title": source.title or source.url,
                    "url": source.url,
                }
                annotations.append({"type": "url_citation", "url_citation": citation})
        return annotations


def attach_search(
    answer: bytes,
    search: GatewaySearch,
    asked: Document,
    *,
    on_unknown: Callable[[int], None] = lambda _: None,
) -> bytes:
    """
    Add the citations of a search to a whole answer; without any, return it as it came.

    Raises:
        UpstreamError: The answer is no JSON object with a list of choices (``bad_response``).
    """
    try:
        document = Document.read(answer)
        choices = elements(document.get("choices") or b"null")
    except WireError as exc:
        raise UpstreamError(
            f"the upstream's answer is no chat completion: {exc}", fault="bad_response"
        ) from exc
    citing = Citing(search, asked)
    edited = [_attach(raw, citing) for raw in choices]
    on_unknown(citing.unknown)
    if all(new is raw for new, raw in zip(edited, choices, strict=True)):
        return answer
    return bytes(document.replace({"choices": dump(edited)}))


def _attach(raw: Raw, citing: Citing) -> Raw:
    if kind(raw) != "object":
        return raw
    choice = members(raw)
    inner = choice.get("message")
    if inner is None or kind(inner) != "object":
        return raw
    message = members(inner)
    text = string(message.get("content"))
    existing = annotation_list(message.get("annotations"))
    if not text or existing is None:
        return raw
    new = citing.annotations(text, existing)
    if not new:
        return raw
    message["annotations"] = Raw(dump([*existing, *new]))
    choice["message"] = Raw(dump(message))
    return Raw(dump(choice))


def annotation_list(raw: Raw | None) -> list[Raw] | None:
    """Return the upstream's own annotations, none for null; None where it is no list at all."""
    match kind(raw):
        case "absent" | "null":
            return []
        case "array" if raw is not None:
            return elements(raw)
        case _:
            return None


def _place(raw: Raw) -> tuple[str, int, int] | None:
    try:
        fields = _ANNOTATION.decode(raw).url_citation
    except (msgspec.DecodeError, RecursionError):
        return None
    return normal_url(fields.url), fields.start_index, fields.end_index


class _Citation(msgspec.Struct):
    url: str
    start_index: int
    end_index: int


class _Annotation(msgspec.Struct):
    url_citation: _Citation


_ANNOTATION: Final = msgspec.json.Decoder(_Annotation)
