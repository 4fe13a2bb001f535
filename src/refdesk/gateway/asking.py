"""What a request asks the web, and what its log says of the words that are not asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from refdesk.search.extracting import ExtractedQuery
from refdesk.search.query import needs_search, query_from
from refdesk.search.spoken import read_message
from refdesk.wires.base import Conversation, Wire
from refdesk.wires.document import Document

_TURNS: Final = 12
"""How many messages with text are looked at for what a follow-up refers to."""
_CERTAIN: Final = 0.95
"""How sure it must be that a text asks for nothing."""
_GO_ON: Final = frozenset(
    {
        *("continue", "please continue", "go on", "go ahead", "proceed", "keep going", "carry on"),
        *("next", "more", "继续", "请继续", "接着说", "继续吧"),
    }
)
"""What asks for more of the answer, and for nothing to be looked up."""
_REFUSES: Final = re.compile(
    r"(?:\A|[.!?,;:]\s)\W{0,3}+(?:please\s)?(?:do\snot|don['’]t|no\sneed\sto)\s"
    r"(?:use\s|do\s)?(?:the\s|an?\s|any\s)?(?:web|internet|online|google|search(?!\sengine)|brows|look\sit\sup)"
    r"|(?:不要|不用|别|無需|无需|不必|不需要)(?:再)?(?:上网|联网|搜|查)",
    re.IGNORECASE,
)
"""A user's word to the model not to search; questions speak of not searching as well."""


def turns(document: Document, wire: Wire) -> list[Mapping[str, Any]]:
    """Return the last messages that hold text, in order, with ``role`` and ``content``."""
    said = islice((each for each in wire.turns(document) if each.texts), _TURNS)
    return [{"role": each.role, "content": each.texts} for each in reversed(list(said))]


def query(document: Document, wire: Wire, max_chars: int) -> ExtractedQuery:
    """Return what to search for; a follow-up is completed from the question before it."""
    return query_from(turns(document, wire), max_chars=max_chars)


def asks_nothing(query: ExtractedQuery) -> str:
    """Return why a text is surely no question, such as ``greeting``; empty where it may be one."""
    if query.said or not query.text:
        return ""
    if query.text.lower().strip(" .!。！") in _GO_ON:
        return "go on"
    verdict = needs_search(query.text)
    if verdict.need or verdict.confidence < _CERTAIN:
        return ""
    said = verdict.reason != "declined" or _REFUSES.search(query.text) is not None
    return verdict.reason if said else ""


def notices(query: ExtractedQuery) -> list[str]:
    """Return what was done to the user's words; no notice repeats any of them."""
    told = [f"{what} was cut out of the query" for what in query.removed]
    if query.text and query.left_out:
        told.append(f"left out of the query, as no user's words: {', '.join(query.left_out)}")
    if query.text and query.said:
        told.append("the query is the question before, which the last message refers to")
    return [*told, *query.notices]


def unasked(conversation: Conversation) -> list[str]:
    """Return what the client wrote last, where no user asked for it."""
    if not conversation.unasked:
        return []
    what = ", ".join(read_message(conversation.unasked).left_out)
    return [f"not searched for, since the client wrote it: {what}"]
