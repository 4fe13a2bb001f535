"""
What the gateway may ask of a wire, and the values that pass between them.

A wire is a package of functions; the package itself is handed over as a `Wire`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from refdesk.types import ContextSize, Location
from refdesk.wires.document import Document
from refdesk.wires.limiting import Limit
from refdesk.wires.turns import AuthorOf, Said

Choice = Literal["auto", "none", "search", "required", "other"]
"""
What the client's tool choice says about search: free, no tool at all, the search tool by name, some
tool (search or another), or another tool by name.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What must be known of every request."""

    model: str
    stream: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchTool:
    """The client's declaration of web search, in words that no vendor chose."""

    type: str = field(default="", compare=False)
    """As the client wrote it; ``web_search_options`` where that is the declaration."""
    declared: bool = True
    """False where the client said nothing of search, and is answered as if it had."""
    choice: Choice = "auto"
    alone: bool = False
    """No other tool is declared."""
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    location: Location | None = None
    context_size: ContextSize | None = None
    max_uses: int | None = None
    live: bool = True
    """False where only a cache may be searched (``external_web_access: false``)."""
    background: bool = False
    """The answer is fetched later (Responses, ``background: true``)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """What the step rule and the query need to know of the messages."""

    user_texts: tuple[str, ...] = ()
    """The text parts of the newest message in which a user said something, in order."""
    ends_with_tool_output: bool = False
    unasked: tuple[str, ...] = ()
    """What the client wrote last in the user's role, where that is no part of what a user asks."""
    own_search_since: bool = False
    """A search of ours stands in the history after that user message."""
    awaits_server_tool: bool = False
    """A call in the last assistant message still waits for its provider's result (Messages):
    nothing may be injected."""
    newest: int = -1
    """The place of that user message among the messages or items; -1 where there is none."""
    prefix: bytes = b""
    """The conversation up to and including that user message, for telling conversations apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One search result, as it is numbered and shown.  Numbers are places: the first is ``[1]``."""

    url: str
    title: str
    snippet: str = ""
    published: str | None = None
    sealed: str = ""
    """``rd1.`` and the sealed row: what a client sends back on its next turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewaySearch:
    """A search that we did in the model's stead.  ``id`` is 40 hex digits, never used twice."""

    id: str
    query: str
    sources: tuple[Source, ...] = ()
    shown: bool = True
    """Whether this answer shows it; False where an earlier answer of the same user turn did: then
    it is only cited."""

    @property
    def urls(self) -> list[str]:
        """The sources' URLs, in the order of their numbers."""
        return [source.url for source in self.sources]


@dataclass(frozen=True, kw_only=True, slots=True)
class Marks:
    """What of ours stands in a client's history: sealed rows, and ids of searches."""

    tokens: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    """Search ids as 40 hex digits, without their ``ws_rd``."""

    def __bool__(self) -> bool:
        return bool(self.tokens or self.ids)


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """What could be made out of the marks; a mark that is missing here cannot be read any more."""

    rows: Mapping[str, Source]
    """By token."""
    searches: Mapping[str, GatewaySearch]
    """By search id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """
    Which marks of providers in a history an upstream made itself: those stay, and no others.

    Both are regular expressions that match the whole; by default everything stays.
    """

    ids: str = "(?s:.*)"
    """Of calls (Messages) and call items (Responses)."""
    payloads: str = "(?s:.*)"
    """Of what only their provider can read (Messages: ``encrypted_content`` and the like)."""

    def has_id(self, name: str) -> bool:
        """Whether the upstream gave out this id."""
        return re.fullmatch(self.ids, name) is not None

    def has_payload(self, payload: str) -> bool:
        """Whether the upstream can read this payload."""
        return re.fullmatch(self.payloads, payload) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """A stream put together as one body."""

    body: bytes
    complete: bool
    """Whether the stream ended as the wire says it must."""


class StreamRewriter(Protocol):
    """
    Put a search into a streamed answer.

    Bytes in, bytes out; no clock, no socket.  What is fed may be cut anywhere; what comes out does
    not depend on the cuts, taken together.
    """

    unknown_citations: int
    """How many markers in the model's text named no source."""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the upstream; return what can be sent on.  UpstreamError where one
        event is too long to be held; what stood before it comes out of `fail`."""

    def finish(self) -> bytes:
        """Return the rest, after the upstream ended its answer.  An end that the wire does not
        allow (no terminal event) is dressed as `fail` does."""

    def fail(self, message: str) -> bytes:
        """Return the wire's own ending for an answer that broke off; nothing may follow it."""


class Wire(Protocol):
    """A dialect.  All functions raise WireError, and nothing else, for bodies they cannot read."""

    NAME: str
    """``messages``, ``chat`` or ``responses``."""
    PATH: str
    """Below ``/v1``: ``/messages``."""
    PING: bytes
    """What keeps a stream alive and says nothing."""

    # What the client wants

    def read_head(self, document: Document) -> Head:
        """Check the fields we must read (model, stream, messages or input) and return two."""

    def search_tool(self, document: Document) -> SearchTool | None:
        """Return the declaration of hosted web search, or None where there is none."""

    def conversation(self, document: Document, author_of: AuthorOf | None = None) -> Conversation:
        """
        Return what is to be known of the messages.

        Args:
            document: The request.
            author_of: Tells a user's texts from a client's; by default all are a user's.
        """

    def turns(self, document: Document) -> Iterator[Said]:
        """Yield the messages of user, assistant and tools, the newest first."""

    def needs_thread(self, document: Document) -> bool:
        """Whether the conversation is held by the provider's server, and only its end is sent."""

    def wants_json(self, document: Document) -> bool:
        """Whether the answer is to be JSON, in which a citation mark would be a fault."""

    # Edits

    def inject(self, document: Document, material: str) -> Document:
        """Append the material as one new text part of the last user message."""

    def strip_search_tool(self, document: Document, *, searched: bool = False) -> Document:
        """
        Take the search declaration out and put the tool choice right.

        Where ``searched`` says that the search was done, a choice that demands some tool is met by
        it, and demands none any more.
        """

    def find_marks(self, document: Document) -> Marks:
        """Return what of ours stands in the history."""

    def restore(self, document: Document, history: History, *, kept: Kept | None) -> Document:
        """
        Turn our marks into readable text at their place, or take them out as pairs.

        Calls that a provider ran itself stay, whole, where ``kept`` has their marks; others become
        text as a whole, and what is half of a call and its result goes.  None keeps nothing.
        """

    def earlier_search(
        self, document: Document, history: History, *, after: int
    ) -> GatewaySearch | None:
        """
        Return our newest search of a user turn, as far as it can be read, not to be shown again.

        ``after`` is the place of the turn's user message.  None where the history tells of no
        search, as on Chat it never does.
        """

    # Answers

    def attach_search(
        self,
        answer: bytes,
        search: GatewaySearch,
        asked: Document,
        *,
        on_unknown: Callable[[int], None] = lambda _: None,
    ) -> bytes:
        """
        Put the search into a whole answer; ``asked`` is the client's own request.

        ``on_unknown`` is told how many markers in the model's text named no source.

        Raises:
            UpstreamError: The answer is not of this wire (``bad_response``).
        """

    def rewriter(self, search: GatewaySearch, asked: Document) -> StreamRewriter:
        """Return what puts the search into a streamed answer."""

    def streamed(self, answer: bytes, asked: Document) -> bytes:
        """
        Write a whole answer as a stream, where one was asked for.

        Raises:
            UpstreamError: The answer is not of this wire (``bad_response``).
        """

    def gathered(self, stream: bytes, asked: Document) -> Gathered:
        """
        Put a whole stream together, where one body was asked for.

        Raises:
            UpstreamError: The stream is not of this wire, or it holds nothing but an error.
        """

    def limited(self, answer: bytes, limit: Limit) -> bytes:
        """
        Leave the results of a provider's search that may not be shown out of a whole answer.

        Raises:
            UpstreamError: The answer is not of this wire (``bad_response``).
        """

    def limiter(self, limit: Limit, on_end: Callable[[], None]) -> StreamRewriter:
        """Return what leaves them out of a streamed answer; ``on_end`` is called at its end."""

    def is_complete(self, tail: bytes) -> bool:
        """Whether a stream that ends in these bytes ended as the wire says it must."""

    def broken_stream(self, head: bytes, tail: bytes, message: str) -> bytes:
        """
        Return the ending for a stream that we passed on unread and that broke off.

        Args:
            head: Its first bytes (up to 64 KiB).
            tail: Its last bytes (up to 64 KiB); they may end inside an event.
            message: What happened.
        """

    def error_body(
        self,
        message: str,
        *,
        status: int,
        param: str | None,
        request_id: str,
        code: str | None = None,
    ) -> bytes:
        """Return an error as this wire's JSON; ``code`` is a word that clients act on."""
