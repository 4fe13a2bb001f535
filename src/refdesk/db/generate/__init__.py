"""From a question to a query: by rules here, by an assistant or an MCP tool in `delegate`."""

from refdesk.db.generate.builtin import Generated, generate

__all__ = ["Generated", "generate"]
