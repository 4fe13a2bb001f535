"""What clients send that is not as it should be (catalogue of bad inputs, section A)."""

from __future__ import annotations

import copy
import gc
import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desk import PATHS, QUESTION, WIRES, Desk, OpenDesk, answers, asks, whole
from refdesk.gateway.app import WIRES as WIRE_OF
from refdesk.gateway.exchange import (
    Answer,
    CallUpstream,
    Recall,
    Recalled,
    Search,
    SearchDone,
    Terms,
    UpstreamAnswered,
    exchange,
)
from refdesk.gateway.route import decide
from refdesk.testing.fakes import item
from refdesk.types import WebAnswer
from refdesk.wires.base import History
from refdesk.wires.document import Document

SECRET = b"canary"


def fault(wire: str, response: Any) -> str:
    """The message of an error in the wire's own shape, which is checked."""
    body = response.json()
    if wire == "messages":
        assert body["type"] == "error"
        assert body["request_id"] == response.headers["x-request-id"]
        assert body["error"]["type"]
    else:
        assert {"message", "type", "param", "code"} == body["error"].keys()
    return str(body["error"]["message"])


A1 = [
    b"",
    b"null",
    b"[]",
    b'"x"',
    b"{",
    b"{} {}",
    b'{"model":"m","messages":[],"input":[]}\0',
]
UTF16 = json.dumps({"model": "m"}).encode("utf-16")
A2 = [UTF16, b"\xef\xbb\xbf{}", b'{"model":"m\xff","messages":[]}']


class TestRefused:
    """Bodies that are no request: 400 in the wire's shape, and no call to the upstream."""

    @pytest.mark.parametrize("wire", WIRES)
    async def test_no_json_object(self, desk: Desk, wire: str) -> None:
        """A1, A2: whatever is not one JSON object in UTF-8 is named as such."""
        for body in (*A1, *A2):
            response = await desk.post("/v1" + PATHS[wire], body)
            assert response.status_code == 400, body
            assert fault(wire, response)
            assert "x-refdesk-search" in response.headers
        assert desk.upstream.seen == []

    async def test_where_it_is_broken(self, desk: Desk) -> None:
        """A2: an invalid byte is named with its place."""
        response = await desk.post("/v1/messages", A2[2])

        assert "byte 11 is 0xff" in fault("messages", response)

    @pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400"])
    async def test_numbers_that_are_none(self, desk: Desk, number: str) -> None:
        """A3: refused, or forwarded as received; never turned into null."""
        body = json.dumps(asks("chat", search=False)).encode()[:-1]
        body += b', "temperature": %b}' % number.encode()
        desk.upstream.will(whole(answers("chat")))

        response = await desk.post("/v1/chat/completions", body)

        if response.status_code == 200:
            assert desk.upstream.seen[0].body == body
        else:
            assert response.status_code == 400
            assert fault("chat", response)

    @pytest.mark.parametrize("key", ["model", "stream", "tools", "messages", "unknown"])
    @pytest.mark.parametrize("space", ["", " ", "\n"])
    async def test_a_key_given_twice(self, desk: Desk, key: str, space: str) -> None:
        """A4: the key is named; the gateway and the upstream cannot disagree about it."""
        body = json.dumps(asks("messages") | {"stream": False, "unknown": 1}).encode()[:-1]
        body += b',%b"%b":%b7}' % (space.encode(), key.encode(), space.encode())

        response = await desk.post("/v1/messages", body)

        assert response.status_code == 400
        assert repr(key) in fault("messages", response)
        assert desk.upstream.seen == []

    async def test_absurd_sizes(self, desk: Desk) -> None:
        """A6, A7: 5,000 digits, deep nesting and 200,000 keys are refused without much work."""
        bodies = [
            b'{"model":"m","messages":[],"x":%b}' % (b"1" * 5000),
            b'{"model":"m","messages":[],"metadata":%b}' % (b"[" * 100_000 + b"]" * 100_000),
            b'{"model":"m","messages":[],"metadata":{%b}}'
            % b",".join(b'"k%d":1' % number for number in range(200_000)),
        ]
        for body in bodies:
            gc.collect()
            started = time.process_time()
            response = await desk.post("/v1/chat/completions", body)
            spent = time.process_time() - started
            assert response.status_code == 400
            assert fault("chat", response)
            # 50 ms are allowed; here the client's own work and a busy machine are in it too.
            assert spent < 0.3
        assert desk.upstream.seen == []

    @pytest.mark.parametrize("wire", WIRES)
    async def test_fields_we_must_read(self, desk: Desk, wire: str) -> None:
        """A15: stream, model and the messages must be what they are; the rest is forwarded."""
        key = "input" if wire == "responses" else "messages"
        for change in ({"stream": "true"}, {"stream": 1}, {"model": 5}, {"model": ""}, {key: {}}):
            response = await desk.post("/v1" + PATHS[wire], asks(wire) | change)
            assert response.status_code == 400, change
            assert next(iter(change)) in fault(wire, response)
        assert desk.upstream.seen == []

        desk.upstream.will(whole(answers(wire)))
        await desk.post("/v1" + PATHS[wire], asks(wire, search=False) | {"max_tokens": -1})
        assert desk.upstream.seen[0].json["max_tokens"] == -1

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("framing", ["length", "chunked"])
    async def test_too_large(self, opened: OpenDesk, wire: str, framing: str) -> None:
        """A8: one byte over the limit is 413, with and without a length; the connection closes."""
        body = b"x" * 1001
        async with opened(server={"limits": {"body_bytes": 1000}}) as desk:
            framed = (
                desk.http("POST", "/v1" + PATHS[wire], body)
                if framing == "length"
                else desk.http("POST", "/v1" + PATHS[wire], b"", "transfer-encoding: chunked")
                + b"3e9\r\n%b\r\n0\r\n\r\n" % body
            )
            # Without this the connection would be closed at our wish, not the server's.
            answer = await desk.raw(framed.replace(b"connection: close\r\n", b""))

        head, _, told = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in head
        error = json.loads(told)["error"]
        assert "1000" in error["message"]
        if wire == "messages":
            assert error["type"] == "request_too_large"

    async def test_too_large_for_real(self, desk: Desk) -> None:
        """A8: who sends all of 33 MiB before reading still gets the answer, not a reset."""
        body = b"x" * (33 * 1024 * 1024)

        answer = await desk.raw(desk.http("POST", "/v1/messages", body))

        assert answer.startswith(b"HTTP/1.1 413 ")


class TestForwarded:
    """Odd, but a request: it reaches the upstream as it was sent."""

    async def test_lone_surrogate(self, desk: Desk) -> None:
        """A5: the query has U+FFFD in its place, the upstream gets the escape as sent."""
        body = json.dumps(asks("messages", "what is QQ about")).encode().replace(b"QQ", b"\\ud800")
        desk.upstream.will(whole(answers("messages")))

        response = await desk.post("/v1/messages", body)

        assert response.headers["x-refdesk-search"].startswith("gateway;")
        assert desk.engine.queries[0].text == "what is \ufffd about"
        assert b"what is \\ud800 about" in desk.upstream.seen[0].body
        assert desk.store.writer.drain(5)

    async def test_large_integers(self, desk: Desk) -> None:
        """A6: integers beyond 64 bits keep every digit, also where the body is edited."""
        body = json.dumps(
            asks("messages") | {"a": 2**63, "b": 2**64 + 1, "c": int("9" * 300)}
        ).encode()
        desk.upstream.will(whole(answers("messages")))

        await desk.post("/v1/messages", body)

        seen = desk.upstream.seen[0].json
        assert (seen["a"], seen["b"], seen["c"]) == (2**63, 2**64 + 1, int("9" * 300))

    @pytest.mark.parametrize("wire", WIRES)
    async def test_unknown_things(self, desk: Desk, wire: str) -> None:
        """A16: unknown fields, blocks and tools survive a search, in number and order."""
        body = asks(wire)
        key = "input" if wire == "responses" else "messages"
        strange = {"type": "hologram", "data": [1, {"deep": None}]}
        text = {"type": "input_text" if wire == "responses" else "text", "text": QUESTION}
        body[key] = [{"role": "user", "content": [strange, text, strange], "extra": {"a": 1}}]
        body["new_field"] = {"x": [1.50]}
        other = {"type": "code_execution_20990101", "name": "x"}
        body["tools"] = [other, *body.get("tools", [])]
        desk.upstream.will(whole(answers(wire)))

        response = await desk.post("/v1" + PATHS[wire], body)

        assert response.headers["x-refdesk-search"].startswith("gateway;")
        seen = desk.upstream.seen[0].json
        (message,) = seen[key]
        assert message["content"][:3] == [strange, text, strange]
        assert len(message["content"]) == 4
        assert message["extra"] == {"a": 1}
        assert seen["new_field"] == {"x": [1.50]}
        assert seen["tools"] == [other]


class TestDeclarations:
    """Odd declarations of the search tool."""

    async def test_twice_and_beside_a_namesake(self, desk: Desk) -> None:
        """A9: one search; a function that only bears the name is left alone."""
        hosted = {"type": "web_search_20250305", "name": "web_search"}
        function = {"name": "web_search", "input_schema": {"type": "object"}}
        desk.upstream.will(whole(answers("messages")))

        await desk.ask("messages", tools=[hosted, function, hosted | {"max_uses": 3}])

        assert len(desk.engine.queries) == 1
        assert desk.upstream.seen[0].json["tools"] == [function]

    async def test_only_a_namesake(self, desk: Desk) -> None:
        """A9: a client's own tool of that name declares no search."""
        function = {"name": "web_search", "input_schema": {"type": "object"}}
        desk.upstream.will(whole(answers("messages")))

        response = await desk.ask("messages", tools=[function])

        assert response.headers["x-refdesk-search"] == "none"
        assert desk.engine.queries == []

    @pytest.mark.parametrize(
        ("wire", "choice"),
        [
            ("messages", {"type": "tool", "name": "web_search"}),
            ("responses", {"type": "web_search"}),
            ("chat", "required"),
        ],
    )
    async def test_forced(self, desk: Desk, wire: str, choice: Any) -> None:
        """A10, A11: the choice goes with the tool, and no empty list stays."""
        desk.upstream.will(whole(answers(wire)))
        body = asks(wire) | {"tool_choice": choice}
        if wire == "chat":
            del body["web_search_options"]
            body["tools"] = [{"type": "web_search"}]

        response = await desk.post("/v1" + PATHS[wire], body)

        assert response.headers["x-refdesk-search"].startswith("gateway;")
        assert not {"tools", "tool_choice"} & desk.upstream.seen[0].json.keys()


class TestLastMessages:
    """A12: conversations that do not end in a user's words."""

    @pytest.mark.parametrize(
        ("messages", "said"),
        [
            ([], "degraded; reason=no_query"),
            ([{"role": "user", "content": []}], "degraded; reason=no_query"),
            ([{"role": "user", "content": ""}], "degraded; reason=no_query"),
            ([{"role": "user"}], "degraded; reason=no_query"),
            ([{"role": "assistant", "content": "Hello"}], "degraded; reason=no_query"),
            (
                [{"role": "user", "content": [{"type": "image", "source": {}}]}],
                "degraded; reason=no_query",
            ),
            (
                [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "On"}],
                "gateway; engine=fake; results=1",
            ),
            ([5, {"role": "user", "content": "When?"}], "gateway; engine=fake; results=1"),
        ],
    )
    async def test_messages(self, desk: Desk, messages: list[Any], said: str) -> None:
        """No text to search for is a reason like any other; a prefill stays the last message."""
        desk.upstream.will(whole(answers("messages")))

        response = await desk.ask("messages", messages=copy.deepcopy(messages))

        assert response.headers["x-refdesk-search"] == said
        seen = desk.upstream.seen[0].json["messages"]
        if said.startswith("degraded"):
            assert seen == messages
        else:
            assert len(seen) == len(messages)
            if messages[-1] == {"role": "assistant", "content": "On"}:
                assert seen[-1] == messages[-1]

    @pytest.mark.parametrize("wire", ["chat", "responses"])
    async def test_other_wires(self, desk: Desk, wire: str) -> None:
        """An empty history on the other wires is no exception either."""
        desk.upstream.will(whole(answers(wire)))
        key = "input" if wire == "responses" else "messages"

        for empty in ([], [{"role": "assistant", "content": "x"}], [{"role": "user"}]):
            response = await desk.ask(wire, **{key: empty})
            assert response.headers["x-refdesk-search"] == "degraded; reason=no_query"
            assert desk.upstream.seen[-1].json[key] == empty


class TestQueries:
    """What goes to the engine."""

    async def test_claude_codes_sub_request(self, desk: Desk) -> None:
        """A13: the words before the query stay here, and so do reminders."""
        content = [
            {"type": "text", "text": "<system-reminder>be nice</system-reminder>"},
            {"type": "text", "text": "Perform a web search for the query: newest k8s release 2026"},
        ]
        desk.upstream.will(whole(answers("messages")))

        response = await desk.ask("messages", messages=[{"role": "user", "content": content}])

        assert desk.engine.queries[0].text == "newest k8s release 2026"
        assert response.json()["usage"]["server_tool_use"]["web_search_requests"] == 1

    async def test_two_megabytes(self, desk: Desk) -> None:
        """A14: a very long text gives a short query, and reaches the model whole."""
        text = "word 語 " * 300_000
        desk.upstream.will(whole(answers("messages")))

        response = await desk.ask("messages", text=text)

        assert response.status_code == 200
        assert 300 < len(desk.engine.queries[0].text) <= 400
        assert desk.upstream.seen[0].json["messages"][0]["content"][0]["text"] == text


async def test_history_with_half_of_a_pair(desk: Desk) -> None:
    """A17: of our own blocks, halves and misnamed ones leave; the upstream sees no orphan."""
    desk.upstream.will(whole(answers("messages")))
    first = (await desk.ask("messages")).json()["content"]
    call, result, text = first
    histories = [
        [call, text],
        [result, text],
        [call, result | {"tool_use_id": "srvtoolu_rd" + "0" * 24}, text],
        [result, call, text],
        [call, result | {"content": "odd"}, text],
        [call, result | {"content": [{"type": "web_search_result"}]}, text],
        [call | {"input": None}, result, text],
    ]
    for content in histories:
        response = await desk.ask(
            "messages",
            messages=[
                {"role": "user", "content": QUESTION},
                {"role": "assistant", "content": content},
                {"role": "user", "content": "And 3.15?"},
            ],
        )
        assert response.status_code == 200
        body = desk.upstream.seen[-1].body
        assert b"srvtoolu_rd" not in body
        assert b"rd1." not in body
        assert b"web_search_tool_result" not in body


# Outside of our one insertion, the outgoing body is the incoming one.

_SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_TREES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
_TAKEN = {"model", "messages", "input", "tools", "tool_choice", "stream", "web_search_options"}
_EXTRA = st.dictionaries(
    st.text(max_size=8).filter(
        lambda key: (
            key not in _TAKEN | {"background", "parallel_tool_calls", "previous_response_id"}
        )
    ),
    _TREES,
    max_size=4,
)
_BLOCKS = st.lists(st.dictionaries(st.text(max_size=5), _TREES, max_size=2), max_size=3)


class _Sealer:
    def seal(self, plaintext: bytes, *, purpose: bytes) -> str:
        return "rd1.x"

    def open(self, token: str, *, purpose: bytes) -> bytes | None:
        return None

    def mac(self, data: bytes) -> bytes:
        return b"12345678"


def _sent(wire: str, body: dict[str, Any], separators: tuple[str, str]) -> tuple[bytes, bytes]:
    """The incoming and the outgoing body of a request whose search worked."""
    data = json.dumps(body, separators=separators).encode()
    terms = Terms(decision=decide(model=None, upstream=None, capability="no"))
    course = exchange(Document.read(data), wire=WIRE_OF[wire], terms=terms, sealer=_Sealer())
    command = next(course)
    while not isinstance(command, CallUpstream):
        if isinstance(command, Recall):
            command = course.send(Recalled(History(rows={}, searches={})))
        else:
            assert isinstance(command, Search)
            command = course.send(
                SearchDone("0" * 40, WebAnswer(items=(item(),), engine="e", engine_type="e"))
            )
    with pytest.raises(StopIteration) as end:
        course.send(UpstreamAnswered(400, b"{}"))
    assert isinstance(end.value.value, Answer)
    return data, bytes(command.document)


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    extra=_EXTRA,
    blocks=_BLOCKS,
    tools=_BLOCKS,
    separators=st.sampled_from([(",", ":"), (", ", ": ")]),
)
def test_only_our_insertion_differs(
    wire: str,
    extra: dict[str, Any],
    blocks: list[Any],
    tools: list[Any],
    separators: tuple[str, str],
) -> None:
    """
    With our text part taken out and the tool put back, the outgoing body is the incoming one.

    Values, and the order of keys, at every depth; whatever stands beside what is ours.
    """
    key = "input" if wire == "responses" else "messages"
    text = {"type": "input_text" if wire == "responses" else "text", "text": QUESTION}
    hosted = asks(wire).get("tools", [{"type": "web_search"}])
    body = {
        "model": "m",
        **extra,
        key: [{"role": "user", "content": [*blocks, text]}],
        "tools": [*tools, *hosted],
    }

    data, outgoing = _sent(wire, body, separators)

    pairs = json.loads(outgoing, object_pairs_hook=list)
    as_sent = json.loads(data, object_pairs_hook=list)
    found = json.loads(outgoing)
    inserted = found[key][0]["content"][len(blocks) + 1 :]
    assert [part["type"] for part in inserted] == [text["type"]]
    assert "https://example.com/" in inserted[0]["text"]
    assert _without_ours(pairs, key, len(blocks) + 1) == _without_ours(
        as_sent, key, len(blocks) + 1
    )


def _without_ours(pairs: list[Any], key: str, blocks: int) -> list[Any]:
    kept: list[Any] = []
    for name, value in pairs:
        if name == key:
            ((role, content),) = [list(message) for message in value]
            kept.append([name, [role, [content[0], content[1][:blocks]]]])
        elif name == "tools":
            tools = [tool for tool in value if not _is_hosted(tool)]
            if tools:
                kept.append([name, tools])
        else:
            kept.append([name, value])
    return kept


def _is_hosted(tool: list[Any]) -> bool:
    return any(
        name == "type" and isinstance(value, str) and value.startswith("web_search")
        for name, value in tool
    )


@pytest.mark.parametrize("odd", [None, 5, "x", {}, [[]], [{"role": 5}], [{"content": 5}]], ids=repr)
@pytest.mark.parametrize("wire", WIRES)
async def test_odd_messages_and_tools(desk: Desk, wire: str, odd: Any) -> None:
    """Whatever stands where messages and tools should be, it is refused or passed on."""
    desk.upstream.will(whole(answers(wire)))

    response = await desk.ask(wire, messages=odd, input=odd, tools=[odd, {"type": "web_search"}])

    assert response.status_code in (200, 400)
