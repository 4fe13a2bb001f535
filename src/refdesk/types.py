"""Values that all parts of Refdesk share.  They hold; they do nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, Literal

TimeRange = Literal["hour", "day", "week", "month", "year"]
"""How far back a search looks, counted from now."""

ContextSize = Literal["low", "medium", "high"]

JsonScalar = str | int | float | bool | None

SearchType = Literal["web", "kb", "db"]

SourceType = Literal["user", "hook", "auto"]
"""
Who asked for a search: the user named the source, code called for it, or an assistant searched by
itself.  It decides the weight.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Location:
    """Roughly where the user is.  Absent parts are None; ``country`` is ISO 3166-1 alpha-2."""

    city: str | None = None
    region: str | None = None
    country: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WebQuery:
    """One question to a web search engine, in words that no vendor chose."""

    text: str
    limit: int = 10
    """How many rows this page should have."""
    page: int = 1
    """Counted from 1."""
    sites: tuple[str, ...] = ()
    """Only these domains (subdomains included; a path is a prefix)."""
    blocked_sites: tuple[str, ...] = ()
    """None of these domains."""
    time_range: TimeRange | None = None
    since: date | None = None
    """Published on this day or later."""
    until: date | None = None
    """Published on this day or earlier."""
    language: str | None = None
    """ISO 639-1, lower-case, optionally with a script or region: ``zh-hans``."""
    location: Location | None = None
    context_size: ContextSize | None = None
    safe: bool | None = None

    @property
    def country(self) -> str | None:
        """The user's country, upper-case alpha-2."""
        return self.location.country.upper() if self.location and self.location.country else None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultItem:
    """
    Something found, in any kind of source.

    Whoever finds it fills in what it is; the searcher adds what it is worth and its number.
    """

    title: str
    """Never empty on a web result."""
    url: str = ""
    """http or https; empty where there is no page to open."""
    content: str = ""
    published: str | None = None
    """When it was published, as the engine said it: an ISO date or free text."""
    score: float | None = None
    """How well it fits, 0 to 1, as its source says; None where the source only ranks."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    type: SearchType = "web"

    document_id: str | None = None
    collection: str | None = None
    model: str | None = None
    record_id: JsonScalar = None
    data: Mapping[str, Any] | None = None
    """The record (database)."""

    source: SourceType = "auto"
    weight: float = 0.0
    scores: Mapping[str, float] = field(default_factory=dict)
    """The score of every stage that gave one, by the stage's name."""
    citation_id: str = ""
    """``ref_001`` once numbered."""
    index: int = 0
    """Its number from 1, once numbered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebPage:
    """What one call to an engine gave."""

    items: tuple[ResultItem, ...] = ()
    answer: str | None = None
    """The vendor's own answer, where it gives one: material, never a hit."""
    dropped: tuple[str, ...] = ()
    """Names of query options that this engine could not honour."""
    skipped: int = 0
    """Rows left out, because they had no usable URL or did not parse."""
    more: bool = True
    """Whether the engine may have a next page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One engine asked during a search, and what came of it."""

    engine: str
    outcome: str
    """``ok``, ``empty``, an outcome of `refdesk.errors.Outcome`, ``resting`` or ``cancelled``."""
    calls: int = 0
    """Calls made to the vendor: what it bills."""
    duration_s: float = 0.0
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebAnswer:
    """What a whole web search gave: the pages merged, deduplicated, filtered, in rank order."""

    items: tuple[ResultItem, ...] = ()
    answer: str | None = None
    """The vendor's own answer: material, never a hit."""
    engine: str = ""
    """The name of the engine that gave the items."""
    engine_type: str = ""
    cached: bool = False
    attempts: tuple[Attempt, ...] = ()
    notices: tuple[str, ...] = ()
    duration_s: float = 0.0
    queue_s: float = 0.0
    """How long it waited for a place in the limiter, in seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """The client on whose behalf something is done."""

    key_id: str | None = None
    """The id of its key; None where it showed none and needed none."""
    claims: Mapping[str, Any] = field(default_factory=dict)
    """The identity of its key; empty without one."""


ANONYMOUS: Final = Caller()


def private_kind(name: str) -> Literal["kb", "db"] | None:
    """
    Return the kind of private source that an engine's name stands for, None for all others.

    However it is written: ``DB:shop`` and `` kb :docs`` are meant for no web engine either.
    """
    kind, colon, _ = name.partition(":")
    match kind.strip().lower() if colon else "":
        case "kb":
            return "kb"
        case "db":
            return "db"
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRequest:
    """
    One search.  What is None is unset: the configuration decides.

    Common to all types are ``query``, ``type``, ``limit``, ``source`` and ``rerank_top_n``; the
    others say for which type they are.
    """

    query: str
    type: SearchType = "web"
    limit: int | None = None
    source: SourceType = "hook"
    engine: str | None = None
    """Web: the engine to ask first, by its name."""
    sites: tuple[str, ...] = ()
    """Web: only these domains."""
    blocked_sites: tuple[str, ...] = ()
    """Web: none of these domains."""
    time_range: TimeRange | None = None
    """Web."""
    language: str | None = None
    """Web."""
    country: str | None = None
    """Web: ISO 3166-1 alpha-2."""
    safe: bool | None = None
    """Web: whether explicit results are filtered; None: as the engine's options say."""
    collections: tuple[str, ...] | None = None
    """Knowledge."""
    threshold: float | None = None
    """Knowledge: 0 to 1; None cuts nothing."""
    graph: bool | None = None
    """Knowledge."""
    metadata: Mapping[str, Any] | None = None
    """Knowledge: only passages whose document has these values."""
    database: str | None = None
    """Database: its name in the configuration."""
    models: tuple[str, ...] | None = None
    """Database."""
    wheres: tuple[Mapping[str, Any], ...] = ()
    """Database: preset conditions (QueryDSL), joined with what is generated by AND."""
    orders: tuple[Any, ...] = ()
    """Database."""
    select: tuple[str, ...] = ()
    """Database."""
    rerank_top_n: int | None = None
    """Rerank, and keep this many."""
    keywords: bool = False
    """Web: extract keywords first, and ask with them."""
    identity: Mapping[str, Any] | None = None
    """Who asks: the claims that permissions are checked against."""
    defaults: frozenset[str] = field(default=frozenset(), compare=False)
    """Names of the fields above that the configuration set, and not whoever asks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Something named in a question or passage."""

    name: str
    type: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """How two entities stand to each other."""

    subject: str
    predicate: str
    object: str
    source: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphNode:
    """An entity of a collection's graph that a search came across."""

    id: str
    type: str
    name: str
    description: str = ""
    relation: str = ""
    """How it stands to the question."""
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Keyword:
    """A keyword and its weight, 0.1 to 1."""

    text: str
    weight: float = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """
    What a search gave, with everything that was worked out on the way.

    A search that failed has an ``error`` and no items; it is never raised and never a hit.
    """

    type: SearchType
    query: str
    source: SourceType = "hook"
    items: tuple[ResultItem, ...] = ()
    total: int = 0
    duration_ms: float = 0.0
    error: str | None = None
    reason: str | None = None
    """Why it failed, as a code of `refdesk.errors.Reason` (web)."""
    answer: str | None = None
    """The vendor's own answer (web): material, never a hit."""
    engine: str | None = None
    """The engine that answered (web)."""
    keywords: tuple[Keyword, ...] = ()
    dsl: Mapping[str, Any] | None = None
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    graph_nodes: tuple[GraphNode, ...] = ()
    notices: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    request_id: str = ""
    """The request whose numbering the items are in: with an index, it opens one again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A result item as the model sees it and as a citation leads back to it."""

    id: str
    """``ref_001``."""
    index: int
    """The same number, from 1."""
    type: SearchType
    source: SourceType
    weight: float
    score: float | None
    title: str
    content: str
    url: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Document, collection, model, record, date, scores: what click-through needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceContext:
    """References, and the two texts that put them before a model."""

    items: tuple[Reference, ...] = ()
    xml: str = ""
    """The ``<references>`` element; empty where there are none."""
    prompt: str = ""
    """How to cite; empty where the configuration says not to say it."""
