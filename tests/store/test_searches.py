"""Search records."""

from __future__ import annotations

from refdesk.store import SearchItem, SearchRecord, Store


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
