"""A search in a streamed answer."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorded import recording
from refdesk.errors import UpstreamError
from refdesk.wires import responses
from refdesk.wires.base import GatewaySearch
from refdesk.wires.document import Document
from refdesk.wires.sse import MAX_EVENT_BYTES, Decoder
from responded import OURS, answer, message, response, sse

STREAMS = [
    "stream-url-citations/1-response.sse",
    "stream-url-citations/2-response.sse",
    "stream-url-citations/3-response.sse",
    "stream-with-sources-then-replay/1-response.sse",
    "stream-and-nonstream-sources-openpage-find/response.sse",
    "azure-web-search-preview/response.sse",
    "xai-web-search/response.sse",
    "deepseek-plain-stream/response.sse",
    "plain-function-call-stream/1-response.sse",
    "plain-function-call-stream/2-response.sse",
]
# The SDK serialises what it read, and some of what vendors send is not in its types.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
TEXT = (
    "Mount **Columbia** 🏔️ is the tallest [1]. See ([x](https://x.ai/company)) and "
    "https://example.org/a_(b), but not [9] or `[1]`."
)


def stream_of(name: str) -> bytes:
    return recording(f"openai-responses/{name}")


def final_of(body: bytes) -> bytes:
    """The response object of the terminal event, as a whole answer would have been."""
    events = [json.loads(event.data) for event in Decoder().feed(body) if event.data]
    return json.dumps(events[-1]["response"]).encode()


def as_json(answer: Any) -> Any:
    """A response as plain values, without what the SDK's accumulator adds."""

    def cleaned(tree: Any) -> Any:
        if isinstance(tree, dict):
            added = ("parsed", "parsed_arguments")
            return {key: cleaned(each) for key, each in tree.items() if key not in added}
        return [cleaned(each) for each in tree] if isinstance(tree, list) else tree

    return cleaned(answer.model_dump(mode="json", warnings=False, exclude_unset=True))


# Streamed and whole


@pytest.mark.parametrize("name", STREAMS)
def test_streamed_and_whole_answers_agree(
    name: str,
    search: GatewaySearch,
    asked: Document,
    rewrite: Callable[..., bytes],
    read_whole: Callable[..., Any],
    read_stream: Callable[..., Any],
) -> None:
    """A client that streams ends up with the response that it would have got whole."""
    upstream = stream_of(name)
    whole = read_whole(responses.attach_search(final_of(upstream), search, asked))
    _, streamed = read_stream(rewrite(upstream))
    assert as_json(streamed) == as_json(whole)
    assert sum(item.id == OURS for item in whole.output) == 1


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [1, 5, 4096])
def test_cuts_change_nothing(name: str, size: int, rewrite: Callable[..., bytes]) -> None:
    """What comes out does not depend on how the bytes were cut."""
    upstream = stream_of(name)
    if size == 1:
        upstream = upstream[-12_000:]  # Byte by byte is slow; the end holds the final object.
    assert rewrite(upstream, size) == rewrite(upstream)


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32))
def test_random_cuts_change_nothing(seed: int, rewrite: Callable[..., bytes]) -> None:
    """Nor on cuts at random places, in the middle of characters and line ends."""
    body = sse(*answer(TEXT)).replace(b"\n", b"\r\n")
    cuts = random.Random(seed).sample(range(len(body)), 30)
    assert rewrite(body, cuts=cuts) == rewrite(body)


@pytest.mark.parametrize("name", STREAMS)
def test_numbers_are_one_running_count(
    name: str, rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """Every event has the next sequence number, and places in the output have no gap."""
    events = parsed(rewrite(stream_of(name)))
    # Early recordings have no numbers; there all are filled in.
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    added = [e["output_index"] for e in events if e["type"] == "response.output_item.added"]
    assert added == list(range(len(added)))
    final = events[-1]["response"]["output"]
    done = {e["output_index"]: e["item"] for e in events if e["type"].endswith("item.done")}
    assert [done[place]["id"] for place in sorted(done)] == [item["id"] for item in final]


@pytest.mark.parametrize("name", STREAMS)
def test_only_numbers_change_in_a_delta(name: str, rewrite: Callable[..., bytes]) -> None:
    """A delta is, apart from its two numbers, the bytes that the upstream sent."""
    number = re.compile(rb',?"(?:sequence_number|output_index)":\d+')

    def deltas(body: bytes) -> list[bytes]:
        found = [e.raw for e in Decoder().feed(body) if e.name.endswith(".delta")]
        return [number.sub(b"", raw) for raw in found]

    upstream = stream_of(name)
    assert deltas(rewrite(upstream)) == deltas(upstream)


# Where the call stands


def test_whole_stream(rewrite: Callable[..., bytes], parsed: Callable[..., Any]) -> None:
    """The call comes before the message, with all its events, and the citation after the text."""
    events = parsed(rewrite(sse(*answer("Hi [1]"))))
    at = {"output_index": 0, "item_id": OURS}
    tools = [{"type": "web_search", "search_context_size": "low"}]
    call = {
        "id": OURS,
        "type": "web_search_call",
        "status": "completed",
        "action": {
            "type": "search",
            "query": "tallest mountain in Alberta",
            "queries": ["tallest mountain in Alberta"],
            "sources": [
                {"type": "url", "url": "https://www.britannica.com/place/Mount-Columbia"},
                {"type": "url", "url": "https://x.ai/company"},
                {"type": "url", "url": "https://example.org/a_(b)"},
            ],
        },
    }
    citation = {
        "type": "url_citation",
        "start_index": 3,
        "end_index": 6,
        "url": "https://www.britannica.com/place/Mount-Columbia",
        "title": "Mount Columbia | Britannica",
    }
    echo = {"tools": tools, "tool_choice": {"type": "web_search_preview"}}
    cited = message("Hi [1]")
    cited["content"][0]["annotations"] = [citation]
    begun = {**message(""), "status": "in_progress", "content": []}
    text = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    expected = [
        {"type": "response.created", "response": response("in_progress", [], **echo)},
        {"type": "response.in_progress", "response": response("in_progress", [], **echo)},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"id": OURS, "type": "web_search_call", "status": "in_progress"},
        },
        {"type": "response.web_search_call.in_progress", **at},
        {"type": "response.web_search_call.searching", **at},
        {"type": "response.web_search_call.completed", **at},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.output_item.added", "output_index": 1, "item": begun},
        {"type": "response.content_part.added", **text, "part": part},
        *(
            {"type": "response.output_text.delta", **text, "delta": char, "logprobs": []}
            for char in "Hi [1]"
        ),
        {
            "type": "response.output_text.annotation.added",
            **text,
            "annotation_index": 0,
            "annotation": citation,
        },
        {"type": "response.output_text.done", **text, "text": "Hi [1]", "logprobs": []},
        {"type": "response.content_part.done", **text, "part": cited["content"][0]},
        {"type": "response.output_item.done", "output_index": 1, "item": cited},
        {"type": "response.completed", "response": response("completed", [call, cited], **echo)},
    ]
    assert events == [{**event, "sequence_number": n} for n, event in enumerate(expected)]


def test_call_follows_leading_reasoning(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """Reasoning that leads stays first and where it was; what follows moves up by one."""
    events = parsed(rewrite(stream_of("deepseek-plain-stream/response.sse")))
    types = [item["type"] for item in events[-1]["response"]["output"]]
    assert types == ["reasoning", "web_search_call", "message"]
    deltas = {e["type"]: e["output_index"] for e in events if e["type"].endswith(".delta")}
    assert deltas == {"response.reasoning_text.delta": 0, "response.output_text.delta": 2}


def test_call_comes_before_the_end_if_nothing_else_does(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """An answer of reasoning alone, cut by its length, still shows the search."""
    item = {"id": "rs_1", "type": "reasoning", "summary": []}
    created, *_ = answer("")
    body = sse(
        created,
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.incomplete", "response": response("incomplete", [item])},
    )
    events = parsed(rewrite(body))
    assert [e["type"] for e in events[-2:]] == ["response.output_item.done", "response.incomplete"]
    assert [i["id"] for i in events[-1]["response"]["output"]] == ["rs_1", OURS]


def test_an_answer_may_call_a_function(
    rewrite: Callable[..., bytes], read_stream: Callable[..., Any]
) -> None:
    """A function call is moved up like any item, and keeps its arguments."""
    _, final = read_stream(rewrite(stream_of("plain-function-call-stream/1-response.sse")))
    assert [item.type for item in final.output] == ["web_search_call", "function_call"]
    assert json.loads(final.output[1].arguments)


def test_hosted_calls_of_the_upstream_stay(
    rewrite: Callable[..., bytes], read_stream: Callable[..., Any]
) -> None:
    """Searches of the upstream's own stand after ours, under their own ids."""
    events, final = read_stream(rewrite(stream_of("stream-url-citations/1-response.sse")))
    calls = [item.id for item in final.output if item.type == "web_search_call"]
    assert calls[0] == OURS
    assert len(set(calls)) == 3
    assert sum(e.type == "response.web_search_call.completed" for e in events) == 3


def test_repeated_and_skipped_indexes_are_put_right(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """An upstream that gives one place twice, or leaves one out, does not make ours clash."""
    created, *_ = answer("")
    reasoning = {"id": "rs_1", "type": "reasoning", "summary": []}
    added, done = "response.output_item.added", "response.output_item.done"
    body = sse(
        created,
        {"type": added, "output_index": 0, "item": reasoning},
        {"type": done, "output_index": 0, "item": reasoning},
        {"type": added, "output_index": 0, "item": message("a")},
        {"type": done, "output_index": 0, "item": message("a")},
        {"type": added, "output_index": 5, "item": message("b", id="msg_2")},
        {"type": done, "output_index": 5, "item": message("b", id="msg_2")},
        {"type": "response.completed", "response": response("completed", [])},
    )
    events = parsed(rewrite(body))
    done_at = {e["output_index"]: e["item"]["id"] for e in events if e["type"] == done}
    assert done_at == {0: "rs_1", 1: OURS, 2: "msg_1", 3: "msg_2"}
    assert [i["id"] for i in events[-1]["response"]["output"]] == list(done_at.values())


def test_an_empty_final_output_is_rebuilt(
    rewrite: Callable[..., bytes], read_stream: Callable[..., Any]
) -> None:
    """Items that were streamed stand in the final object, even if the upstream forgot them."""
    events = answer(TEXT)
    events[-1] = {"type": "response.completed", "response": response("completed", [])}
    forgot = read_stream(rewrite(sse(*events)))[1]
    told = read_stream(rewrite(sse(*answer(TEXT))))[1]
    assert as_json(forgot) == as_json(told)
    assert [item.type for item in forgot.output] == ["web_search_call", "message"]


# Citations


@pytest.mark.parametrize("end", ["completed", "incomplete"])
def test_citations_come_with_every_ending(
    end: str, rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """Each marker of a source has one annotation, told when the text has reached it, and equal
    everywhere; offsets count code points."""
    events = parsed(rewrite(sse(*answer(TEXT, end=end))))
    text = ""
    told = []
    for event in events:
        if event["type"] == "response.output_text.delta":
            text += event["delta"]
        if event["type"] == "response.output_text.annotation.added":
            assert len(text) >= event["annotation"]["end_index"]
            assert event["annotation_index"] == len(told)
            told.append(event["annotation"])
        if event["type"] == "response.output_text.done":
            assert len(told) == 3
    assert [text[a["start_index"] : a["end_index"]] for a in told] == [
        "[1]",
        "([x](https://x.ai/company))",
        "https://example.org/a_(b)",
    ]
    assert events[-1]["response"]["output"][1]["content"][0]["annotations"] == told
    assert events[-2]["item"]["content"][0]["annotations"] == told
    assert events[-3]["part"]["annotations"] == told


def test_unknown_citations_are_counted(search: GatewaySearch, asked: Document) -> None:
    """A number without a source gets no annotation, and is counted once."""
    rewriter = responses.rewriter(search, asked)
    rewriter.feed(sse(*answer(TEXT)))
    rewriter.finish()
    assert rewriter.unknown_citations == 1


def test_upstream_annotations_come_first(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """Ours continue the count of the upstream's own, in the stream and in the lists."""
    own = {
        "type": "url_citation",
        "start_index": 0,
        "end_index": 2,
        "url": "https://o/",
        "title": "",
    }
    events = answer("Hi [1]")
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    kind = "response.output_text.annotation.added"
    events.insert(-4, {"type": kind, **at, "annotation_index": 0, "annotation": own})
    for event in events[-3:]:
        holder = event.get("part") or event.get("item") or event["response"]["output"][0]
        holder.get("content", [holder])[0]["annotations"] = [own]
    out = parsed(rewrite(sse(*events)))
    told = [e for e in out if e["type"] == kind]
    assert [e["annotation_index"] for e in told] == [0, 1]
    final = out[-1]["response"]["output"][1]["content"][0]["annotations"]
    assert final == [e["annotation"] for e in told]
    assert final[0] == own


def test_text_told_only_at_the_end(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """An upstream that sends no text events, but the finished item, gets its citations too."""
    events = answer("Hi [1]")
    out = parsed(rewrite(sse(*events[:3], *events[-2:])))
    told = [e for e in out if e["type"] == "response.output_text.annotation.added"]
    assert [(e["item_id"], e["output_index"], e["content_index"]) for e in told] == [
        ("msg_1", 1, 0)
    ]


def test_sources_only_when_asked(rewrite: Callable[..., bytes], parsed: Callable[..., Any]) -> None:
    """The action names its sources only if the request included them."""
    asked = Document.read(b'{"model":"small","tools":[{"type":"web_search"}]}')
    events = parsed(rewrite(sse(*answer("Hi")), asked=asked))
    assert "sources" not in events[-1]["response"]["output"][0]["action"]
    assert events[-1]["response"]["tool_choice"] == "auto"


# Odd streams


def test_odd_framing_gives_the_same_answer(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """Line ends, comments, spaces, a byte-order mark, missing names and blank lines say nothing."""
    plain = sse(*answer(TEXT))
    expected = parsed(rewrite(plain))
    nameless = re.sub(rb"event: .*\n", b"", plain)
    for odd in (
        plain.replace(b"\n", b"\r\n"),
        plain.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + plain,
        plain.replace(b"data: ", b": note\ndata:"),
        plain.rstrip(b"\n"),
        plain.removesuffix(b"\n"),
        nameless,
        nameless.replace(b"data: ", b"event: message\ndata:"),
        plain.replace(b'", "', b'"  ,\t"'),
    ):
        assert parsed(rewrite(odd)) == expected


def test_comments_and_unknown_events_pass(rewrite: Callable[..., bytes]) -> None:
    """What this wire does not know keeps its bytes, and its numbers if it has any are put right."""
    first, *rest = answer("Hi")
    body = sse(first) + (
        b": keep-alive\n\n"
        b"event: vendor.note\ndata: not json\n\n"
        b"event: vendor.extra\nid: 7\n"
        b'data: {"type":"vendor.extra", "sequence_number":1,"x":1.10}\n\n'
    )
    body += sse(first, first, *rest)[2 * len(sse(first)) :] + b"data: [DONE]\n\n"
    out = rewrite(body)
    assert b": keep-alive\n\nevent: vendor.note\ndata: not json\n\n" in out
    assert (
        b"event: vendor.extra\nid: 7\n"
        b'data: {"type":"vendor.extra", "sequence_number":1,"x":1.10}\n\n' in out
    )
    assert out.endswith(b"data: [DONE]\n\n")


def test_lone_surrogates_and_long_numbers_survive(rewrite: Callable[..., bytes]) -> None:
    """What is no text or no machine number is sent on as it came, also into the final object."""
    events = answer("Hi")
    events[-1] = {"type": "response.completed", "response": response("completed", [])}
    body = (
        sse(*events)
        .replace(b'"Hi"', b'"\\ud800 Hi [1]"')
        .replace(b'"created_at": 1', b'"created_at":18446744073709551617')
    )
    out = rewrite(body)
    assert out.count(b'"\\ud800 Hi [1]"') == 4
    assert out.count(b'"created_at":18446744073709551617') == 3


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    body=st.lists(
        st.sampled_from(
            [
                b"event: response.output_item.done\ndata: []\n\n",
                b'data: {"type":"response.completed","response":5}\n\n',
                b'event: response.created\ndata: {"response":{"output":{}}}\n\n',
                b'event: response.output_text.done\ndata: {"output_index":-1,"text":5}\n\n',
                b'event: response.output_item.added\ndata: {"output_index":"0","item":null}\n\n',
                b'event: response.output_item.done\ndata: {"output_index":1e3,"item":{}}\n\n',
                b'data: {"type":"response.output_item.done","item":{"content":[5]}}\n\n',
                b'event: response.content_part.done\ndata: {"part":{"type":"output_text"}}\n\n',
                b"event: response.x.delta\ndata: \xff\n\n",
                b'event: error\ndata: {"type":"error"}\n\n',
                b"data: null\n\n",
                b"\n\n\r\r",
            ]
        )
    )
)
def test_odd_events_never_raise(body: list[bytes], search: GatewaySearch, asked: Document) -> None:
    """Whatever an upstream sends, the stream goes on."""
    rewriter = responses.rewriter(search, asked)
    out = b"".join(rewriter.feed(piece) for piece in body) + rewriter.finish()
    assert out.count(b"\xff") == b"".join(body).count(b"\xff")


# Streams that break off


def test_a_cut_stream_ends_as_failed(
    search: GatewaySearch, asked: Document, parsed: Callable[..., Any], read_raw: Callable[..., Any]
) -> None:
    """Cut anywhere: whole events, then ``response.failed`` with the next number, then nothing."""
    body = sse(*answer(TEXT[:12]))
    for cut in range(0, len(body) - 10, 37):
        rewriter = responses.rewriter(search, asked)
        out = rewriter.feed(body[:cut]) + rewriter.fail("the upstream closed the connection")
        assert rewriter.fail("again") == rewriter.finish() == rewriter.feed(body) == b""
        events = parsed(out)
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert events[0]["type"] == "response.created"
        assert [e["type"] for e in events].count("response.failed") == 1
        last = events[-1]
        assert last["type"] == "response.failed"
        assert last["response"]["status"] == "failed"
        assert last["response"]["id"] == events[0]["response"]["id"]
        assert last["response"]["error"] == {
            "code": "server_error",
            "message": "the upstream closed the connection",
        }
        done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
        assert last["response"]["output"] == done
    assert read_raw(out)[-1].type == "response.failed"


def test_the_sdk_reads_a_stream_that_never_began(
    search: GatewaySearch, asked: Document, read_stream: Callable[..., Any]
) -> None:
    """Cut after the head only: the SDK needs a response to have been created, and gets one."""
    events, final = read_stream(responses.rewriter(search, asked).fail("gone"))
    assert [event.type for event in events] == ["response.created", "response.failed"]
    assert events[1].response.model == "small"
    assert events[1].response.error.message == "gone"
    assert final is None


def test_an_end_without_a_terminal_event_is_a_failure(
    search: GatewaySearch, asked: Document, parsed: Callable[..., Any]
) -> None:
    """A stream that just stops is no answer, even if it stops between two events."""
    rewriter = responses.rewriter(search, asked)
    out = rewriter.feed(sse(*answer("Hi")[:-1])) + rewriter.finish()
    assert parsed(out)[-1]["type"] == "response.failed"


def test_an_error_of_the_upstream_passes(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """An upstream that fails from the start says so itself; no search is shown."""
    upstream = stream_of("stream-error-after-200/response.sse")
    out, sent = parsed(rewrite(upstream)), parsed(upstream)
    assert [event["type"] for event in out] == [event["type"] for event in sent]
    assert out[2] == sent[2]
    assert out[3]["response"]["output"] == []
    assert out[3]["response"]["error"] == sent[3]["response"]["error"]


def test_nothing_follows_an_error_event(rewrite: Callable[..., bytes]) -> None:
    """An error event alone ends the stream as well."""
    body = sse(answer("")[0], {"type": "error", "error": {"message": "no"}})
    assert rewrite(body).endswith(body[-40:])


def test_a_failure_after_the_call_keeps_it(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """A response that failed in the middle lists the call that was streamed."""
    events = answer("Hi")[:-4]
    events.append({"type": "response.failed", "response": response("failed", [])})
    final = parsed(rewrite(sse(*events)))[-1]["response"]
    assert [item["id"] for item in final["output"]] == [OURS]


def test_an_event_without_end_is_refused(search: GatewaySearch, asked: Document) -> None:
    """What stood before an endless event is not lost: it comes before the failure."""
    rewriter = responses.rewriter(search, asked)
    with pytest.raises(UpstreamError, match="event of more than"):
        rewriter.feed(sse(answer("")[0]) + b"data: " + b"x" * (MAX_EVENT_BYTES + 1))
    out = rewriter.fail("too long")
    assert out.startswith(b"event: response.created\n")
    assert out.count(b"event: ") == 2
