"""What every engine is: options, what it can honour, how many calls a search takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from refdesk.config.secrets import is_secret_name
from refdesk.errors import ConfigError, EngineError, Outcome
from refdesk.http import HttpRequest, HttpResponse
from refdesk.masking import Masker
from refdesk.registry import Registry
from refdesk.types import TimeRange, WebPage, WebQuery
from refdesk.web.engines._answer import Unreadable, decode
from refdesk.web.engines._failure import excerpt, failure, shown, told_in_body
from refdesk.web.engines._text import plain

__all__ = ["ENGINES", "BaseEngine", "Engine", "LocalEngine", "Option", "failure", "plain"]

T = TypeVar("T")

ENGINES: Registry[type[BaseEngine]] = Registry(
    "engine",
    "refdesk.web.engines",
    "refdesk.web.local",
    fits=lambda plugin: isinstance(plugin, type) and issubclass(plugin, BaseEngine),
)

Option = Literal[
    "sites", "blocked_sites", "time_range", "dates", "language", "country", "context_size", "safe"
]
"""A part of a query that an engine may be able to honour."""

_DAYS: Final[dict[TimeRange, int]] = {"hour": 1, "day": 1, "week": 7, "month": 31, "year": 365}


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

    # Facts about the class; an instance whose options narrow them sets its own.
    honours: frozenset[Option] = frozenset()
    """What the vendor's own syntax can say; the rest is applied to the results, or a notice."""
    rows_per_call: int = 10
    """The most rows one call gives."""
    pages: bool = True
    """Whether it can be asked for a second page."""
    open_dates: bool = True
    """Whether a range of dates may lack its first or last day."""
    max_query_chars: int = 400
    list_price: float = 0.0
    """US dollars per 1,000 calls, as listed on the date given in the module."""
    min_interval_s: float = 0.0
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
                f"{'.'.join(map(str, fault['loc'])) or 'options'}: "
                f"{fault['msg'].removeprefix('Value error, ')}"
                for fault in exc.errors(include_input=False, include_url=False)
            )
            known = ", ".join(cls.Options.model_fields)
            raise ConfigError(f"engines.{name}: {faults} (known options: {known})") from None

    def plan(self, query: WebQuery, pages: int, *, today: date | None = None) -> list[WebQuery]:
        """
        Return the calls that together give about ``pages`` × 10 rows.

        Where the query does not say whether it is to be safe, the engine's ``safe_search`` does.
        With ``today``, a time range is said as dates to an engine that knows only dates, and a
        range of dates gets the end that it lacks, where the engine wants one.
        """
        if query.safe is None:
            query = replace(query, safe=getattr(self.options, "safe_search", None))
        if today is not None:
            query = self._dated(query, today)
        wanted = pages * 10
        if not self.pages or self.rows_per_call >= wanted:
            return [_page(query, 1, min(wanted, self.rows_per_call))]
        size = min(self.rows_per_call, 10)
        return [_page(query, number + 1, size) for number in range(-(-wanted // size))]

    def dropped(self, query: WebQuery) -> tuple[Option, ...]:
        """Name the options of this query that the engine does not honour, or not fully."""
        asked: dict[Option, bool] = {
            "sites": bool(query.sites),
            "blocked_sites": bool(query.blocked_sites),
            "time_range": query.time_range is not None,
            "dates": query.since is not None or query.until is not None,
            "language": query.language is not None,
            "country": query.country is not None,
            "context_size": query.context_size is not None,
            "safe": query.safe is not None,
        }
        short = set(self._falls_short(query))
        return tuple(
            option
            for option, is_asked in asked.items()
            if is_asked and (option not in self.honours or option in short)
        )

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        """Yield options that the engine honours in general, but not with this query's values."""
        yield from ()

    def _dated(self, query: WebQuery, today: date) -> WebQuery:
        if "dates" not in self.honours:
            return query
        if query.time_range and "time_range" not in self.honours and not query.since:
            since = today - timedelta(days=_DAYS[query.time_range])
            query = replace(query, since=since, time_range=None)
        if query.since and not query.until and not self.open_dates:
            query = replace(query, until=max(today, query.since))
        return query

    @cached_property
    def _mask(self) -> Masker:
        """Take out of a text what no message may hold: the secrets among the options."""
        values = [getattr(self.options, name) for name in type(self.options).model_fields]
        return Masker(_secrets_in(values))


class Engine(BaseEngine):
    """An engine that is one HTTP exchange per page."""

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write the vendor's request."""
        raise NotImplementedError

    def parse_response(self, response: HttpResponse) -> WebPage:
        """Read the vendor's answer, of any status; EngineError, and no other, if it is no page."""
        raise NotImplementedError

    def page(self, query: WebQuery, response: HttpResponse) -> WebPage:
        """
        Read the answer to this query: at most the rows it asked for, and what was dropped.

        Raises:
            EngineError: It is no page, or its body tells of a failure in the place of rows, which
                some vendors do with HTTP 200.
        """
        try:
            page = self.parse_response(response)
        except EngineError as error:
            if error.outcome == "parse_error" and response.status == 200:
                self._check_told(response)
            raise
        if not (page.items or page.answer) and response.status == 200:
            self._check_told(response)
        return replace(page, items=page.items[: query.limit], dropped=self.dropped(query))

    def _read(self, response: HttpResponse, shape: type[T]) -> T:
        """Return a 200 answer in the shape the vendor documents, or raise the failure it is."""
        if response.status != 200:
            raise self._failure(response)
        try:
            return decode(response.body, shape)
        except Unreadable as exc:
            told = excerpt(response.body, self._mask) or "an empty body"
            why = shown(str(exc), self._mask)
            raise EngineError(
                f"{self.name} gave an answer that is not the JSON of its documentation "
                f"({why}): {told}",
                outcome="parse_error",
            ) from None

    def _check_told(self, response: HttpResponse) -> None:
        """Raise the failure that a 200 without rows tells of, if it does."""
        if (told := told_in_body(response.body)) is None:
            return
        outcome = self._outcome(response) or told
        raise failure(
            response,
            self.name,
            outcome=outcome,
            remedy=self._remedy(response),
            mask=self._mask,
        ) from None

    def _failure(self, response: HttpResponse) -> EngineError:
        """Return the error that this answer stands for, whatever its status."""
        return failure(
            response,
            self.name,
            outcome=self._outcome(response),
            remedy=self._remedy(response),
            mask=self._mask,
        )

    def _outcome(self, response: HttpResponse) -> Outcome | None:
        """Return the class of failure where the vendor's text says more than the status."""
        return None

    def _remedy(self, response: HttpResponse) -> str:
        """Return what the operator can do about it, where that is not plain from its class."""
        return ""


class LocalEngine(BaseEngine):
    """An engine that does its own searching."""

    async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
        """Return one page; EngineError, and no other, if there is none."""
        raise NotImplementedError


def _page(query: WebQuery, number: int, size: int) -> WebQuery:
    return replace(query, page=number, limit=size)


def _secrets_in(values: Iterable[Any], name: str = "") -> Iterator[str]:
    """Yield secrets: what is typed so, what its name tells is one, and queries of URLs."""
    for value in values:
        if isinstance(value, SecretStr):
            yield value.get_secret_value()
        elif isinstance(value, str):
            if is_secret_name(name) or ("://" in value and "?" in value):
                yield value
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from _secrets_in([inner], str(key))
        elif isinstance(value, list):
            yield from _secrets_in(value, name)
