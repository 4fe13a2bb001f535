"""
Hostile requests of five kinds, made from a seed: bodies, connections, documents, filters, keys.

    python attacks.py PORT SECONDS SEED KEY [KEY …]

Sends them to a server on loopback until the time is over, sixteen at once, and prints what came
back as one line of JSON: counts by kind and status, and the answers that are faults of the server.
"""

from __future__ import annotations

import asyncio
import base64
import collections
import io
import json
import os
import random
import sys
import time
import zipfile
from collections.abc import Callable
from typing import Any, Final

AT_ONCE: Final = 16
MODEL_PATHS: Final = (
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/chat/completions",
    "/v1/responses",
)
ANSWER_S: Final = 30.0

Attack = tuple[str, bytes, float]
"""What it is, the bytes to send, and how long to wait between their halves (0: sent at once)."""


class Attacks:
    """
    Makes hostile requests.

    Args:
        seed: Decides all of them.
        keys: Valid client keys, used in some of them.
    """

    def __init__(self, seed: int, keys: list[str]) -> None:
        self._random = random.Random(seed)
        self._keys = keys

    def next(self) -> Attack:
        """Return the next request."""
        kinds: list[Callable[[], Attack]] = [
            self._body,
            self._body,
            self._connection,
            self._document,
            self._filter,
            self._key,
        ]
        return self._random.choice(kinds)()

    # Bodies

    def _body(self) -> Attack:
        draw = self._random
        n = draw.choice([100, 3_000, 50_000, 400_000])
        texts = [
            "sk-" * n,
            "请你能不能" * (n // 5),
            "1" * n,
            "[1](" * n,
            "``a`" * n,
            "<" * n,
            "<system-reminder>" * (n // 10),
            "a@" * n,
            "‮​" * n,
            "\ud800" * min(n, 1000),
            "password: " * (n // 10),
            " ".join(str(draw.random()) for _ in range(n // 10)),
        ]
        text = draw.choice(texts)
        path = draw.choice(MODEL_PATHS)
        user: Any = {"role": "user", "content": text}
        assistant = {"role": "assistant", "content": text}
        search = {
            "tools": [{"type": "web_search_20250305", "name": "web_search"}]
            if "messages" in path
            else [{"type": "web_search"}],
            "web_search_options": {},
        }
        field = "input" if path.endswith("responses") else "messages"
        shapes: list[Any] = [
            {field: [user], **search},
            {field: [user, assistant, {"role": "user", "content": "again?"}], **search},
            {field: [{"role": "user", "content": "x"}] * min(n, 100_000), **search},
            {field: [{"role": "user", "content": [{"type": "text", "text": "x"}] * n}], **search},
            {field: [user], "metadata": {str(i): i for i in range(min(n, 200_000))}},
            {field: [user], "model": "m" * n},
            {field: [user], "model": f"model-{draw.random()}", "max_tokens": -1, **search},
            {field: [user], "x": [[]] * n},
        ]
        body = json.dumps({"model": "m", "max_tokens": 9} | draw.choice(shapes)).encode()
        raw = [
            body,
            body,
            body,
            b"[" * n,
            b'{"a":' * n,
            b'{"messages":' + b"1" * n + b"}",
            b'{"model": "m", "temperature": ' + b"9" * n + b"}",
            b"\xff\xfe" + body,
            body[:-5],
            b"",
        ]
        return f"body {path}", request("POST", path, draw.choice(raw)), 0.0

    # Connections

    def _connection(self) -> Attack:
        draw = self._random
        plain = request("POST", "/v1/messages", b'{"model":"m"}')
        wait = draw.uniform(0.1, 12.0)
        choices: list[tuple[str, bytes, float]] = [
            ("half a head", plain[:40], wait),
            ("half a body", plain[:-5], wait),
            ("an unknown path and a byte", request("POST", "/nowhere", b"x" * 100)[:-99], wait),
            ("a line end after a request", request("GET", "/livez", b"") + b"\r\n", wait),
            ("long headers", b"GET /livez HTTP/1.1\r\nx: " + b"a" * 300_000 + b"\r\n\r\n", 0),
            ("many headers", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5_000 + b"\r\n", 0),
            (
                "an upgrade",
                request("POST", "/v1/messages", plain, connection="upgrade", upgrade="h2c"),
                0,
            ),
            ("pipelined", request("GET", "/v1/models", b"") * 200, 0),
            ("chunks", _chunked(draw.choice([1, 100, 5_000])), 0),
            ("noise", draw.randbytes(2_000), 0),
            (
                "two lengths",
                b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 9\r\n\r\n",
                0,
            ),
        ]
        name, data, pause = draw.choice(choices)
        return f"connection {name}", data, pause

    # Documents

    def _document(self) -> Attack:
        draw = self._random
        n = draw.choice([10, 1_000, 20_000])
        files: list[tuple[str, bytes]] = [
            ("wide.csv", (",".join("h" * 20 for _ in range(n)) + "\n").encode() + b"1,2\n" * 50),
            ("cell.csv", b'a,b\n"' + b"x " * (n * 10) + b'",1\n'),
            ("heads.md", b"# h\n" * n),
            ("deep.md", b"> " * n + b"x"),
            ("deep.html", b"<div>" * n + b"x"),
            ("deep.json", b"[" * n),
            ("bomb.docx", _zip({"word/document.xml": b"<a>" + b" " * (n * 2_000)})),
            ("xxe.docx", _zip({"word/document.xml": _XXE, "[Content_Types].xml": _XXE})),
            ("many.zip", _zip({f"{i}.txt": b"x" for i in range(min(n, 3_000))})),
            ("broken.pdf", b"%PDF-1.7\n" + b"1 0 obj<</Kids[1 0 R]/Type/Pages>>endobj\n" * n),
            ("noise.xlsx", b"PK\x03\x04" + draw.randbytes(2_000)),
            ("../../etc/passwd", b"x"),
            ("a\u202etxt.md", "‮evil".encode() * n),
        ]
        name, content = draw.choice(files)
        edge = b"refdesk-edge"
        body = (
            b"--" + edge + b'\r\nContent-Disposition: form-data; name="file"; filename="'
            + name.encode() + b'"\r\n\r\n' + content + b"\r\n--" + edge + b"--\r\n"
        )  # fmt: skip
        kind = "multipart/form-data; boundary=refdesk-edge"
        path = "/api/v1/collections/hostile/documents"
        return f"document {name}", request("POST", path, body, content_type=kind), 0.0

    # Filters

    def _filter(self) -> Attack:
        draw = self._random
        n = draw.choice([10, 1_000, 40_000])
        filters: list[Any] = [
            {"a": list(range(n))},
            {"a": ["x" * 50] * n},
            {str(i): i for i in range(n)},
            {"a": "'" * n},
            {"a": {"b": {"c": "d"}}},
            {"a' OR 1=1 --": 1},
            [[]] * n,
        ]
        chosen = draw.choice(filters)
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "kb_search", "arguments": {"query": "x", "metadata": chosen}},
        }
        path, body = draw.choice(
            [
                ("/api/v1/collections/hostile/search", {"query": "x", "metadata": chosen}),
                ("/v1/search/kb:hostile", {"query": "x", "metadata": chosen}),
                ("/v1/search", {"query": ["x"] * n, "search_domain_filter": ["a.example"] * n}),
                ("/api/v1/databases/shop/ask", {"query": "how many orders " * (n // 100 + 1)}),
                ("/api/v1/databases/shop/lint", _deep(n)),
                ("/mcp", call),
            ]
        )
        return f"filter {path}", request("POST", path, json.dumps(body).encode()), 0.0

    # Keys

    def _key(self) -> Attack:
        draw = self._random
        forged = (
            "rdk_" + draw.randbytes(6).hex() + "_" + base64.b64encode(draw.randbytes(32)).decode()
        )
        key = draw.choice([forged, "x" * draw.choice([10, 5_000, 60_000]), "", *self._keys])
        name = draw.choice(["authorization", "x_api_key", "api_key", "x_goog_api_key"])
        value = f"Bearer {key}" if name == "authorization" else key
        mark = "rd1." + base64.urlsafe_b64encode(draw.randbytes(300)).decode()
        turn = {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "srvtoolu_rd" + "a" * 24, "name": "web_search",
                 "input": {"query": "x"}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_rd" + "a" * 24,
                 "content": [{"type": "web_search_result", "url": "https://a.example",
                              "title": "t", "encrypted_content": mark}] * 50},
            ],
        }  # fmt: skip
        path, body = draw.choice(
            [
                ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": [turn] * 20}),
                ("/v1/search", {"query": "x"}),
                ("/v1/models", None),
                ("/metrics", None),
                ("/v1/references/req_00000000000000000000000000/1", None),
                (
                    "/api/v1/databases/shop/records/orders/" + "9" * draw.choice([1, 30, 5_000]),
                    None,
                ),
            ]
        )
        method = "GET" if body is None else "POST"
        data = b"" if body is None else json.dumps(body).encode()
        return f"key {path[:40]}", request(method, path, data, **{name: value}), 0.0


def request(
    method: str, path: str, body: bytes, *, content_type: str = "application/json", **headers: str
) -> bytes:
    """Return a request as bytes; header names are written with underscores."""
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", "x-mark: hostile"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body or method == "POST":
        lines += [f"content-type: {content_type}", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


_XXE: Final = (
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">'
    b'<!ENTITY f "' + b"x" * 100 + b'">]><a>&e;' + b"&f;" * 1_000 + b"</a>"
)


def _zip(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def _chunked(count: int) -> bytes:
    head = request("POST", "/v1/chat/completions", b"").replace(
        b"content-length: 0", b"transfer-encoding: chunked"
    )
    return head + b"1\r\n[\r\n" * count + b"0\r\n\r\n"


def _deep(n: int) -> Any:
    query: Any = {"from": "orders"}
    for _ in range(min(n, 300)):
        query = {"from": query}
    return query | {"select": ["id"] * n}


async def _send(
    port: int, attack: Attack, counts: collections.Counter[str], faults: list[str]
) -> None:
    name, data, pause = attack
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError as exc:
        counts[f"refused ({type(exc).__name__})"] += 1
        return
    status = "closed"
    try:
        writer.write(data)
        async with asyncio.timeout(ANSWER_S + pause):
            await asyncio.gather(writer.drain(), return_exceptions=True)
            first = await reader.read(64) if not pause else b""
            if pause:
                try:
                    async with asyncio.timeout(pause):
                        first = await reader.read(64)
                except TimeoutError:
                    status = "left"
        if first:
            status = first.split(b" ", 2)[1].decode("latin-1") if b" " in first else "?"
            rest = await asyncio.wait_for(reader.read(2_000), 5)
            if status.startswith("5") and status not in ("502", "503", "504"):
                faults.append(f"{name}: {(first + rest)[:600].decode('latin-1')}")
    except TimeoutError:
        status = "no answer"
        # A document is read after those before it; others are answered at once.
        if not pause and not name.startswith("document"):
            faults.append(f"{name}: no answer within {ANSWER_S:g} s")
    except OSError:
        status = "reset"
    finally:
        writer.transport.abort()
    counts[f"{name.split()[0]} {status}"] += 1


async def run(port: int, seconds: float, attacks: Attacks) -> dict[str, Any]:
    """Send attacks until the time is over; return what came back."""
    counts: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    until = time.monotonic() + seconds

    async def attack() -> None:
        while time.monotonic() < until:
            await _send(port, attacks.next(), counts, faults)

    await asyncio.gather(*(attack() for _ in range(AT_ONCE)))
    return {"counts": dict(sorted(counts.items())), "faults": faults[:50], "more": len(faults)}


def main() -> None:
    """Attack, behind the server and its quiet client where processors are short."""
    os.nice(10)
    port, seconds, seed = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(asyncio.run(run(port, seconds, Attacks(seed, sys.argv[4:])))))


if __name__ == "__main__":
    main()
