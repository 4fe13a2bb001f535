"""``refdesk engines``: which there are, how each may come to be asked, and whether it works."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from refdesk import clock
from refdesk.cli.options import ConfigOption, JsonOption, read_config
from refdesk.cli.output import FAILURE, print_json, put, say

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.store import Store
    from refdesk.types import Attempt
    from refdesk.web.engines import BaseEngine

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="List the search engines, and test one."
)

REMEDIES: Final[Mapping[str, str]] = {
    "bad_key": "check {at}.api_key",
    "no_credit": "top up the account that {at}.api_key belongs to",
    "rate_limited": "wait, or ask the vendor for a higher limit; another engine steps in meanwhile",
    "bad_request": "check the options of {at}",
    "unsupported_param": "check the options of {at}",
    "upstream_down": "try again later; it is the engine's own fault",
    "unreachable": "check the address of {at}, and what stands between (DNS, firewall)",
    "timeout": "try again; for a slow engine raise {at}.timeout_ms",
    "too_large": "raise gateway.search.max_response_bytes, or ask for fewer pages",
    "parse_error": "check the address of {at}; if that is right, the vendor changed its answers",
    "blocked": "the address is not a public one; name it in {at} only if it is yours",
    "empty": "it answered, and knows nothing of Python; if it should, check the options of {at}",
}
"""What an operator can do about an outcome; ``{at}`` is the engine's place in the configuration."""

_LOOK_BACK: Final = timedelta(hours=24)
_LOOK_AT: Final = 200
_ADVICE: Final = re.compile(r"; (check|raise|lower|set|top up|wait|try|put|ask)\b[^;]*$")
"""What a message ends in that has advice of its own."""
_ROWS: Final = re.compile(r"(\d+) of \d+ rows used")


@app.command("list")
def list_(config: ConfigOption = None, json: JsonOption = False) -> None:
    """List the engines: type, order, price, today's searches, and whether their options hold."""
    loaded = read_config(config)
    for warning in loaded.warnings:
        say(f"note: {warning}")
    rows = listed(loaded.config)
    if json:
        print_json(rows)
        return
    from refdesk.cli._table import print_columns

    heads = (
        "NAME",
        "TYPE",
        "PRIORITY",
        "CHOSEN",
        "$/1000",
        "SEARCHES TODAY",
        "COST TODAY",
        "STATE",
    )
    print_columns(heads, [_line(row) for row in rows])


@app.command("test")
def try_(
    name: Annotated[str, typer.Argument(help="The engine, by its name in the configuration.")],
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Ask one engine a real question; exit status 1 if it does not answer."""
    from refdesk.cli._store import store_if_well
    from refdesk.cli._web import one_engine, web_search

    loaded = read_config(config)
    engine = one_engine(loaded.config, name)
    store = store_if_well(loaded.config)

    async def run() -> Attempt:
        async with web_search(loaded.config, {name: engine}, store) as web:
            return await web.test(name)

    try:
        attempt = asyncio.run(run())
    finally:
        if store is not None:
            store.close()
    report = tested(attempt)
    if json:
        print_json(report)
    else:
        put(f"{name}: {told(attempt)}")
        if report["remedy"]:
            say(report["remedy"])
    if not report["ok"]:
        raise typer.Exit(FAILURE)


def tested(attempt: Attempt) -> dict[str, Any]:
    """Return what a test of an engine says: outcome, results, time, and the remedy."""
    return {
        "engine": attempt.engine,
        "ok": attempt.outcome in ("ok", "empty"),
        "outcome": attempt.outcome,
        "results": results_of(attempt),
        "elapsed_ms": round(attempt.duration_s * 1000),
        "detail": attempt.detail,
        "remedy": remedy(attempt),
    }


def told(attempt: Attempt) -> str:
    """Return a test's outcome in words, without the remedy, which `remedy` has in more detail."""
    from refdesk.cli._table import printable

    took = f"{attempt.duration_s * 1000:.0f} ms"
    if attempt.outcome == "ok":
        number = results_of(attempt)
        return f"well: {number} result{'' if number == 1 else 's'} in {took}"
    if attempt.outcome == "empty":
        return f"answered in {took}, and found nothing"
    return f"{attempt.outcome} after {took}: {printable(_ADVICE.sub('', attempt.detail))}"


def remedy(attempt: Attempt) -> str:
    """Return what can be done about an outcome; nothing where all is well."""
    return REMEDIES.get(attempt.outcome, "").format(at=f"engines.{attempt.engine}")


def results_of(attempt: Attempt) -> int:
    """Return how many results a test brought."""
    match = _ROWS.match(attempt.detail)
    return int(match[1]) if match else 0


def listed(config: Config) -> list[dict[str, Any]]:
    """Return every engine as `list` shows it, in the order of the configuration."""
    from refdesk.cli._store import store_if_well
    from refdesk.cli._web import well_engines
    from refdesk.records import price_per_1000

    engines, faults = well_engines(config)
    chosen = _chosen(config, engines)
    store = store_if_well(config)
    try:
        recent = _recent(store) if store else {}
        if store:
            store.ledger.load()
        rows = []
        for name, entry in config.engine_entries.items():
            engine = engines.get(name)
            used = store.ledger.today(engine=name) if store else None
            rows.append(
                {
                    "name": name,
                    "type": entry.type,
                    "priority": engine.options.priority if engine else None,
                    "enabled": engine.options.enabled if engine else None,
                    "default": config.gateway.search.default_engine == name,
                    "chosen": chosen.get(name, "never: its options are wrong"),
                    "price_per_1000": price_per_1000(engine) if engine else None,
                    "daily_limit": engine.options.daily_limit if engine else None,
                    "searches_today": used.searches if used else 0,
                    "calls_today": used.calls if used else 0,
                    "cache_hits_today": used.cache_hits if used else 0,
                    "cost_today_usd": round(used.cost_usd, 6) if used else 0.0,
                    "fault": faults.get(name),
                    "last": recent.get(name),
                }
            )
        return rows
    finally:
        if store is not None:
            store.close()


def _chosen(config: Config, engines: Mapping[str, BaseEngine]) -> dict[str, str]:
    """Return for each engine how it may come to be asked."""
    from refdesk.errors import SearchError
    from refdesk.web.select import order

    default = config.gateway.search.default_engine
    try:
        in_order = order(engines, named=None, default=default, ready=lambda _: True).engines
    except SearchError:
        in_order = ()
    found: dict[str, str] = dict.fromkeys(engines, "never: disabled")
    for place, engine in enumerate(in_order, 1):
        if place > 1:
            found[engine.name] = f"{place}. (fallback)"
        else:
            found[engine.name] = f"1. ({'default' if engine.name == default else 'priority'})"
    for kind, entries in (("upstream", config.upstreams), ("model", config.models)):
        for owner, entry in entries.items():
            if entry.search and entry.search.engine in found:
                name = entry.search.engine
                if engines[name].options.enabled:
                    found[name] += f", first for {kind} {owner}"
    return found


def _recent(store: Store) -> dict[str, dict[str, Any]]:
    """Return how each engine's last attempt of the last day went, as the log has it."""
    found: dict[str, dict[str, Any]] = {}
    for logged in store.requests.list(limit=_LOOK_AT, since=clock.now() - _LOOK_BACK):
        for attempt in reversed(logged.record.attempts):
            found.setdefault(
                attempt.engine,
                {
                    "time": logged.record.time,
                    "outcome": attempt.outcome,
                    "detail": attempt.detail,
                },
            )
    return found


def _line(row: Mapping[str, Any]) -> tuple[str, ...]:
    limit = f"/{row['daily_limit']}" if row["daily_limit"] is not None else ""
    price = row["price_per_1000"]
    return (
        row["name"],
        row["type"],
        "-" if row["priority"] is None else str(row["priority"]),
        row["chosen"],
        "-" if price is None else f"{price:g}",
        f"{row['searches_today']}{limit}",
        f"${row['cost_today_usd']:.4f}",
        _state(row),
    )


def _state(row: Mapping[str, Any]) -> str:
    if row["fault"]:
        return f"wrong: {row['fault']}"
    if not row["enabled"]:
        return "disabled"
    limit = row["daily_limit"]
    if limit is not None and row["searches_today"] >= limit:
        return "rests: the daily limit is reached"
    last = row["last"]
    if last is None or last["outcome"] in ("ok", "empty", "cancelled"):
        return "well"
    at = last["time"].astimezone(clock.now().tzinfo)
    return f"last {last['outcome']} at {at:%H:%M:%S}: {last['detail']}"
