"""Spans for OpenTelemetry, where it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from refdesk.search import Searcher
from refdesk.telemetry import spans
from refdesk.testing.fakes import FakeHandler


class Opened:
    """A span that remembers what was said about it."""

    def __init__(self, name: str, attributes: dict[str, Any]) -> None:
        self.name = name
        self.attributes = attributes

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value


class Tracer:
    """Stands for the tracer of an SDK."""

    def __init__(self) -> None:
        self.opened: list[Opened] = []

    def get_tracer(self, scope: str) -> Tracer:
        assert scope == "refdesk"
        return self

    @contextmanager
    def start_as_current_span(
        self, name: str, *, attributes: Any, record_exception: bool, set_status_on_exception: bool
    ) -> Iterator[Opened]:
        assert not record_exception
        self.opened.append(Opened(name, attributes))
        yield self.opened[-1]


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tracer]:
    """The tracer that an installed API gives."""
    found, api = Tracer(), ModuleType("opentelemetry")
    api.trace = found  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "opentelemetry", api)
    spans._tracer.cache_clear()
    yield found
    spans._tracer.cache_clear()


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, nothing is traced and nothing fails."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    spans._tracer.cache_clear()
    try:
        with spans.span(spans.SEARCH) as span:
            span.set_attribute(spans.RESULTS, 3)
    finally:
        spans._tracer.cache_clear()


def test_exception_by_kind(tracer: Tracer) -> None:
    """An exception that leaves a span is told by its kind only."""
    with pytest.raises(ValueError, match="secret"), spans.span(spans.SEARCH):
        raise ValueError("secret question")

    assert tracer.opened[0].attributes == {spans.FAILED: "ValueError"}


async def test_searches(tracer: Tracer) -> None:
    """A call and each of its sources have a span, and no span has the question in it."""
    searcher = Searcher(handlers=[FakeHandler(), FakeHandler("kb", RuntimeError("secret"))])
    await searcher.all(
        [{"query": "secret", "rerank": True}, {"query": "secret", "type": "kb"}], request_id="r1"
    )

    by_name = {(each.name, each.attributes.get(spans.TYPE)): each for each in tracer.opened}
    assert by_name[spans.SEARCH, None].attributes == {
        spans.MODE: "all",
        spans.REQUEST_ID: "r1",
        spans.RESULTS: 1,
    }
    assert by_name[spans.SEARCH_SOURCE, "web"].attributes[spans.FAILED] is False
    assert by_name[spans.SEARCH_SOURCE, "kb"].attributes[spans.FAILED] is True
    assert (spans.SEARCH_RERANK, None) in by_name
    assert "secret" not in repr([each.attributes for each in tracer.opened])
