"""A streamed answer gets all its annotations in the chunk that ends a choice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorded import recording
from refdesk.errors import UpstreamError
from refdesk.wires import sse
from refdesk.wires.base import GatewaySearch
from refdesk.wires.chat import attach_search, is_complete, rewriter
from refdesk.wires.document import Document

MINI = "openai-chat/stream-search-preview-mini/response.sse"
USAGE = "openai-chat/plain-stream-usage/response.sse"
ANNOTATED = "openai-chat/openrouter-stream-annotations/response.sse"
NATIVE = "hosted/openrouter/server-tool-native-no-annotations-stream/response.sse"
GROQ = "hosted/groq/compound-search-stream/response.sse"
DONE = b"data: [DONE]\n\n"
HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 7, "model": "m"}
URL = "https://github.com/pydantic/pydantic-ai"

Rewrite = Callable[..., bytes]
Told = Callable[[bytes], dict[str, Any]]


def chunk(delta: Any, reason: str | None = None, index: int = 0) -> bytes:
    """Write one chunk of one choice."""
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({**HEAD, "choices": [choice]}).encode() + b"\n\n"


def citation(start: int, end: int) -> dict[str, Any]:
    """Write an annotation that names the first source."""
    inner = {"start_index": start, "end_index": end, "title": "pydantic/pydantic-ai", "url": URL}
    return {"type": "url_citation", "url_citation": inner}


def error(message: str) -> bytes:
    """Write the ending of a stream that broke off."""
    inner = {"message": message, "type": "server_error", "param": None, "code": None}
    return b"data: " + json.dumps({"error": inner}, separators=(",", ":")).encode() + b"\n\n"


def answer_of(told: dict[str, Any]) -> bytes:
    """Write the whole answer that says what a stream said."""
    message = {"role": "assistant", "content": told["content"]}
    if told["annotations"]:
        message["annotations"] = told["annotations"]
    choice = {"index": 0, "message": message, "finish_reason": told["finish_reason"]}
    return json.dumps({**HEAD, "object": "chat.completion", "choices": [choice]}).encode()


@pytest.mark.parametrize("size", [1, 5, 4096, None])
@pytest.mark.parametrize("name", [MINI, ANNOTATED, NATIVE, GROQ])
def test_streamed_and_whole_answers_agree(
    name: str,
    size: int | None,
    rewrite: Rewrite,
    told: Told,
    judge: Any,
    search: GatewaySearch,
    asked: Document,
) -> None:
    """A client that streams ends up with the message it would have got whole."""
    upstream = recording(name)

    streamed = judge.stream(rewrite(upstream, size))["choices"][0]
    whole = judge.whole(attach_search(answer_of(told(upstream)), search, asked))["choices"][0]

    for key in ("content", "annotations"):
        assert streamed["message"].get(key) == whole["message"].get(key)
    assert streamed["finish_reason"] == whole["finish_reason"]


@given(
    pieces=st.lists(
        st.sampled_from(
            ["[1]", "[", "2", "]", "(", ")", URL, " ", "\n", "🙂", "北", "`", "```", "[9]", "a."]
        ),
        max_size=30,
    ),
    size=st.integers(1, 400),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_cut_anywhere_is_cited_as_the_whole(
    pieces: list[str],
    size: int,
    rewrite: Rewrite,
    told: Told,
    search: GatewaySearch,
    asked: Document,
) -> None:
    """Neither the upstream's chunks nor the network's pieces change what is cited."""
    upstream = b"".join(chunk({"content": piece}) for piece in pieces) + chunk({}, "stop") + DONE

    streamed = told(rewrite(upstream, size))

    whole = json.loads(attach_search(answer_of(told(upstream)), search, asked))
    assert streamed["annotations"] == whole["choices"][0]["message"].get("annotations", [])
    assert streamed["content"] == "".join(pieces)


def test_the_last_chunk_carries_the_list(rewrite: Rewrite) -> None:
    """Only the chunk with the finish_reason is edited, and only by the annotations."""
    upstream = recording(MINI)
    rewritten = rewrite(upstream)

    before, after = upstream.split(b"\n\n"), rewritten.split(b"\n\n")
    changed = [place for place, event in enumerate(after) if event != before[place]]
    last = json.loads(after[changed[0]].removeprefix(b"data: "))
    annotations = last["choices"][0]["delta"].pop("annotations")
    assert len(before) == len(after)
    assert changed == [len(before) - 3]
    assert last == json.loads(before[changed[0]].removeprefix(b"data: "))
    assert annotations == [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": 8,
                "end_index": 43,
                "title": "httpbin",
                "url": "https://httpbin.org/base64/dGVzdA==",
            },
        }
    ]


@pytest.mark.parametrize("size", [1, 7, None])
def test_a_stream_without_citations_passes_byte_for_byte(
    size: int | None, rewrite: Rewrite
) -> None:
    """No marker in the text: not one byte changes, the usage chunk included."""
    assert rewrite(recording(USAGE), size) == recording(USAGE)
    assert rewrite(recording(GROQ), size) == recording(GROQ)


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "content_filter"])
def test_every_finish_reason_carries_them(reason: str, rewrite: Rewrite, told: Told) -> None:
    """Citations do not depend on how the answer ended."""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}
    upstream = (
        chunk({"role": "assistant", "content": "So [1]."})
        + chunk({"tool_calls": [call]})
        + chunk({}, reason)
        + DONE
    )

    assert told(rewrite(upstream))["annotations"] == [citation(3, 6)]


def test_the_last_chunk_may_hold_text_and_lack_a_delta(rewrite: Rewrite, told: Told) -> None:
    """Text in the last chunk counts; a last chunk without a delta gets one."""
    assert told(rewrite(chunk({"content": "[1]"}, "stop")))["annotations"] == [citation(0, 3)]
    rewritten = rewrite(
        chunk({"content": "[1]"})
        + b'data: {"choices":[{"finish_reason":"stop","delta":null}]}\n\n'
        + b"data: [DONE]\n\n"
    )
    assert told(rewritten)["annotations"] == [citation(0, 3)]


def test_choices_are_told_apart(rewrite: Rewrite, judge: Any) -> None:
    """With n > 1, interleaved and ending together, each choice has its own text and list."""
    both = json.dumps(
        {
            **HEAD,
            "choices": [
                {"index": 0, "delta": {}, "finish_reason": "stop"},
                {"index": 1, "delta": {}, "finish_reason": "stop"},
            ],
        }
    ).encode()
    upstream = (
        chunk({"role": "assistant", "content": "a ["}, index=0)
        + chunk({"role": "assistant", "content": "["}, index=1)
        + chunk({"content": "1]"}, index=0)
        + chunk({"content": "1] b"}, index=1)
        + b"data: "
        + both
        + b"\n\n"
        + DONE
    )

    choices = judge.stream(rewrite(upstream))["choices"]

    assert [choice["message"]["annotations"] for choice in choices] == [
        [citation(2, 5)],
        [citation(0, 3)],
    ]


def test_annotations_of_the_upstream_join_the_one_list(
    rewrite: Rewrite, told: Told, judge: Any
) -> None:
    """OpenRouter spreads its own over chunks, which the SDK cannot read; one list it can."""
    upstream = recording(ANNOTATED)
    with pytest.raises(RuntimeError):
        judge.stream(upstream)

    rewritten = rewrite(upstream)

    own = told(upstream)["annotations"]
    chunks = [c for c in judge.chunks(rewritten) if c["choices"][0]["delta"].get("annotations")]
    assert len(own) > 1
    assert len(chunks) == 1
    assert chunks[0]["choices"][0]["delta"]["annotations"] == [*own, citation(51, 90)]
    assert chunks[0]["choices"][0]["finish_reason"] == "stop"
    assert len(judge.chunks(rewritten)) == len(judge.chunks(upstream))


def test_annotations_in_the_upstreams_last_chunk_come_first(rewrite: Rewrite, told: Told) -> None:
    """A list that is in the last chunk already is continued; what it has is not made twice."""
    upstream = (
        chunk({"content": "[1] [1]"}) + chunk({"annotations": [citation(0, 3)]}, "stop") + DONE
    )

    assert told(rewrite(upstream))["annotations"] == [citation(0, 3), citation(4, 7)]


def test_without_a_last_chunk_ours_comes_before_done(rewrite: Rewrite, judge: Any) -> None:
    """An upstream that sends [DONE] and no finish_reason gets one chunk of ours, like its own."""
    upstream = chunk({"role": "assistant", "content": "[1]"}) + DONE

    rewritten = rewrite(upstream)

    assert rewritten.startswith(chunk({"role": "assistant", "content": "[1]"}))
    assert rewritten.endswith(DONE)
    assert judge.chunks(rewritten)[-1] == {
        **HEAD,
        "choices": [
            {"index": 0, "delta": {"annotations": [citation(0, 3)]}, "finish_reason": None}
        ],
    }
    assert rewrite(chunk({"content": "x"}) + DONE) == chunk({"content": "x"}) + DONE


def test_reasoning_is_no_text(rewrite: Rewrite, told: Told) -> None:
    """Markers in reasoning are not cited and do not move the offsets of the answer."""
    upstream = (
        chunk({"reasoning_content": "see [1] [2]", "content": None})
        + chunk({"reasoning": "[1]"})
        + chunk({"content": "x [1]"})
        + chunk({}, "stop")
        + DONE
    )

    assert told(rewrite(upstream))["annotations"] == [citation(2, 5)]


def test_content_that_is_no_string_is_not_cited(rewrite: Rewrite) -> None:
    """Offsets into a list of parts mean nothing: such a choice passes as it came."""
    upstream = (
        chunk({"content": "[1] "})
        + chunk({"content": [{"type": "text", "text": "[1]"}]})
        + chunk({}, "stop")
        + DONE
    )

    assert rewrite(upstream) == upstream


def test_unknown_markers_are_counted(search: GatewaySearch, asked: Document) -> None:
    """[9] and a URL that was never found get no annotation and are counted."""
    rewriting = rewriter(search, asked)
    upstream = chunk({"content": "[9] https://never.example/ [1]"}) + chunk({}, "stop") + DONE

    rewriting.feed(upstream)
    rewriting.finish()

    assert rewriting.unknown_citations == 2


@pytest.mark.parametrize("size", [1, 3, None])
@pytest.mark.parametrize("end", [b"\r\n", b"\r", b"\n"])
def test_odd_framing_gives_the_same_answer(
    end: bytes, size: int | None, rewrite: Rewrite, told: Told
) -> None:
    """BOM, comments, ids, names, other line ends, no blank line at the end: all come through."""
    plain = (
        b"\xef\xbb\xbf: hello\n\n"
        + chunk({"content": "So "}).replace(b"data: ", b"id: 1\ndata:")
        + b"event: ping\ndata: {}\n\ndata: not json\n\ndata: [1]\n\ndata: 5\n\nretry: 3\n\n"
        + chunk({"content": "[1]"})
        + b"data: {\ndata: " + chunk({}, "stop").removeprefix(b"data: {")
        + DONE.rstrip()
    )  # fmt: skip
    upstream = plain.replace(b"\n", end)

    rewritten = rewrite(upstream, size)

    assert rewritten.startswith(upstream[: upstream.index(b"data: {" + end)])
    assert rewritten.endswith(DONE)
    last = list(sse.Decoder().feed(rewritten))[-2]
    assert json.loads(last.data)["choices"][0]["delta"]["annotations"] == [citation(3, 6)]


def test_an_edited_event_keeps_its_other_lines(rewrite: Rewrite) -> None:
    """Ids, names and comments beside the data of the last chunk stay."""
    upstream = (
        chunk({"content": "[1]"})
        + b": c\r\nid: 7\r\nevent: message\r\n"
        + chunk({}, "stop").replace(b"\n", b"\r\n")
    )

    assert (
        rewrite(upstream)
        .split(b"\n\n", 1)[1]
        .startswith(b": c\r\nid: 7\r\nevent: message\r\ndata: {")
    )
    assert rewrite(upstream).endswith(b"}\r\n\r\n")


def test_lone_surrogates_count_and_stay(rewrite: Rewrite, told: Told) -> None:
    """An escape without its other half is one code point, and is sent on as it came."""
    upstream = (
        chunk({"content": "\ud800 [1]"})
        + b'data: {"x":"\\udfff","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
        + DONE
    )

    rewritten = rewrite(upstream)

    assert told(rewritten)["annotations"] == [citation(2, 5)]
    assert b'{"x":"\\udfff",' in rewritten
    assert rewritten.startswith(chunk({"content": "\ud800 [1]"}))


ODD = [
    b'data: {"choices":null}\n\n',
    b'data: {"choices":[null]}\n\n',
    b'data: {"choices":[{"delta":"x"}]}\n\n',
    b'data: {"choices":[{"index":"0","delta":{"content":7,"annotations":{}}}]}\n\n',
    b'data: {"choices":"x","error":null}\n\n',
    b'data: {"id":1,"id":2,"choices":[{"index":5,"delta":{},"finish_reason":"stop"}]}\n\n',
    b"data: [[[[\n\n",
    b"data: \xff\n\n",
    b"event: x\n\n",
    b"data\n\n",
    b"data: " + b"[" * 5000 + b"\n\n",
]


@pytest.mark.parametrize("odd", ODD)
def test_odd_events_pass(odd: bytes, rewrite: Rewrite) -> None:
    """What is no chunk of this wire goes through as it came, and harms nothing."""
    upstream = odd + chunk({"content": "x"}) + odd + chunk({}, "stop") + odd + DONE + odd

    assert rewrite(upstream) == upstream


class TestEndings:
    """How a stream ends that broke off, or that the upstream itself ended in an error."""

    @pytest.mark.parametrize(
        "at", [*range(0, 1115, 13), *range(325, 330), *range(621, 627), *range(1111, 1116)]
    )
    def test_cut_anywhere(self, at: int, rewrite: Rewrite) -> None:
        """What was whole is passed, the cut event is dropped, one error follows, nothing else."""
        upstream = recording(USAGE)[:at]
        *whole, rest = upstream.split(b"\n\n")
        if b"{" in rest and rest.count(b"{") == rest.count(b"}"):
            whole, rest = [*whole, rest.rstrip()], b""
        passed = b"".join(event + b"\n\n" for event in whole)

        ended = rewrite(upstream)

        if rest or b'"length"' not in passed:
            passed += error("the upstream's answer broke off: it ended without a finish_reason")
        assert ended == passed

    def test_cut_inside_a_character(self, rewrite: Rewrite, judge: Any) -> None:
        """Half a character is never sent on, and the SDK raises our error."""
        text = json.dumps({**HEAD, "choices": [{"index": 0, "delta": {"content": "北"}}]})
        text = text.replace("\\u5317", "北")
        event = b"data: " + text.encode()
        upstream = chunk({"content": "a"}) + event[: event.index("北".encode()) + 2]

        with pytest.raises(openai.APIError, match="broke off"):
            judge.stream(rewrite(upstream))

    def test_no_annotation_and_no_finish_reason_is_made_up(self, rewrite: Rewrite) -> None:
        """An answer that broke off has no made-up ending: no finish_reason, no [DONE]."""
        upstream = chunk({"content": "see [1]. And"})

        ended = rewrite(upstream).removeprefix(upstream)

        assert b'finish_reason":' not in ended
        assert b"DONE" not in ended

    def test_fail(self, search: GatewaySearch, asked: Document, judge: Any) -> None:
        """A failure that the gateway found is told once, and nothing follows it."""
        rewriting = rewriter(search, asked)
        start = rewriting.feed(chunk({"content": "x"}) + b"data: {")

        ended = rewriting.fail("the upstream took longer than 5 s")

        assert ended == error("the upstream took longer than 5 s")
        assert rewriting.feed(b"}\n\n" + DONE) == b""
        assert rewriting.finish() == b""
        assert rewriting.fail("again") == b""
        with pytest.raises(openai.APIError, match="longer than 5 s"):
            judge.chunks(start + ended)

    def test_held_annotations_are_not_lost(self, rewrite: Rewrite, told: Told) -> None:
        """What the upstream had annotated before it broke off is sent before the error."""
        upstream = chunk({"content": "a", "annotations": [citation(0, 0)]})

        ended = rewrite(upstream)

        assert told(ended.replace(b'data: {"error"', b'x: {"error"'))["annotations"] == [
            citation(0, 0)
        ]
        assert ended.endswith(
            error("the upstream's answer broke off: it ended without a finish_reason")
        )

    @pytest.mark.parametrize(
        "event",
        [
            b'data: {"error":{"message":"overloaded","code":529}}\n\n',
            b'data: {"error":"overloaded"}\n\n',
            b'event: error\ndata: {"message":"overloaded"}\n\n',
            b"event: error\ndata: overloaded\n\n",
            b'data: {"error":{"code":502},"choices":[{"delta":{},"finish_reason":"error"}]}\n\n',
        ],
    )
    @pytest.mark.parametrize("start", [b"", chunk({"content": "see [1]"})])
    def test_an_error_of_the_upstream_ends_it(
        self, start: bytes, event: bytes, rewrite: Rewrite
    ) -> None:
        """It passes, and nothing of ours is added before or after it."""
        assert rewrite(start + event) == start + event
        assert rewrite(start + event + DONE) == start + event + DONE
        assert is_complete(start + event)

    def test_an_event_without_end(
        self, search: GatewaySearch, asked: Document, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A line beyond the cap ends the stream; what came before it is sent."""
        monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 200)
        rewriting = rewriter(search, asked)

        with pytest.raises(UpstreamError):
            rewriting.feed(chunk({"content": "x"}) + b"data: " + b"y" * 300)

        assert rewriting.fail("too long") == chunk({"content": "x"}) + error("too long")


def _early(*chunks: tuple[dict[str, Any], str | None], done: bool = True) -> bytes:
    return b"".join(chunk(delta, reason) for delta, reason in chunks) + (DONE if done else b"")


CITED_TEXT = [{"content": "Nginx 1.31 is out [1]. "}, {"content": "Apache too [2]."}]


@pytest.mark.parametrize("done", [True, False], ids=["done", "no-done"])
@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param(
            [({"reasoning_content": "hm"}, "stop"), *((each, None) for each in CITED_TEXT)],
            id="on-the-reasoning",
        ),
        pytest.param([({"role": "assistant"}, "stop"), (CITED_TEXT[0], None)], id="on-the-role"),
        pytest.param([(each, "stop") for each in CITED_TEXT], id="on-every-chunk"),
        pytest.param([(CITED_TEXT[0], "stop"), (CITED_TEXT[1], None)], id="after-a-citation"),
        pytest.param([(each, "eos") for each in CITED_TEXT], id="an-unknown-word"),
    ],
)
@pytest.mark.parametrize("last", ["stop", None], ids=["stop", "no-stop"])
def test_an_early_finish_reason_loses_nothing(
    chunks: list[Any], last: str | None, done: bool, rewrite: Rewrite, told: Told, judge: Any
) -> None:
    """Text after a finish_reason is read and cited, and the SDK adds the stream up."""
    body = _early(*chunks, ({}, last), done=done)
    out = rewrite(body)

    seen = told(out)
    text = "".join(delta.get("content", "") for delta, _ in chunks)
    places = [at for mark in ("[1]", "[2]") if (at := text.find(mark)) >= 0]
    cited = [each["url_citation"] for each in seen["annotations"]]
    assert seen["content"] == text
    assert [(each["start_index"], each["end_index"]) for each in cited] == [
        (at, at + 3) for at in places
    ]
    assert b"error" not in out
    assert out.endswith(DONE) == done
    assert rewrite(body, 3) == out
    read = judge.stream(out)["choices"][0]["message"]
    assert read["content"] == text
    assert len(read["annotations"]) == len(places)


def test_an_early_finish_reason_counts_markers_once(search: GatewaySearch, asked: Document) -> None:
    """A text that is read twice, after an early end and at the last one, is counted once."""
    rewriting = rewriter(search, asked)
    rewriting.feed(_early(({"content": "See [9]. "}, "stop"), ({"content": "And [8]."}, "stop")))
    rewriting.finish()
    assert rewriting.unknown_citations == 2


def test_an_end_that_is_told_twice_keeps_the_list_in_the_first(rewrite: Rewrite) -> None:
    """A last chunk that is repeated, with or without the usage, says nothing new."""
    again = chunk({"role": "assistant", "content": ""}, "stop")
    out = rewrite(chunk({"content": "See [1]."}) + again + again + DONE)
    assert out.count(b'"annotations"') == 1
    assert out.endswith(again + DONE)


def test_annotations_of_an_upstream_that_ends_early_are_one_list(
    rewrite: Rewrite, judge: Any
) -> None:
    """The upstream's own that come with an end that was none join the list at the end."""
    own = citation(0, 3)
    body = _early(
        ({"content": "See "}, "stop"), ({"content": "[1].", "annotations": [own]}, "stop")
    )
    made = judge.stream(rewrite(body))["choices"][0]["message"]["annotations"]
    assert [each["url_citation"]["start_index"] for each in made] == [0, 4]
