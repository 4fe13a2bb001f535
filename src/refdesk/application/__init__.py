"""
Composition: everything is built here, once, from a configuration.

A reload builds what the configuration describes anew and puts it in place in one step; connections,
caches and records stay.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import structlog

from refdesk.api.search import SearchApi
from refdesk.application.records import GatewayRecords, log_requests
from refdesk.config import Config
from refdesk.config.schema import LimitsSection
from refdesk.db.lazy import DatabaseSearches
from refdesk.errors import StoreError, WireError
from refdesk.fetch import Fetcher
from refdesk.gateway.app import WIRES, Gateway, Settings
from refdesk.gateway.client import Receive, Scope, Send
from refdesk.gateway.driver import Driver
from refdesk.gateway.gate import Access, Gate, Right
from refdesk.gateway.log import RequestLog
from refdesk.gateway.metrics import Metrics
from refdesk.gateway.root import Mount, Root
from refdesk.gateway.targets import build_targets
from refdesk.kb.opening import KnowledgeBase, KnowledgeSearch
from refdesk.kb.resuming import take_over
from refdesk.mcp_client import McpServers
from refdesk.mcp_server import McpFace
from refdesk.records import ReferenceBook, StoreRecorder, usage_of
from refdesk.search import Searcher, WebHandler
from refdesk.search.delegate import Delegates
from refdesk.search.entities import extractors
from refdesk.search.handler import HandlerTable
from refdesk.search.sources import SourceRouter
from refdesk.store import KeyRing, LedgerEntry, Store
from refdesk.store.quota import RequestRates, Reservation, SearchQuota
from refdesk.telemetry import streams
from refdesk.types import Attempt, Caller
from refdesk.upstream import UpstreamClient
from refdesk.uses import SearchUses
from refdesk.web.building import build_engines, library_section, search_settings
from refdesk.web.cache import Cache
from refdesk.web.engines import BaseEngine
from refdesk.web.handler import Found, WebSearch, found_bytes
from refdesk.web.health import Health
from refdesk.web.limiter import Limiter

if TYPE_CHECKING:
    from refdesk.db.handler import DatabaseHandler
    from refdesk.kb.collection import Knowledge

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_CLEAN_EVERY_S: Final = 3600.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")


def base_url(config: Config, port: int | None = None) -> str:
    """Return where this server is reached from this machine; `kb:` references open there."""
    host = config.server.host
    if host in ("0.0.0.0", "::"):  # noqa: S104 - every address is also this one
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port or config.server.port}"


def key_required(config: Config) -> bool:
    """Whether clients need a key: by default not while listening on loopback only."""
    required = config.auth.required
    return config.server.host not in _LOOPBACK if required == "auto" else required


def access(config: Config) -> Access:
    """Return which requests need a client key, and where those without one may come from."""
    server = config.server
    return Access(
        required=key_required(config),
        automatic=config.auth.required == "auto",
        listen=server.host,
        hosts=frozenset(server.hosts),
        origins=frozenset(server.origins),
    )


@dataclass(kw_only=True, slots=True)
class Application:
    """A running Refdesk, without the server in front of it."""

    config: Config
    store: Store
    keys: KeyRing
    quota: SearchQuota
    """Counts searches against the limits of client keys."""
    web: WebSearch
    searcher: Searcher
    """Search as the library does it: with references, and recorded."""
    references: ReferenceBook
    kb: KnowledgeBase
    """Collections and their documents."""
    fetcher: Fetcher
    upstream: UpstreamClient
    gateway: Gateway
    root: Root
    databases: DatabaseSearches
    """Asks the databases of the configuration."""
    mcp_servers: McpServers
    """The tools that steps of a search may be left to."""
    mcp: McpFace
    """Our own tools, at ``/mcp``."""
    metrics: Metrics
    log: RequestLog
    stopping: bool = False
    port: int | None = None
    """The port that the server got, where the configuration leaves it open (0)."""
    _prices: _Prices
    _records: GatewayRecords
    _tasks: list[asyncio.Task[None]]

    @classmethod
    async def start(cls, config: Config, store: Store) -> Application:
        """Build everything and begin to work; the store stays the caller's to close."""
        engines = build_engines(config)
        prices = _Prices(engines)
        settings = search_settings(config)
        await asyncio.to_thread(store.ledger.load)
        keys = await asyncio.to_thread(store.key_ring)
        quota = SearchQuota(store.ledger, keys, count=store.writer.offer)
        fetcher = Fetcher()
        web = WebSearch(
            engines,
            fetcher=fetcher,
            limiter=Limiter(
                settings.concurrency,
                queue_timeout_s=settings.queue_timeout_ms / 1000,
                memory_limit_mb=settings.memory_limit_mb,
            ),
            cache=Cache[Found](ttl_s=settings.cache_ttl_s, size_of=found_bytes),
            health=Health(used_today=lambda name: store.ledger.today(engine=name).searches),
            settings=settings,
            on_call=lambda attempt, key_id: _count(store, prices, attempt, key_id),
        )
        records = GatewayRecords(store, config)
        mcp_servers = McpServers(config.mcp_servers)
        delegates = Delegates(mcp=mcp_servers)
        kb = KnowledgeBase(config, store, extractors=extractors(delegates))
        kb_search = KnowledgeSearch(kb)
        handlers = HandlerTable([kb_search])
        router = SourceRouter(
            web,
            handlers,
            engines=lambda: web.engines,
            default=lambda: web.settings.default_engine,
            base_url=lambda: base_url(application.config, application.port),
            within_s=lambda: web.settings.budget_ms / 1000,
            pages=lambda: web.settings.pages_per_query,
            delegates=delegates,
        )
        handlers.register(WebHandler(router))
        uses = _uses(config)
        databases = DatabaseSearches(config)
        searcher = Searcher(
            library_section(config),
            handlers=handlers,
            uses=uses,
            delegates=delegates,
            recorder=StoreRecorder(
                store, keep_queries=lambda: records.config.privacy.store_queries
            ),
            keep_queries=config.privacy.store_queries,
        )
        if config.databases:
            searcher.handlers.register(databases)
        host = _Host(lambda: application)
        references = ReferenceBook(store)
        metrics = Metrics()
        log = RequestLog(metrics.take, records.take, log_requests)
        upstream = UpstreamClient(trust_env=False)
        gateway = Gateway(
            targets=build_targets(config, WIRES),
            upstream=upstream,
            driver=Driver(
                web=router,
                searches=records,
                sealer=store.sealer,
                reserve=quota.reserve,
            ),
            log=log,
            settings=_settings(config),
        )
        rates = RequestRates()
        mcp = McpFace(host, references, log)
        application = cls(
            config=config,
            store=store,
            keys=keys,
            quota=quota,
            web=web,
            searcher=searcher,
            references=references,
            kb=kb,
            fetcher=fetcher,
            upstream=upstream,
            gateway=gateway,
            root=Root(
                gateway,
                Gate(keys, access(config), rates),
                ready=lambda: application.unready(),
                metrics=lambda: application._metrics_page(),
                mounts=[
                    *SearchApi(host=host, book=references, log=log).mounts(),
                    *_api_mounts(host),
                    mcp.mount(),
                ],
            ),
            databases=databases,
            mcp_servers=mcp_servers,
            mcp=mcp,
            metrics=metrics,
            log=log,
            _prices=prices,
            _records=records,
            _tasks=[],
        )
        metrics.gauges(application._gauges)
        metrics.counters(lambda: {"log_lines_dropped": streams.dropped()})
        log.start()
        loop = asyncio.get_running_loop()
        application._tasks = [
            loop.create_task(keys.watch()),
            loop.create_task(application._forget_old()),
            loop.create_task(take_over(store, kb.knowledge), name="take over"),
        ]
        if config.collections:
            application._tasks.append(
                loop.create_task(kb.warm(list(config.collections)), name="warm collections")
            )
        return application

    def unready(self) -> str:
        """Return what keeps this process from taking requests, or an empty string."""
        if self.stopping:
            return "shutting down"
        return ""

    def reload(self, config: Config) -> None:
        """
        Put a new configuration in place; requests under way end under the old one.

        Raises:
            ConfigError: It is wrong; the old one stays.
        """
        engines = build_engines(config)
        targets = build_targets(config, WIRES)
        uses = _uses(config)
        self.databases.configure(config)
        if config.databases:
            self.searcher.handlers.register(self.databases)
        self.web.reload(engines, search_settings(config))
        self._prices.engines = engines
        self._records.config = config
        self.searcher.configure(library_section(config), uses)
        self.kb.configure(config)
        self.mcp_servers.configure(config.mcp_servers)
        gateway = self.gateway
        gateway.targets = targets
        gateway.refusals.clear()
        gateway.settings = _settings(config)
        self.root.gate = Gate(self.keys, access(config), self.root.gate.rates)
        self.config = config

    async def close(self) -> None:
        """Stop working and let go of all connections; what was logged is handed to the store."""
        self.stopping = True
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self.mcp.close()
        await self.mcp_servers.close()
        await self.kb.aclose()
        self.databases.close()
        await self.log.close()
        await self.fetcher.close()
        await self.upstream.close()

    async def _forget_old(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self.store.forget_old, self.config.privacy.retention_days)
            except StoreError as exc:
                _log.warning("old records were not deleted", error=str(exc))
            await asyncio.sleep(_CLEAN_EVERY_S)

    def _metrics_page(self) -> tuple[str, bytes]:
        self.log.drain()
        return self.metrics.page()

    def _gauges(self) -> dict[str, float]:
        limiter = self.web.limiter.counts
        writer = self.store.writer
        resting = self.web.health.snapshot(self.web.engines)
        return {
            "limiter_running": limiter.running,
            "limiter_waiting": limiter.waiting,
            "limiter_size": limiter.size,
            "records_queued": writer.queued,
            "records_written": writer.written,
            "records_dropped": writer.dropped + self.log.dropped,
            "store_failing": float(writer.failing),
            "engines_resting": sum(condition.state == "resting" for condition in resting),
            "upstream_connections": self.upstream.open_connections,
        }


def _api_mounts(host: _Host) -> list[Mount]:
    # Imported when it is first asked for: many servers only ever answer models' requests.
    async def answer(scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        from refdesk.api import v1

        await v1.answer(host, scope, receive, send, caller)

    async def refuse(scope: Scope, receive: Receive, send: Send, fault: WireError) -> None:
        from refdesk.api import v1

        await v1.refuse(host, scope, receive, send, fault)

    path = "/api/v1/"
    told = f"GET {path}openapi.json, {path}collections/…, {path}databases/…"
    methods: tuple[Literal["GET", "POST", "DELETE"], ...] = ("GET", "POST", "DELETE")
    return [
        Mount(
            method=method,
            path=path,
            right=Right.CLIENT,
            handler=answer,
            refuse=refuse,
            files=True,
            shown=told if method == "GET" else "",
        )
        for method in methods
    ]


class _Prices:
    """The engines whose prices hold now."""

    def __init__(self, engines: Mapping[str, BaseEngine]) -> None:
        self.engines = engines


def _count(store: Store, prices: _Prices, attempt: Attempt, key_id: str | None) -> None:
    usage = usage_of(attempt, prices.engines.get(attempt.engine))
    store.writer.offer(LedgerEntry(engine=attempt.engine, usage=usage, key_id=key_id))


def _settings(config: Config) -> Settings:
    return Settings(
        head_after_s=config.gateway.search.head_after_ms / 1000,
        max_body_bytes=config.server.limits.body_bytes,
    )


def _uses(config: Config) -> SearchUses:
    return SearchUses.read(config.uses.model_dump())


class _Host:
    """What the search API sees of the application, as it is now."""

    def __init__(self, application: Callable[[], Application]) -> None:
        self._application = application

    @property
    def searcher(self) -> Searcher:
        return self._application().searcher

    @property
    def keys_required(self) -> bool:
        return key_required(self._application().config)

    @property
    def closing(self) -> bool:
        return self._application().stopping

    @property
    def log(self) -> RequestLog:
        return self._application().log

    @property
    def databases(self) -> DatabaseHandler:
        return self._application().databases.handler

    def engines(self) -> Mapping[str, bool]:
        engines = self._application().web.engines
        return {name: engine.options.enabled for name, engine in engines.items()}

    def claims(self, key_id: str | None) -> Mapping[str, Any]:
        key = self._application().keys.get(key_id) if key_id else None
        return key.claims if key else {}

    async def knowledge(self) -> Knowledge:
        return await self._application().kb.knowledge()

    @property
    def limits(self) -> LimitsSection:
        return self._application().config.server.limits

    def reserve(self, key_id: str | None, searches: int = 1) -> Reservation:
        return self._application().quota.reserve(key_id, searches)
