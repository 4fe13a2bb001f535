"""The request log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from refdesk.store import RequestRecord, Store
from refdesk.types import Attempt


def _ids(page) -> list[str]:
    return [item.record.id for item in page]


def _write(store: Store, *records: RequestRecord) -> None:
    for record in records:
        assert store.writer.offer(record)
    assert store.writer.drain(10)


def test_whole_record(store: Store) -> None:
    """Every field comes back as it was written."""
    record = RequestRecord(
        id="9b1d",
        time=datetime(2026, 11, 30, 13, 30, 0, 123456, tzinfo=timezone(timedelta(hours=8))),
        wire="responses",
        stream=True,
        client_request_id="theirs",
        key_id="0a0b0c0d0e0f",
        model="gpt-5",
        upstream="openai",
        status=502,
        route="gateway",
        route_reason="the model cannot search",
        route_source="capability",
        search_header="degraded; reason=engine_timeout",
        reason="engine_timeout",
        query="何時 was it?",
        engine="main",
        results=18,
        cached=True,
        notices=("one", "two"),
        attempts=(
            Attempt(engine="main", outcome="timeout", calls=2, duration_s=1.5, detail="slow"),
            Attempt(engine="own", outcome="resting"),
        ),
        queue_ms=0.25,
        search_ms=1500.0,
        first_byte_ms=80.5,
        total_ms=2000.0,
        injected_chars=4000,
        client_disconnected=True,
        upstream_cut=True,
        error="the upstream broke off",
    )
    _write(store, record)
    logged = store.requests.get("9b1d")
    assert logged is not None
    assert logged.record == record
    assert logged.record.time.tzinfo is UTC
    assert store.requests.get("other") is None


def test_pages(store: Store, make) -> None:
    """The newest come first, and each page goes on where the last one ended."""
    _write(store, *(make.request(number) for number in range(7)))
    first = store.requests.list(limit=3)
    second = store.requests.list(limit=3, before_id=first[-1].record.id)
    third = store.requests.list(limit=3, before_id=second[-1].record.id)
    assert _ids(first + second + third) == [f"req-{number}" for number in range(6, -1, -1)]
    assert store.requests.list(before_id="unknown") == []


def test_order_is_of_writing(store: Store, make) -> None:
    """A clock that jumps back does not change the order of the log."""
    early = make.request().time - timedelta(hours=1)
    _write(store, make.request(1), make.request(2, time=early), make.request(3))
    assert _ids(store.requests.list()) == ["req-3", "req-2", "req-1"]


def test_filters(store: Store, make) -> None:
    """The log can be asked for the degraded, a time, a key, a model, an engine, a reason."""
    noon = make.request().time
    _write(
        store,
        make.request(1, reason="engine_timeout", key_id="k1", time=noon - timedelta(days=1)),
        make.request(2, engine="main", model="m"),
        make.request(3, reason="no_results", key_id="k2"),
    )
    log = store.requests
    assert _ids(log.list(degraded=True)) == ["req-3", "req-1"]
    assert _ids(log.list(degraded=False)) == ["req-2"]
    assert _ids(log.list(since=noon)) == ["req-3", "req-2"]
    assert _ids(log.list(until=noon)) == ["req-1"]
    assert _ids(log.list(key_id="k2")) == ["req-3"]
    assert _ids(log.list(model="m", engine="main")) == ["req-2"]
    assert _ids(log.list(reason="no_results")) == ["req-3"]
    assert _ids(log.list(key_id="' OR 1=1--")) == []


def test_following(store: Store, make) -> None:
    """Following gives each row once, oldest first, and only what came after the start."""
    assert store.requests.newest() == 0
    _write(store, make.request(1))
    seq = store.requests.newest()
    assert store.requests.after(seq) == []
    _write(store, make.request(2), make.request(3, reason="no_query"))
    news = store.requests.after(seq)
    assert _ids(news) == ["req-2", "req-3"]
    assert _ids(store.requests.after(seq, degraded=True)) == ["req-3"]
    assert _ids(store.requests.after(seq, limit=1)) == ["req-2"]
    assert store.requests.after(news[-1].seq) == []


def test_numbers_are_not_reused(store: Store, make) -> None:
    """After the whole log was deleted, followers still see what comes next."""
    _write(store, make.request(1))
    seq = store.requests.newest()
    assert store.requests.delete_before(make.request().time + timedelta(days=1)) == 1
    _write(store, make.request(2))
    assert _ids(store.requests.after(seq)) == ["req-2"]


def test_hostile_text(store: Store, make) -> None:
    """NULs go, halves of surrogate pairs are replaced, everything else stays."""
    _write(
        store,
        make.request(
            1,
            query="a\0b\ud800c \U0001f600 \ufeff'; DROP TABLE requests",
            notices=("x\0y", "\udfff"),
            attempts=(Attempt(engine="e\0", outcome="ok", detail="\ud800"),),
            client_request_id="\0",
        ),
    )
    record = store.requests.list()[0].record
    assert record.query == "ab?c \U0001f600 \ufeff'; DROP TABLE requests"
    assert record.notices == ("xy", "?")
    assert record.attempts == (Attempt(engine="e", outcome="ok", detail="?"),)
    assert record.client_request_id == ""


def test_deleting_in_steps(store: Store, make) -> None:
    """More rows than one step deletes all go, and the count is right."""
    _write(store, *(make.request(number) for number in range(2100)))
    assert store.requests.delete_before(make.request().time + timedelta(seconds=1)) == 2100
    assert store.requests.list() == []


def test_many_at_once(store: Store) -> None:
    """However many wait together, each is written once, whole, and in its order."""
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    records = [
        RequestRecord(
            id=f"r{number}",
            time=noon + timedelta(seconds=number),
            wire="chat",
            model=f"m{number}" if number % 3 else "odd\0\ud800 model",
            notices=("one",) * (number % 2),
            total_ms=number / 4,
        )
        for number in range(75)
    ]
    for record in [*records, records[40]]:
        assert store.writer.offer(record)
    assert store.writer.drain(10)

    logged = [item.record for item in reversed(store.requests.list(limit=200))]

    assert [item.id for item in logged] == [f"r{number}" for number in range(75)]
    assert [item.total_ms for item in logged] == [number / 4 for number in range(75)]
    assert [item.notices for item in logged] == [("one",) * (number % 2) for number in range(75)]
    assert {item.model for item in logged[::3]} == {"odd? model"}
