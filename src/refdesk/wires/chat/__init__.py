"""
OpenAI Chat Completions, as a client and an upstream speak it.

The package is a `refdesk.wires.base.Wire`.  Nothing that Refdesk makes comes back on this wire: a
search shows only as ``url_citation`` annotations, and clients do not send those again.
"""

from __future__ import annotations

from refdesk.wires.chat.ending import broken_stream, is_complete
from refdesk.wires.chat.history import find_marks, restore
from refdesk.wires.chat.request import (
    conversation,
    inject,
    read_head,
    search_tool,
    strip_search_tool,
    turns,
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
    "error_body",
    "find_marks",
    "inject",
    "is_complete",
    "read_head",
    "restore",
    "rewriter",
    "search_tool",
    "strip_search_tool",
    "turns",
]

NAME: str = "chat"
PATH: str = "/chat/completions"
PING: bytes = b": searching\n\n"
