"""What happened during a search, as a tree."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from refdesk.search.trace import Trace, TraceNode
from refdesk.testing.fakes import FakeClock


def drawn(trace: Trace) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None, legacy_windows=False)
    console.print(trace.tree())
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def example(locale: str | None = None) -> Trace:
    clock = FakeClock()
    trace = Trace(locale, clock=clock, wall_ms=lambda: 1_700_000_000_000)
    node = trace.node()
    node.start(query="who maintains httpx2", types=["web", "kb", "db"])
    web, kb, db = (node.child(kind) for kind in ("web", "kb", "db"))
    for child in (web, kb):
        child.start(query="who maintains httpx2")
    clock.advance(0.25)
    web.log("info", "Engine main", outcome="ok", calls=1)
    web.complete(result_count=1)
    kb.log("warn", "Search failed", error="no collection is called 'docs'")
    kb.fail("no collection is called 'docs'")
    db.cancel()
    node.complete(result_count=1)
    return trace


def test_tree() -> None:
    """The tree shows each source with its status, time and count, and why one failed."""
    assert drawn(example()) == (
        "✓ Search 'who maintains httpx2'  completed  250 ms  1 result\n"
        "├── ✓ Web Search 'who maintains httpx2'  completed  250 ms  1 result\n"
        "│   └── Engine main outcome=ok calls=1\n"
        "├── ✗ KB Search 'who maintains httpx2'  failed  250 ms\n"
        "│   └── no collection is called 'docs'\n"
        "└── – DB Search  cancelled  0 ms"
    )


def test_labels_in_chinese() -> None:
    """Labels are spoken in the call's language."""
    node = example("zh-CN").nodes[0]

    assert [node.label, *(child.label for child in node.children)] == [
        "搜索",
        "网页搜索",
        "知识库搜索",
        "数据库搜索",
    ]


def test_json() -> None:
    """The trace is plain values, with logs that know their node."""
    (node,) = json.loads(json.dumps(example().to_json()))

    assert (node["type"], node["status"], node["duration_ms"]) == ("search", "completed", 250.0)
    assert node["input"]["types"] == ["web", "kb", "db"]
    web, kb, db = node["children"]
    assert web["logs"] == [
        {
            "timestamp": 1_700_000_000_000,
            "level": "info",
            "message": "Engine main",
            "data": {"outcome": "ok", "calls": 1},
            "node_id": web["id"],
        }
    ]
    assert kb["error"] == "no collection is called 'docs'"
    assert (db["status"], "error" in db) == ("cancelled", False)
    assert len({each["id"] for each in (node, web, kb, db)}) == 4


def test_several_calls() -> None:
    """A trace that was given to several calls shows them all."""
    trace = Trace()
    trace.node().start(query="a")
    trace.node()

    lines = drawn(trace).splitlines()
    assert lines[0] == "Search"
    assert lines[1].startswith("├── ◐ Search 'a'  running")
    assert lines[2] == "└── ○ Search  pending"


@pytest.mark.parametrize("ending", ["complete", "fail", "cancel"])
def test_what_ended_stays(ending: str) -> None:
    """A node that has ended is not ended again, and its time stands."""
    clock = FakeClock()
    node = Trace(clock=clock).node()
    node.start()
    clock.advance(1)
    node.complete(result_count=3)
    clock.advance(1)
    {"complete": node.complete, "fail": lambda: node.fail("x"), "cancel": node.cancel}[ending]()

    assert (node.status, node.duration_ms, node.error) == ("completed", 1000, None)


def test_logs_are_bounded() -> None:
    """Whoever logs in a loop fills no memory."""
    node = Trace().node()
    for _ in range(1000):
        node.log("debug", "again")

    assert len(node.logs) == 200


def test_hostile_text() -> None:
    """Queries and errors are no markup and do not control the terminal."""
    trace = Trace()
    node = trace.node()
    node.start(query="[red]x[/red] \x1b[2J" + "y" * 500)
    node.fail("[link=https://evil.example]\x1b]8;;https://evil.example\x07click")

    text = drawn(trace)
    assert "[red]x[/red]" in text
    assert "\x1b" not in text
    assert "[link=https://evil.example]" in text


def test_label_of_ones_own() -> None:
    """A handler may add steps of its own below its node."""
    child: TraceNode = Trace().node("search_item").child(label="Fusion")

    assert (child.label, child.type, child.status) == ("Fusion", "search_item", "pending")
