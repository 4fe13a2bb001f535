"""
Counters and histograms for Prometheus, filled from finished requests in batches.

Labels are names from the configuration and fixed words, never what a client sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from refdesk.gateway.log import Entry

_SECONDS: Final = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300)


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they double every page
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "refdesk_requests_total",
            "Model requests, by wire, upstream and status.",
            ["wire", "upstream", "status"],
            registry=self.registry,
        )
        self._searches = Counter(
            "refdesk_search_outcomes_total",
            "What became of search: none, pass, hosted, gateway, degraded (with the reason).",
            ["outcome", "reason"],
            registry=self.registry,
        )
        self._calls = Counter(
            "refdesk_engine_attempts_total",
            "Engines asked, by outcome.",
            ["engine", "outcome"],
            registry=self.registry,
        )
        self._ends = Counter(
            "refdesk_request_ends_total",
            "Requests that did not end as they should.",
            ["end"],
            registry=self.registry,
        )
        self._unknown = Counter(
            "refdesk_citations_unknown_total",
            "Markers in answers that name no source.",
            registry=self.registry,
        )
        self._total = Histogram(
            "refdesk_request_seconds",
            "From request to the end of the answer.",
            ["wire"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._search = Histogram(
            "refdesk_search_seconds", "Gateway searches.", buckets=_SECONDS, registry=self.registry
        )
        self._upstream = Histogram(
            "refdesk_upstream_head_seconds",
            "From the upstream call to its head.",
            ["upstream"],
            buckets=_SECONDS,
            registry=self.registry,
        )

    def take(self, entries: Sequence[Entry]) -> None:
        """Count finished requests."""
        for entry in entries:
            self._requests.labels(entry.wire, entry.upstream, str(entry.status)).inc()
            outcome = entry.outcome
            self._searches.labels(outcome.kind, outcome.reason or "").inc()
            for attempt in outcome.attempts:
                self._calls.labels(attempt.engine, attempt.outcome).inc()
            if entry.end:
                self._ends.labels(entry.end).inc()
            if entry.unknown_citations:
                self._unknown.inc(entry.unknown_citations)
            self._total.labels(entry.wire).observe(entry.total_s)
            if entry.search_s:
                self._search.observe(entry.search_s)
            if entry.upstream_s:
                self._upstream.labels(entry.upstream).observe(entry.upstream_s)

    def gauges(self, read: Callable[[], dict[str, float]]) -> None:
        """Add gauges that are read when the page is asked for: names without prefix, values."""
        self.registry.register(_Gauges(read))

    def page(self) -> tuple[str, bytes]:
        """Return the page for Prometheus: its content type, and itself."""
        return CONTENT_TYPE_LATEST, generate_latest(self.registry)


class _Gauges(Collector):
    def __init__(self, read: Callable[[], dict[str, float]]) -> None:
        self._read = read

    def collect(self) -> list[Metric]:
        return [
            GaugeMetricFamily(f"refdesk_{name}", name.replace("_", " "), value=value)
            for name, value in self._read().items()
        ]

    def describe(self) -> list[Metric]:
        return []
