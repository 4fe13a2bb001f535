"""What tests of commands share: how one ended, and a server on loopback for it to speak to."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout, as JSON."""
        return json.loads(self.out)


Command = Callable[..., Ran]


@dataclass(slots=True)
class Peer:
    """A server on loopback that answers by path, and keeps what it was sent."""

    port: int
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    """By path: the status, and the body as JSON or bytes; other paths are a 404."""
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    date: str = ""

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


def found(*titles: str) -> dict[str, Any]:
    """What a SearXNG server answers with these results."""
    return {
        "query": "q",
        "results": [
            {"title": title, "url": f"https://example.com/{n}", "content": f"About {title}."}
            for n, title in enumerate(titles, 1)
        ],
        "unresponsive_engines": [],
    }
