"""What every engine is: options, what it can honour, how many calls a search takes."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from refdesk.errors import ConfigError
from refdesk.http import HttpRequest, HttpResponse
from refdesk.registry import Registry
from refdesk.types import WebPage, WebQuery

ENGINES: Registry[type[BaseEngine]] = Registry("engine", "refdesk.web.engines", "refdesk.web.local")

Option = Literal[
    "sites", "blocked_sites", "time_range", "dates", "language", "country", "context_size", "safe"
]
"""A part of a query that an engine may be able to honour."""

_TAG: Final = re.compile(r"<[^<>]{0,500}>")


class BaseEngine:
    """
    A place to search, with its options.

    Subclasses give a nested ``Options`` and set the class variables.  An engine holds no state:
    health, limits and caching are kept by whoever calls it.
    """

    class Options(BaseModel):
        """The engine's own settings: an entry of ``engines:``, less ``type``."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        enabled: bool = Field(True, description="Whether this engine may be chosen at all.")
        priority: int = Field(0, description="The highest is asked first.")
        timeout_ms: int | None = Field(
            None, ge=1, description="For this engine, instead of gateway.search.engine_timeout_ms."
        )
        daily_limit: int | None = Field(
            None, ge=0, description="Searches a day (UTC); beyond it the engine rests."
        )
        price_per_1000: float | None = Field(
            None, ge=0, description="US dollars per 1,000 calls, instead of the list price."
        )

    honours: ClassVar[frozenset[Option]] = frozenset()
    """What the vendor's own syntax can say; the rest is applied to the results, or a notice."""
    rows_per_call: ClassVar[int] = 10
    """The most rows one call gives."""
    pages: ClassVar[bool] = True
    """Whether it can be asked for a second page."""
    max_query_chars: ClassVar[int] = 400
    list_price: ClassVar[float] = 0.0
    """US dollars per 1,000 calls, as listed on the date given in the module."""
    min_interval_s: ClassVar[float] = 0.0
    """How far apart two calls with one key must be, in seconds; above 0 pages are asked in turn."""

    def __init__(self, name: str, options: BaseEngine.Options) -> None:
        self.name = name
        self.options = options

    @classmethod
    def configure(cls, name: str, settings: dict[str, Any]) -> BaseEngine:
        """Check the settings of an ``engines:`` entry; ConfigError names entry, key and remedy."""
        try:
            return cls(name, cls.Options.model_validate(settings))
        except ValidationError as exc:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'options'}: {fault['msg']}"
                for fault in exc.errors(include_input=False, include_url=False)
            )
            known = ", ".join(cls.Options.model_fields)
            raise ConfigError(f"engines.{name}: {faults} (known options: {known})") from None

    def plan(self, query: WebQuery, pages: int) -> list[WebQuery]:
        """Return the calls that together give about ``pages`` × 10 rows."""
        wanted = pages * 10
        if not self.pages or self.rows_per_call >= wanted:
            return [_page(query, 1, min(wanted, self.rows_per_call))]
        size = min(self.rows_per_call, 10)
        return [_page(query, number + 1, size) for number in range(-(-wanted // size))]


class Engine(BaseEngine):
    """An engine that is one HTTP exchange per page."""

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write the vendor's request."""
        raise NotImplementedError

    def parse_response(self, response: HttpResponse) -> WebPage:
        """Read the vendor's answer, of any status; EngineError, and no other, if it is no page."""
        raise NotImplementedError


class LocalEngine(BaseEngine):
    """An engine that does its own searching."""

    async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
        """Return one page; EngineError, and no other, if there is none."""
        raise NotImplementedError


def _page(query: WebQuery, number: int, size: int) -> WebQuery:
    return replace(query, page=number, limit=size)


def plain(text: str | None) -> str:
    """Return foreign text without tags and entities, white space folded; empty for None."""
    if not text:
        return ""
    if "<" in text:
        text = _TAG.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(text.split())
