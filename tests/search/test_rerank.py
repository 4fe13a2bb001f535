"""What was found, put in a better order."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.errors import DelegateError
from refdesk.search.rerank import Reranker, by_worth
from refdesk.testing.fakes import HANG, FakeDelegate
from refdesk.types import ResultItem
from refdesk.uses import Uses

AGENT = Uses.parse("workers.rerank")
TOOL = Uses.parse("mcp:rank.order")


def item(name: str, score: float | None = None, weight: float = 0.8, **more: Any) -> ResultItem:
    return ResultItem(title=name, url=f"https://{name}.com/", score=score, weight=weight, **more)


ITEMS = [item("a", 0.1), item("b", 0.9), item("c", 0.5)]


def names(items: Any) -> str:
    return "".join(each.title for each in items)


async def test_nothing() -> None:
    """Nothing found is nothing to order; nobody is asked."""
    delegate = FakeDelegate("unused")

    assert (await Reranker(AGENT, delegate).rerank("q", [], top_n=3)).items == ()
    assert delegate.calls == []


@pytest.mark.parametrize(("top_n", "order"), [(1, "b"), (2, "bc"), (3, "bca"), (99, "bca")])
async def test_builtin(top_n: int, order: str) -> None:
    """The builtin one orders by score, and keeps as many as it is told."""
    assert names((await Reranker().rerank("q", ITEMS, top_n=top_n)).items) == order


def test_ties_are_stable() -> None:
    """Items that are worth the same stay in their order."""
    same = [item(name, 0.5) for name in "abcdefgh"]

    assert names(by_worth(same)) == "abcdefgh"


def test_no_scores() -> None:
    """A source that only ranks keeps its order, even if some of its items have scores."""
    assert names(by_worth([item("a"), item("b", 0.9), item("c")])) == "abc"


def test_sources_share() -> None:
    """Collections whose scores mean different things take turns."""
    items = [
        item("a", 0.99, type="kb", collection="one"),
        item("b", 0.98, type="kb", collection="one"),
        item("c", 0.2, type="kb", collection="two"),
    ]

    assert names(by_worth(items)) == "acb"


def test_score_times_weight() -> None:
    """The seed's way multiplies score and weight."""
    items = [item("a", 0.5, 1.0), item("b", 0.9, 0.6), item("c", 0.4, 0.8)]

    assert names(by_worth(items, method="score_weight")) == "bac"
    assert by_worth(items, method="score_weight")[0].scores["rerank"] == pytest.approx(0.54)


ANSWERS: list[tuple[Any, str]] = [
    ({"order": ["ref_003", "ref_001", "ref_002"]}, "cab"),
    ({"items": [{"citation_id": "ref_002"}, {"citation_id": "ref_003"}]}, "bca"),
    ({"next": {"order": ["ref_003"]}}, "cab"),
    ({"data": {"order": ["ref_003"]}}, "cab"),
    ('{"order": ["ref_003"]}', "cab"),
    ('Sure:\n```json\n{"order": ["ref_002"]}\n```', "bac"),
    ('<think>[1]</think>["ref_002"]', "bac"),
    (["ref_003", "ref_003", "ref_099", None, {}, "ref_001"], "cab"),
    ([3, "2"], "cba"),
    (["[ref_003]"], "cab"),
]


@pytest.mark.parametrize(("answer", "order"), ANSWERS)
@pytest.mark.parametrize("uses", [AGENT, TOOL])
async def test_delegated(uses: Uses, answer: Any, order: str) -> None:
    """
    Known ids come first, each once; the rest follows in its old order; unknown ones are ignored.
    """
    reranked = await Reranker(uses, FakeDelegate(answer)).rerank("q", ITEMS, top_n=10)

    assert names(reranked.items) == order
    assert reranked.notices == ()
    assert sorted(names(reranked.items)) == ["a", "b", "c"]


async def test_what_is_asked() -> None:
    """An assistant is told what to do; a tool gets its arguments; both get ids to answer with."""
    agent, tool = FakeDelegate(["ref_002"]), FakeDelegate(["ref_002"])

    cut = await Reranker(AGENT, agent).rerank("q", ITEMS, top_n=2)
    await Reranker(TOOL, tool).rerank("q", ITEMS, top_n=2)

    assert names(cut.items) == "ba"
    (target, payload), (_, arguments) = agent.calls[0], tool.calls[0]
    assert target == AGENT
    assert {**arguments, "action": "rerank"} == payload
    assert payload["query"] == "q"
    assert payload["top_n"] == 2
    assert payload["items"][0] == {
        "citation_id": "ref_001",
        "type": "web",
        "source": "auto",
        "weight": 0.8,
        "score": 0.1,
        "title": "a",
        "url": "https://a.com/",
    }


@pytest.mark.parametrize(
    "answer",
    [
        "no idea",
        {},
        {"order": []},
        {"order": ["ref_077"]},
        [],
        7,
        None,
        {"order": "ref_001"},
        DelegateError("it is away"),
        RuntimeError("secret"),
        ValueError("x"),
    ],
)
async def test_failure_keeps_the_old_order(answer: Any) -> None:
    """Whatever a reranker does wrong, no item is lost and the old order stays, with a notice."""
    reranked = await Reranker(AGENT, FakeDelegate(answer)).rerank("q", ITEMS, top_n=10)

    assert list(reranked.items) == ITEMS
    assert len(reranked.notices) == 1
    assert reranked.notices[0].startswith("the results were not reranked: ")
    assert "secret" not in reranked.notices[0]


async def test_no_answer_in_time() -> None:
    """A reranker that says nothing is not waited for beyond its time."""
    reranker = Reranker(TOOL, FakeDelegate(HANG), timeout_s=0.0)

    reranked = await reranker.rerank("q", ITEMS, top_n=10)

    assert list(reranked.items) == ITEMS
    assert "gave no answer within 0 s" in reranked.notices[0]


async def test_nobody_there() -> None:
    """Without anybody to ask, the notice says what to configure."""
    reranked = await Reranker(TOOL).rerank("q", ITEMS, top_n=10)

    assert list(reranked.items) == ITEMS
    assert "configure it under mcp_servers" in reranked.notices[0]
