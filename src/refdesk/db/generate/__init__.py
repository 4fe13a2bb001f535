"""From a question to a query: by rules, or by an assistant or an MCP tool."""
