"""
The Anthropic Messages wire (https://platform.claude.com/docs/en/api/messages).

Search is declared as a tool of a dated type, ``web_search_20250305`` or later; an answer shows it
as a ``server_tool_use`` block with its ``web_search_tool_result``, before the first text.  The
package itself is a `refdesk.wires.base.Wire`.
"""

from typing import Final

from refdesk.wires.messages.ending import broken_stream, is_complete
from refdesk.wires.messages.forms import gathered, streamed
from refdesk.wires.messages.history import earlier_search, find_marks, restore
from refdesk.wires.messages.limit import limited, limiter
from refdesk.wires.messages.request import (
    conversation,
    inject,
    needs_thread,
    read_head,
    search_tool,
    strip_search_tool,
    turns,
    wants_json,
)
from refdesk.wires.messages.response import attach_search, error_body
from refdesk.wires.messages.stream import rewriter

NAME: Final[str] = "messages"
PATH: Final[str] = "/messages"
PING: Final[bytes] = b'event: ping\ndata: {"type":"ping"}\n\n'

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
