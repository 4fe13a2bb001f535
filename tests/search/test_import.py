"""What the import of the library costs."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import json, sys
import refdesk.search, refdesk.search.citations, refdesk.search.rendering, refdesk.search.emit
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


def test_no_server_comes_along() -> None:
    """The library pulls in no server, no database, no MCP, no terminal and no schema."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, check=True, text=True
    )
    loaded = set(json.loads(done.stdout))

    assert "refdesk" in loaded
    unwanted = {
        "uvicorn",
        "uvloop",
        "starlette",
        "sqlalchemy",
        "alembic",
        "mcp",
        "httpx2",
        "pydantic",
    }
    unwanted |= {"typer", "rich", "opentelemetry", "prometheus_client", "ddgs", "anthropic"}
    assert loaded & unwanted == set()
