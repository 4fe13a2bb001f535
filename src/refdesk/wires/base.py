"""
What the gateway may ask of a wire, and the values that pass between them.

A wire is a package of functions; the package itself is handed over as a `Wire`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from refdesk.types import ContextSize, Location
from refdesk.wires.document import Document
from refdesk.wires.turns import AuthorOf, Said

Choice = Literal["auto", "none", "search", "required", "other"]
"""
What the client's tool choice says about search: free, no tool at all, the search tool by name, some
tool, or another tool by name.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What must be known of every request."""

    model: str
    stream: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchTool:
    """The client's declaration of web search, in words that no vendor chose."""

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
    """A hosted tool call still waits for its result (Messages): nothing may be injected."""
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

    # Edits

    def inject(self, document: Document, material: str) -> Document:
        """Append the material as one new text part of the last user message."""

    def strip_search_tool(self, document: Document) -> Document:
        """Take the search declaration out and put the tool choice right."""

    def find_marks(self, document: Document) -> Marks:
        """Return what of ours stands in the history."""

    def restore(self, document: Document, history: History, *, hosted_stays: bool) -> Document:
        """
        Turn our marks into readable text at their place, or take them out as pairs.

        Where ``hosted_stays`` is false, a provider's own search blocks become text as well, since
        the upstream is not the provider that made them.
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

    def error_body(self, message: str, *, status: int, param: str | None, request_id: str) -> bytes:
        """Return an error as this wire's JSON."""
