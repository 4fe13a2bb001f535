"""
DuckDuckGo and its like, without a key, through the ``ddgs`` library.  https://pypi.org/project/ddgs

The library scrapes: no site promises it anything, and blocks from data centres are to be expected.
It runs in a child process that is ended at the deadline and on cancellation, has none of our
environment, and may not write more than `MAX_OUTPUT_BYTES`.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
from pydantic import Field, SecretStr, field_validator

from refdesk.errors import EngineError, EngineTimeout, Outcome
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines._answer import Unreadable, collect, decode, item
from refdesk.web.engines._base import ENGINES, LocalEngine, Option
from refdesk.web.engines._failure import shown
from refdesk.web.engines._locale import base
from refdesk.web.engines._options import SafeSearch
from refdesk.web.engines._query import scoped

MAX_OUTPUT_BYTES: Final = 524_288
"""Bytes that the process that runs ddgs may answer with; beyond it the answer is an error."""
_CHUNK_BYTES: Final = 65_536
_MARGIN_S: Final = 0.5
"""How long before our deadline the library gives up by itself, so that it can say why."""

# -P: this folder has a module named like the library, and must not stand before it.
COMMAND: Final = (sys.executable, "-P", str(Path(__file__).with_name("_ddgs_child.py")))
_ENVIRONMENT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "SSL_CERT_FILE", "TMPDIR")
"""What the child gets of our environment: nothing in which keys are kept."""

BACKENDS: Final = frozenset(
    {"auto", "brave", "duckduckgo", "grokipedia", "mojeek", "startpage", "wikipedia", "yahoo"}
)
"""As in ddgs 9.16; it quietly takes auto for a name it does not know."""

_URL_QUERY: Final = re.compile(r"\?[^\s)\"']*")
"""The library's errors quote the URL asked, and with it the user's words."""
_OUTCOMES: Final[dict[str, Outcome]] = {outcome: outcome for outcome in get_args(Outcome)}


class _Row(msgspec.Struct):
    href: str
    title: str | None = None
    body: Any = None


class _Answer(msgspec.Struct):
    rows: list[msgspec.Raw] | None = None
    outcome: str | None = None
    detail: str = ""


@ENGINES.register("ddgs")
class Ddgs(LocalEngine):
    """
    A metasearch that needs no key.

    Args:
        name: The entry's name.
        options: Its options.
        command: What is run instead of the child, for tests.
    """

    class Options(LocalEngine.Options):
        """Which sites are asked, and from where."""

        # auto, because one site alone soon refuses a server's address; it asks several, Wikipedia
        # among them, until there are enough rows.  The price is that results vary between runs.
        backend: str = Field(
            "auto",
            description="Sites to ask, comma-separated: auto (several, varying), or of "
            f"{', '.join(sorted(BACKENDS - {'auto'}))}.",
        )
        region: str = Field(
            "us-en",
            pattern=r"^[a-z]{2}-[a-z]{2}$",
            description="Country and language searched in when the request names none.",
        )
        safe_search: SafeSearch = None
        proxy: SecretStr | None = Field(
            None, description="Proxy for its connections (http, https or socks5 URL)."
        )

        @field_validator("backend")
        @classmethod
        def _backends_are_known(cls, value: str) -> str:
            names = [name.strip() for name in value.split(",")]
            for name in names:
                if name not in BACKENDS:
                    known = ", ".join(sorted(BACKENDS))
                    raise ValueError(f"no backend of ddgs is called {name!r}; known: {known}")
            return ",".join(names)

    options: Options
    honours = frozenset({"sites", "blocked_sites", "time_range", "language", "country", "safe"})
    max_query_chars = 400

    def __init__(self, name: str, options: Options, *, command: Sequence[str] = COMMAND) -> None:
        super().__init__(name, options)
        self._command = command

    async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
        """Return one page; the child is gone when this returns, raises or is cancelled."""
        try:
            async with asyncio.timeout(timeout_s):
                output = await self._run(msgspec.json.encode(self._asked(query, timeout_s)))
        except TimeoutError:
            raise EngineTimeout(f"{self.name} gave no answer within {timeout_s:g} s") from None
        page = self._page(output)
        items = page.items[: query.limit]
        return WebPage(
            items=items, skipped=page.skipped, more=page.more, dropped=self.dropped(query)
        )

    def _asked(self, query: WebQuery, timeout_s: float) -> dict[str, Any]:
        options = self.options
        safe = {None: "moderate", True: "on", False: "off"}[query.safe]
        when = query.time_range
        return {
            "query": scoped(query, self.max_query_chars).text,
            "region": self._region(query),
            "safesearch": safe,
            "timelimit": ("d" if when == "hour" else when[0]) if when else None,
            "max_results": query.limit,
            "page": query.page,
            "backend": options.backend,
            "proxy": options.proxy.get_secret_value() if options.proxy else None,
            "timeout": max(1, int(timeout_s - _MARGIN_S)),
        }

    async def _run(self, asked: bytes) -> bytes:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        try:
            child = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        except OSError as exc:
            raise EngineError(
                f"{self.name} could not start its search process: {exc.strerror}",
                outcome="unreachable",
            ) from exc
        try:
            return await self._talk(child, asked)
        finally:
            if child.returncode is None:
                # Its whole group, since it may have children; it may be gone by now.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
            await child.wait()

    async def _talk(self, child: asyncio.subprocess.Process, asked: bytes) -> bytes:
        if child.stdin is None or child.stdout is None:
            raise EngineError(f"{self.name} has no pipes to its process", outcome="unreachable")
        with suppress(BrokenPipeError, ConnectionResetError):
            child.stdin.write(asked)
            await child.stdin.drain()
        child.stdin.close()
        output = bytearray()
        while chunk := await child.stdout.read(_CHUNK_BYTES):
            output += chunk
            if len(output) > MAX_OUTPUT_BYTES:
                raise EngineError(
                    f"{self.name} gave more than {MAX_OUTPUT_BYTES} bytes", outcome="too_large"
                )
        return bytes(output)

    def _page(self, output: bytes) -> WebPage:
        try:
            answer = decode(output, _Answer)
        except Unreadable as exc:
            raise EngineError(
                f"{self.name}'s search process ended without an answer ({exc})",
                outcome="parse_error",
            ) from None
        if answer.outcome is not None:
            outcome = _OUTCOMES.get(answer.outcome, "upstream_down")
            detail = _URL_QUERY.sub("", answer.detail)
            message = f"{self.name} gave no results: {shown(detail, self._mask)}"
            if outcome == "timeout":
                raise EngineTimeout(message)
            raise EngineError(message, outcome=outcome)
        items, skipped = collect(answer.rows, _Row, _item)
        return WebPage(items=items, skipped=skipped, more=bool(answer.rows))

    def _region(self, query: WebQuery) -> str:
        """Return DuckDuckGo's region, country and language; what is not named is the option's."""
        country, language = self.options.region.split("-")
        if query.country:
            country = {"GB": "uk"}.get(query.country, query.country.lower())
        if query.language:
            language = base(query.language)
        return f"{country}-{language}"

    def _falls_short(self, query: WebQuery) -> Iterator[Option]:
        words = scoped(query, self.max_query_chars)
        if words.sites_dropped:
            yield "sites"
        if words.blocked_dropped:
            yield "blocked_sites"
        if query.time_range == "hour":
            yield "time_range"  # a day is its shortest


def _item(row: _Row) -> ResultItem | None:
    return item(url=row.href, title=row.title, content=row.body)
