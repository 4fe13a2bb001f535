"""Steps that somebody else does, and what they answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.errors import ConfigError, DelegateError
from refdesk.search.delegate import Delegates, ask, is_at_work, read_answer
from refdesk.search.delegated import search_by_delegate
from refdesk.testing.fakes import HANG, FakeDelegate
from refdesk.types import ResultItem, SearchRequest
from refdesk.uses import Uses

AGENT = Uses.parse("workers.web")
OTHER = Uses.parse("workers.other")
TOOL = Uses.parse("mcp:net.search")


class FakeAssistants:
    """An agent runtime that hands on what it is asked, and takes down what it was given."""

    def __init__(self, delegate: FakeDelegate) -> None:
        self.delegate = delegate
        self.within: list[Delegates] = []

    async def call(self, target: Uses, payload: Any, *, timeout_s: float, within: Delegates) -> Any:
        self.within.append(within)
        return await self.delegate.call(target, payload, timeout_s=timeout_s)


async def test_each_kind_has_its_own() -> None:
    """Tools go to the MCP client and assistants to the agent, with the time they have."""
    agent, tool = FakeDelegate("a"), FakeDelegate("b")
    delegates = Delegates(assistant=FakeAssistants(agent), mcp=tool)

    assert await ask(delegates, AGENT, {"query": "q"}, timeout_s=5) == "a"
    assert await ask(delegates, TOOL, {"query": "q"}) == "b"
    assert agent.calls == [(AGENT, {"query": "q"})]
    assert (agent.timeouts, tool.timeouts) == ([5], [30.0])


@pytest.mark.parametrize(
    ("target", "words"),
    [(AGENT, "no assistant runtime"), (TOOL, "under mcp_servers"), (Uses(), "nobody to delegate")],
)
@pytest.mark.parametrize("delegates", [None, Delegates()])
async def test_nobody(delegates: Any, target: Uses, words: str) -> None:
    """Where nobody is there to ask, the error says what to do."""
    with pytest.raises(DelegateError, match=words):
        await ask(delegates, target, {})


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (DelegateError("as it is"), "^as it is$"),
        (ConfigError("no server"), "^'mcp:net.search' failed: no server$"),
        (RuntimeError("sk-secret"), "^'mcp:net.search' failed with RuntimeError$"),
    ],
)
async def test_failure(raised: Exception, words: str) -> None:
    """Every failure is a DelegateError; foreign messages are not repeated."""
    with pytest.raises(DelegateError, match=words):
        await ask(FakeDelegate(raised), TOOL, {})


async def test_time_out() -> None:
    """A delegate that does not heed its time is given up."""
    with pytest.raises(DelegateError, match="no answer within 0 s"):
        await ask(FakeDelegate(HANG), AGENT, {}, timeout_s=0)


async def test_cancelled() -> None:
    """Whoever asks can be cancelled; that is no failure of the delegate."""
    delegate = FakeDelegate(HANG)
    asking = asyncio.create_task(ask(delegate, AGENT, {}))
    await delegate.script.started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert delegate.script.running == 0


async def test_asked_from_within() -> None:
    """An assistant is not asked while it is at work, by itself or by one that it asked."""
    asked: list[str] = []

    class Circle:
        """Two assistants that ask each other."""

        async def call(
            self, target: Uses, payload: Any, *, timeout_s: float, within: Delegates
        ) -> Any:
            asked.append(str(target))
            assert is_at_work(within, target)
            return await ask(within, OTHER if target == AGENT else AGENT, payload)

    delegates = Delegates(assistant=Circle())
    with pytest.raises(DelegateError, match=r"'workers\.web' is at work already"):
        await ask(delegates, AGENT, {})
    assert asked == [str(AGENT), str(OTHER)]
    assert not is_at_work(delegates, AGENT)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ({"items": [1]}, {"items": [1]}),
        ({"next": {"data": {"items": []}}}, {"items": []}),
        ('{"items": []}', {"items": []}),
        ("  [1, 2]\n", [1, 2]),
        ('Here you are:\n```json\n{"a": 1}\n```\nBye', {"a": 1}),
        ("```\n[1]\n```", [1]),
        ('Sure! {"a": {"b": 1}} as asked.', {"a": {"b": 1}}),
        ('<think>{"no": 1}</think>{"a": 1}', {"a": 1}),
        ({"data": '{"a": 1}'}, {"a": 1}),
        ("plain words", "plain words"),
        ("42", "42"),
        ("", ""),
        (None, None),
        (7, 7),
        ({"data": 7}, {"data": 7}),
        ("{broken", "{broken"),
    ],
)
def test_read_answer(answer: Any, value: Any) -> None:
    """An answer is what is inside of what models and hooks wrap around it."""
    assert read_answer(answer) == value


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet='{}[]"`json\n:1a<think>/', max_size=60))
def test_read_any_text(text: str) -> None:
    """Any text is read, as JSON or as text."""
    assert isinstance(read_answer(text), (str, dict, list))


ROW = {"title": "T", "content": "C", "url": "https://t.com/", "score": 0.5}
ITEM = ResultItem(title="T", content="C", url="https://t.com/", score=0.5)


@pytest.mark.parametrize(
    "answer",
    [
        {"items": [ROW], "total": 1},
        {"results": [ROW]},
        [ROW],
        '{"items": [{"title": "T", "content": "C", "url": "https://t.com/", "score": 0.5}]}',
        {"next": {"items": [ROW]}},
        {
            "data": {
                "items": [{"name": "T", "snippet": "C", "link": "https://t.com/", "score": 0.5}]
            }
        },
    ],
)
async def test_answers(answer: Any) -> None:
    """Every shape that the seed accepts is read."""
    result = await search_by_delegate(TOOL, SearchRequest(query="q"), FakeDelegate(answer))

    assert result.items == (ITEM,)
    assert (result.query, result.engine, result.notices) == ("q", "mcp:net.search", ())


@pytest.mark.parametrize("answer", [None, 7, "words", {}, {"items": "x"}, {"items": None}])
async def test_no_answer(answer: Any) -> None:
    """What has no items to read is an error, never a result that finds nothing."""
    with pytest.raises(DelegateError, match="gave no results to read"):
        await search_by_delegate(AGENT, SearchRequest(query="q"), FakeDelegate(answer))


async def test_empty_answer() -> None:
    """An empty list is an answer: nothing was found."""
    result = await search_by_delegate(TOOL, SearchRequest(query="q"), FakeDelegate({"items": []}))

    assert (result.items, result.error) == ((), None)


async def test_error_in_the_answer() -> None:
    """An answer that says what went wrong is an error with these words, not a hit."""
    delegate = FakeDelegate({"error": "quota used up", "items": []})

    with pytest.raises(DelegateError, match=r"'mcp:net\.search' failed: quota used up"):
        await search_by_delegate(TOOL, SearchRequest(query="q"), delegate)


@pytest.mark.parametrize(
    "answer",
    [
        {"items": [], "error": {"message": "quota used up", "code": 429}},
        {"items": [], "errors": ["quota used up"]},
        {"results": None, "success": False, "detail": "quota used up"},
        {"status": "error", "message": "quota used up"},
    ],
)
async def test_a_failure_told_in_another_shape(answer: Any) -> None:
    """Whatever shape a tool tells its failure in, it is one; a message beside rows is none."""
    with pytest.raises(DelegateError, match=r"failed: quota used up"):
        await search_by_delegate(TOOL, SearchRequest(query="q"), FakeDelegate(answer))
    found = await search_by_delegate(
        TOOL, SearchRequest(query="q"), FakeDelegate({"items": [], "message": "no results"})
    )
    assert (found.items, found.error) == ((), None)


async def test_rows_that_cannot_be_read() -> None:
    """Rows that say nothing are left out and counted; hostile values do no harm."""
    delegate = FakeDelegate(
        [
            ROW,
            7,
            {},
            {"title": "x", "url": "javascript:alert(1)", "score": float("nan"), "data": 3},
            {"content": "only text", "score": 17, "rank": 4, "record_id": [1]},
        ]
    )
    result = await search_by_delegate(TOOL, SearchRequest(query="q", type="db"), delegate)

    assert [(each.title, each.url, each.score) for each in result.items] == [
        ("T", "https://t.com/", 0.5),
        ("x", "", None),
        ("only text", "", 1.0),
    ]
    assert result.items[2].metadata == {"rank": 4}
    assert result.items[2].record_id is None
    assert {each.type for each in result.items} == {"db"}
    assert result.notices == ("2 of the results of 'mcp:net.search' could not be read",)


async def test_what_is_asked() -> None:
    """A tool gets what was said and no more; an assistant also what kind of search it is for."""
    request = SearchRequest(query="q", source="auto", limit=5, sites=("a.com",), time_range="day")
    agent, tool = FakeDelegate([]), FakeDelegate([])
    await search_by_delegate(AGENT, request, agent)
    await search_by_delegate(TOOL, request, tool)

    said = {"query": "q", "limit": 5, "sites": ["a.com"], "time_range": "day"}
    assert tool.calls == [(TOOL, said)]
    assert agent.calls == [(AGENT, {**said, "type": "web", "source": "auto"})]
