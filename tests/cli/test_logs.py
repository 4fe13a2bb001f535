"""``refdesk logs``: lines, filters, JSON, and following beside a writer."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, make_url, text

from commands import Command
from refdesk.cli.logs import POLL_S, requests
from refdesk.config import Config, load
from refdesk.errors import StoreError
from refdesk.store import RequestRecord, Store
from refdesk.store.opening import open_store
from refdesk.types import Attempt

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
POSTGRES = os.environ.get("REFDESK_TEST_POSTGRES", "postgresql+psycopg://root@127.0.0.1:5432/test")


def record(number: int, **more: Any) -> RequestRecord:
    """A request of some minute after noon; every third was degraded."""
    degraded = number % 3 == 0
    values: dict[str, Any] = {
        "id": f"req_{number}",
        "time": NOON + timedelta(minutes=number),
        "wire": "messages",
        "model": "m",
        "status": 200,
        "route": "gateway",
        "search_header": "degraded; reason=engine_timeout"
        if degraded
        else "gateway; engine=main; results=18",
        "reason": "engine_timeout" if degraded else None,
        "total_ms": 812.4,
    }
    return RequestRecord(**(values | more))


def write(store: Store, *records: RequestRecord) -> None:
    """Have records in the database."""
    for each in records:
        store.writer.offer(each)
    assert store.writer.drain(5.0)


@pytest.fixture
def config(folder: Path) -> Config:
    """The configuration that commands in the folder have."""
    return load(None, env={}).config


@pytest.fixture
def store(config: Config) -> Iterator[Store]:
    """The store of the folder, held open as a server holds it, with six requests."""
    with open_store(config) as store:
        write(store, *(record(n) for n in range(1, 7)))
        yield store


@pytest.fixture
def postgres() -> Iterator[dict[str, str]]:
    """What names a PostgreSQL schema of its own, as settings from the environment."""
    engine = create_engine(make_url(POSTGRES).set(drivername="postgresql+psycopg"))
    name = f"refdesk_test_{secrets.token_hex(6)}"
    try:
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
    except Exception as exc:
        engine.dispose()
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no PostgreSQL at {make_url(POSTGRES).host}: {type(exc).__name__}")
    mark = "&" if "?" in POSTGRES else "?"
    url = f"{POSTGRES}{mark}options={quote(f'-csearch_path={name}')}"
    yield {"REFDESK_STORE__URL": url, "REFDESK_STORE__KEY": "A" * 43 + "="}
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
    engine.dispose()


def ids(out: str) -> list[str]:
    """The ids in JSON lines."""
    return [json.loads(line)["id"] for line in out.splitlines()]


def test_lines(refdesk: Command, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line a request, newest last, in the clock's zone."""
    monkeypatch.setenv("REFDESK_NOW", "2026-11-30T14:00:00+01:00")
    ran = refdesk("logs", "--limit", "2")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "2026-11-30 13:05:00  req_5  messages   m  200  gateway; engine=main; results=18  812 ms\n"
        "2026-11-30 13:06:00  req_6  messages   m  200  degraded; reason=engine_timeout  812 ms\n"
    )


def test_filters(refdesk: Command, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only degraded ones, and only since a point in time, also together."""
    monkeypatch.setenv("REFDESK_NOW", "2026-11-30T12:07:00+00:00")
    assert ids(refdesk("logs", "--json", "--degraded").out) == ["req_3", "req_6"]
    assert ids(refdesk("logs", "--json", "--since", "3m").out) == ["req_4", "req_5", "req_6"]
    since = ("--since", "2026-11-30T12:04:00")
    assert ids(refdesk("logs", "--json", "--degraded", *since).out) == ["req_6"]
    assert refdesk("logs", "--limit", "0").out == ""


def test_json(refdesk: Command, store: Store) -> None:
    """JSON lines hold all that is logged."""
    attempt = Attempt(engine="main", outcome="timeout", calls=1)
    write(store, record(9, query="why", notices=("a notice",), attempts=(attempt,)))
    (line,) = refdesk("logs", "--json", "-n", "1").out.splitlines()
    logged = json.loads(line)
    assert set(logged) == {"seq"} | set(RequestRecord.__dataclass_fields__)
    assert logged["time"] == "2026-11-30T12:09:00Z"
    assert logged["notices"] == ["a notice"]
    assert logged["attempts"][0]["engine"] == "main"
    assert (logged["query"], logged["reason"]) == ("why", "engine_timeout")


def test_foreign_text_steers_nothing(refdesk: Command, store: Store) -> None:
    """A model name is the client's text: it cannot end a line or steer the terminal."""
    write(store, record(9, model="m\x1b[2J\nreq_0", error="no\rway", client_disconnected=True))
    (line,) = refdesk("logs", "-n", "1").out.splitlines()
    assert r"m\x1b[2J\nreq_0" in line
    assert line.endswith(r"the client left  no\rway")


def test_no_store(refdesk: Command, folder: Path) -> None:
    """Without a store nothing was logged; none is made."""
    ran = refdesk("logs")
    assert (ran.code, ran.out) == (0, "")
    assert "there is no store yet" in ran.err
    assert not (folder / "refdesk-data").exists()


@pytest.mark.parametrize("option", ["--since=yesterdayish", "--limit=-1", "--limit=x"])
def test_usage(refdesk: Command, option: str) -> None:
    """What cannot be read is exit status 2."""
    assert refdesk("logs", option).code == 2


def follow(config: Config, *steps: Any, **options: Any) -> list[str]:
    """Follow the log, doing one step in each pause, and end in the pause after the last."""
    left = list(steps)

    def pause(seconds: float) -> None:
        assert seconds == POLL_S
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    seen: list[str] = []
    try:
        for logged in requests(config, follow=True, pause=pause, **options):
            seen.append(logged.record.id)  # noqa: PERF401 - the end is an exception
    except KeyboardInterrupt:
        return seen
    raise AssertionError("following ended by itself")


def test_follow(config: Config, store: Store) -> None:
    """After the last lines comes what is logged later, each once and in order."""
    seen = follow(
        config,
        lambda: write(store, record(7), record(8)),
        lambda: None,
        lambda: write(store, record(9)),
        limit=1,
    )
    assert seen == ["req_6", "req_7", "req_8", "req_9"]


def test_follow_filtered(config: Config, store: Store) -> None:
    """The filters hold for what comes later as well."""
    later = [record(n) for n in range(7, 13)]
    seen = follow(config, lambda: write(store, *later), limit=0, degraded=True)
    assert seen == ["req_9", "req_12"]
    since = NOON + timedelta(minutes=14)
    more = [record(n) for n in range(13, 16)]
    assert follow(config, lambda: write(store, *more), since=since) == ["req_14", "req_15"]


def test_follow_from_nothing(config: Config) -> None:
    """A store that is not there yet is waited for."""

    def serve() -> None:
        with open_store(config) as store:
            write(store, record(1))

    assert follow(config, lambda: None, serve) == ["req_1"]


def test_follow_through_a_failure(
    config: Config,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A database that is away for a while is told once, and following goes on."""
    from refdesk.store.requests import RequestLog

    after = RequestLog.after

    def away(self: RequestLog, seq: int, **options: Any) -> Any:
        raise StoreError("the store failed: away")

    monkeypatch.setattr(RequestLog, "after", away)

    def back() -> None:
        monkeypatch.setattr(RequestLog, "after", after)
        write(store, record(7))

    assert follow(config, lambda: None, back, limit=0) == ["req_7"]
    assert capsys.readouterr().err == "note: the store failed: away; trying again\n"


PROGRAM = (sys.executable, "-c", "from refdesk.cli import main; main()", "logs")


def test_ends_cleanly(config: Config, store: Store) -> None:
    """Followers see what another process writes; Ctrl-C and SIGTERM end them with status 0."""
    followers = [
        subprocess.Popen(
            [*PROGRAM, "--follow", "--json", "-n", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    try:
        for process in followers:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["id"] == "req_6"
        write(store, record(7))
        for process, end in zip(followers, (signal.SIGTERM, signal.SIGINT), strict=True):
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["id"] == "req_7"
            process.send_signal(end)
            out, err = process.communicate(timeout=20)
            assert (process.returncode, out, err) == (0, b"", b"")
    finally:
        for process in followers:
            process.kill()
            process.communicate()


def test_reader_that_has_enough(config: Config, store: Store) -> None:
    """A pipe that is closed by its reader ends the command without a complaint."""
    read, written = os.pipe()
    os.close(read)
    process = subprocess.run(PROGRAM, stdout=written, stderr=subprocess.PIPE, check=False)
    os.close(written)
    assert (process.returncode, process.stderr) == (0, b"")


def test_postgresql(
    refdesk: Command, monkeypatch: pytest.MonkeyPatch, postgres: dict[str, str], folder: Path
) -> None:
    """The log is read from PostgreSQL alike, and looking makes no tables there."""
    for name, value in postgres.items():
        monkeypatch.setenv(name, value)
    config = load(None, env=postgres).config
    assert "there is no store yet" in refdesk("logs").err
    assert refdesk("migrate", "--check").out.startswith("none yet")
    with open_store(config) as store:
        write(store, record(1), record(2))
        assert ids(refdesk("logs", "--json").out) == ["req_1", "req_2"]
        assert follow(config, lambda: write(store, record(3)), limit=1) == ["req_2", "req_3"]
    assert not (folder / "refdesk-data").exists()
