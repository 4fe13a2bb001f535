"""The request bodies of the benchmark, written as files for wrk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

QUESTION = "What changed in the newest release of the framework, and is it faster to start?"


def write(folder: Path) -> dict[str, Path]:
    """Write all bodies; return their files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    for name, body in _bodies().items():
        files[name] = folder / f"{name}.json"
        files[name].write_text(json.dumps(body, separators=(",", ":")))
    return files


def _bodies() -> dict[str, dict[str, Any]]:
    small = {
        "model": "bench",
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": QUESTION},
        ],
        "temperature": 0.2,
    }
    anthropic = {
        "model": "bench",
        "max_tokens": 1024,
        "system": "You are a helpful assistant.",
        "messages": [{"role": "user", "content": QUESTION}],
    }
    tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    return {
        "small": small,
        "small-stream": small | {"stream": True},
        "big": _agent(small),
        "messages": anthropic,
        "messages-stream": anthropic | {"stream": True},
        "search": anthropic | {"tools": [tool]},
        "search-stream": anthropic | {"tools": [tool], "stream": True},
    }


def _agent(small: dict[str, Any]) -> dict[str, Any]:
    """An agent's turn, about 62 KB: many tools, a long history of tool results."""
    turns = [
        {
            "role": "user" if number % 2 else "assistant",
            "content": [
                {
                    "type": "text",
                    "text": f'line {number} of a result with "quotes",\ttabs and\nnew lines; ' * 17,
                }
            ],
        }
        for number in range(40)
    ]
    properties = {
        f"parameter_{number}": {"type": "string", "description": "What it works on."}
        for number in range(6)
    }
    tools = [
        {
            "type": "function",
            "function": {
                "name": f"tool_{number}",
                "description": "It does one thing, and says when it cannot. " * 10,
                "parameters": {"type": "object", "properties": properties},
            },
        }
        for number in range(20)
    ]
    return small | {"messages": [*small["messages"], *turns], "tools": tools}
