"""``refdesk engines``: the list, and a test of one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from commands import Command, Peer, found
from refdesk.cli.engines import REMEDIES, remedy, results_of, told
from refdesk.config import load
from refdesk.errors import REASON_OF
from refdesk.store import LedgerEntry, RequestRecord, Usage
from refdesk.store.opening import open_store
from refdesk.types import Attempt

YAML = """\
upstreams:
  a: {base_url: "http://127.0.0.1:1", search: {engine: spare}}
models:
  m: {upstream: a, search: {engine: main}}
engines:
  spare: {type: offline}
  main: {type: serper, api_key: SECRET-0123456789-tail, priority: 10, daily_limit: 5}
  dear: {type: offline, priority: 3, price_per_1000: 7.5}
  off: {type: offline, enabled: false}
gateway: {search: {default_engine: dear}}
"""


def test_list(refdesk: Command, folder: Path) -> None:
    """Each engine has its type, order, price, and what leads to it; no key shows, nor a store."""
    ran = refdesk("engines", "list", "--json", yaml=YAML)
    rows = {row["name"]: row for row in ran.json}
    assert list(rows) == ["spare", "main", "dear", "off"]
    assert {name: row["chosen"] for name, row in rows.items()} == {
        "spare": "3. (fallback), first for upstream a",
        "main": "2. (fallback), first for model m",
        "dear": "1. (default)",
        "off": "never: disabled",
    }
    assert rows["main"] == {
        "name": "main",
        "type": "serper",
        "priority": 10,
        "enabled": True,
        "default": False,
        "chosen": "2. (fallback), first for model m",
        "price_per_1000": rows["main"]["price_per_1000"],
        "daily_limit": 5,
        "searches_today": 0,
        "calls_today": 0,
        "cache_hits_today": 0,
        "cost_today_usd": 0.0,
        "fault": None,
        "last": None,
    }
    assert rows["main"]["price_per_1000"] > 0
    assert rows["dear"]["price_per_1000"] == 7.5
    assert "SECRET" not in ran.out + refdesk("engines", "list").out
    assert not (folder / "refdesk-data").exists()


def test_list_as_text(refdesk: Command) -> None:
    """In text it is a line each, below a head."""
    lines = refdesk("engines", "list", yaml=YAML).out.splitlines()
    assert lines[0].split()[:4] == ["NAME", "TYPE", "PRIORITY", "CHOSEN"]
    assert lines[1].endswith("well")
    assert "0/5" in lines[2]
    assert lines[4].endswith("disabled")


def test_wrong_options(refdesk: Command) -> None:
    """An engine whose options are wrong is listed with the fault, beside the others."""
    yaml = "engines: {a: {type: serpr}, b: {type: tavily}, c: {type: offline}}\n"
    a, b, c = refdesk("engines", "list", "--json", yaml=yaml).json
    assert a["fault"].startswith("no engine is called 'serpr'")
    assert b["fault"].startswith("api_key: ")
    assert (c["fault"], c["chosen"]) == (None, "1. (priority)")
    assert "wrong: api_key" in refdesk("engines", "list").out


def test_ledger_and_log(refdesk: Command, folder: Path) -> None:
    """With a store, today's sums are shown, the reached limit, and how the last attempt went."""
    (folder / "refdesk.yaml").write_text(YAML)
    with open_store(load(folder / "refdesk.yaml", env={}).config) as store:
        usage = Usage(searches=5, calls=10, cache_hits=2, cost_usd=0.01)
        store.writer.offer(LedgerEntry(engine="main", usage=usage, key_id="k"))
        for number, outcome in enumerate(("ok", "rate_limited")):
            attempt = Attempt(engine="dear", outcome=outcome, detail="dear answered 429")
            store.writer.offer(
                RequestRecord(
                    id=f"r{number}", time=datetime.now(UTC), wire="chat", attempts=(attempt,)
                )
            )
    rows = {row["name"]: row for row in refdesk("engines", "list", "--json").json}
    main = rows["main"]
    assert (main["searches_today"], main["calls_today"], main["cost_today_usd"]) == (5, 10, 0.01)
    assert rows["dear"]["last"]["outcome"] == "rate_limited"
    out = refdesk("engines", "list").out
    assert "rests: the daily limit is reached" in out
    assert "last rate_limited at " in out


def test_no_engines_configured(refdesk: Command) -> None:
    """Without engines in the configuration the keyless one is listed, and that is said."""
    ran = refdesk("engines", "list", "--json")
    assert [row["type"] for row in ran.json] == ["ddgs"]
    assert "keyless ddgs engine" in ran.err


def test_test(refdesk: Command, peer: Peer) -> None:
    """A test asks for real and tells the number of results and the time: exit status 0."""
    peer.answers["/search"] = (200, found("A", "B"))
    yaml = f'engines: {{own: {{type: searxng, base_url: "{peer.url}", enabled: false}}}}\n'
    ran = refdesk("engines", "test", "own", yaml=yaml)
    assert ran.code == 0
    assert ran.out.startswith("own: well: 2 results in ")
    assert len(peer.seen) == 1
    report = refdesk("engines", "test", "own", "--json").json
    assert report.pop("elapsed_ms") >= 0
    assert report == {
        "engine": "own",
        "ok": True,
        "outcome": "ok",
        "results": 2,
        "detail": "2 of 2 rows used",
        "remedy": "",
    }


def test_refused_key(refdesk: Command, peer: Peer) -> None:
    """A refused key is exit status 1 with the place of the key, and never the key."""
    peer.answers["/search"] = (401, {"message": "Unauthorized: SECRET-0123456789-tail"})
    yaml = (
        f'engines: {{main: {{type: serper, base_url: "{peer.url}", '
        "api_key: SECRET-0123456789-tail}}\n"
    )
    ran = refdesk("engines", "test", "main", yaml=yaml)
    assert ran.code == 1
    assert ran.out.startswith("main: bad_key after ")
    assert ran.err == "check engines.main.api_key\n"
    again = refdesk("engines", "test", "main", "--json")
    assert (again.code, again.json["outcome"], again.json["ok"]) == (1, "bad_key", False)
    assert "SECRET" not in ran.out + ran.err + again.out + again.err


def test_empty_is_told(refdesk: Command, peer: Peer) -> None:
    """An engine that answers and finds nothing works; that is said with what may be wrong."""
    peer.answers["/search"] = (200, found())
    yaml = f'engines: {{own: {{type: searxng, base_url: "{peer.url}"}}}}\n'
    ran = refdesk("engines", "test", "own", yaml=yaml)
    assert (ran.code, ran.err) == (0, f"{REMEDIES['empty'].format(at='engines.own')}\n")
    assert "found nothing" in ran.out


def test_unknown(refdesk: Command) -> None:
    """A misspelt name is exit status 1 with the known names."""
    ran = refdesk("engines", "test", "mian", yaml=YAML)
    assert (ran.code, ran.out) == (1, "")
    assert "no engine is called 'mian'" in ran.err
    assert "did you mean 'main'?" in ran.err


@pytest.mark.parametrize("outcome", [*REASON_OF, "empty"])
def test_remedies(outcome: str) -> None:
    """Each way an engine can fail has a remedy, with the engine's place where it names one."""
    text = remedy(Attempt(engine="main", outcome=outcome))
    assert text
    assert "{" not in text


def test_told() -> None:
    """A message's own advice is not said twice; what the vendor said stays."""
    attempt = Attempt(
        engine="e", outcome="bad_key", detail="e answered 401: no; really; check the key"
    )
    assert told(attempt) == "bad_key after 0 ms: e answered 401: no; really"
    assert results_of(attempt) == 0
    assert results_of(Attempt(engine="e", outcome="ok", detail="7 of 9 rows used")) == 7
