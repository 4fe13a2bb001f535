"""How much an MCP server may take up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The bounds that hold for every MCP server."""

    max_bytes: int = 524_288
    """How much of a tool's answer is taken; the rest is cut off, and the cut marked."""
    max_message_bytes: int = 8 * 1024 * 1024
    """The largest message over HTTP; a larger one is refused unread."""
    max_tools: int = 500
    """How many tools of one server are listed; the rest is left out."""
    max_description_chars: int = 4000
    open_s: float = 30.0
    """How long a server may take to start and to say what it speaks."""
    close_s: float = 8.0
    """How long a server may take to end, before it is left to itself."""
    stderr_lines_per_minute: int = 60
    """Lines of a server's standard error that reach the log."""
