"""
``refdesk logs``: what was asked of the gateway, one line a request, newest last.

It reads the store, so that it works beside a running server, after one, and on PostgreSQL.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from refdesk import clock
from refdesk.cli.options import ConfigOption, JsonOption, read_config
from refdesk.cli.output import put, say
from refdesk.terminal import harmless_json

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.store import LoggedRequest, RequestRecord, Store

app = typer.Typer(add_completion=False)

POLL_S: Final = 0.5
_MOST: Final = 100_000

Pause = Callable[[float], None]


@app.command()
def logs(
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on as requests come, until Ctrl-C.")
    ] = False,
    degraded: Annotated[
        bool, typer.Option("--degraded", help="Only requests whose search failed.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, max=_MOST, help="The most lines to begin with.")
    ] = 50,
    since: Annotated[
        str | None,
        typer.Option(help="Only from then on: 30m, 12h, 7d, a date or a time.", show_default=False),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Print the newest requests, one line each, newest last; with --json an object a line."""
    from refdesk.cli._moment import moment

    start = moment(since, "--since", ahead=False) if since is not None else None
    loaded = read_config(config).config
    write = _json_line if json else _line
    # Ends as Ctrl-C does: whatever is being waited for, and with the store closed.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for logged in requests(
            loaded, follow=follow, degraded=degraded or None, limit=limit, since=start
        ):
            put(write(logged), flush=follow)
        sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # The reader has enough (`| head`); what Python still holds must not be written either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        signal.signal(signal.SIGTERM, before)


def requests(
    config: Config,
    *,
    follow: bool,
    degraded: bool | None = None,
    limit: int = 50,
    since: datetime | None = None,
    pause: Pause = time.sleep,
) -> Iterator[LoggedRequest]:
    """
    Yield the newest requests, oldest of them first; then, if followed, each as it is logged.

    Args:
        config: Names the store; where there is none yet it is waited for, or nothing comes.
        follow: Whether to go on, for ever.
        degraded: As for `refdesk.store.requests.RequestLog.list`.
        limit: The most to begin with.
        since: Only what came in from then on.
        pause: Waits for so many seconds.
    """
    store = _store(config, follow, pause)
    if store is None:
        say("no requests are logged: there is no store yet")
        return
    with store:
        log = store.requests
        # First the place from where to follow: what is logged in between may then not be missed.
        last = log.newest() if follow else 0
        page = log.list(limit=limit, degraded=degraded, since=since)
        yield from reversed(page)
        if not follow:
            return
        last = max([last, *(logged.seq for logged in page)])
        for logged in _following(store, last, degraded, pause):
            if since is None or logged.record.time >= since:
                yield logged


def _store(config: Config, follow: bool, pause: Pause) -> Store | None:
    from refdesk.cli._store import existing_store

    store = existing_store(config)
    if store is None and follow:
        say("there is no store yet; waiting for the first request")
    while store is None and follow:
        pause(POLL_S)
        store = existing_store(config)
    return store


def _following(
    store: Store, last: int, degraded: bool | None, pause: Pause
) -> Iterator[LoggedRequest]:
    from refdesk.errors import StoreError

    away = False
    while True:
        try:
            page = store.requests.after(last, degraded=degraded)
        except StoreError as exc:
            if not away:
                say(f"note: {exc}; trying again")
            away, page = True, []
        else:
            away = False
        for logged in page:
            last = logged.seq
            yield logged
        if not page:
            pause(POLL_S)


def _line(logged: LoggedRequest) -> str:
    from refdesk.cli._table import printable

    record = logged.record
    at = record.time.astimezone(clock.now().tzinfo)
    took = f"{record.total_ms:.0f} ms" if record.total_ms is not None else "-"
    line = (
        f"{at:%Y-%m-%d %H:%M:%S}  {record.id}  {record.wire:<9}  {record.model or '-'}  "
        f"{record.status or '-'}  {_search(record)}  {took}"
    )
    if record.client_disconnected:
        line += "  the client left"
    if record.error:
        line += f"  {record.error[:200]}"
    return printable(line)


def _search(record: RequestRecord) -> str:
    said = record.search_header or "none"
    return f"{said}; cached" if record.cached else said


def _json_line(logged: LoggedRequest) -> str:
    import msgspec

    record: dict[str, Any] = msgspec.to_builtins(logged.record, builtin_types=(datetime,))
    record["time"] = logged.record.time.astimezone(UTC)
    return harmless_json(msgspec.json.encode({"seq": logged.seq, **record})).decode()
