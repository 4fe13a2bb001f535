"""
The server's application: the parts that search, the gateway and the faces in front of them.

A reload checks the whole new configuration, then puts it in place in one step; connections, caches
and records stay.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

import structlog

from refdesk.api.search import SearchApi
from refdesk.application.records import GatewayRecords, log_requests
from refdesk.config import Config
from refdesk.config.schema import LimitsSection
from refdesk.desk.parts import Engines, build_parts
from refdesk.errors import StoreError, WireError
from refdesk.gateway.app import WIRES, Gateway, Settings
from refdesk.gateway.client import Receive, Scope, Send
from refdesk.gateway.driver import Driver
from refdesk.gateway.gate import Access, Gate, Right
from refdesk.gateway.host import Host
from refdesk.gateway.log import RequestLog
from refdesk.gateway.metrics import Metrics
from refdesk.gateway.root import Mount, Root
from refdesk.gateway.targets import build_targets
from refdesk.kb.opening import KnowledgeBase
from refdesk.kb.resuming import take_over
from refdesk.mcp_server import McpFace
from refdesk.search import Searcher
from refdesk.store import KeyRing, Store
from refdesk.store.quota import RequestRates, Reservation, SearchQuota
from refdesk.telemetry import streams
from refdesk.types import Caller
from refdesk.upstream import UpstreamClient
from refdesk.web.building import build_engines
from refdesk.web.handler import WebSearch

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


class Application:
    """
    A running Refdesk, without the server in front of it; it is the host of its faces.

    Args:
        config: What it is to be like.
        store: Where everything is kept; it stays the caller's to close.
        keys: The client keys.
        engines: Makes the web engines.
    """

    def __init__(
        self, config: Config, store: Store, keys: KeyRing, *, engines: Engines = build_engines
    ) -> None:
        self.config = config
        self.store = store
        self.keys = keys
        self.stopping = False
        self.port: int | None = None
        """The port that the server got, where the configuration leaves it open (0)."""
        self.quota = SearchQuota(store.ledger, keys, count=store.writer.offer)
        self.parts = build_parts(
            config,
            store=store,
            engines=engines,
            base_url=lambda: base_url(self.config, self.port),
            reloads=True,
        )
        self.metrics = Metrics()
        self._records = GatewayRecords(store, config)
        self.log = RequestLog(self.metrics.take, self._records.take, log_requests)
        self.upstream = UpstreamClient(trust_env=False)
        self.gateway = Gateway(
            targets=build_targets(config, WIRES),
            upstream=self.upstream,
            driver=Driver(
                web=self.parts.router,
                searches=self._records,
                sealer=store.sealer,
                reserve=self.quota.reserve,
                resolver=self.parts.resolver,
            ),
            log=self.log,
            settings=_settings(config),
        )
        assert self.parts.book is not None, "a server always has a store"
        self.references = self.parts.book
        self.mcp = McpFace(self, self.references, self.log)
        self.root = Root(
            self.gateway,
            Gate(keys, access(config), RequestRates()),
            ready=self.unready,
            metrics=self._metrics_page,
            mounts=[
                *SearchApi(host=self, book=self.references, log=self.log).mounts(),
                *_api_mounts(self),
                self.mcp.mount(),
            ],
        )
        self.metrics.gauges(self._gauges)
        self.metrics.counters(lambda: {"log_lines_dropped": streams.dropped()})
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(
        cls, config: Config, store: Store, *, engines: Engines = build_engines
    ) -> Application:
        """Build everything and begin to work; the store stays the caller's to close."""
        await asyncio.to_thread(store.ledger.load)
        keys = await asyncio.to_thread(store.key_ring)
        application = cls(config, store, keys, engines=engines)
        application.log.start()
        loop = asyncio.get_running_loop()
        application._tasks = [
            loop.create_task(keys.watch()),
            loop.create_task(application._forget_old()),
            loop.create_task(take_over(store, application.kb.knowledge), name="take over"),
        ]
        if config.collections:
            warming = application.kb.warm(list(config.collections))
            application._tasks.append(loop.create_task(warming, name="warm collections"))
        return application

    # What the faces ask for; see `refdesk.gateway.host`

    @property
    def searcher(self) -> Searcher:
        """Search as the library does it: with references, and recorded."""
        return self.parts.searcher

    @property
    def web(self) -> WebSearch:
        """Web search."""
        return self.parts.web

    @property
    def kb(self) -> KnowledgeBase:
        """Collections and their documents."""
        assert self.parts.knowledge is not None, "a server always has a store"
        return self.parts.knowledge

    @property
    def databases(self) -> DatabaseHandler:
        """Asks databases; connected when it is first needed."""
        return self.parts.databases.handler

    @property
    def keys_required(self) -> bool:
        """Whether clients need a key."""
        return key_required(self.config)

    @property
    def closing(self) -> bool:
        """Whether nothing new is begun."""
        return self.stopping

    @property
    def limits(self) -> LimitsSection:
        """Bounds on what clients send."""
        return self.config.server.limits

    def engines(self) -> Mapping[str, bool]:
        """Return the names of the web engines, and whether each is enabled."""
        return {name: each.options.enabled for name, each in self.web.engines.items()}

    async def knowledge(self) -> Knowledge:
        """Return the knowledge service, opened when it is first needed."""
        return await self.kb.knowledge()

    def reserve(self, key_id: str | None, searches: int = 1) -> Reservation:
        """Count searches of a key before they begin; WireError (429) beyond its limit."""
        return self.quota.reserve(key_id, searches)

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
        targets = build_targets(config, WIRES)
        self.parts.reload(config)
        self._records.config = config
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
        await self.parts.aclose()
        await self.log.close()
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


def _api_mounts(host: Host) -> list[Mount]:
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


def _settings(config: Config) -> Settings:
    return Settings(
        head_after_s=config.gateway.search.head_after_ms / 1000,
        max_body_bytes=config.server.limits.body_bytes,
    )
