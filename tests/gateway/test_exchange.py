"""The promises of gateway search, each played as a conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refdesk.gateway.exchange import (
    Answer,
    CallUpstream,
    Complete,
    Completed,
    Recall,
    Recalled,
    Relay,
    Search,
    SearchDone,
    SearchFailed,
    Terms,
    UpstreamAnswered,
    exchange,
    refusing,
)
from refdesk.gateway.route import Capability, SearchSwitch, decide
from refdesk.search.extracting import ExtractedQuery
from refdesk.testing.playbook import Playbook
from refdesk.types import ResultItem, WebAnswer
from refdesk.wires import chat, messages, responses
from refdesk.wires.base import GatewaySearch, History, Source, Wire
from refdesk.wires.document import Document
from sealed import FakeSealer

ID = "0123456789abcdef0123456789abcdef01234567"
QUESTION = "When was Python 3.14 released?"
FOUND = WebAnswer(
    items=(
        ResultItem(
            title="What's new", url="https://docs.python.org/3.14", content="On 7 October 2025."
        ),
        ResultItem(title="PEP 745", url="https://peps.python.org/pep-0745", content="Schedule."),
    ),
    engine="main",
    engine_type="serper",
)
TOOL = {"type": "web_search_20250305", "name": "web_search"}


def body(**changes: Any) -> dict[str, Any]:
    """A Messages request that declares and forces search, as Claude Code's sub-request does."""
    base: dict[str, Any] = {
        "model": "m",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [TOOL],
        "tool_choice": {"type": "tool", "name": "web_search"},
    }
    return base | changes


MESSAGES_ANSWER = json.dumps(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "On 7 October 2025 [1]."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
).encode()


def play(
    request: dict[str, Any],
    *,
    wire: Wire = messages,
    capability: Capability = "no",
    model: SearchSwitch | None = None,
    **terms: Any,
) -> Playbook:
    """Begin an exchange."""
    decision = terms.pop("decision", None) or decide(
        model=model, upstream=None, capability=capability
    )
    document = Document.read(json.dumps(request).encode())
    return Playbook(
        exchange(document, wire=wire, terms=Terms(decision=decision, **terms), sealer=FakeSealer())
    )


def sent(command: CallUpstream) -> dict[str, Any]:
    """The body that goes to the upstream."""
    assert isinstance(command, CallUpstream)
    parsed: dict[str, Any] = json.loads(bytes(command.document))
    return parsed


def test_a_search_that_works() -> None:
    """The material goes into the user's message, the tool out, the blocks into the answer."""
    book = play(body())

    book << Search >> SearchDone(ID, FOUND) << CallUpstream

    request = sent(book.last)
    assert "tools" not in request
    assert "tool_choice" not in request
    texts = [part["text"] for part in request["messages"][-1]["content"]]
    assert texts[0] == QUESTION
    assert "https://docs.python.org/3.14" in texts[1]

    book >> UpstreamAnswered(200, MESSAGES_ANSWER) << Answer

    kinds = [block["type"] for block in json.loads(book.last.body)["content"]]
    assert kinds == ["server_tool_use", "web_search_tool_result", "text"]
    assert book.last.outcome.header() == "gateway; engine=main; results=2"
    assert book.over


def test_the_query_is_the_users_words() -> None:
    """The engine is asked what the user asked, with the tool's own parameters."""
    tool = TOOL | {"allowed_domains": ["python.org"], "user_location": {"country": "NL"}}
    book = play(body(tools=[tool]))

    book << Search

    query = book.last.query
    assert query.text == QUESTION
    assert query.sites == ("python.org",)
    assert query.country == "NL"


def test_a_failed_search() -> None:
    """When the search fails, the model gets what the client sent, tool included."""
    request = body()
    book = play(request)

    book << Search >> SearchFailed("engine_timeout", "serper took longer than 10 s", id=ID)
    book << CallUpstream

    assert sent(book.last) == request
    assert book.last.outcome.header() == "degraded; reason=engine_timeout"

    book >> UpstreamAnswered(200, MESSAGES_ANSWER) << Answer
    assert book.last.body == MESSAGES_ANSWER


def test_a_failed_search_where_the_tool_is_refused() -> None:
    """An upstream known not to take the tool gets none, with a notice, instead of answering 400."""
    book = play(body(), accepts_tool=False, accepts_source="the rule says so")

    book << Search >> SearchFailed("engine_timeout", "too slow") << CallUpstream

    assert "tools" not in sent(book.last)
    assert any("the rule says so" in notice for notice in book.last.outcome.notices)


def test_a_forced_search_that_found_nothing() -> None:
    """The client sees one search with no links, and the tool is gone."""
    book = play(body())

    book << Search >> SearchFailed("no_results", "nothing was found", id=ID) << CallUpstream
    assert "tools" not in sent(book.last)

    book >> UpstreamAnswered(200, MESSAGES_ANSWER) << Answer
    content = json.loads(book.last.body)["content"]
    assert content[0]["type"] == "server_tool_use"
    assert content[1]["content"] == []
    assert book.last.outcome.header() == "degraded; reason=no_results"


def test_a_search_that_found_nothing_and_was_not_forced() -> None:
    """The request goes on as it came, tool included."""
    request = body(tool_choice={"type": "auto"})
    book = play(request)

    book << Search >> SearchFailed("no_results", "nothing was found", id=ID) << CallUpstream

    assert sent(book.last) == request


@pytest.mark.parametrize(
    "changes",
    [
        {"tool_choice": {"type": "none"}},
        {"tool_choice": {"type": "tool", "name": "other"}, "tools": [TOOL, {"name": "other"}]},
        {"tools": [TOOL | {"max_uses": 0}]},
    ],
)
def test_steps_that_do_not_search(changes: dict[str, Any]) -> None:
    """A step the client excludes from search goes to the model as it came."""
    request = body(**changes)
    book = play(request) << CallUpstream

    assert sent(book.last) == request
    assert book.last.outcome.header() == "pass"


def test_no_declaration() -> None:
    """Without a declaration nothing is searched and nothing edited."""
    request = body()
    del request["tools"], request["tool_choice"]
    book = play(request) << CallUpstream

    assert sent(book.last) == request
    assert book.last.outcome.header() == "none"


def test_a_model_that_searches_by_itself() -> None:
    """Its own search is left to it."""
    request = body()
    book = play(request, capability="hosted") << CallUpstream

    assert sent(book.last) == request
    assert book.last.outcome.header() == "hosted"


def test_a_model_switched_on() -> None:
    """Even a model that could search itself is searched for, and cannot search twice."""
    book = play(body(), capability="hosted", model=SearchSwitch(enabled="on"))

    book << Search >> SearchDone(ID, FOUND) << CallUpstream

    assert "tools" not in sent(book.last)


def test_a_message_without_words() -> None:
    """There is nothing to search for, and no engine is asked."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    book = play(body(messages=[{"role": "user", "content": [image]}]))

    book << CallUpstream

    assert book.last.outcome.header() == "degraded; reason=no_query"


def test_a_secret_does_not_leave() -> None:
    """What looks like a key is cut out of the query, and noted."""
    text = "why does sk-proj-abcdefgh12345678abcdefgh fail at api.openai.com"
    book = play(body(messages=[{"role": "user", "content": text}]))

    book << Search

    assert book.last.query.text == "why does fail at api.openai.com"
    book >> SearchDone(ID, FOUND) << CallUpstream
    assert "an API key was cut out of the query" in book.last.outcome.notices


def test_material_that_does_not_fit() -> None:
    """Where not one result fits under the cap, the request goes on as it came."""
    request = body()
    book = play(request, max_injected_chars=200)

    book << Search >> SearchDone(ID, FOUND) << CallUpstream

    assert sent(book.last) == request
    assert book.last.outcome.header() == "degraded; reason=injection_failed"


def test_an_upstream_error_after_a_good_search() -> None:
    """An error passes through as it came; no search blocks are added to it."""
    error = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    book = play(body()) << Search >> SearchDone(ID, FOUND) << CallUpstream
    book >> UpstreamAnswered(529, error) << Answer

    assert book.last.body == error


def test_an_answer_that_is_none() -> None:
    """An answer in which nothing can be put is passed on as it came, with a notice."""
    book = play(body()) << Search >> SearchDone(ID, FOUND) << CallUpstream
    book >> UpstreamAnswered(200, b"<html>") << Answer

    assert book.last.body == b"<html>"
    assert book.last.outcome.notices


def test_a_stream() -> None:
    """A streamed answer goes through the rewriter."""
    book = play(body(stream=True)) << Search >> SearchDone(ID, FOUND) << CallUpstream
    book >> UpstreamAnswered(200, None) << Relay

    assert book.last.rewriter is not None


def test_a_stream_without_a_search() -> None:
    """A streamed answer to a step that does not search is passed on unread."""
    book = play(body(stream=True, tool_choice={"type": "none"})) << CallUpstream
    book >> UpstreamAnswered(200, None) << Relay

    assert book.last.rewriter is None


def test_an_upstream_that_was_seen_to_refuse() -> None:
    """After a 400 to a request with the tool, a step that does not search is sent none."""
    decision = decide(model=None, upstream=None, capability="no")
    terms = refusing(Terms(decision=decision))
    document = Document.read(json.dumps(body(tool_choice={"type": "none"})).encode())
    book = Playbook(exchange(document, wire=messages, terms=terms, sealer=FakeSealer()))

    book << CallUpstream

    assert "tools" not in sent(book.last)


class TestWhatComesBack:
    """Our marks in the history."""

    def test_responses_ids_are_looked_up(self) -> None:
        """A search call of ours becomes readable text before the upstream sees it."""
        request = {
            "model": "m",
            "input": [
                {"role": "user", "content": "Capital of France?"},
                {
                    "type": "web_search_call",
                    "id": "ws_rd" + ID,
                    "status": "completed",
                    "action": {"type": "search", "query": "capital of France"},
                },
                {"role": "assistant", "content": "Paris."},
                {"role": "user", "content": "And of Spain?"},
            ],
        }
        earlier = GatewaySearch(
            id=ID,
            query="capital of France",
            sources=(Source(url="https://example.com/france", title="France", snippet="Paris"),),
        )
        book = play(request, wire=responses) << Recall
        book >> Recalled(History(rows={}, searches={ID: earlier})) << CallUpstream

        text = bytes(book.last.document).decode()
        assert "ws_rd" not in text
        assert "https://example.com/france" in text

    def test_a_search_repeated_on_chat(self) -> None:
        """In a tool loop on Chat the earlier material is appended again, without a new search."""
        request = {
            "model": "m",
            "messages": [
                {"role": "user", "content": QUESTION},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "t", "type": "function", "function": {"name": "f", "arguments": ""}}
                    ],
                },
                {"role": "tool", "tool_call_id": "t", "content": "42"},
            ],
            "tools": [{"type": "function", "function": {"name": "f"}}, {"type": "web_search"}],
        }
        book = play(request, wire=chat) << Recall
        assert book.last.conversation
        book >> Recalled(History(rows={}, searches={}), (ID, FOUND)) << CallUpstream

        outgoing = sent(book.last)
        assert [tool["type"] for tool in outgoing["tools"]] == ["function"]
        assert "https://docs.python.org/3.14" in json.dumps(outgoing["messages"][0])
        assert book.last.outcome.header() == "pass"


def test_one_upstream_call_whatever_happens() -> None:
    """Every course has exactly one call to the upstream."""
    outcomes = [
        SearchDone(ID, FOUND),
        SearchFailed("engine_timeout", "slow"),
        SearchFailed("no_results", "none", id=ID),
    ]
    for outcome in outcomes:
        book = play(body()) << Search >> outcome << CallUpstream
        book >> UpstreamAnswered(200, MESSAGES_ANSWER) << Answer
        assert sum(isinstance(said, CallUpstream) for said in book.asked) == 1


def test_a_follow_up_that_no_rule_completes() -> None:
    """Where somebody completes follow-ups, what they make of one is asked."""
    talk = [
        {"role": "user", "content": "Who wrote Dune?"},
        {"role": "assistant", "content": "Frank Herbert"},
        {"role": "user", "content": "when did he die?"},
    ]
    book = play(body(messages=talk), completes=True)

    book << Complete
    assert [turn["role"] for turn in book.last.turns] == ["user", "assistant", "user"]

    completed = ExtractedQuery(text="When did Frank Herbert die?", said="when did he die?")
    book >> Completed(completed) << Search
    assert book.last.query.text == "When did Frank Herbert die?"
