"""HTTP as hostile clients speak it (catalogue of bad inputs, section B), on raw sockets."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest

from desk import PATHS, UPSTREAM_KEY, WIRES, Desk, answers, asks, whole
from refdesk.gateway import client, protocol

BODY = json.dumps(asks("chat", search=False)).encode()
PATH = "/v1/chat/completions"


def head(*lines: str, start: str = f"POST {PATH} HTTP/1.1", host: str = "host: localhost") -> bytes:
    """A request's head from its lines."""
    return "\r\n".join([start, *([host] if host else []), *lines, "", ""]).encode("latin-1")


def status(answer: bytes) -> int:
    """The status of a raw answer."""
    return int(answer.split(b" ", 2)[1])


class TestSlow:
    """B1: who is slow is cut off, and delays nobody."""

    async def test_header(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A head that does not come to its end is closed after the limit."""
        monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", 0.05)

        for sent in (b"", b"POST /v1/mess", head()[:-4]):
            assert await desk.raw(sent) == b""

    async def test_second_header(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """The limit holds for later requests of a connection as well."""
        monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", 0.05)

        answer = await desk.raw(head(start="GET /livez HTTP/1.1") + b"GET /livez HT")

        assert status(answer) == 200
        assert answer.count(b"HTTP/1.1") == 1

    async def test_body(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A body that does not come to its end is answered with 408, and closed."""
        monkeypatch.setattr(client, "BODY_TIMEOUT_S", 0.05)
        monkeypatch.setattr(client, "LINGER_S", 0.05)

        answer = await desk.raw(head("content-length: 100") + b"{")

        assert status(answer) == 408
        assert b"connection: close" in answer
        assert "did not arrive" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]

    async def test_many(self, desk: Desk) -> None:
        """Two hundred half-sent heads do not hold up an honest request."""
        desk.upstream.will(whole(answers("chat")))
        slow = [await asyncio.open_connection(desk.host, desk.port) for _ in range(200)]
        for _, writer in slow:
            writer.write(b"POST /v1/messages HTTP/1.1\r\nx-slow: ")
        await asyncio.gather(*(writer.drain() for _, writer in slow))
        await desk.post(PATH, BODY)

        started = asyncio.get_running_loop().time()
        response = await desk.post(PATH, BODY)

        # 50 ms are allowed on top of what one takes anyway, on a machine that does other things.
        assert asyncio.get_running_loop().time() - started < 0.3
        assert response.status_code == 200
        for _, writer in slow:
            writer.close()


class TestFraming:
    """B2: a request has one length, or none is taken."""

    @pytest.mark.parametrize(
        "lines",
        [
            ("content-length: 3", "content-length: 4"),
            ("content-length: +3",),
            ("content-length: -3",),
            ("content-length: 3 3",),
            ("content-length: 0x3",),
            ("transfer-encoding: gzip, chunked, identity",),
            ("x-a: a\r\n b",),
            ("x-a: a\0b",),
            ("x-a : b",),
            ("x a: b",),
            (": b",),
        ],
        ids=repr,
    )
    async def test_refused(self, desk: Desk, lines: tuple[str, ...]) -> None:
        """Two lengths, odd lengths, folded lines and NUL are refused, and the connection closed."""
        length = () if any("content-length" in line for line in lines) else ("content-length: 3",)

        answer = await desk.raw(head(*lines, *length) + b"{}\n" + head(start="GET /livez HTTP/1.1"))

        assert status(answer) == 400
        assert answer.count(b"HTTP/1.1") == 1
        assert desk.upstream.seen == []

    async def test_bare_line_feeds(self, desk: Desk) -> None:
        """Lines that end in LF alone make no request, or exactly the one that they look like."""
        answer = await desk.raw(b"POST " + PATH.encode() + b" HTTP/1.1\nhost: x\n\n")

        assert status(answer) == 400

    async def test_length_and_chunked(self, desk: Desk) -> None:
        """Both at once are never two requests out of one, and never go on with both."""
        desk.upstream.will(whole(answers("chat")))
        smuggled = head("content-length: 2", start="POST /v1/models HTTP/1.1") + b"{}"
        chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)

        answer = await desk.raw(
            head(f"content-length: {len(chunked)}", "transfer-encoding: chunked")
            + chunked
            + smuggled
        )

        assert answer.count(b"HTTP/1.1 ") == 1
        assert status(answer) in (200, 400)
        for seen in desk.upstream.seen:
            assert seen.header("transfer-encoding") is None
            assert seen.header("content-length") == str(len(BODY))

    @pytest.mark.parametrize("size", [70_000, 300_000])
    async def test_long_header(self, desk: Desk, size: int) -> None:
        """A header line without measure is 431."""
        answer = await desk.raw(head("x-long: " + "a" * size, "content-length: 2") + b"{}")

        assert status(answer) == 431

    @pytest.mark.parametrize("wire", WIRES)
    async def test_many_headers(self, desk: Desk, wire: str) -> None:
        """So are two hundred lines, in the wire's own shape."""
        lines = [f"x-{number}: a" for number in range(250)]

        answer = await desk.raw(desk.http("POST", "/v1" + PATHS[wire], b"{}", *lines))

        assert status(answer) == 431
        error = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert "200" in error["error"]["message"]
        assert ("request_id" in error) == (wire == "messages")


class TestForwardedHeaders:
    """B3: which headers go on."""

    async def test_what_stays_here(self, desk: Desk) -> None:
        """Logins, cookies, hop-by-hop and named headers, and where the client sits, stay."""
        desk.upstream.will(whole(answers("chat")))
        token, _ = await asyncio.to_thread(desk.store.keys.create, "team")
        await asyncio.to_thread(desk.application.keys.reload)
        lines = (
            f"x-api-key: {token}",
            "connection: authorization, x-named, close",
            "x-named: a",
            "authorization: Bearer client-secret-2",
            "x-goog-api-key: client-secret-3",
            "api-key: client-secret-4",
            "proxy-authorization: Basic client-secret-5",
            "cookie: a=client-secret-6",
            "forwarded: for=127.0.0.1",
            "x-forwarded-for: 127.0.0.1",
            "x-real-ip: 127.0.0.1",
            "te: trailers",
            "keep-alive: timeout=5",
            "origin: https://evil.example",
            "x-kept: yes",
            "user-agent: tester",
            f"content-length: {len(BODY)}",
        )

        assert status(await desk.raw(head(*lines) + BODY)) == 200

        seen = desk.upstream.seen[0]
        names = sorted(name.decode() for name, _ in seen.headers)
        assert names == sorted(
            ["host", "accept-encoding", "authorization", "content-length", "x-kept", "user-agent"]
        )
        assert seen.header("authorization") == f"Bearer {UPSTREAM_KEY}"
        assert b"client-secret" not in seen.raw
        assert token.encode() not in seen.raw

    async def test_a_target_of_the_clients_choice(self, desk: Desk) -> None:
        """I5: nothing a client sends changes where its request goes."""
        desk.upstream.will(whole(answers("chat")))
        body = asks("chat", search=False) | {"api_base": "http://evil", "base_url": "http://evil"}

        await desk.post(PATH, body, x_custom_host="evil", x_target_url="evil")

        assert desk.upstream.seen[0].header("host") == desk.upstream.url.removeprefix("http://")


class TestPaths:
    """B4: what is allowed is decided on the path that is routed."""

    @pytest.mark.parametrize(
        ("target", "expected"),
        [
            ("//v1/messages", 404),
            ("/v1/../console", 404),
            ("/v1/%2e%2e/metrics", 404),
            ("/v1/messages/", 404),
            ("/v1/messages/../models", 404),
            ("/V1/messages", 404),
            ("/v1/messages%00", 404),
            ("/v1/messages%0d%0ax-a:b", 404),
            ("/v1/messages;x=1", 404),
            ("/v1/nonsense", 404),
        ],
    )
    async def test_not_served(self, desk: Desk, target: str, expected: int) -> None:
        """Spellings of a path that are not the path are 404, and say what is served."""
        answer = await desk.raw(desk.http("POST", target, BODY))

        assert status(answer) == expected
        assert "/v1/messages" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]
        assert answer.lower().count(b"x-a:b\r\n") == 0

    @pytest.mark.parametrize(
        "host", ["", "host: good?x=/console", "host: a/b", "host: a@b", "host: "]
    )
    async def test_odd_hosts(self, desk: Desk, host: str) -> None:
        """A host that is no name of this server is refused, and never goes on."""
        desk.upstream.will(whole(answers("chat")))
        lines = ("connection: close", f"content-length: {len(BODY)}")

        answer = await desk.raw(head(*lines, host=host) + BODY)

        assert status(answer) in (400, 403)
        assert desk.upstream.seen == []

    @pytest.mark.parametrize(
        "start",
        [
            f"POST http://other.example{PATH} HTTP/1.1",
            "CONNECT other.example:443 HTTP/1.1",
            "OPTIONS * HTTP/1.1",
            "GET /v1/messages HTTP/1.1",
            "TRACE / HTTP/1.1",
            "POST /v1/\xff HTTP/1.1",
            "POST  /v1/messages HTTP/1.1",
            "POST /v1/messages HTTP/9.9",
            "\x16\x03\x01\x02\x00",
            "PRI * HTTP/2.0",
        ],
        ids=repr,
    )
    async def test_odd_request_lines(self, desk: Desk, start: str) -> None:
        """Whatever the first line is, the answer is one of ours and no failure."""
        answer = await desk.raw(
            head("connection: close", "content-length: 0", start=start), close=True
        )

        assert status(answer) in (400, 404, 405)
        assert desk.upstream.seen == []


class TestBodies:
    """B5, B6: encoded bodies, and values that would split a header."""

    async def test_encoded(self, desk: Desk) -> None:
        """B5: an encoded body is not opened at all; 415 says how to send it."""
        response = await desk.post(
            "/v1/messages", gzip.compress(b"0" * 1_000_000), content_encoding="gzip"
        )

        assert response.status_code == 415
        assert "gzip" in response.json()["error"]["message"]

    async def test_split_headers(self, desk: Desk) -> None:
        """B6: what is copied into a header cannot end it: ids, and what an upstream sends."""
        desk.upstream.will(whole(answers("chat"), x_odd="a\x0bb\x7f", x_ok="é"))
        body = asks("chat", search=False) | {"user": "a\r\nx-evil: 1", "model": "m\r\nx-evil: 1"}

        response = await desk.post(PATH, body, x_request_id="a\tb")

        assert response.status_code in (200, 502)
        assert "x-evil" not in response.headers

    async def test_odd_statuses(self, desk: Desk) -> None:
        """A status that no standard knows is passed on, or told as what it is; it is no fault."""
        for code in (299, 451, 599, 600, 999):
            desk.upstream.will(whole({"a": 1}, code))
            response = await desk.post(PATH, BODY)
            assert response.status_code in (code, 502)


class TestPages:
    """The small pages beside the model routes."""

    async def test_home(self, desk: Desk) -> None:
        """HEAD / answers 200 without a body, as Claude Code asks before it starts."""
        response = await desk.client.head("/")

        assert response.status_code == 200
        assert response.content == b""

    async def test_health(self, desk: Desk) -> None:
        """It lives and is ready; while it stops, it lives and is not."""
        assert (await desk.client.get("/livez")).status_code == 200
        assert (await desk.client.get("/readyz")).status_code == 200
        desk.application.stopping = True
        assert (await desk.client.get("/livez")).status_code == 200
        assert (await desk.client.get("/readyz")).status_code == 503

    async def test_models(self, desk: Desk) -> None:
        """Models are listed in either shape, and found by name, alias rules included."""
        openai = (await desk.client.get("/v1/models")).json()
        assert openai["object"] == "list"
        assert [model["id"] for model in openai["data"]] == ["m"]

        headers = {"anthropic-version": "2023-06-01"}
        anthropic = (await desk.client.get("/models", headers=headers)).json()
        assert anthropic["data"][0]["type"] == "model"
        assert (anthropic["first_id"], anthropic["last_id"], anthropic["has_more"]) == (
            "m",
            "m",
            False,
        )
        one = (await desk.client.get("/v1/models/m", headers=headers)).json()
        assert one["display_name"] == "m"

    @pytest.mark.parametrize(
        "path",
        ["/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions", "/v1/responses"],
    )
    async def test_wrong_method(self, desk: Desk, path: str) -> None:
        """405 names the method that is served, in the wire's own shape."""
        response = await desk.client.get(path)

        assert response.status_code == 405
        assert response.headers["allow"] == "POST"
        assert "x-request-id" in response.headers
        body = response.json()
        assert ("request_id" in body) == ("messages" in path)
        assert "POST" in body["error"]["message"]


@pytest.mark.parametrize("wire", WIRES)
async def test_expect_continue(desk: Desk, wire: str) -> None:
    """A client that waits for leave to send its body gets it."""
    desk.upstream.will(whole(answers(wire)))
    body = json.dumps(asks(wire, search=False)).encode()
    reader, writer = await asyncio.open_connection(desk.host, desk.port)
    writer.write(
        head(
            "expect: 100-continue",
            f"content-length: {len(body)}",
            start=f"POST /v1{PATHS[wire]} HTTP/1.1",
        )
    )
    async with asyncio.timeout(5):
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(body)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    writer.close()


async def test_pipelined_requests(desk: Desk) -> None:
    """Requests sent at once are answered one after the other, in order."""
    desk.upstream.will(whole(answers("chat", "first")), whole(answers("chat", "second")))
    one = head(f"content-length: {len(BODY)}") + BODY

    answer = await desk.raw(one + desk.http("POST", PATH, BODY))

    assert answer.index(b"first") < answer.index(b"second")
    assert [seen.body for seen in desk.upstream.seen] == [BODY, BODY]
