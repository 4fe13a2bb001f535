"""Search records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from refdesk.store import SearchItem, SearchRecord, Store
from refdesk.store.searches import numbered
from refdesk.types import Entity, GraphNode, Keyword, Reference, Relation

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def _write(store: Store, *records: SearchRecord) -> None:
    for record in records:
        assert store.writer.offer(record)
    assert store.writer.drain(10)


def test_whole_record(store: Store, make) -> None:
    """Every field comes back as it was written."""
    record = make.search(
        1,
        key_id="k1",
        query="who?",
        engine="main",
        answer="The vendor says so.",
        conversation="ab" * 32,
        items=(
            SearchItem(title="一", url="https://a.example/", snippet="s", published="2026-01-02"),
            SearchItem(title="Two", url="https://b.example/"),
        ),
    )
    _write(store, record)
    assert store.searches.get([record.id]) == {record.id: record}


def test_by_ids(store: Store, make) -> None:
    """Known ids are found, unknown and foreign ones are left out, in any number."""
    _write(store, make.search(1), make.search(2))
    known = [make.search(1).id, make.search(2).id]
    asked = [f"{number:040x}" for number in range(2000)] + ["'; --", "\0", "", known[0]]
    assert sorted(store.searches.get(asked)) == known
    assert store.searches.get([]) == {}


def test_by_request(store: Store, make) -> None:
    """The searches of one request come in their order."""
    _write(
        store,
        make.search(2, request_id="r"),
        make.search(1, request_id="r"),
        make.search(3, request_id="other"),
    )
    assert [record.id[-1] for record in store.searches.by_request("r")] == ["2", "1"]
    assert store.searches.by_request("unknown") == []


def test_by_conversation(store: Store, make) -> None:
    """The newest search of a conversation is found, for the same client key only."""
    _write(
        store,
        make.search(1, conversation="c", key_id="k1"),
        make.search(2, conversation="c", key_id="k1"),
        make.search(3, conversation="c", key_id="k2"),
        make.search(4, conversation="c"),
        make.search(5),
    )
    found = store.searches.by_conversation
    assert found("c", "k1") == make.search(2, conversation="c", key_id="k1")
    assert found("c", "k2") == make.search(3, conversation="c", key_id="k2")
    assert found("c", None) == make.search(4, conversation="c")
    assert found("c", "k3") is None
    assert found("d", "k1") is None


def test_reprs_keep_quiet(make) -> None:
    """A record's repr shows neither the question nor what was found."""
    shown = repr(make.search(1, query="private question", answer="private answer"))
    assert "private" not in shown
    assert "example.org" not in shown


def test_hostile_text(store: Store, make) -> None:
    """NULs and halves of surrogate pairs in results harm nothing."""
    item = SearchItem(title="\ufeffa\0", url="https://a.example/", snippet="\ud83d\\u0000")
    _write(store, make.search(1, items=(item,), answer="\0x"))
    record = store.searches.by_request("req-1")[0]
    assert record.items[0].title == "\ufeffa"
    assert record.items[0].snippet == "?\\u0000"
    assert record.answer == "x"


def _reference(index: int, title: str = "Title") -> Reference:
    return Reference(
        id=f"ref_{index:03d}",
        index=index,
        type="kb",
        source="user",
        weight=1.0,
        score=0.5,
        title=title,
        content="Text",
        meta={"document_id": "d1", "page": 2},
    )


def test_everything_worked_out(store: Store, make) -> None:
    """What a search of the library worked out on the way comes back as it was written."""
    record = make.search(
        1,
        items=(),
        type="kb",
        source="hook",
        config={"kb": {"threshold": 0, "graph": False}},
        keywords=(Keyword(text="C++", weight=0.9),),
        entities=(Entity(name="Ann", type="person"),),
        relations=(Relation(subject="Ann", predicate="knows", object="Bob"),),
        dsl={"select": ["id"], "wheres": [{"field": "id", "op": "=", "value": 7}]},
        references=(_reference(1), _reference(2)),
        graph=(GraphNode(id="g1", type="person", name="Ann", score=0.25),),
        xml="<references></references>",
        prompt="Cite.",
        duration_ms=12.5,
        error="one collection failed",
    )
    _write(store, record)
    assert store.searches.by_request("req-1") == [record]


def test_numbers(store: Store, make) -> None:
    """
    A request's references have one number each, in whatever order its searches ended; the
    gateway's are numbered by their place, and on after those that were there before.
    """
    two = tuple(SearchItem(title=title, url="https://a.example/") for title in "AB")
    _write(
        store,
        make.search(
            1, request_id="r", items=(), references=(_reference(3), _reference(1, "First"))
        ),
        make.search(2, request_id="r", items=(), references=(_reference(1, "Again"),)),
        make.search(3, request_id="r", items=two),
    )
    found = numbered(store.searches.by_request("r"))
    assert [(one.index, one.title) for one in found] == [
        (1, "First"), (3, "Title"), (4, "A"), (5, "B"),
    ]  # fmt: skip
    assert [one.id for one in found] == ["ref_001", "ref_003", "ref_004", "ref_005"]
    assert numbered([]) == []


def test_failed_is_no_conversation(store: Store, make) -> None:
    """A search that failed is kept, but does not stand for its conversation."""
    _write(
        store,
        make.search(1, conversation="c"),
        make.search(2, conversation="c", error="the engine timed out", items=()),
    )
    assert store.searches.by_conversation("c", None) == make.search(1, conversation="c")


def test_forgotten(store: Store, make) -> None:
    """What is older than the retention is gone, references and all."""
    old = NOON - timedelta(days=31)
    _write(
        store,
        make.search(1, time=old, request_id="r", references=(_reference(1),)),
        make.search(2, request_id="s"),
    )
    assert store.forget_old(30) == 1
    assert store.searches.by_request("r") == []
    assert len(store.searches.by_request("s")) == 1
