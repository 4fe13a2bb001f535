"""
Counters and histograms for Prometheus, filled from finished requests in batches.

There is an entry for every request, so a batch is added up here, in plain dictionaries, and written
out when the page is asked for.  Labels are names from the configuration and fixed words, never what
a client sent.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from refdesk.gateway.log import Entry
from refdesk.telemetry.stalls import Stalls

_SECONDS: Final = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300)

_COUNTERS: Final = {
    "requests": ("Model requests, by wire, upstream and status.", ("wire", "upstream", "status")),
    "search_outcomes": (
        "What became of search: none, pass, hosted, gateway, degraded (with the reason).",
        ("outcome", "reason"),
    ),
    "engine_attempts": ("Engines asked, by outcome.", ("engine", "outcome")),
    "request_ends": ("Requests that did not end as they should.", ("end",)),
    "upstream_errors": (
        "Errors that upstreams told inside of an answer whose status was good, by their type.",
        ("upstream", "type"),
    ),
    "citations_unknown": ("Markers in answers that name no source.", ()),
}
_HISTOGRAMS: Final = {
    "request_seconds": ("From request to the end of the answer.", ("wire",)),
    "search_seconds": ("Gateway searches.", ()),
    "upstream_head_seconds": ("From the upstream call to its head.", ("upstream",)),
}


_MOST_SERIES: Final = 1000
"""Series of a counter; what comes after them is counted as `other`."""
_LABEL_CHARS: Final = 100
_OTHER: Final = "other"


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in _COUNTERS}
        self._times: dict[str, dict[tuple[str, ...], _Times]] = {name: {} for name in _HISTOGRAMS}
        self.registry.register(_Read(self._families))

    def take(self, entries: Sequence[Entry]) -> None:
        """Count finished requests."""
        times, count = self._times, self._count
        with self._lock:
            for entry in entries:
                outcome = entry.outcome
                count("requests", (entry.wire, entry.upstream, str(entry.status)))
                count("search_outcomes", (outcome.kind, outcome.reason or ""))
                for attempt in outcome.attempts:
                    count("engine_attempts", (attempt.engine[:_LABEL_CHARS], attempt.outcome))
                if entry.end:
                    count("request_ends", (entry.end,))
                if entry.told:
                    count("upstream_errors", (entry.upstream, entry.told))
                if entry.unknown_citations:
                    count("citations_unknown", (), entry.unknown_citations)
                _observe(times["request_seconds"], (entry.wire,), entry.total_s)
                if entry.search_s:
                    _observe(times["search_seconds"], (), entry.search_s)
                if entry.upstream_s:
                    _observe(times["upstream_head_seconds"], (entry.upstream,), entry.upstream_s)

    def _count(self, name: str, labels: tuple[str, ...], number: int = 1) -> None:
        table = self._counts[name]
        if labels not in table and len(table) >= _MOST_SERIES:
            labels = (_OTHER,) * len(labels)
        table[labels] += number

    def gauges(self, read: Callable[[], dict[str, float]]) -> None:
        """Add gauges that are read when the page is asked for: names without prefix, values."""

        def families() -> Iterator[Metric]:
            for name, value in read().items():
                yield GaugeMetricFamily(f"refdesk_{name}", name.replace("_", " "), value=value)

        self.registry.register(_Read(families))

    def counters(self, read: Callable[[], dict[str, float]]) -> None:
        """Add counters that are read when the page is asked for: names without prefix, values."""

        def families() -> Iterator[Metric]:
            for name, value in read().items():
                yield CounterMetricFamily(f"refdesk_{name}", name.replace("_", " "), value=value)

        self.registry.register(_Read(families))

    def stalls(self, read: Callable[[], Mapping[str, Stalls]]) -> None:
        """Add what held the event loop up, read when the page is asked for."""

        def families() -> Iterator[Metric]:
            about = "Times the event loop was held up for 50 ms or more, by what ran."
            counter = CounterMetricFamily("refdesk_loop_stalls", about, labels=("where",))
            about = "The longest of them, in seconds."
            longest = GaugeMetricFamily(
                "refdesk_loop_stall_longest_seconds", about, labels=("where",)
            )
            for where, stalls in read().items():
                counter.add_metric((where,), stalls.number)
                longest.add_metric((where,), stalls.longest_s)
            yield from (counter, longest)

        self.registry.register(_Read(families))

    def page(self) -> tuple[str, bytes]:
        """Return the page for Prometheus: its content type, and itself."""
        return CONTENT_TYPE_LATEST, generate_latest(self.registry)

    def _families(self) -> Iterator[Metric]:
        with self._lock:
            for name, (about, labels) in _COUNTERS.items():
                counter = CounterMetricFamily(f"refdesk_{name}", about, labels=labels)
                for values, count in self._counts[name].items():
                    counter.add_metric(values, count)
                yield counter
            for name, (about, labels) in _HISTOGRAMS.items():
                histogram = HistogramMetricFamily(f"refdesk_{name}", about, labels=labels)
                for values, times in self._times[name].items():
                    histogram.add_metric(values, times.buckets(), times.total)
                yield histogram


class _Times:
    """How many durations fell into which bucket, and their sum."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(_SECONDS) + 1)
        self.total = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        """Return the counts as Prometheus wants them: each with all smaller ones."""
        edges = [str(float(edge)) for edge in _SECONDS] + ["+Inf"]
        sums = [sum(self.counts[: place + 1]) for place in range(len(self.counts))]
        return list(zip(edges, map(float, sums), strict=True))


def _observe(table: dict[tuple[str, ...], _Times], labels: tuple[str, ...], seconds: float) -> None:
    times = table.get(labels)
    if times is None:
        times = table[labels] = _Times()
    times.counts[bisect_left(_SECONDS, seconds)] += 1
    times.total += seconds


class _Read(Collector):
    """A collector that is a function."""

    def __init__(self, read: Callable[[], Iterator[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        return self._read()

    def describe(self) -> list[Metric]:
        return []
