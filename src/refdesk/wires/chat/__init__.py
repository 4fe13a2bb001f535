"""
OpenAI Chat Completions, as a client and an upstream speak it.

The package is a `refdesk.wires.base.Wire`.  Nothing that Refdesk makes comes back on this wire: a
search shows only as ``url_citation`` annotations, and clients do not send those again.
"""

from __future__ import annotations

from refdesk.wires.chat.ending import broken_stream, is_complete
from refdesk.wires.chat.forms import gathered, streamed
from refdesk.wires.chat.history import earlier_search, find_marks, restore
from refdesk.wires.chat.limit import limited, limiter
from refdesk.wires.chat.request import (
    conversation,
    inject,
    needs_thread,
    read_head,
    search_tool,
    strip_search_tool,
    turns,
    wants_json,
)
from refdesk.wires.chat.response import attach_search
from refdesk.wires.chat.stream import rewriter
from refdesk.wires.openai_error import error_body

__all__ = [
    "NAME",
    "PATH",
    "PING",
    "attach_search",
    "broken_stream",
    "conversation",
    "earlier_search",
    "error_body",
    "find_marks",
    "gathered",
    "inject",
    "is_complete",
    "limited",
    "limiter",
    "needs_thread",
    "read_head",
    "restore",
    "rewriter",
    "search_tool",
    "streamed",
    "strip_search_tool",
    "turns",
    "wants_json",
]

NAME: str = "chat"
PATH: str = "/chat/completions"
PING: bytes = b": searching\n\n"
