"""
What a conversation asks for now, in one query.

A conversation is never sent as a whole: a follow-up question is completed from the one before it,
by a rule where one is certain, else by a delegate where one is configured, else not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from refdesk.errors import RefdeskError
from refdesk.search._answers import plain_text, texts_of
from refdesk.search.delegate import DELEGATE_TIMEOUT_S, Delegate, ask, read_answer
from refdesk.search.extracting import ExtractedQuery, as_query, extract_query, shorten
from refdesk.search.followup import follow, is_followup, is_frame, is_reply
from refdesk.search.intent import Verdict, needs_search
from refdesk.search.spoken import author_of
from refdesk.uses import BUILTIN, Uses
from refdesk.wires.turns import Said, newest_words

__all__ = ["ExtractedQuery", "QueryResolver", "Verdict", "needs_search", "query_from"]

DEFAULT_MAX_CHARS: Final = 400
_MOST_TURNS: Final = 8
"""How many messages back a follow-up may reach."""
_TEXT_PARTS: Final = ("text", "input_text", "output_text")
_CONTEXT_MESSAGES: Final = 5
_CONTEXT_CHARS: Final = 500


def query_from(
    messages: Sequence[Mapping[str, Any]], *, max_chars: int = DEFAULT_MAX_CHARS
) -> ExtractedQuery:
    """
    Return what a conversation asks for now: the last thing the user said, and nothing else.

    A follow-up ("and of Spain?", "那2023年呢？") takes the user's question before it as its frame
    where exactly one reading is possible; a reply that doubts or repeats ("check again") asks that
    question once more.  Where a client wrote last, the query is empty and ``why`` names it.
    Messages are mappings with ``role`` and ``content``, which is text or a list of parts; parts
    that are no text, and tool results, are left out.
    """
    newest = newest_words(_turns(messages), author_of)
    if newest.unasked:
        return replace(extract_query(newest.unasked, max_chars), text="")
    last = extract_query(newest.texts, max_chars)
    if not is_followup(last.text):
        return last
    frame = ""
    for role, one in _said(messages[: newest.place], max_chars):
        if role == "user" and is_frame(one.text):
            # A chain: "and of Spain?" is itself the frame of "and of Italy?".
            frame = (follow(frame, one.text) if frame else None) or one.text
    if frame and (meant := follow(frame, last.text)):
        return replace(last, text=shorten(meant, max_chars), said=last.text)
    if is_reply(last.text):
        return replace(last, text="", said=last.text, why="a reply to no question of the user")
    return replace(last, unresolved=bool(frame))


class QueryResolver:
    """
    Finds the query of a conversation, with the help of an assistant or MCP tool if configured.

    Args:
        uses: Who completes the follow-ups that no rule can; ``builtin`` is nobody.
        delegates: Calls assistants and MCP tools.
        timeout_s: How long one may take, in seconds.
    """

    def __init__(
        self,
        uses: Uses = BUILTIN,
        delegates: Delegate | None = None,
        *,
        timeout_s: float = DELEGATE_TIMEOUT_S,
    ) -> None:
        self._uses = uses
        self._delegates = delegates
        self._timeout_s = timeout_s

    async def query_from(
        self, messages: Sequence[Mapping[str, Any]], *, max_chars: int = DEFAULT_MAX_CHARS
    ) -> ExtractedQuery:
        """
        Return what `query_from` does, an unresolved follow-up completed by the delegate.

        It does not raise.  Where the delegate fails or says nothing usable, the user's own words
        stand, and a notice says why.  The delegate sees the last few messages, each cut short and
        without secrets.
        """
        found = query_from(messages, max_chars=max_chars)
        if not found.unresolved or not self._uses.delegated:
            return found
        context = [
            {"role": role, "content": shorten(one.text, _CONTEXT_CHARS)}
            for role, one in list(_said(messages, _CONTEXT_CHARS))[-_CONTEXT_MESSAGES - 1 : -1]
        ]
        payload = {"action": "rewrite", "query": found.text, "context": context}
        try:
            answer = await ask(self._delegates, self._uses, payload, timeout_s=self._timeout_s)
            text = as_query(_query_in(answer, max_chars), max_chars).text
            problem = "its answer holds no query"
        except RefdeskError as exc:
            text, problem = "", str(exc)
        if not text:
            said = f"completing the question by {self._uses} failed ({problem}); it was kept as is"
            return replace(found, notices=(*found.notices, said))
        return replace(found, text=text, said=found.text, unresolved=False)


def _turns(messages: Sequence[Mapping[str, Any]]) -> Iterator[Said]:
    """Yield the messages of user and assistant, the newest first."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        role = message.get("role") if isinstance(message, Mapping) else None
        if role == "user" or role == "assistant":
            texts = tuple(text for text in _texts(message.get("content")) if text.strip())
            yield Said(place=place, role=role, texts=texts)


def _said(
    messages: Sequence[Mapping[str, Any]], max_chars: int
) -> Iterator[tuple[str, ExtractedQuery]]:
    """Yield the role and the words of the last messages that have any, in order."""
    read = ((one.role, _words(one, max_chars)) for one in _turns(messages))
    found = list(islice(((role, one) for role, one in read if one.text), _MOST_TURNS))
    yield from reversed(found)


def _words(said: Said, max_chars: int) -> ExtractedQuery:
    if said.role == "user":
        return extract_query(said.texts, max_chars)
    # An assistant's words are context for a delegate; nothing is wrapped round them.
    return as_query("\n".join(said.texts), max_chars)


def _texts(content: Any) -> list[str]:
    parts = content if isinstance(content, (list, tuple)) else [content]
    return [text for part in parts if isinstance(text := _text_of(part), str)]


def _text_of(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return part.get("text") if part.get("type", "text") in _TEXT_PARTS else None


def _query_in(answer: Any, max_chars: int) -> str:
    """Return the query that an answer is or holds; empty where there is none."""
    match answer:
        case str():
            text = plain_text(answer)
            # Prose over several lines, or longer than a query may be, is no query.
            return text if "\n" not in text and len(text) <= max_chars else ""
        case {"query": str(text)} | {"text": str(text)} | {"queries": [str(text), *_]}:
            return text.strip()
        case [str(text), *_]:
            return text.strip()
        case Mapping() if "content" in answer:
            return next(filter(None, (_inner(text, max_chars) for text in texts_of(answer))), "")
    return ""


def _inner(text: str, max_chars: int) -> str:
    return _query_in(read_answer(plain_text(text)), max_chars)
