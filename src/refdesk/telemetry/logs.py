"""
Structured logs on stderr: one JSON object a line, or plain lines on a terminal.

In a server a line never waits for whoever reads it; see `refdesk.telemetry.streams`.

No prompt, no query and no key is ever handed to a logger; what looks like a key is masked all the
same, since an exception's text may come from anywhere.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

from refdesk.terminal import harmless

_KEY: Final = re.compile(
    r"\b(?:sk|pk|rk|rdk|tvly|gsk|xai|hf|ghp|key)[-_][A-Za-z0-9_-]{8,}"
    r"|(?<=[?&])(?:api_?key|key|token)=[^&\s\"']+|(?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}"
)


def set_up(*, level: str = "INFO", json: bool | None = None) -> None:
    """
    Send all logs to stderr.

    Args:
        level: The least level that is shown.
        json: Whether lines are JSON; by default where stderr is no terminal.
    """
    as_json = not sys.stderr.isatty() if json is None else json
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        mask_keys,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    last: list[Any] = [renderer] if as_json else [_harmless, renderer]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Libraries' warnings become lines of the log, too; what native code writes by itself does not.
    logging.captureWarnings(True)
    for variable in ("LANCE_LOG", "LANCEDB_LOG"):
        os.environ.setdefault(variable, "error")
    # The server's own lines on every connection say nothing that ours do not.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    # Session ids, and whole messages of foreign servers with tracebacks; we tell of both ourselves.
    logging.getLogger("mcp").setLevel(logging.ERROR)
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)


def _harmless(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Take out what would steer the terminal that the line is shown on."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = harmless(value)
    return event


def mask_keys(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace what looks like a key, in every text of a log line."""
    for name, value in event.items():
        if isinstance(value, str) and len(value) > 10:
            event[name] = _KEY.sub("••••", value)
    return event
