"""Calls to MCP servers over HTTP, to real servers of the official SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, ToolAnnotations

from mcp_peers import Answer, Peer, open_peer, over_http, served, text, tool
from refdesk.errors import DelegateError
from refdesk.mcp_client import Limits, McpServers, alias_of
from refdesk.uses import Uses

KEY = "canary-mcp-key-0123456789"


@contextlib.asynccontextmanager
async def connected(
    answers: dict[str, Answer],
    *,
    limits: Limits | None = None,
    headers: dict[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[McpServers, Peer]]:
    async with open_peer(answers, **options) as (peer, url):
        servers = McpServers({"notes": over_http(url, **(headers or {}))}, limits=limits)
        try:
            yield servers, peer
        finally:
            await servers.close()


@pytest.mark.parametrize("modern", [False, True])
async def test_delegate(modern: bool) -> None:
    """A step delegated to mcp:<server>.<tool> gets the payload; text that is JSON comes parsed."""
    async with connected({"kw.v2": text('{"keywords": ["a"]}')}, modern=modern) as (servers, peer):
        target = Uses.parse("mcp:notes.kw.v2")

        found = await servers.call(target, {"content": "x", "max_keywords": 3}, timeout_s=10)

        assert found == {"keywords": ["a"]}
        assert peer.calls == [("kw.v2", {"content": "x", "max_keywords": 3})]


async def test_one_session() -> None:
    """All calls to a server share one session, which is opened at the first one."""
    async with connected({"a": text("1"), "b": text("2")}) as (servers, peer):
        assert peer.headers == []

        answers = await asyncio.gather(
            *(servers.call_tool("notes", name, {}, timeout_s=10) for name in "abab")
        )

        assert [answer.text for answer in answers] == ["1", "2", "1", "2"]
        sessions = {seen.get("mcp-session-id") for seen in peer.headers} - {None}
        assert len(sessions) == 1


async def test_dead_session_is_healed() -> None:
    """A server that was started anew and answers 404 gets a new session, and the call once more."""
    async with connected({"a": text("1")}) as (servers, peer):
        await servers.call_tool("notes", "a", {}, timeout_s=10)
        await peer.start()

        answer = await servers.call_tool("notes", "a", {"n": 2}, timeout_s=10)

        assert answer.text == "1"
        assert peer.calls == [("a", {}), ("a", {"n": 2})]
        sessions = {seen.get("mcp-session-id") for seen in peer.headers} - {None}
        assert len(sessions) == 2


async def test_calls_at_once_heal_once() -> None:
    """Several calls that find their session dead share one new session."""
    async with connected({"a": text("1")}) as (servers, peer):
        await servers.call_tool("notes", "a", {}, timeout_s=10)
        await peer.start()

        calls = (servers.call_tool("notes", "a", {}, timeout_s=10) for _ in range(5))
        assert [answer.text for answer in await asyncio.gather(*calls)] == ["1"] * 5

        sessions = {seen.get("mcp-session-id") for seen in peer.headers} - {None}
        assert len(sessions) == 2


async def test_healed_only_once() -> None:
    """Where the new session is dead as well, the call fails: there is no third one."""
    initialized = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal initialized
        headers = dict(scope["headers"])
        body = (await receive())["body"]
        if b'"initialize"' in body:
            initialized += 1
            version = b'"protocolVersion":"2025-06-18"'
            answer = (
                b'{"jsonrpc":"2.0","id":%d,"result":{%b,"capabilities":{"tools":{}},'
                b'"serverInfo":{"name":"x","version":"1"}}}' % (_id_of(body), version)
            )
            kind = (b"content-type", b"application/json")
            status, extra = 200, [kind, (b"mcp-session-id", b"%d" % initialized)]
        elif b"notifications/" in body:
            status, extra, answer = 202, [], b""
        else:
            status, extra, answer = (404 if b"mcp-session-id" in headers else 400), [], b""
        await send({"type": "http.response.start", "status": status, "headers": extra})
        await send({"type": "http.response.body", "body": answer})

    async with served(app) as url:
        servers = McpServers({"notes": over_http(url)})
        with pytest.raises(DelegateError, match="'notes' answered 404"):
            await servers.call_tool("notes", "a", {}, timeout_s=10)
        await servers.close()

    assert initialized == 2


class Forgetful:
    """
    A server with sessions that answers as told once it has forgotten them.

    Args:
        status: Its answer to a session that it does not know.
        body: The same.
        kind: The body's type.
    """

    def __init__(self, status: int, body: bytes = b"", kind: bytes = b"text/plain") -> None:
        self.refusal = status, body, kind
        self.known: set[bytes] = set()
        self.opened = 0
        self.asked: list[bytes] = []
        """The session of each call of a tool."""
        self.held = asyncio.Event()
        """What a call of the tool ``slow`` waits for."""
        self.begun = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        session = dict(scope["headers"]).get(b"mcp-session-id")
        body = (await receive())["body"]
        status, answer, kind = await self._answer(session, body)
        headers = [(b"content-type", kind)]
        if b'"initialize"' in body:
            headers.append((b"mcp-session-id", b"s%d" % self.opened))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _answer(self, session: bytes | None, body: bytes) -> tuple[int, bytes, bytes]:
        kind = b"application/json"
        if b'"initialize"' in body:
            self.opened += 1
            self.known.add(b"s%d" % self.opened)
            told = (
                b'{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},'
                b'"serverInfo":{"name":"x","version":"1"}}'
            )
            return 200, b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (_id_of(body), told), kind
        if session is None:
            return 400, b"", kind
        if b'"tools/call"' in body:
            self.asked.append(session)
        if session not in self.known:
            return self.refusal
        if b"notifications/" in body:
            return 202, b"", kind
        if b'"slow"' in body:
            self.begun.set()
            await self.held.wait()
        told = b'{"content":[{"type":"text","text":"1"}]}'
        return 200, b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (_id_of(body), told), kind


REFUSED = b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"No."}}'


@pytest.mark.parametrize(
    "app",
    [
        Forgetful(400, b"Bad Request: No valid session ID provided"),
        Forgetful(400, b""),
        Forgetful(400, REFUSED, b"application/json"),
        Forgetful(404, b"Not Found"),
        Forgetful(410, b"Gone"),
        Forgetful(422, b"<html>no</html>", b"text/html"),
        Forgetful(401, b"unknown session"),
    ],
    ids=lambda app: f"{app.refusal[0]} {app.refusal[1][:12]!r}",
)
async def test_a_forgotten_session_is_healed_whatever_the_server_says(app: Forgetful) -> None:
    """A 4xx in a session that was good until then gets a new one, and the call once more."""
    async with served(app) as url:
        servers = McpServers({"notes": over_http(url)})
        first = await servers.call_tool("notes", "a", {}, timeout_s=10)
        app.known.clear()
        second = await servers.call_tool("notes", "a", {}, timeout_s=10)
        third = await servers.call_tool("notes", "a", {}, timeout_s=10)
        await servers.close()
    assert [first.text, second.text, third.text] == ["1", "1", "1"]
    assert app.asked == [b"s1", b"s1", b"s2", b"s2"]
    assert app.opened == 2


async def test_a_refused_call_is_made_twice_at_most() -> None:
    """Where the new session refuses it as well, the call fails with the status."""
    app = Forgetful(400, b"no")
    async with served(app) as url:
        servers = McpServers({"notes": over_http(url)})
        await servers.call_tool("notes", "a", {}, timeout_s=10)
        app.known = _Never()
        with pytest.raises(DelegateError, match="'notes' answered 400"):
            await servers.call_tool("notes", "a", {}, timeout_s=10)
        await servers.close()
    assert app.asked == [b"s1", b"s1", b"s2"]


class _Never(set[bytes]):
    """Sessions that are forgotten as they are made."""

    def __contains__(self, _: object) -> bool:
        return False


async def test_a_session_that_never_answered_is_not_opened_again() -> None:
    """What refuses the first call refuses that call, and no session was lost."""
    app = Forgetful(400, b"no")
    app.known = _Never()
    async with served(app) as url:
        servers = McpServers({"notes": over_http(url)})
        with pytest.raises(DelegateError):
            await servers.call_tool("notes", "a", {}, timeout_s=10)
        await servers.close()
    assert app.opened == 1


async def test_calls_under_way_are_not_ended_by_anothers_refusal() -> None:
    """The old session ends when its last call has, which is not made a second time."""
    app = Forgetful(400, b"no")
    async with served(app) as url:
        servers = McpServers({"notes": over_http(url)})
        await servers.call_tool("notes", "a", {}, timeout_s=10)
        slow = asyncio.create_task(servers.call_tool("notes", "slow", {}, timeout_s=10))
        await app.begun.wait()
        app.known.clear()
        assert (await servers.call_tool("notes", "a", {}, timeout_s=10)).text == "1"
        app.held.set()
        assert (await slow).text == "1"
        await servers.close()
    assert app.asked == [b"s1", b"s1", b"s1", b"s2"]


def _id_of(body: bytes) -> int:
    return int(json.loads(body)["id"])


async def test_failed_tool() -> None:
    """A result marked isError is an error that carries the tool's text, on one clean line."""
    async with connected({"a": text("no such\ncollection \x1b[31m'x'", error=True)}) as (
        servers,
        _,
    ):
        with pytest.raises(
            DelegateError, match=r"^the MCP tool notes\.a failed: no such collection \[31m'x'$"
        ):
            await servers.call_tool("notes", "a", {}, timeout_s=10)


@pytest.mark.parametrize("modern", [False, True])
async def test_error_of_the_protocol(modern: bool) -> None:
    """What a server refuses by an error of the protocol comes in its words, and ends nothing."""

    async def refuse(_: dict[str, Any]) -> CallToolResult:
        raise MCPError(INVALID_PARAMS, "no tool is called 'a'")

    async with connected({"a": refuse, "b": text("1")}, modern=modern) as (servers, peer):
        with pytest.raises(DelegateError, match=r"'notes' failed: no tool is called 'a'$"):
            await servers.call_tool("notes", "a", {}, timeout_s=10)
        assert (await servers.call_tool("notes", "b", {}, timeout_s=10)).text == "1"
        assert len(peer.calls) == 2


async def test_secrets_are_masked() -> None:
    """What a server echoes of the secrets sent to it does not reach an error; the server got it."""
    async with connected(
        {"a": text(f"bad key {KEY}", error=True)}, headers={"authorization": f"Bearer {KEY}"}
    ) as (servers, peer):
        with pytest.raises(DelegateError) as caught:
            await servers.call_tool("notes", "a", {}, timeout_s=10)

    assert KEY not in str(caught.value)
    assert "bad key ••••" in str(caught.value)
    assert peer.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("modern", [False, True])
async def test_time_out(modern: bool) -> None:
    """A tool that takes too long is given up on, and told to stop; the session lives on."""
    stopped = asyncio.Event()

    async def never(_: dict[str, Any]) -> CallToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    async with connected({"slow": never, "a": text("1")}, modern=modern) as (servers, _):
        await servers.call_tool("notes", "a", {}, timeout_s=10)
        with pytest.raises(DelegateError, match=r"'notes' did not answer within 0\.05 s"):
            await servers.call_tool("notes", "slow", {}, timeout_s=0.05)
        async with asyncio.timeout(5):
            await stopped.wait()

        assert (await servers.call_tool("notes", "a", {}, timeout_s=10)).text == "1"


@pytest.mark.parametrize("modern", [False, True])
async def test_cancelled(modern: bool) -> None:
    """Who is cancelled stops waiting at once, and the server stops working."""
    started, stopped = asyncio.Event(), asyncio.Event()

    async def never(_: dict[str, Any]) -> CallToolResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    async with connected({"slow": never}, modern=modern) as (servers, _):
        call = asyncio.create_task(servers.call_tool("notes", "slow", {}, timeout_s=60))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(5):
            await stopped.wait()


async def test_one_waiter_leaves() -> None:
    """Who gives up while the session is being opened does not take it from the others."""
    async with connected({"a": text("1")}) as (servers, _):
        first = asyncio.create_task(servers.call_tool("notes", "a", {}, timeout_s=10))
        second = asyncio.create_task(servers.call_tool("notes", "a", {}, timeout_s=10))
        await asyncio.sleep(0)
        first.cancel()

        assert (await second).text == "1"
        assert first.cancelled()


@pytest.mark.parametrize("modern", [False, True])
async def test_five_megabytes(modern: bool) -> None:
    """A large answer is cut at the limit and marked, and is not a reason to ask again."""
    async with connected({"a": text("x" * 5_000_000)}, modern=modern) as (servers, peer):
        answer = await servers.call_tool("notes", "a", {}, timeout_s=30)
        assert len(answer.text.encode()) == Limits().max_bytes
        assert answer.text.endswith("[cut: the first 524288 of 5000000 bytes are given]")
        assert peer.calls == [("a", {})]


@pytest.mark.parametrize("modern", [False, True])
async def test_too_large(modern: bool) -> None:
    """A message above its own cap is an error, read no further, and no reason to ask again."""
    async with connected(
        {"a": text("x" * 70_000), "b": text("1")},
        limits=Limits(max_message_bytes=50_000),
        modern=modern,
    ) as (servers, peer):
        with pytest.raises(DelegateError):
            await servers.call_tool("notes", "a", {}, timeout_s=10)

        assert peer.calls == [("a", {})]
        assert (await servers.call_tool("notes", "b", {}, timeout_s=10)).text == "1"


async def test_list_tools() -> None:
    """Tools of all pages are listed, with an alias for models, cleaned and bounded."""
    long = "search_" + "x" * 43
    tools = [
        tool("a", title="A\u202e", description="does\x07 a\nthing" + "!" * 100),
        tool(long, annotations=ToolAnnotations(read_only_hint=True)),
        tool("c"),
    ]
    async with connected({}, tools=tools, limits=Limits(max_tools=3, max_description_chars=30)) as (
        servers,
        peer,
    ):
        peer.page = 2
        listed = await servers.list_tools()

    assert [one.name for one in listed] == ["a", long, "c"]
    assert listed[0].alias == "notes__a"
    assert (listed[0].title, listed[0].description) == ("A", "does  a\nthing" + "!" * 17)
    assert listed[1].read_only
    assert servers.tool_called(listed[1].alias) is listed[1]
    assert servers.tool_called("notes__d") is None
    assert peer.methods == ["tools/list", "tools/list"]


async def test_endless_list() -> None:
    """A server that lists tools without end is left at the cap."""
    async with connected(
        {}, tools=[tool(f"t{n}") for n in range(100)], limits=Limits(max_tools=10)
    ) as (servers, peer):
        peer.page = 3
        assert len(await servers.list_tools("notes")) == 10
        assert len(peer.methods) == 4


async def test_wrong_key() -> None:
    """A server that answers 401 is named with the setting to look at, without the key."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with served(app) as url:
        servers = McpServers({"notes": over_http(url, authorization=KEY)})
        with pytest.raises(
            DelegateError, match=r"401 \(.*\); check mcp_servers\.notes\.headers"
        ) as caught:
            await servers.call_tool("notes", "a", {}, timeout_s=10)
        await servers.close()
    assert KEY not in str(caught.value)


async def test_unreachable_then_up() -> None:
    """A server that is down is an error with the remedy; when it is up, it is asked again."""
    peer = Peer({"a": text("1")})
    await peer.start()
    async with served(peer) as url:
        pass
    servers = McpServers({"notes": over_http(url)})
    with pytest.raises(DelegateError, match=r"cannot be reached .*check mcp_servers\.notes\.url"):
        await servers.call_tool("notes", "a", {}, timeout_s=10)

    async with served(peer, port=int(url.rsplit(":", 1)[1])):
        assert (await servers.call_tool("notes", "a", {}, timeout_s=10)).text == "1"
        await servers.close()
    await peer.stop()


async def test_unknown_server() -> None:
    """A server that is not configured is named, and those that are."""
    servers = McpServers({"notes": over_http("http://127.0.0.1:1/")})
    with pytest.raises(DelegateError, match="no MCP server is called 'note'; known: notes"):
        await servers.call(Uses.parse("mcp:note.a"), {}, timeout_s=1)
    with pytest.raises(DelegateError, match="'builtin' is no MCP tool"):
        await servers.call(Uses(), {}, timeout_s=1)


async def test_closed() -> None:
    """After closing nothing is left: no task of ours, no session at the server; calls fail."""
    async with open_peer({"a": text("1")}) as (peer, url):
        servers = McpServers({"notes": over_http(url)})
        await servers.call_tool("notes", "a", {}, timeout_s=10)
        assert _tasks_of_ours()
        assert peer.sessions == 1

        await servers.close()

        assert _tasks_of_ours() == []
        assert peer.sessions == 0
        with pytest.raises(DelegateError, match="was closed"):
            await servers.call_tool("notes", "a", {}, timeout_s=10)


def _tasks_of_ours() -> list[str]:
    files = [
        (task.get_name(), getattr(task.get_coro(), "cr_code", None)) for task in asyncio.all_tasks()
    ]
    return [
        name
        for name, code in files
        if code and ("/refdesk/" in code.co_filename or "/mcp/client/" in code.co_filename)
    ]


async def test_new_configuration() -> None:
    """With a new configuration, servers that stay keep their session; the others end."""
    async with (
        open_peer({"a": text("1")}) as (kept, kept_url),
        open_peer({"a": text("2")}) as (gone, gone_url),
        open_peer({"a": text("3")}) as (new, new_url),
    ):
        servers = McpServers({"kept": over_http(kept_url), "other": over_http(gone_url)})
        await servers.list_tools()
        alias = alias_of("other", "a")
        assert servers.tool_called(alias) is not None

        servers.configure({"other": over_http(new_url), "kept": over_http(kept_url)})

        assert servers.tool_called(alias) is None
        assert servers.tool_called(alias_of("kept", "a")) is not None
        assert (await servers.call_tool("other", "a", {}, timeout_s=10)).text == "3"
        assert (await servers.call_tool("kept", "a", {}, timeout_s=10)).text == "1"
        sessions = {seen.get("mcp-session-id") for seen in kept.headers} - {None}
        assert len(sessions) == 1
        await servers.close()
        assert (kept.sessions, gone.sessions, new.sessions) == (0, 0, 0)
