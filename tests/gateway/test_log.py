"""What is told of a request: reasons in header, log and metrics; secrets nowhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from desk import QUESTION, UPSTREAM_KEY, WIRES, Desk, OpenDesk, answers, asks, whole
from refdesk.errors import EngineError
from refdesk.gateway.log import Entry, RequestLog
from refdesk.testing.fakes import HANG, FakeEngine, page
from refdesk.types import WebPage


def entry(number: int) -> Entry:
    """An entry by its number."""
    return Entry(request_id=f"req_{number}", started=0.0, wire="chat")


class TestRequestLog:
    """The queue between the hot path and whoever keeps entries."""

    def test_order(self) -> None:
        """All sinks get all entries, in order, once."""
        first: list[Entry] = []
        second: list[Entry] = []
        log = RequestLog(first.extend, second.extend)
        for number in range(3):
            log.add(entry(number))
        log.drain()
        log.drain()
        assert [each.request_id for each in first] == ["req_0", "req_1", "req_2"]
        assert first == second

    def test_a_sink_that_fails(self) -> None:
        """The others get theirs all the same, and so does it the next time."""
        kept: list[Entry] = []
        failures = 0

        def fail(_: Sequence[Entry]) -> None:
            nonlocal failures
            failures += 1
            raise RuntimeError("disk full")

        log = RequestLog(fail, kept.extend)
        for number in range(2):
            log.add(entry(number))
            log.drain()
        assert (failures, len(kept)) == (2, 2)

    def test_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nobody drains, the oldest are dropped and counted; adding never fails."""
        monkeypatch.setattr("refdesk.gateway.log._WAITING", 20_000)
        log = RequestLog()
        for number in range(20_003):
            log.add(entry(number))
        assert log.dropped == 3

    async def test_close(self) -> None:
        """What waits at the end is still handed over."""
        kept: list[Entry] = []
        log = RequestLog(kept.extend)
        log.start()
        log.add(entry(1))
        await log.close()
        assert len(kept) == 1


async def check(
    desk: Desk, wire: str, reason: str, *, release: asyncio.Event | None = None
) -> None:
    """Ask, and see the reason in the header, the store's log and the metrics."""
    desk.upstream.will(whole(answers(wire)))
    body = asks(wire)

    response = await desk.ask(wire)

    assert response.status_code == 200
    assert response.headers["x-refdesk-search"] == f"degraded; reason={reason}"
    assert response.json() == answers(wire)
    assert [seen.json for seen in desk.upstream.seen] == [body]
    if release is not None:
        release.set()
    await desk.last()
    counted = f'refdesk_search_outcomes_total{{outcome="degraded",reason="{reason}"}} 1.0'
    assert counted in desk.metrics()
    assert desk.store.writer.drain(5)
    (record,) = [
        each.record for each in desk.store.requests.list(limit=5) if each.record.reason == reason
    ]
    assert record.notices


@pytest.mark.parametrize("wire", WIRES)
class TestReasons:
    """The reasons that hostile engines (test_bad_engines) do not bring about."""

    async def test_engine_quota(self, opened: OpenDesk, wire: str) -> None:
        """The account is empty."""
        engine = FakeEngine("fake", EngineError("fake is out of credit", outcome="no_credit"))
        async with opened(engine) as desk:
            await check(desk, wire, "engine_quota")

    async def test_target_blocked(self, opened: OpenDesk, wire: str) -> None:
        """Its address is one that may not be connected to."""
        engine = FakeEngine("fake", EngineError("it is 169.254.169.254", outcome="blocked"))
        async with opened(engine) as desk:
            await check(desk, wire, "target_blocked")

    async def test_no_engine(self, opened: OpenDesk, wire: str) -> None:
        """There is none, or none that is enabled."""
        async with opened(FakeEngine("fake", enabled=False)) as desk:
            await check(desk, wire, "no_engine")

    async def test_no_results(self, opened: OpenDesk, wire: str) -> None:
        """It answered, and had nothing."""
        async with opened(FakeEngine("fake", WebPage())) as desk:
            await check(desk, wire, "no_results")

    async def test_queue_timeout(self, opened: OpenDesk, wire: str) -> None:
        """All places are taken, and none became free in time."""
        go = asyncio.Event()
        engine = FakeEngine("fake", go, page("https://a.example/"))
        bounds = {"concurrency": 1, "queue_timeout_ms": 30}
        async with opened(engine, gateway={"search": bounds}) as desk:
            first = asyncio.create_task(desk.ask(wire, text="another question"))
            await engine.script.started.wait()
            await check(desk, wire, "queue_timeout", release=go)
            assert (await first).headers["x-refdesk-search"].startswith("gateway;")

    async def test_budget_exceeded(self, opened: OpenDesk, wire: str) -> None:
        """The first engine failed, and what was left of the budget was too little."""
        engines = [
            FakeEngine("one", HANG, priority=2),
            FakeEngine("two", HANG, priority=1),
        ]
        bounds = {"engine_timeout_ms": 10_000, "budget_ms": 60}
        async with opened(*engines, gateway={"search": bounds}) as desk:
            await check(desk, wire, "budget_exceeded")

    async def test_memory_pressure(self, opened: OpenDesk, wire: str) -> None:
        """This process holds more than it may; the request itself goes on."""
        async with opened(gateway={"search": {"memory_limit_mb": 1}}) as desk:
            await check(desk, wire, "memory_pressure")

    async def test_injection_failed(self, opened: OpenDesk, wire: str) -> None:
        """Not one result fits under the cap."""
        async with opened(gateway={"search": {"max_injected_chars": 50}}) as desk:
            await check(desk, wire, "injection_failed")


SECRETS = {
    "client": "rdk_canary0client0000000000",
    "upstream": UPSTREAM_KEY,
    "query": "sk-canary0in0the0question0000",
}


async def test_secrets_show_nowhere(opened: OpenDesk, desk_folder: Path, logged: list[Any]) -> None:
    """R6: marked keys are in no answer, log line, metric or database file."""
    async with opened() as desk:
        replies = [
            whole(answers("messages")),
            whole({"error": {"message": "no"}}, 401),
            [],
        ]
        seen: list[str] = []
        for wire in WIRES:
            for reply in replies:
                desk.upstream.will(reply or b"nonsense\r\n\r\n")
                response = await desk.post(
                    {"messages": "/v1/messages", "chat": "/v1/chat/completions"}.get(
                        wire, "/v1/responses"
                    ),
                    asks(wire, text=f"{QUESTION} {wire} {len(seen)} {SECRETS['query']}"),
                    authorization=f"Bearer {SECRETS['client']}",
                    x_api_key=SECRETS["client"],
                )
                seen.append(response.text + str(response.headers))
        await desk.last()
        seen += [desk.metrics(), str(logged), str(desk.entries), repr(desk.application.config)]
        queries = [query.text for query in desk.engine.queries]
        assert len(queries) == len(replies) * len(WIRES)
        assert desk.store.writer.drain(5)
        requests = b"".join(each.raw for each in desk.upstream.seen)
    files = b"".join(path.read_bytes() for path in (desk_folder / "data").iterdir())

    for name, secret in SECRETS.items():
        assert all(secret not in text for text in seen), name
        assert secret.encode() not in files, name
        assert all(secret not in query for query in queries), name
    assert SECRETS["client"].encode() not in requests
    assert requests.count(UPSTREAM_KEY.encode()) == len(replies) * len(WIRES)


async def test_queries_are_kept_only_where_wanted(opened: OpenDesk, desk_folder: Path) -> None:
    """`store_queries: false`: the question is in no record and no log."""
    async with opened(privacy={"store_queries": False}) as desk:
        desk.upstream.will(whole(answers("messages")))
        await desk.ask("messages", text="a most private question")
        await desk.last()
        assert desk.store.writer.drain(5)
        assert desk.store.requests.list(limit=1)[0].record.query is None
    files = b"".join(path.read_bytes() for path in (desk_folder / "data").iterdir())
    assert b"most private" not in files


class TestLogin:
    """Client keys, in whichever header they come."""

    @pytest.mark.parametrize("wire", WIRES)
    async def test_required(self, opened: OpenDesk, wire: str) -> None:
        """Without a valid key: 401 in the wire's shape, and nothing is done."""
        async with opened(auth={"required": True}) as desk:
            for headers in ({}, {"x_api_key": "' OR 1=1--"}, {"authorization": "Bearer rdk_x"}):
                response = await desk.post(
                    "/v1/messages" if wire == "messages" else "/v1/chat/completions",
                    asks(wire),
                    **headers,
                )
                assert response.status_code == 401
                assert "keys create" in response.json()["error"]["message"]
                assert "OR 1=1" not in response.text
            assert desk.upstream.seen == []
            assert desk.engine.queries == []
            assert (await desk.client.get("/v1/models")).status_code == 401
            assert (await desk.client.get("/livez")).status_code == 200

    @pytest.mark.parametrize(
        ("header", "prefix"),
        [("authorization", "Bearer "), ("x_api_key", ""), ("x_goog_api_key", "")],
    )
    async def test_each_header(self, opened: OpenDesk, header: str, prefix: str) -> None:
        """A key is a key whichever header carries it; the log knows its id, nobody its text."""
        async with opened(auth={"required": True}) as desk:
            secret, made = await asyncio.to_thread(desk.store.keys.create, "tester")
            await asyncio.to_thread(desk.application.keys.reload)
            desk.upstream.will(whole(answers("chat")))
            response = await desk.post(
                "/v1/chat/completions", asks("chat", search=False), **{header: prefix + secret}
            )
            assert response.status_code == 200
            assert (await desk.last()).key_id == made.id
            assert secret.encode() not in desk.upstream.seen[0].raw


async def test_log_lines_are_json(desk: Desk, logged: list[Any]) -> None:
    """Every line can be written as JSON, whatever the client sent."""
    desk.upstream.will(whole(answers("messages")))
    body = json.dumps(asks("messages") | {"model": "\ud800\x00 m"}).encode()
    await desk.post("/v1/messages", body, x_request_id="a\tb")
    await desk.last()
    for line in logged:
        json.dumps({key: str(value) for key, value in line.items()}).encode()
    assert desk.store.writer.drain(5)
