"""
Any JSON endpoint: the request and the places of its fields come from the configuration.

::

    ours: {type: http, method: GET, url: "https://intranet/search", query_param: q,
           page_param: page, results: /hits, fields: {title: /t, url: /u, snippet: /s}}
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec
from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from refdesk.errors import EngineError
from refdesk.http import HttpRequest, HttpResponse
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import MAX_ROWS, first_text, item
from refdesk.web.engines._base import ENGINES, Engine
from refdesk.web.engines._options import HeaderValue, WebAddress
from refdesk.web.engines._pointer import MISSING, Pointer, find
from refdesk.web.engines._query import cut

_PLACE: Final = re.compile(r"\{(query|page|limit)\}")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class Fields(BaseModel):
    """Where in a row its parts stand, as JSON pointers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Pointer | None = Field(default="/title", description="Pointer to the title.")
    url: Pointer = Field(default="/url", description="Pointer to the address.")
    snippet: Pointer | None = Field(default="/snippet", description="Pointer to the text.")
    date: Pointer | None = Field(default=None, description="Pointer to the date.")


@ENGINES.register("http")
class Http(Engine):
    """An endpoint of one's own."""

    class Options(Engine.Options):
        """How the endpoint is asked, and how its answer is read."""

        method: Literal["GET", "POST"] = Field("GET", description="The HTTP method.")
        url: WebAddress = Field(description="The endpoint's address.")
        headers: dict[str, HeaderValue] = Field(
            {}, description="Headers to send; their values are kept secret."
        )
        params: dict[str, SecretStr] = Field(
            {}, description="Fixed query parameters, such as a key; their values are kept secret."
        )
        body: dict[str, Any] | None = Field(
            None,
            description='JSON body of a POST; "{query}", "{page}" and "{limit}" in it are filled.',
        )
        query_param: str | None = Field(
            None, description="Query parameter (in a POST without body: JSON field) for the words."
        )
        page_param: str | None = Field(
            None, description="The same for the page, from 1; without one there is one page."
        )
        results: Pointer = Field(description="JSON pointer to the list of rows.")
        answer: Pointer | None = Field(
            None, description="JSON pointer to the endpoint's own answer, where it gives one."
        )
        fields: Fields = Field(Fields(), description="JSON pointers to the parts of a row.")
        rows_per_call: int = Field(10, ge=1, le=100, description="How many rows a page has.")

        @model_validator(mode="after")
        def _can_carry_the_query(self) -> Http.Options:
            if self.body is not None and self.method == "GET":
                raise ValueError("a GET has no body; use method: POST, or query_param")
            if self.query_param is None and "query" not in _places(self.body):
                raise ValueError('nothing carries the query; set query_param, or "{query}" in body')
            for name in self.headers:
                if not _HEADER_NAME.fullmatch(name):
                    raise ValueError(f"{name!r} is no name of a header")
            return self

    options: Options
    max_query_chars = 2048

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.rows_per_call = options.rows_per_call
        self.pages = options.page_param is not None or "page" in _places(options.body)

    def build_request(self, query: WebQuery) -> HttpRequest:
        """Write the configured request; the words go in as data and can change nothing else."""
        options = self.options
        limit = min(query.limit, self.rows_per_call)
        values: dict[str, str | int] = {
            "query": cut(query.text, self.max_query_chars),
            "page": query.page,
            "limit": limit,
        }
        named: dict[str, str | int] = {}
        if options.query_param:
            named[options.query_param] = values["query"]
        if options.page_param:
            named[options.page_param] = values["page"]
        fixed = {key: value.get_secret_value() for key, value in options.params.items()}
        headers = {"accept": "application/json"}
        body = b""
        if options.method == "POST":
            headers["content-type"] = "application/json"
            if options.body is None:
                body, named = msgspec.json.encode(named), {}
            else:
                body = msgspec.json.encode(_filled(options.body, values))
        headers |= {key.lower(): value.get_secret_value() for key, value in options.headers.items()}
        return HttpRequest(
            method=options.method,
            url=_with_query(options.url, {**fixed, **named}),
            headers=tuple(headers.items()),
            body=body,
        )

    def parse_response(self, response: HttpResponse) -> WebPage:
        """Read the rows at ``results``; null there is no rows, and anything but a list no page."""
        document = self._read(response, Any)
        found = find(document, self.options.results)
        if found is None:
            found = []
        if not isinstance(found, list):
            what = "nothing" if found is MISSING else "no list"
            raise EngineError(
                f"{self.name} answered without rows: there is {what} at {self.options.results!r}; "
                "correct `results`",
                outcome="parse_error",
            )
        made = [self._item(row) for row in found[:MAX_ROWS]]
        items = tuple(row for row in made if row)
        return WebPage(
            items=items,
            answer=first_text(self._at(document, self.options.answer)),
            skipped=len(made) - len(items),
            more=self.pages and bool(found),
        )

    def _item(self, row: Any) -> ResultItem | None:
        fields = self.options.fields
        return item(
            url=self._at(row, fields.url),
            title=self._at(row, fields.title),
            content=self._at(row, fields.snippet),
            published=self._at(row, fields.date),
        )

    def _at(self, value: Any, pointer: str | None) -> str | None:
        """Return text at a pointer: a string, a number as one, or the strings of a list."""
        found = MISSING if pointer is None else find(value, pointer)
        if isinstance(found, list):
            return " … ".join(text for text in found if isinstance(text, str)) or None
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return msgspec.json.encode(found).decode()
        return found if isinstance(found, str) else None


def _places(body: Any) -> set[str]:
    """Return which placeholders stand anywhere in a body."""
    if isinstance(body, str):
        return set(_PLACE.findall(body))
    if isinstance(body, dict):
        body = list(body.values())
    return set().union(*map(_places, body)) if isinstance(body, list) else set()


def _filled(body: Any, values: dict[str, str | int]) -> Any:
    """Return a body with its placeholders filled; what is filled in is not looked at again."""
    if isinstance(body, dict):
        return {key: _filled(value, values) for key, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, values) for value in body]
    if not isinstance(body, str):
        return body
    if alone := _PLACE.fullmatch(body):
        return values[alone[1]]
    return _PLACE.sub(lambda match: str(values[match[1]]), body)


def _with_query(url: str, params: dict[str, Any]) -> str:
    parts = urlsplit(url)
    query = "&".join(text for text in (parts.query, urlencode(params)) if text)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
