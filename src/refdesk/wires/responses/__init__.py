"""
OpenAI Responses, as a client and an upstream speak it.

The package is a `refdesk.wires.base.Wire`.  A search of ours is a ``web_search_call`` item whose id
is ``ws_rd`` and the search's own id; it carries no text, so what comes back is looked up by that
id.
"""

from __future__ import annotations

from refdesk.wires.openai_error import error_body
from refdesk.wires.responses.broken import broken_stream, is_complete
from refdesk.wires.responses.forms import gathered, streamed
from refdesk.wires.responses.history import earlier_search, find_marks, restore
from refdesk.wires.responses.limit import limited, limiter
from refdesk.wires.responses.request import (
    conversation,
    inject,
    needs_thread,
    read_head,
    turns,
    wants_json,
)
from refdesk.wires.responses.response import attach_search
from refdesk.wires.responses.stream import rewriter
from refdesk.wires.responses.tools import search_tool, strip_search_tool

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

NAME: str = "responses"
PATH: str = "/responses"
PING: bytes = b": searching\n\n"
