"""
What happened during a search, as a tree: a node per call, a child per source.

A trace is filled while the search runs and may be read at any time; it holds no result, only
counts, and no query where queries are not kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from refdesk.clock import now

if TYPE_CHECKING:
    from rich.tree import Tree

NodeType = Literal["search", "search_item"]
NodeStatus = Literal["pending", "running", "completed", "failed", "cancelled"]
LogLevel = Literal["debug", "info", "warn", "error"]

STARTED: Final = "Starting search"
COMPLETED: Final = "Search completed"
FAILED: Final = "Search failed"
_SAID_BY_HEAD: Final = frozenset({STARTED, COMPLETED, FAILED})
"""Lines that a tree need not repeat below a head that says the same."""

_MAX_LOGS: Final = 200
"""Lines kept of one node: whoever logs in a loop fills no memory."""

_LABELS: Final = {
    "en": {"": "Search", "web": "Web Search", "kb": "KB Search", "db": "DB Search"},
    "zh": {"": "搜索", "web": "网页搜索", "kb": "知识库搜索", "db": "数据库搜索"},
}
_STYLES: Final[dict[NodeStatus, tuple[str, str]]] = {
    "pending": ("○", "dim"),
    "running": ("◐", "cyan"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("–", "dim"),
}
_LOG_STYLES: Final[dict[LogLevel, str]] = {
    "debug": "dim",
    "info": "dim",
    "warn": "yellow",
    "error": "red",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """One line of a node's log.  ``timestamp`` counts milliseconds since 1970."""

    timestamp: int
    level: LogLevel
    message: str
    data: Mapping[str, Any] = field(default_factory=dict)


class TraceNode:
    """One call, or one source of it.  What has ended stays as it ended."""

    def __init__(self, trace: Trace, id: str, type: NodeType, label: str) -> None:  # noqa: A002
        self._trace = trace
        self.id = id
        self.type = type
        self.label = label
        self.status: NodeStatus = "pending"
        self.input: dict[str, Any] = {}
        self.output: dict[str, Any] = {}
        self.error: str | None = None
        self.logs: list[LogLine] = []
        self.children: list[TraceNode] = []
        self._started: float | None = None
        self._ended: float | None = None

    @property
    def duration_ms(self) -> float:
        """How long it has run, or ran."""
        if self._started is None:
            return 0.0
        ended = self._trace.clock() if self._ended is None else self._ended
        return (ended - self._started) * 1000

    @property
    def ended(self) -> bool:
        """Whether it is completed, failed or cancelled."""
        return self.status in ("completed", "failed", "cancelled")

    def child(self, kind: str = "", *, label: str | None = None) -> TraceNode:
        """Add a child, for a type of search or with a label of its own."""
        node = self._trace.make("search_item", kind, label)
        self.children.append(node)
        return node

    def start(self, **given: Any) -> None:
        """Say that it runs, and on what."""
        self.input.update(given)
        if self.status == "pending":
            self.status = "running"
            self._started = self._trace.clock()

    def complete(self, **output: Any) -> None:
        """Say that it ended well, and what came of it."""
        self._end("completed", output)

    def fail(self, error: str) -> None:
        """Say that it failed, and why."""
        if not self.ended:
            self.error = error
        self._end("failed", {})

    def cancel(self) -> None:
        """Say that it was no longer wanted."""
        self._end("cancelled", {})

    def log(self, level: LogLevel, message: str, **data: Any) -> None:
        """Add a line to its log."""
        if len(self.logs) < _MAX_LOGS:
            self.logs.append(
                LogLine(timestamp=self._trace.wall_ms(), level=level, message=message, data=data)
            )

    def to_json(self) -> dict[str, Any]:
        """Return the node and all below it, as plain values."""
        node: dict[str, Any] = {
            "id": self.id,
            "type": self.type,
            "label": self.label,
            "status": self.status,
            "duration_ms": round(self.duration_ms, 1),
            "input": self.input,
            "output": self.output,
            "logs": [
                {
                    "timestamp": line.timestamp,
                    "level": line.level,
                    "message": line.message,
                    "data": dict(line.data),
                    "node_id": self.id,
                }
                for line in self.logs
            ],
            "children": [child.to_json() for child in self.children],
        }
        if self.error is not None:
            node["error"] = self.error
        return node

    def _end(self, status: NodeStatus, output: Mapping[str, Any]) -> None:
        if self.ended:
            return
        if self._started is None:
            self._started = self._trace.clock()
        self.status = status
        self.output.update(output)
        self._ended = self._trace.clock()


class Trace:
    """
    The traces of the calls that were given it.

    Args:
        locale: The language of its labels.
        clock: A monotonic clock, in seconds.
        wall_ms: The time of day, in milliseconds since 1970.
    """

    def __init__(
        self,
        locale: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_ms: Callable[[], int] | None = None,
    ) -> None:
        self._labels = _LABELS["zh" if (locale or "").lower().startswith("zh") else "en"]
        self.clock = clock
        self.wall_ms = wall_ms or (lambda: int(now().timestamp() * 1000))
        self.nodes: list[TraceNode] = []
        self._count = 0

    def node(self, type: NodeType = "search") -> TraceNode:  # noqa: A002
        """Add a node for a call."""
        node = self.make(type, "", None)
        self.nodes.append(node)
        return node

    def make(self, type: NodeType, kind: str, label: str | None) -> TraceNode:  # noqa: A002
        """Return a node of this trace that is in no tree yet."""
        self._count += 1
        text = label or self._labels.get(kind) or f"{self._labels['']}: {kind}"
        return TraceNode(self, f"n{self._count}", type, text)

    def to_json(self) -> list[dict[str, Any]]:
        """Return all nodes as plain values."""
        return [node.to_json() for node in self.nodes]

    def tree(self) -> Tree:
        """Return the trace as a tree for the terminal, to be printed by rich."""
        from rich.text import Text
        from rich.tree import Tree

        if len(self.nodes) == 1:
            root = Tree(_line(self.nodes[0]), guide_style="dim")
            _grow(root, self.nodes[0])
            return root
        root = Tree(Text(self._labels[""]), guide_style="dim")
        for node in self.nodes:
            _grow(root.add(_line(node)), node)
        return root


def _line(node: TraceNode) -> Any:
    from rich.text import Text

    mark, style = _STYLES[node.status]
    # Text, not markup: queries and errors may hold anything, also brackets and escapes.
    text = Text.assemble((f"{mark} ", style), (node.label, "bold"))
    if query := node.input.get("query"):
        text.append(f" {_shown(query)!r}")
    text.append(f"  {node.status}", style)
    if node.status != "pending":
        text.append(f"  {node.duration_ms:.0f} ms", "dim")
    if (count := node.output.get("result_count")) is not None:
        text.append(f"  {count} result{'' if count == 1 else 's'}", "dim")
    return text


def _grow(tree: Tree, node: TraceNode) -> None:
    from rich.text import Text

    for line in node.logs:
        if line.message in _SAID_BY_HEAD:
            continue
        data = " ".join(f"{name}={_shown(value)}" for name, value in line.data.items())
        text = f"{_shown(line.message)} {data}".rstrip()
        tree.add(Text(text, style=_LOG_STYLES[line.level]))
    if node.error is not None:
        tree.add(Text(_shown(node.error), style="red"))
    for child in node.children:
        _grow(tree.add(_line(child)), child)


def _shown(value: Any) -> str:
    text = "".join(char if char.isprintable() else " " for char in str(value))
    return text if len(text) <= 200 else text[:199] + "…"
