"""Upstreams that do not behave (catalogue of bad inputs, section D)."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from typing import Any

import pytest

from desk import (
    LAST_CHUNK,
    PATHS,
    SSE_HEAD,
    WIRES,
    Close,
    Desk,
    OpenDesk,
    Reset,
    Stall,
    answers,
    asks,
    chunk,
    event,
    events,
    sse,
    stream,
    whole,
)
from refdesk.gateway import client
from refdesk.gateway.app import WIRES as WIRE_OF
from refdesk.gateway.app import Settings
from refdesk.testing.fakes import FakeEngine, page

EARLY = {"search": {"head_after_ms": 1}}


def error_end(wire: str, body: bytes) -> str:
    """The message with which a stream ends the wire's own way, after which nothing follows."""
    *_, last = events(body)
    match wire:
        case "messages":
            assert last["type"] == "error"
            assert sum(each["type"] == "error" for each in events(body)) == 1
            return str(last["error"]["message"])
        case "chat":
            assert b"[DONE]" not in body
            before = [each for each in events(body)[:-1] if each.get("choices")]
            assert all(each["choices"][0]["finish_reason"] is None for each in before)
            return str(last["error"]["message"])
    numbers = [each["sequence_number"] for each in events(body)]
    assert numbers == list(range(len(numbers)))
    assert last["type"] == "response.failed"
    return str(last["response"]["error"]["message"])


class TestErrors:
    """D1: the upstream's own errors pass through."""

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("streamed", [False, True])
    @pytest.mark.parametrize("search", [False, True])
    async def test_as_they_came(self, desk: Desk, wire: str, streamed: bool, search: bool) -> None:
        """Status, body and the headers about waiting are the upstream's; nothing is added."""
        errors = [
            (400, b'{"error":{"message":"no"}}', "application/json"),
            (401, b"", "application/json"),
            (404, b"<html>not here</html>", "text/html"),
            (429, b'{"type":"error"}', "application/json"),
            (500, b"\xff\xfe", "application/octet-stream"),
            (529, b'data: {"error":1}\n\n', "text/event-stream"),
        ]
        for status, body, kind in errors:
            desk.upstream.will(
                whole(body, status, kind, retry_after="7", x_ratelimit_remaining="0")
            )
            response = await desk.ask(wire, search=search, stream=streamed)
            assert response.status_code == status
            assert response.content == body
            assert response.headers["content-type"] == kind
            assert response.headers["retry-after"] == "7"
            assert response.headers["x-ratelimit-remaining"] == "0"
        assert len(desk.upstream.seen) == len(errors)


class TestBrokenOff:
    """D2: streams that end too soon are ended the wire's own way, and logged."""

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("search", [False, True])
    @pytest.mark.parametrize("end", [Close(), Reset(), LAST_CHUNK], ids=["close", "reset", "end"])
    async def test_anywhere(self, desk: Desk, wire: str, search: bool, end: Any) -> None:
        """After the head only, after an event, inside one, and inside a character."""
        parts = stream(wire, "Am 7. Oktober 2025 – 北京 [1].")
        body = b"".join(parts)
        inside_character = body.index("北".encode("unicode_escape")[:3])
        cuts = [0, len(parts[0]), len(parts[0]) + 9, inside_character + 3, len(body) - 30]
        for cut in cuts:
            sent = [chunk(body[:cut])] if cut else []
            desk.upstream.will([SSE_HEAD, *sent, end])
            response = await desk.ask(wire, search=search, stream=True)
            assert response.status_code == 200
            assert error_end(wire, response.content)
            entry = await desk.last()
            assert entry.end == "upstream_cut"
            assert entry.error
        assert len(desk.upstream.seen) == len(cuts)

    @pytest.mark.parametrize("wire", WIRES)
    async def test_inside_a_raw_character(self, desk: Desk, wire: str) -> None:
        """The client's stream stays UTF-8 although the upstream's ended inside a character."""
        body = b"".join(stream(wire)).replace(b"October", "北京".encode())
        cut = body.index("北".encode()) + 1
        for search in (False, True):
            desk.upstream.will([SSE_HEAD, chunk(body[:cut]), Close()])
            response = await desk.ask(wire, search=search, stream=True)
            response.content.decode()
            assert error_end(wire, response.content)

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("search", [False, True])
    async def test_before_the_head(self, desk: Desk, wire: str, search: bool) -> None:
        """No answer at all is 502 in the wire's shape, after exactly one call."""
        for step in (Close(), Reset()):
            desk.upstream.seen.clear()
            desk.upstream.will([step])
            response = await desk.ask(wire, search=search, stream=True)
            assert response.status_code == 502
            assert "closed the connection" in response.json()["error"]["message"]
            assert len(desk.upstream.seen) == 1
            assert (await desk.last()).end == "upstream_cut"

    async def test_unreachable(self, desk: Desk) -> None:
        """Nobody listens: 502, and the message says which address."""
        address = desk.upstream.url.removeprefix("http://")
        await desk.upstream.stop()

        response = await desk.ask("chat")

        assert response.status_code == 502
        assert address in response.json()["error"]["message"]
        assert (await desk.last()).end == "upstream_unreachable"
        await desk.upstream.start()


class TestWaiting:
    """D3: a late first byte."""

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("search", [False, True])
    async def test_early_head(
        self, opened: OpenDesk, wire: str, search: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The head goes out early, pings follow in the wire's form, and then the answer."""
        monkeypatch.setattr(client, "PING_EVERY_S", 0.01)
        ping = WIRE_OF[wire].PING
        async with opened(gateway=EARLY) as desk:
            go = asyncio.Event()
            desk.upstream.will([go, *sse(b"".join(stream(wire)))])
            async with desk.client.stream(
                "POST", "/v1" + PATHS[wire], json=asks(wire, search=search, stream=True)
            ) as response:
                body = b""
                async for piece in response.aiter_raw():
                    body += piece
                    if body.count(ping) == 2:
                        go.set()
            assert (await desk.last()).end == ""
        assert body.startswith(ping * 2)
        if search:
            assert b"https://example.com/" in body
        else:
            assert body.replace(ping, b"") == b"".join(stream(wire))

    @pytest.mark.parametrize("wire", WIRES)
    async def test_pending(self, opened: OpenDesk, wire: str) -> None:
        """While the search still runs, the early head says that it does."""
        go = asyncio.Event()
        async with opened(
            FakeEngine("fake", go, page("https://a.example/")), gateway=EARLY
        ) as desk:
            desk.upstream.will(sse(b"".join(stream(wire))))
            async with desk.client.stream(
                "POST", "/v1" + PATHS[wire], json=asks(wire, stream=True)
            ) as response:
                assert response.headers["x-refdesk-search"] == "gateway; pending"
                assert "x-request-id" in response.headers
                go.set()
                body = await response.aread()
            assert b"https://a.example/" in body
            assert (await desk.last()).outcome.header().startswith("gateway; engine=fake")

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("search", [False, True])
    async def test_error_after_the_early_head(
        self, opened: OpenDesk, wire: str, search: bool
    ) -> None:
        """An error that comes after the head ends the stream, with the upstream's own words."""
        for late in (
            whole({"error": {"message": "overloaded, sorry"}}, 529),
            whole({"overloaded, sorry": 1}),
            Close(),
        ):
            async with opened(gateway=EARLY) as desk:
                go = asyncio.Event()
                desk.upstream.will([go, late])
                async with desk.client.stream(
                    "POST", "/v1" + PATHS[wire], json=asks(wire, search=search, stream=True)
                ) as response:
                    assert response.status_code == 200
                    go.set()
                    body = await response.aread()
                assert error_end(wire, body)
                if isinstance(late, bytes) and b"529" in late:
                    assert "overloaded, sorry" in error_end(wire, body)
                    assert (await desk.last()).status == 529


class TestWithoutEnd:
    """D4: answers that do not end."""

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("search", [False, True])
    async def test_silence(self, desk: Desk, wire: str, search: bool) -> None:
        """An upstream that falls silent is cut off, and the stream ended the wire's way."""
        desk.application.upstream.idle_timeout_s = desk.application.upstream.shortest_s = 0.05
        desk.upstream.will([SSE_HEAD, chunk(stream(wire)[0]), Stall()])

        response = await desk.ask(wire, search=search, stream=True)

        assert "sent nothing" in error_end(wire, response.content)
        assert (await desk.last()).end == "upstream_cut"
        await desk.upstream.until(lambda: desk.upstream.open == 0)

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("search", [False, True])
    async def test_for_ever(self, desk: Desk, wire: str, search: bool) -> None:
        """One that goes on and on is cut off as well."""
        desk.application.gateway.settings = Settings(longest_answer_s=0.1)
        desk.upstream.will([SSE_HEAD, chunk(stream(wire)[0]), Stall()])

        response = await desk.ask(wire, search=search, stream=True)

        assert "not complete after 0.1 s" in error_end(wire, response.content)
        await desk.upstream.until(lambda: desk.upstream.open == 0)

    async def test_whole(self, desk: Desk) -> None:
        """So is a whole answer that is dripped out."""
        desk.application.gateway.settings = Settings(longest_answer_s=0.1)
        desk.upstream.will([whole(answers("chat"))[:-5], Stall()])

        response = await desk.ask("chat", search=False)

        assert response.status_code == 504
        await desk.upstream.until(lambda: desk.upstream.open == 0)


class TestOddStreams:
    """D5, D7, D8: streams that are not as the books say."""

    @pytest.mark.parametrize("wire", WIRES)
    async def test_runaway_event(
        self, desk: Desk, wire: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """D5: an event without measure ends a searched stream; memory stays bounded."""
        monkeypatch.setattr("refdesk.wires.sse.MAX_EVENT_BYTES", 100_000)
        flood = chunk(b"data: " + b"x" * 60_000)
        desk.upstream.will([SSE_HEAD, chunk(stream(wire)[0]), flood, flood, flood, Stall()])

        response = await desk.ask(wire, stream=True)

        assert "100000 bytes" in error_end(wire, response.content)
        await desk.upstream.until(lambda: desk.upstream.open == 0)

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("ending", [b"\r\n", b"\r", b"\n"], ids=repr)
    @pytest.mark.parametrize("search", [False, True])
    async def test_line_ends(self, desk: Desk, wire: str, ending: bytes, search: bool) -> None:
        """D5: other line ends, comments, a BOM and a missing last blank line lose nothing."""
        body = b"\xef\xbb\xbf: hello\n\n" + b"".join(stream(wire)).rstrip(b"\n") + b"\n"
        body = body.replace(b"\n", ending)
        desk.upstream.will(sse(body, cut=11))

        response = await desk.ask(wire, search=search, stream=True)

        entry = await desk.last()
        if search:
            assert b"October" in response.content
            assert b"https://example.com/" in response.content
        else:
            assert response.content.startswith(body)
        if wire != "messages":
            # `message_stop` without its blank line is an event that a strict reader throws away.
            assert entry.end == ""

    async def test_a_great_many_events(self, desk: Desk) -> None:
        """D5: ten thousand tiny events arrive in order."""
        start, _, _, end = stream("chat")[0], *stream("chat")[1:]
        base = json.loads(start.removeprefix(b"data: "))

        def word(number: int) -> bytes:
            choice = {"index": 0, "delta": {"content": f"{number} "}, "finish_reason": None}
            return event(base | {"choices": [choice]})

        body = b"".join([start, *map(word, range(10_000)), stream("chat")[2], end])
        desk.upstream.will(sse(body, cut=50_000))

        response = await desk.ask("chat", stream=True)

        said = "".join(
            choice["delta"].get("content") or ""
            for each in events(response.content)
            for choice in each["choices"]
        )
        assert said == "".join(f"{number} " for number in range(10_000))

    async def test_odd_indexes(self, desk: Desk) -> None:
        """D7: repeated indexes, missing stops and unknown events pass; ours come once."""
        first, begin, delta, stop, *rest = stream("messages")
        odd = event({"type": "hologram", "index": 0, "x": 1})
        desk.upstream.will(
            sse(b"".join([first, odd, begin, delta, begin, delta, odd, stop, *rest]))
        )

        response = await desk.ask("messages", stream=True)

        found = events(response.content)
        kinds = [each["type"] for each in found]
        assert kinds.count("hologram") == 2
        blocks = [each["content_block"]["type"] for each in found if "content_block" in each]
        assert blocks.count("web_search_tool_result") == 1
        assert blocks.count("text") == 2

    async def test_its_own_search(self, desk: Desk) -> None:
        """D7: an upstream that searched by itself keeps its blocks; ours are not added twice."""
        body = answers("messages")
        own = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
        body["content"] = [own, result, *body["content"]]
        desk.upstream.will(whole(body))

        content = (await desk.ask("messages")).json()["content"]

        assert [block for block in content if block.get("id") == "srvtoolu_1"] == [own]
        assert result in content
        calls = [block["id"] for block in content if block["type"] == "server_tool_use"]
        assert len(calls) == len(set(calls))

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("usage", [None, "absent", {"input_tokens": "7"}, "many"], ids=repr)
    async def test_usage(self, desk: Desk, wire: str, usage: Any) -> None:
        """D8: whatever the usage is, the answer comes, and no token count is made up."""
        body = answers(wire)
        body.pop("usage", None)
        if usage != "absent":
            body["usage"] = usage
        desk.upstream.will(whole(body))

        response = await desk.ask(wire)

        assert response.status_code == 200
        told = response.json().get("usage")
        if isinstance(told, dict):
            assert told.get("input_tokens") == (usage if isinstance(usage, dict) else {}).get(
                "input_tokens"
            )
            assert "output_tokens" not in told


class TestKinds:
    """D6: bodies that are none, and encoded ones; test_forms.py has the other form."""

    @pytest.mark.parametrize("wire", WIRES)
    async def test_no_json_at_all(self, desk: Desk, wire: str) -> None:
        """A body that is none passes as it came, with a notice that the search is not in it."""
        for body in (b"", b"<html>", b"[]", b"null", b"\xff", b'{"content":5}'):
            desk.upstream.will(whole(body))
            response = await desk.ask(wire)
            assert response.status_code == 200
            if body != b'{"content":5}':
                assert response.content == body
                assert any("as it came" in each for each in (await desk.last()).outcome.notices)

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("search", [False, True])
    @pytest.mark.parametrize("streamed", [False, True])
    @pytest.mark.parametrize(("coding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
    async def test_compressed_unasked(
        self, desk: Desk, wire: str, search: bool, streamed: bool, coding: str, wbits: int
    ) -> None:
        """A compressed body that nobody asked for is understood all the same."""
        body = b"".join(stream(wire)) if streamed else json.dumps(answers(wire)).encode()
        head = SSE_HEAD if streamed else SSE_HEAD.replace(b"text/event-stream", b"application/json")
        coded = head.replace(b"\r\n\r\n", f"\r\ncontent-encoding: {coding}\r\n\r\n".encode())
        desk.upstream.will([coded, chunk(zlib.compress(body, wbits=wbits)), LAST_CHUNK])

        response = await desk.ask(wire, search=search, stream=streamed)

        assert desk.upstream.seen[0].header("accept-encoding") == "identity"
        assert b"October" in response.content
        assert (b"https://example.com/" in response.content) == search
        assert (await desk.last()).end == ""

    @pytest.mark.parametrize("wire", WIRES)
    async def test_compressed_and_cut(self, desk: Desk, wire: str) -> None:
        """A gzip stream that breaks off ends like any other; an unknown coding is refused."""
        body = gzip.compress(b"".join(stream(wire)))
        for coding, sent in (("gzip", body[: len(body) // 3]), ("gzip", b"no gzip"), ("br", body)):
            coded = SSE_HEAD.replace(
                b"\r\n\r\n", f"\r\ncontent-encoding: {coding}\r\n\r\n".encode()
            )
            desk.upstream.will([coded, chunk(sent), LAST_CHUNK])
            response = await desk.ask(wire, stream=True)
            if coding == "gzip":
                assert error_end(wire, response.content)
            else:
                assert response.status_code == 502
                assert "'br'" in response.json()["error"]["message"]


async def test_headers_that_stay_there(desk: Desk) -> None:
    """D9: cookies, hop-by-hop headers and stale lengths do not reach the client."""
    desk.upstream.will(
        whole(
            answers("messages"),
            set_cookie="a=1",
            strict_transport_security="max-age=1",
            keep_alive="timeout=5",
            x_refdesk_search="evil",
            server="theirs",
            x_kept="yes",
        )
    )

    response = await desk.ask("messages")

    assert response.headers["x-kept"] == "yes"
    assert not {"set-cookie", "strict-transport-security", "server"} & response.headers.keys()
    assert response.headers.get_list("x-refdesk-search") == ["gateway; engine=fake; results=1"]
    assert int(response.headers["content-length"]) == len(response.content)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streamed", [False, True])
async def test_unknown_citations(desk: Desk, wire: str, streamed: bool) -> None:
    """D10: a marker for no source, or a URL never searched, is text and no citation."""
    text = "See [9] and https://never.example/x."
    desk.upstream.will(
        sse(b"".join(stream(wire, text))) if streamed else whole(answers(wire, text))
    )

    response = await desk.ask(wire, stream=streamed)

    assert b"See [9] and https://never.example/x." in response.content
    assert b"url_citation" not in response.content
    assert b"web_search_result_location" not in response.content
    assert (await desk.last()).unknown_citations == 2
    assert "refdesk_citations_unknown_total 2.0" in desk.metrics()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_short_answer(desk: Desk, wire: str) -> None:
    """Every byte of the model's text arrives, also of one that is two letters long."""
    desk.upstream.will(sse(b"".join(stream(wire, "OK")), cut=3))

    response = await desk.ask(wire, stream=True)

    assert b'"OK"' in response.content.replace(b" ", b"")
