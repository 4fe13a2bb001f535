"""Streamed answers with a search in them, read by the official SDK."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorded import recording
from refdesk.errors import UpstreamError
from refdesk.wires import messages, sse
from refdesk.wires.base import GatewaySearch
from refdesk.wires.document import Document

Judge = Callable[[bytes], dict[str, Any]]

ASKED = Document.read(b'{"tools":[{"type":"web_search_20250305","name":"web_search"}]}')
ASKED_LATER = Document.read(b'{"tools":[{"type":"web_search_20260318","name":"web_search"}]}')
RECORDED = [
    "plain-thinking-stream/response.sse",
    "stream-search-citations/response.sse",
    "stream-thinking-two-searches/response.sse",
    "stream-text-before-search/2-response.sse",
    "pause-turn-stream/1-response.sse",
    "pause-turn-stream/2-response.sse",
    "constructed-error-result/response.sse",
]


def event(type_: str, **more: Any) -> bytes:
    return sse.encode(json.dumps({"type": type_, **more}, ensure_ascii=False).encode(), type_)


def start(index: int, **block: Any) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, type_: str, **more: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": type_, **more})


def stop(index: int) -> bytes:
    return event("content_block_stop", index=index)


def block(index: int, *pieces: str) -> bytes:
    deltas = b"".join(delta(index, "text_delta", text=piece) for piece in pieces)
    return start(index, type="text", text="") + deltas + stop(index)


def thinking(index: int) -> bytes:
    return (
        start(index, type="thinking", thinking="", signature="")
        + delta(index, "thinking_delta", thinking="Hm. [1]")
        + delta(index, "signature_delta", signature="Et0E")
        + stop(index)
    )


MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 7, "output_tokens": 1},
}
BEGIN = event("message_start", message=MESSAGE)
PING = event("ping")
DELTA = event(
    "message_delta",
    delta={"stop_reason": "end_turn", "stop_sequence": None},
    usage={"output_tokens": 5},
)
STOP = event("message_stop")
END = DELTA + STOP
CITED = (
    BEGIN
    + PING
    + thinking(0)
    + block(1, "Es ist 1.36 [", "1", "] 北京", ", see https://exam", "ple.org/a.\n", "And [9] [2]")
    + start(2, type="tool_use", id="toolu_1", name="add", input={})
    + delta(2, "input_json_delta", partial_json='{"index": 1, "a": "[1]"}')
    + stop(2)
    + block(3, "(see [Releases](https://kubernetes.io/releases)) `[1]`")
    + END
)
UNCITED = BEGIN + block(0, "OK.") + END


def cuts(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def rewrite(data: bytes, search: GatewaySearch, size: int = 4096, asked: Document = ASKED) -> bytes:
    rewriter = messages.rewriter(search, asked)
    return b"".join(rewriter.feed(piece) for piece in cuts(data, size)) + rewriter.finish()


def events(data: bytes) -> list[dict[str, Any]]:
    decoder = sse.Decoder()
    return [json.loads(each.data) for each in decoder.feed(data) if each.data]


def kinds(data: bytes) -> list[tuple[str, int | None]]:
    return [
        ((each.get("content_block") or each.get("delta") or each).get("type"), each.get("index"))
        for each in events(data)
        if each["type"] != "content_block_stop"
    ]


def without_shift(data: bytes) -> bytes:
    """Take all numbers out, to compare the rest byte for byte."""
    return re.sub(rb'"index":\s*\d+', b'"index":0', data)


@pytest.mark.parametrize("asked", [ASKED, ASKED_LATER])
@pytest.mark.parametrize("upstream", [CITED, UNCITED, *RECORDED])
def test_streamed_and_whole_answers_agree(
    upstream: bytes | str,
    asked: Document,
    search: GatewaySearch,
    read_stream: Judge,
    read_whole: Judge,
) -> None:
    """A client that streams ends up with the message it would have got whole."""
    if isinstance(upstream, str):
        upstream = recording(f"anthropic-messages/{upstream}")
    whole = json.dumps(read_stream(upstream)).encode()

    streamed = read_stream(rewrite(upstream, search, asked=asked))

    expected = read_whole(messages.attach_search(whole, search, asked))
    assert streamed == expected
    assert expected["usage"]["server_tool_use"]["web_search_requests"] >= 1


@pytest.mark.parametrize("size", [1, 5, 4096])
@pytest.mark.parametrize("upstream", [CITED, *RECORDED])
def test_cuts_do_not_matter(upstream: bytes | str, size: int, search: GatewaySearch) -> None:
    """However the upstream's bytes are cut, the same bytes go out."""
    if isinstance(upstream, str):
        upstream = recording(f"anthropic-messages/{upstream}")
        if size < 100 < len(upstream) // 1000:
            size *= 97  # Byte by byte, events of 20 KB take seconds; the sizes stay odd.

    assert rewrite(upstream, search, size) == rewrite(upstream, search, len(upstream))


@given(st.lists(st.integers(1, 400), min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_random_cuts(search: GatewaySearch, sizes: list[int]) -> None:
    """Nor does it matter when the pieces differ in size."""
    rewriter = messages.rewriter(search, ASKED)
    out, rest = [], CITED
    for size in sizes:
        out.append(rewriter.feed(rest[:size]))
        rest = rest[size:]
    out += [rewriter.feed(rest), rewriter.finish()]

    assert b"".join(out) == rewrite(CITED, search)


def test_whole_stream(search: GatewaySearch) -> None:
    """Every event of a stream with thinking, text, citations, a tool and the count."""
    rewriter = messages.rewriter(search, ASKED)
    out = rewriter.feed(CITED) + rewriter.finish()

    assert kinds(out) == [
        ("message_start", None),
        ("ping", None),
        ("thinking", 0),
        ("thinking_delta", 0),
        ("signature_delta", 0),
        ("server_tool_use", 1),
        ("input_json_delta", 1),
        ("input_json_delta", 1),
        ("web_search_tool_result", 2),
        ("text", 3),
        ("text_delta", 3),
        ("text_delta", 3),
        ("text_delta", 3),
        ("citations_delta", 3),
        ("text_delta", 3),
        ("text_delta", 3),
        ("citations_delta", 3),
        ("text_delta", 3),
        ("citations_delta", 3),
        ("tool_use", 4),
        ("input_json_delta", 4),
        ("text", 5),
        ("text_delta", 5),
        ("citations_delta", 5),
        (None, None),
        ("message_stop", None),
    ]
    cited = [
        each["delta"]["citation"]["encrypted_index"]
        for each in events(out)
        if each.get("delta", {}).get("type") == "citations_delta"
    ]
    assert cited == ["rd1.AAAA", "rd1.BBBB", "rd1.BBBB", "rd1.AAAA"]
    assert rewriter.unknown_citations == 1


def test_own_events(search: GatewaySearch) -> None:
    """The search's own events, whole."""
    out = events(rewrite(UNCITED, replace(search, sources=search.sources[1:])))

    name = "srvtoolu_rd0123456789abcdef01234567"
    assert out[1:7] == [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {
                "type": "server_tool_use",
                "id": name,
                "name": "web_search",
                "input": {},
            },
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {
                "type": "input_json_delta",
                "partial_json": '{"query":"newest \\"k8s\\" release"}',
            },
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {
                "type": "web_search_tool_result",
                "tool_use_id": name,
                "content": [
                    {
                        "type": "web_search_result",
                        "title": "example.org",
                        "url": "https://example.org/a",
                        "encrypted_content": "rd1.BBBB",
                        "page_age": None,
                    }
                ],
            },
        },
        {"type": "content_block_stop", "index": 1},
    ]
    assert out[-2]["usage"] == {
        "output_tokens": 5,
        "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
    }


@pytest.mark.parametrize("upstream", [CITED, UNCITED, *RECORDED[:1]])
def test_other_bytes_stay(upstream: bytes | str, search: GatewaySearch) -> None:
    """Ours and the numbers aside, what goes out are the bytes that came, in their order."""
    if isinstance(upstream, str):
        upstream = recording(f"anthropic-messages/{upstream}")
    out = without_shift(rewrite(upstream, search))

    at = 0
    decoder = sse.Decoder()
    for each in decoder.feed(upstream):
        if each.name != "message_delta":
            raw = without_shift(each.raw)
            at = out.index(raw, at) + len(raw)


def test_nothing_is_held_back(search: GatewaySearch) -> None:
    """Every whole event goes out at once, thinking and pings included."""
    rewriter = messages.rewriter(search, ASKED)

    assert rewriter.feed(BEGIN) == BEGIN
    assert rewriter.feed(PING) == PING
    assert rewriter.feed(thinking(0)) == thinking(0)
    assert b"server_tool_use" in rewriter.feed(start(1, type="text", text=""))
    assert rewriter.feed(delta(1, "text_delta", text="A")) == delta(3, "text_delta", text="A")


def test_citation_comes_with_its_marker(search: GatewaySearch) -> None:
    """A citation follows the piece of text that makes its marker certain."""
    rewriter = messages.rewriter(search, ASKED)
    rewriter.feed(BEGIN + start(0, type="text", text=""))

    assert b"citations_delta" not in rewriter.feed(delta(0, "text_delta", text="So it is [1"))
    assert b"citations_delta" in rewriter.feed(delta(0, "text_delta", text="], says the page."))


def test_text_in_the_start(search: GatewaySearch, read_stream: Judge) -> None:
    """Text that stands in the beginning of its block is cited as well."""
    out = rewrite(BEGIN + start(0, type="text", text="As in [1]. ") + stop(0) + END, search)

    assert len(read_stream(out)["content"][2]["citations"]) == 1


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [
        (BEGIN + END, [("server_tool_use", 0), ("web_search_tool_result", 1)]),
        (
            BEGIN + thinking(0) + END,
            [("thinking", 0), ("server_tool_use", 1), ("web_search_tool_result", 2)],
        ),
        (BEGIN + STOP, [("server_tool_use", 0), ("web_search_tool_result", 1)]),
        (
            BEGIN + thinking(0) + block(2, "A") + END,
            [("thinking", 0), ("server_tool_use", 1), ("web_search_tool_result", 2), ("text", 4)],
        ),
        (
            BEGIN + thinking(0) + block(0, "A") + block(1, "B") + END,
            [
                ("thinking", 0),
                ("server_tool_use", 1),
                ("web_search_tool_result", 2),
                ("text", 3),
                ("text", 4),
            ],
        ),
        (
            BEGIN + block(0, "A") + block(0, "B") + END,
            [("server_tool_use", 0), ("web_search_tool_result", 1), ("text", 2), ("text", 2)],
        ),
        (
            BEGIN + block(0, "A") + thinking(1) + END,
            [("server_tool_use", 0), ("web_search_tool_result", 1), ("text", 2), ("thinking", 3)],
        ),
    ],
)
def test_numbers(upstream: bytes, expected: Any, search: GatewaySearch) -> None:
    """Our numbers clash with none, and the upstream's gaps and repeats are not made wider."""
    starts = [
        (each["content_block"]["type"], each["index"])
        for each in events(rewrite(upstream, search))
        if each["type"] == "content_block_start"
    ]

    assert starts == expected


def test_late_stop_of_thinking(search: GatewaySearch) -> None:
    """A thinking block that is stopped only after the text began keeps its number."""
    first = start(0, type="thinking", thinking="", signature="")
    out = rewrite(BEGIN + first + start(1, type="text", text="") + stop(0) + stop(1) + END, search)

    stops = [each["index"] for each in events(out) if each["type"] == "content_block_stop"]
    assert stops == [1, 2, 0, 3]


def test_text_that_is_never_stopped(search: GatewaySearch, read_stream: Judge) -> None:
    """A block without its stop is cited before the message ends."""
    out = rewrite(
        BEGIN + start(0, type="text", text="") + delta(0, "text_delta", text="See [1]") + END,
        search,
    )

    assert len(read_stream(out)["content"][2]["citations"]) == 1


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, {"server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}}),
        (
            {"output_tokens": 5, "server_tool_use": {"web_search_requests": 2}},
            {"output_tokens": 5, "server_tool_use": {"web_search_requests": 3}},
        ),
        ("much", "much"),
    ],
)
def test_usage(usage: Any, expected: Any, search: GatewaySearch) -> None:
    """The search is counted in message_delta, and no token is."""
    out = rewrite(BEGIN + event("message_delta", delta={}, usage=usage) + STOP, search)

    assert events(out)[-2]["usage"] == expected


def test_usage_at_the_start(search: GatewaySearch) -> None:
    """In message_start the search is counted only where searches are."""
    counted = {"input_tokens": 7, "server_tool_use": {"web_search_requests": 0}}
    begin = event("message_start", message={**MESSAGE, "usage": counted})

    out = rewrite(begin + END, search)

    assert events(out)[0]["message"]["usage"] == {
        "input_tokens": 7,
        "server_tool_use": {"web_search_requests": 1},
    }
    assert rewrite(BEGIN + END, search).startswith(BEGIN)


DRESSES: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "comments": lambda data: data.replace(b"event: ", b": hello\n\nevent: "),
    "no space": lambda data: data.replace(b"data: ", b"data:").replace(b"event: ", b"event:"),
    "spaces": lambda data: data.replace(b'{"type"', b'{  "type"').replace(b"}\n\n", b"  }\n\n"),
    "number last": lambda data: re.sub(rb'("index": \d+), (.*)}\n', rb"\2, \1}\n", data),
    "number first": lambda data: re.sub(
        rb'(?m)^data: {("type": "[a-z_]+"), ("index": \d+)', rb"data: {\2, \1", data
    ),
    "two lines": lambda data: data.replace(b', "index"', b',\ndata: "index"'),
    "ids": lambda data: data.replace(b"event: ", b"id: 7\nevent: "),
    "unknown events": lambda data: data.replace(
        b"event: content_block_stop",
        b'event: new\ndata: {"type":"new","index":7}\n\n'
        b"event: new\ndata: plain\n\nevent: content_block_stop",
    ),
    "byte-order mark": lambda data: b"\xef\xbb\xbf" + data,
    "no end": lambda data: data.removesuffix(b"\n\n"),
    "no line end": lambda data: data.removesuffix(b"\n"),
}


def _known(data: bytes) -> list[dict[str, Any]]:
    decoder = sse.Decoder()
    return [json.loads(each.data) for each in decoder.feed(data) if each.name not in ("", "new")]


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("size", [1, 4096])
def test_odd_but_legal_streams(dress: str, size: int, search: GatewaySearch) -> None:
    """Spacing, line ends, comments, unknown events and a missing end change nothing."""
    upstream = DRESSES[dress](CITED)
    assert upstream != CITED

    assert _known(rewrite(upstream, search, size)) == _known(rewrite(CITED, search))


def test_names_that_are_missing(search: GatewaySearch) -> None:
    """An event without a name is told by its data."""
    nameless = re.sub(rb"event: .*\n", b"", CITED)

    assert events(rewrite(nameless, search)) == events(rewrite(CITED, search))


ODD = [
    b"data: [DONE]\n\n",
    b"event: content_block_delta\ndata: {\n\n",
    b"event: content_block_delta\ndata: null\n\n",
    b'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\n',
    b'event: content_block_start\ndata: {"type":"content_block_start","index":"0"}\n\n',
    b'event: content_block_start\ndata: {"type":"content_block_start","index":1.5}\n\n',
    b'event: content_block_start\ndata: {"type":["x"],"index":' + b"9" * 4000 + b"}\n\n",
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":null}\n\n',
    b"event: content_block_stop\ndata: \xff\xfe\n\n",
    b"event: message_delta\ndata: [" + b"[" * 5000 + b"\n\n",
    b'event: message_start\ndata: {"type":"message_start","message":5}\n\n',
    b'event: new_event\ndata: {"type":"new_event","index":3}\n\n',
    b": comment\n\n",
    b"event: \xff\ndata\n\n",
]


@pytest.mark.parametrize("odd", ODD)
def test_odd_events_pass(odd: bytes, search: GatewaySearch) -> None:
    """An event that cannot be read goes through as it came, wherever it stands."""
    begun = BEGIN + start(0, type="text", text="")
    expected = rewrite(begun + stop(0) + END, search)

    out = rewrite(begun + odd + stop(0) + END, search)

    assert out.count(odd) == 1
    assert out.replace(odd, b"") == expected


@given(st.lists(st.sampled_from([*ODD, BEGIN, PING, END, CITED[:-3]]) | st.binary(max_size=30)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_no_bytes_raise(search: GatewaySearch, pieces: list[bytes]) -> None:
    """No bytes of an upstream make the rewriter raise."""
    rewriter = messages.rewriter(search, ASKED)

    out = b"".join(rewriter.feed(piece) for piece in pieces) + rewriter.finish()

    assert out
    assert rewriter.feed(b"more") == rewriter.finish() == rewriter.fail("x") == b""


def test_half_a_character_in_a_delta(search: GatewaySearch) -> None:
    """A character that was cut between two deltas as escapes keeps its escapes."""
    half = (
        b"event: content_block_delta\n"
        rb'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",'
        b'"text":"[1] \\ud83d"}}\n\n'
    )

    out = rewrite(BEGIN + start(0, type="text", text="") + half + stop(0) + END, search)

    assert half.replace(b'"index":0', b'"index":2') in out
    assert out.count(b"citations_delta") == 1


@pytest.mark.parametrize("begun", [b"", BEGIN, BEGIN + block(0, "A")])
def test_error_of_the_upstream(begun: bytes, search: GatewaySearch) -> None:
    """The upstream's own error passes through, and nothing of ours is added."""
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    rewriter = messages.rewriter(search, ASKED)
    before = rewriter.feed(begun)

    assert rewriter.feed(error) == error
    assert rewriter.finish() == b""
    assert (b"server_tool_use" in before) is (begun not in (b"", BEGIN))


@pytest.mark.parametrize("line", [b"data: oops\n\n", b'data: {"type":"x_error"}\n\n'])
def test_error_by_name(line: bytes, search: GatewaySearch) -> None:
    """An error is known by its name, whatever its data."""
    assert rewrite(BEGIN + b"event: error\n" + line, search) == BEGIN + b"event: error\n" + line


@pytest.mark.parametrize("at", [0, 40, 500, 900, 1200, len(CITED) - 70])
def test_cut_streams(at: int, search: GatewaySearch) -> None:
    """A stream that breaks off ends in an error event, without the half event before it."""
    failed, finished = (messages.rewriter(search, ASKED) for _ in range(2))
    begun = failed.feed(CITED[:at])
    assert finished.feed(CITED[:at]) == begun

    out = begun + failed.fail("The upstream broke off.")

    assert events(out)[-1] == {
        "type": "error",
        "error": {"type": "api_error", "message": "The upstream broke off."},
    }
    assert [each["type"] for each in events(out)].count("error") == 1
    assert out.endswith(b"\n\n")
    assert events(finished.finish())[-1]["type"] == "error"
    assert failed.feed(CITED[at:]) == b""


def test_every_cut(search: GatewaySearch) -> None:
    """Wherever a stream breaks off, also inside a character, all that goes out can be read."""
    upstream = BEGIN + block(0, "北 [1]") + END
    for at in range(len(upstream) + 1):
        rewriter = messages.rewriter(search, ASKED)
        out = rewriter.feed(upstream[:at]) + rewriter.fail("Cut.")
        assert events(out)[-1]["type"] == ("error" if at < len(upstream) - 2 else "message_stop")


def test_broken_after_the_end(search: GatewaySearch) -> None:
    """An answer that had ended is whole, even if its connection breaks off later."""
    rewriter = messages.rewriter(search, ASKED)
    rewriter.feed(CITED.removesuffix(b"\n\n"))

    assert rewriter.fail("The upstream broke off.") == STOP


def test_event_without_end(search: GatewaySearch, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is too long to be held ends the stream with an error."""
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 1000)
    rewriter = messages.rewriter(search, ASKED)

    with pytest.raises(UpstreamError) as caught:
        rewriter.feed(BEGIN + b"data: " + b"x" * 2000)
    out = rewriter.fail(str(caught.value))

    assert out.startswith(BEGIN)
    assert "more than 1000 bytes" in events(out)[-1]["error"]["message"]
    assert rewriter.feed(b"x") == rewriter.finish() == b""


def test_foreign_stream_passes(search: GatewaySearch) -> None:
    """Before a message has begun nothing of ours is put in."""
    foreign = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'

    assert messages.rewriter(search, ASKED).feed(foreign + block(0, "A")) == foreign + block(0, "A")
