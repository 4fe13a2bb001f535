"""What a model that searches by itself would have answered: the item, its place, the citations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.base import GatewaySearch
from refdesk.wires.document import Document, dump, kind, plain, string
from refdesk.wires.json_text import finder
from refdesk.wires.responses.items import call_id, entries, fields, given, item_type
from refdesk.wires.responses.request import wants_json

_BOM: Final = b"\xef\xbb\xbf"
_ASK_SOURCES: Final = "web_search_call.action.sources"
_TEXTS_KEPT: Final = 8


def attach_search(
    answer: bytes,
    search: GatewaySearch,
    asked: Document,
    *,
    on_unknown: Callable[[int], None] = lambda _: None,
) -> bytes:
    """
    Put the search into a whole answer; ``asked`` is the client's own request.

    Raises:
        UpstreamError: The answer is not of this wire (``bad_response``).
    """
    try:
        response = Document.read(answer.removeprefix(_BOM))
    except WireError as exc:
        raise UpstreamError(f"the upstream's answer: {exc}", fault="bad_response") from exc
    if kind(response.get("output")) != "array":
        raise UpstreamError(
            "the upstream's answer has no output array; it is no answer of this wire",
            fault="bad_response",
        )
    dressing = Dressing(search, asked)
    finished = bytes(dressing.finished(response))
    on_unknown(dressing.unknown)
    return finished


class Dressing:
    """
    How one answer is dressed: the same, whole and in a stream.

    Args:
        search: What we did in the model's stead.
        asked: The client's own request.
    """

    def __init__(self, search: GatewaySearch, asked: Document) -> None:
        self.search = search
        self.id = call_id(search)
        self.unknown = 0
        """How many markers in the texts seen named no source."""
        self._json = wants_json(asked)
        self._echo: dict[str, Raw | bytes | None] = {
            "tools": plain(asked.get("tools") or b"[]"),
            "tool_choice": plain(asked.get("tool_choice") or b'"auto"'),
        }
        action: dict[str, Any] = {
            "type": "search",
            "query": search.query,
            "queries": [search.query],
        }
        if any(string(each) == _ASK_SOURCES for each in entries(asked.get("include"))):
            action["sources"] = [{"type": "url", "url": url} for url in search.urls]
        self.item = Raw(
            dump(
                {
                    "id": self.id,
                    "type": "web_search_call",
                    "status": "completed",
                    "action": action,
                }
            )
        )
        self._texts: dict[str, list[Raw]] = {}

    def echoed(self, response: Document) -> Document:
        """Return the response with the tools and the choice that the client asked for."""
        return response.replace(self._echo)

    def finished(self, response: Document, *, attach: bool | None = None) -> Document:
        """
        Return a finished response with the item in its place and the citations in its texts.

        Unless ``attach`` says it, a response that failed before it said anything gets no item.
        """
        output = entries(response.get("output"))
        at = len(output)
        for place, each in enumerate(output):
            if item_type(fields(each)) != "reasoning":
                at = place
                break
        if attach is None:
            began = at < len(output) or string(response.get("status")) != "failed"
            attach = self.search.shown and began
        cited = [self.cited_item(each) for each in output]
        if attach:
            cited.insert(at, self.item)
            response = self._counted(response)
        return self.echoed(response).replace({"output": dump(cited)})

    def cited_item(self, raw: Raw) -> Raw:
        """Return an output item; a message whose texts cite sources with its annotations."""
        item = fields(raw)
        if item_type(item) != "message":
            return raw
        parts = entries(item.get("content"))
        cited = [self.cited_part(part) for part in parts]
        if all(new is old for new, old in zip(cited, parts, strict=True)):
            return raw
        return Raw(dump({**item, "content": cited}))

    def cited_part(self, raw: Raw) -> Raw:
        """Return a content part; the upstream's own annotations stand before ours."""
        part = fields(raw)
        if string(part.get("type")) != "output_text":
            return raw
        annotations = self.annotations(string(part.get("text")) or "")
        if not annotations:
            return raw
        return Raw(dump({**part, "annotations": [*entries(part.get("annotations")), *annotations]}))

    def annotations(self, text: str) -> list[Raw]:
        """Return the citations in one whole text, as the wire writes them."""
        known = self._texts.get(text)
        if known is not None:
            return known
        finding = finder(self.search.urls, as_json=self._json)
        sources = self.search.sources
        annotations = [
            Raw(
                dump(
                    {
                        "type": "url_citation",
                        "start_index": cited.start,
                        "end_index": cited.end,
                        "url": sources[cited.source].url,
                        "title": sources[cited.source].title or sources[cited.source].url,
                    }
                )
            )
            for cited in finding.feed(text) + finding.finish()
        ]
        self.unknown += finding.unknown
        # A stream tells each text four times over; it is searched once.
        if len(self._texts) >= _TEXTS_KEPT:
            self._texts.clear()
        self._texts[text] = annotations
        return annotations

    def _counted(self, response: Document) -> Document:
        # OpenAI, from gpt-5.6 on: `tool_usage` tells the hosted searches; ours looks like one.
        usage = fields(response.get("tool_usage"))
        web = fields(usage.get("web_search"))
        number = given(web.get("num_requests"))
        if number is None or not bytes(number).isdigit():
            return response
        web["num_requests"] = Raw(b"%d" % (int(bytes(number)[:18]) + 1))
        usage["web_search"] = Raw(dump(web))
        return response.replace({"tool_usage": dump(usage)})
