"""Values that all parts of Refdesk share.  They hold; they do nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

TimeRange = Literal["hour", "day", "week", "month", "year"]
"""How far back a search looks, counted from now."""

ContextSize = Literal["low", "medium", "high"]

JsonScalar = str | int | float | bool | None


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
    """Something found.  ``url`` is http or https; ``title`` is never empty."""

    title: str
    url: str
    content: str = ""
    published: str | None = None
    """When it was published, as the engine said it: an ISO date or free text."""
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


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
