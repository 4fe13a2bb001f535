"""
The server in front of the application: sockets, signals, workers.

With one worker the application runs in this process.  With several, this process holds the lock on
an embedded store and the listening socket, and starts them; each of them is a whole application.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import structlog
import uvicorn
import uvloop

from refdesk.application import Application
from refdesk.config import Loaded
from refdesk.errors import ConfigError, RefdeskError
from refdesk.gateway.connections import Connections, bounds
from refdesk.gateway.protocol import GuardedProtocol as GuardedProtocol  # offered here as well
from refdesk.store import lock_server
from refdesk.store.opening import open_store
from refdesk.telemetry import stalls, streams

KEEP_ALIVE_S: Final = 75
"""For a connection between two requests; beyond it the connection is closed."""
_COLLECT_AFTER: Final = 10_000
"""Objects made and not freed; Python's own 700 means several collections for each request."""
GRACE_S: Final = 30
"""How long streams may go on after the signal to stop."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")

Reload = Callable[[], Loaded]


class _Server(uvicorn.Server):
    """A server that says when it is up, and stops on the first signal, at once on the second."""

    def __init__(
        self, config: uvicorn.Config, *, on_up: Callable[[], None], on_stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_up = on_up
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._on_up()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Who asks whether we are ready is to be told that we are not, as long as answers are under
        # way; so the socket is kept open until they have ended.
        loop = asyncio.get_running_loop()
        deadline = loop.time() + GRACE_S
        while (tasks := list(self.server_state.tasks)) and loop.time() < deadline:
            await asyncio.wait(tasks, timeout=deadline - loop.time())
        await super().shutdown(sockets=sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            streams.drain()
            os._exit(128 + sig)
        self.should_exit = True
        self._on_stop()


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket; ConfigError says who may hold the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except (OSError, OverflowError) as exc:
        sock.close()
        raise ConfigError(
            f"{host}:{port} cannot be listened on ({getattr(exc, 'strerror', exc)}); choose "
            "another with --port, or --port 0 for a free one"
        ) from None
    sock.set_inheritable(True)
    return sock


def address(sock: socket.socket, host: str) -> str:
    """Return the URL that the socket answers on."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{sock.getsockname()[1]}"


def serve(
    loaded: Loaded,
    reload: Reload,
    *,
    on_up: Callable[[str], None],
    settle: Callable[[Application, str], Any] | None = None,
) -> int:
    """
    Serve until a signal says to stop.

    Args:
        loaded: The configuration.
        reload: Reads it anew; what it raises leaves the old one in place.
        on_up: Called with the URL when it answers.
        settle: Called in the loop with the application and the URL when it answers; may return
            a coroutine, which then runs beside the server.

    Returns:
        The exit status.
    """
    config = loaded.config
    sock = listen(config.server.host, config.server.port)
    url = address(sock, config.server.host)
    embedded = config.store.url.startswith("sqlite")
    with lock_server(Path(config.data_dir) if embedded else None):
        if config.server.workers == 1:
            return _run(loaded, reload, sock, lambda: on_up(url), settle, url)
        return _supervise(loaded, reload, sock, lambda: on_up(url))


def _run(
    loaded: Loaded,
    reload: Reload,
    sock: socket.socket,
    on_up: Callable[[], None],
    settle: Callable[[Application, str], Any] | None = None,
    url: str = "",
) -> int:
    return uvloop.run(_serve(loaded, reload, sock, on_up, settle, url))


async def _serve(
    loaded: Loaded,
    reload: Reload,
    sock: socket.socket,
    on_up: Callable[[], None],
    settle: Callable[[Application, str], Any] | None,
    url: str,
) -> int:
    store = await asyncio.to_thread(open_store, loaded.config)
    try:
        application = await Application.start(loaded.config, store)
        application.port = sock.getsockname()[1]
        most, most_per_address = bounds(loaded.config.server.limits)
        connections = Connections(most=most, most_per_address=most_per_address)
        application.metrics.gauges(lambda: {"connections_open": connections.open})
        application.metrics.counters(lambda: {"connections_refused": connections.refused})
        loop = asyncio.get_running_loop()
        watch = stalls.LoopWatch()
        application.metrics.stalls(watch.found)
        beside: set[asyncio.Task[Any]] = set()

        def up() -> None:
            # What is there by now stays, so the collector need not look at it again and again; and
            # a request leaves little for it to find.
            gc.collect()
            gc.freeze()
            gc.set_threshold(_COLLECT_AFTER, 20, 10)
            watch.start(loop)
            on_up()
            if settle is not None:
                beside.add(loop.create_task(settle(application, url)))

        def stop() -> None:
            application.stopping = application.gateway.closing = True

        def renew() -> None:
            try:
                application.reload(reload().config)
                connections.limit(*bounds(application.config.server.limits))
            except RefdeskError as exc:
                _log.error("the configuration was not reloaded; the old one stays", error=str(exc))
            else:
                _log.info("the configuration was reloaded")

        server = _Server(
            uvicorn.Config(
                application.root,
                http=partial(GuardedProtocol, connections=connections),  # type: ignore[arg-type]
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=1,
                backlog=2048,
            ),
            on_up=up,
            on_stop=stop,
        )
        loop.add_signal_handler(signal.SIGHUP, renew)
        try:
            await server.serve(sockets=[sock])
        finally:
            watch.stop()
            for task in beside:
                task.cancel()
            await application.close()
    finally:
        await asyncio.to_thread(store.close)
    return 0


def _supervise(
    loaded: Loaded, reload: Reload, sock: socket.socket, on_up: Callable[[], None]
) -> int:
    # The schema is brought up once, before the workers open the store.
    open_store(loaded.config).close()
    reading, writing = os.pipe()
    workers: set[int] = set()
    stopping = False

    def start() -> None:
        pid = os.fork()
        if pid:
            workers.add(pid)
            return
        os.close(reading)
        status = 1
        try:
            for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(name, signal.SIG_DFL)
            status = _run(loaded, reload, sock, lambda: _say_up(writing))
        except RefdeskError as exc:
            _log.error("a worker could not start", error=str(exc))
        finally:
            sys.stderr.flush()
            streams.drain()
            os._exit(status)

    def pass_on(sig: int, _: FrameType | None) -> None:
        nonlocal stopping
        if sig != signal.SIGHUP:
            stopping = True
        for pid in workers:
            os.kill(pid, sig)

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, pass_on)
    count = loaded.config.server.workers
    for _ in range(count):
        start()
    if _wait_up(reading, count, workers):
        on_up()
    failed = 0
    while workers:
        try:
            pid, status = os.wait()
        except InterruptedError:
            continue
        if pid not in workers:
            continue
        workers.discard(pid)
        if stopping:
            continue
        failed += 1
        if failed > 10 * count:
            _log.error("workers keep ending; giving up")
            pass_on(signal.SIGTERM, None)
            continue
        _log.error("a worker ended and is started again", pid=pid, status=status)
        start()
    return 0 if stopping and failed <= 10 * count else 1


def _say_up(pipe: int) -> None:
    os.write(pipe, b".")


def _wait_up(pipe: int, count: int, workers: set[int]) -> bool:
    seen = 0
    while seen < count and workers:
        try:
            seen += len(os.read(pipe, count))
        except InterruptedError:
            continue
    return seen >= count
