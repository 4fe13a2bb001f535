"""A small MCP server on standard input and output; see `test_stdio.py`."""

import json
import os
import sys
import time


def answer(ident: object, **result: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}), flush=True)


def told(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}]}


mode = sys.argv[1] if len(sys.argv) > 1 else ""
print("ready, key", os.environ.get("NOTES_KEY"), file=sys.stderr, flush=True)
if mode == "junk":
    print("Welcome to my server!", flush=True)
if mode == "silent":
    sys.stdin.read()
    sys.exit()

for line in sys.stdin:
    message = json.loads(line)
    method, ident = message.get("method"), message.get("id")
    if ident is None:
        continue
    if method == "initialize":
        answer(
            ident,
            protocolVersion="2025-06-18",
            capabilities={"tools": {}},
            serverInfo={"name": "stdio", "version": "1"},
        )
    elif method == "tools/list":
        answer(ident, tools=[{"name": "env", "inputSchema": {"type": "object"}}])
    elif method == "tools/call" and message["params"]["name"] == "env":
        answer(ident, **told(json.dumps({"pid": os.getpid(), "env": dict(os.environ)})))
    elif method == "tools/call" and message["params"]["name"] == "die":
        answer(ident, **told("bye"))
        sys.exit(3)
    elif method == "tools/call":
        time.sleep(60)
    else:
        error = {"code": -32601, "message": "no such method"}
        print(json.dumps({"jsonrpc": "2.0", "id": ident, "error": error}), flush=True)
